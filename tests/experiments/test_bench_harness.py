"""`bench harness`: what it measures is what it says; how fast it is, no test asks."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.experiments.bench import harness
from reflective_rag.experiments.bench.engine import steady_lm
from reflective_rag.experiments.reporting import log_diagnosis
from reflective_rag.optimizers.evaluation import evaluate
from reflective_rag.signatures.errors import ContractError
from tests.experiments.helpers import run


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tables: Path) -> None:
    """Sizes and latencies at which it takes no time, and a store whose tables are there."""
    monkeypatch.setattr(harness, "_new_store", lambda folder: f"sqlite:///{shutil.copy(tables, folder / 'new.db')}")
    for name, value in {"QUESTIONS": 6, "LATENCY": 0.001, "LOGGED_QUESTIONS": 6, "LOGGED_LATENCY": 0.001}.items():
        monkeypatch.setattr(harness, name, value)
    monkeypatch.setattr(harness, "REPLAYED", 12)


def test_every_measurement_has_a_ratio_a_target_and_its_size(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three lines, each of two times measured in one run, under a name that says what was run."""
    logged: list[Any] = []

    def watched(*args: Any, **kw: Any) -> None:
        logged.append(args)
        log_diagnosis(*args, **kw)

    monkeypatch.setattr(harness, "log_diagnosis", watched)
    rows = harness.run(3)
    assert [row["target"] for row in rows] == ["<= 1.1", "<= 1.1", "<= 1"]
    assert all(row["n"] == 3 and row["lowest"] <= row["ratio"] <= row["highest"] for row in rows)
    assert rows[0]["name"].startswith("evaluate 6 questions of 1 ms on 8 threads")
    assert "stopping rules on 12 questions" in rows[2]["name"]
    assert len(logged) == 4  # the store is warmed once, then one run a repeat
    assert {len(evaluation.rows) for _, evaluation, _ in logged} == {8, 6}
    assert all(run_.lost == 0 for run_, _, _ in logged)


def test_the_questions_of_the_bench_are_answered_right() -> None:
    """The evaluation that is timed is one of a program that works: no failed row, F1 of 1, one round each."""
    import dspy

    records = harness._records(4)
    with dspy.context(lm=steady_lm(0.0)):
        rows = evaluate(harness._program(records), records).rows
    assert [(row.error, row.f1, row.recall, row.stop_reason) for row in rows] == [(None, 1.0, 1.0, "sufficient")] * 4


def test_a_replay_that_asked_a_model_would_be_seen() -> None:
    """The stand-in for a model raises at the first call."""
    with pytest.raises(ContractError, match="asked a model"):
        harness._NoModel()("prompt")


def test_an_unknown_bench_lists_those_that_are() -> None:
    """`loop`, `harness`, `critics` and those of retrieval."""
    done = run("bench", "hammer")
    assert done.exit_code == 2
    assert all(name in done.stderr for name in ("loop", "harness", "critics", "retrieval"))
