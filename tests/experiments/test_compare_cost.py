"""What `compare` says of cost and of selective answering; NaiveRAG at equal tokens."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.experiments.efficiency import efficiency
from reflective_rag.experiments.equal_cost import MOST_K, Curve
from reflective_rag.optimizers.evaluation import Evaluation, Row
from reflective_rag.signatures.types import PhaseUsage
from tests.experiments.helpers import records, run, run_json, use_model, write_jsonl


@pytest.fixture
def data(workplace: Path) -> Path:
    """The facts as labelled questions."""
    return write_jsonl(workplace / "data.jsonl", records())


def row(number: int = 0, **known: Any) -> Row:
    """A row of one question."""
    about: dict[str, Any] = {"record_id": f"q{number}", "question": "?", "answer": "Paris", "answers": ("Paris",)}
    return Row(**{**about, **known})


def test_costs_are_shares_of_the_baseline_and_of_the_phases() -> None:
    """Prompt and completion apart; a phase that one question did not need costs it nothing; failures are left out."""
    answer = PhaseUsage(calls=1, prompt_tokens=100, completion_tokens=10, seconds=1.0)
    judged = {"answer": answer, "assess": PhaseUsage(calls=1, prompt_tokens=60, completion_tokens=20)}
    ours = [
        row(0, tokens=190, usage=judged, retrievals=2),
        row(1, tokens=110, usage={"answer": answer}, retrievals=1),
        row(2, error="OSError: gone"),
    ]
    base = [row(n, tokens=100, usage={"answer": answer}, retrievals=1) for n in range(3)]
    found = efficiency(ours, base)
    assert found["tokens"]["mean"] == 150
    assert found["tokens"]["percent"] == 150
    assert (found["prompt_tokens"]["mean"], found["completion_tokens"]["mean"]) == (130, 20)
    assert found["prompt_tokens"]["percent"] == 130
    assert found["retrievals"]["percent"] == 150
    assert found["phases"]["assess"] == {"calls": 0.5, "prompt_tokens": 30, "completion_tokens": 10, "seconds": 0}
    assert found["lm_calls"] == {"mean": None, "low": None, "high": None, "n": 0, "percent": None}


def curve(cost: int = 100, best: int = 30) -> tuple[Curve, list[int]]:
    """NaiveRAG that spends `cost` a passage and is right from `best` passages on; and the k that were run."""
    tried: list[int] = []

    def measure(k: int) -> Evaluation:
        tried.append(k)
        return Evaluation((row(0, tokens=cost * k, f1=float(k >= best)), row(1, tokens=cost * k, f1=0.0)))

    return Curve(measure, "tokens"), tried


@pytest.mark.parametrize(
    ("target", "k"), [(50, 1), (100, 1), (310, 3), (1700, 17), (2960, 30), (9_000, 90), (99_999, MOST_K)]
)
def test_naive_gets_the_k_that_spends_the_same(target: float, k: int) -> None:
    """To the nearest passage, or to two in a hundred; the most it may read where that is still too little."""
    found, tried = curve()
    assert found.spending(target) == pytest.approx(k, rel=0.02)
    assert len(tried) == len(set(tried)) <= 13


def test_equal_cost_and_equal_quality_of_one_system() -> None:
    """At 500 tokens NaiveRAG reads five passages and is wrong; to be as good it must read 40 for 8 times as much."""
    found, _ = curve()
    document = found.against(Evaluation((row(0, tokens=500, f1=1.0), row(1, tokens=500, f1=0.0))))
    assert (document["spent"], document["equal_cost"]["k"], document["equal_cost"]["spent"]) == (500, 5, 500)
    assert document["equal_cost"]["differences"]["f1"]["mean"] == 0.5
    assert document["equal_quality"] == {"k": 40, "spent": 4000, "percent": 800}
    better = found.against(Evaluation((row(0, tokens=500, f1=1.0), row(1, tokens=500, f1=1.0))))
    assert better["equal_quality"] == {"k": None, "best": {"k": 40, "f1": 0.5, "spent": 4000}}


def test_compare_prints_costs_and_how_well_each_knows_when_it_is_right(data: Path) -> None:
    """On rules the size of what is read stands for tokens; the plot and the report are written."""
    done = run("compare", "naive", "reflective", "--data", data, "--equal-cost", "--out", "cost")
    assert done.exit_code == 0, done.stderr
    for part in ("cost a question (naive = 100 %)", "tokens read", "(100 %)", "by phase", "AURC", "top score", "at k"):
        assert part in done.stdout
    assert "prompt tokens" not in done.stdout
    for name in ("report.json", "risk_coverage.png", "risk_coverage.svg"):
        assert (Path("cost") / name).is_file()


def test_with_a_model_tokens_are_equalled(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompt and completion tokens as the model reported them, phase by phase."""
    use_model(monkeypatch)
    document = run_json("compare", "naive", "reflective", "--data", data, "--limit", "2", "--equal-cost")
    first, second = document["systems"]
    assert first["efficiency"]["tokens"]["percent"] == 100
    assert second["efficiency"]["phases"]["answer"]["calls"] >= 1
    assert second["equal_cost"]["cost"] == "tokens"
    assert second["equal_cost"]["spent"] == second["efficiency"]["tokens"]["mean"]
    assert "equal_cost" not in first
    assert second["selective"]["aurc"]["n"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reflective", "naive", "--equal-cost"], "put `naive` first, not 'reflective'"),
        (["naive", "reflective", "--out", "data.jsonl"], "`--out data.jsonl` cannot be made"),
    ],
)
def test_bad_input_is_one_error(data: Path, words: Sequence[str], message: str) -> None:
    """Found before a question is asked."""
    done = run("compare", *words, "--data", data)
    assert done.exit_code == 2
    assert message in done.stderr
