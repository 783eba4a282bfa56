"""What a compile with `controls` shows of its replay: lines, a table, and a plot where there is a frontier."""

from pathlib import Path
from typing import Any

import pytest

from reflective_rag.experiments.compile_results import log_frontier
from reflective_rag.experiments.frontier_plots import frontier_rows, save_frontier
from reflective_rag.experiments.tuning_words import tuning_lines
from reflective_rag.programs import LoopControls


def mean(value: float) -> dict[str, float]:
    """With an interval."""
    return {"mean": value, "low": value - 0.1, "high": value + 0.1, "n": 20}


def report(*qualities: float, gain: float = 0.1, held: float | None = 0.05) -> dict[str, Any]:
    """Of a compile whose frontier has points of these qualities, a thousand tokens apart."""
    controls = LoopControls().model_dump(mode="json")
    points = [
        {"x": "tokens", "quality": mean(q), "tokens": 1000.0 * i, "retrievals": i, "costed": q, "controls": controls}
        for i, q in enumerate(qualities, 1)
    ]
    return {
        "n": 20,
        "rules": 10_585,
        "lam": 0.02,
        "mu": 0.01,
        "before": {"costed": 0.5, "quality": 0.6, "tokens": 2000.0, "retrievals": 2.0},
        "costed": mean(0.6),
        "quality": mean(qualities[-1]),
        "tokens": mean(1500.0),
        "retrievals": mean(1.0),
        "gain": mean(gain),
        "held_out_gain": None if held is None else mean(held),
        "frontier": points,
        "replayed": {"n": 20, "same": 20, "score": 0.6, "differ": []},
    }


def test_the_frontier_is_drawn_as_png_and_svg(tmp_path: Path) -> None:
    """The same report gives the same files; a single point is no frontier."""
    first = save_frontier(report(0.4, 0.6, 0.7), tmp_path)
    bytes_ = [path.read_bytes() for path in first]
    assert [path.name for path in first] == ["frontier.png", "frontier.svg"]
    assert bytes_[0].startswith(b"\x89PNG")
    assert b"10,585 stopping rules" not in bytes_[0]
    assert [path.read_bytes() for path in save_frontier(report(0.4, 0.6, 0.7), tmp_path)] == bytes_
    assert save_frontier(report(0.4), tmp_path) == save_frontier({}, tmp_path) == []


def test_the_table_has_a_column_a_setting() -> None:
    """Cost, quality with its interval, θ and each weight."""
    rows = frontier_rows(report(0.4, 0.6))
    assert [(row["tokens"], row["quality"], row["theta"], row["weight_relevance"]) for row in rows] == [
        (1000.0, 0.4, 0.7, 0.4),
        (2000.0, 0.6, 0.7, 0.4),
    ]


class Run:
    """Keeps what is logged."""

    run_id: str | None = "1"

    def __init__(self) -> None:
        self.logged: dict[str, Any] = {}
        self.files: list[str] = []

    def metrics(self, values: dict[str, float]) -> None:
        self.logged |= values

    def table(self, name: str, rows: list[dict[str, Any]]) -> None:
        self.logged[name] = rows

    def folder(self, path: str, name: str) -> None:
        self.files += [f"{name}/{file.name}" for file in sorted(Path(path).iterdir())]


def test_the_run_gets_figures_table_and_plots() -> None:
    """With intervals; another strategy's report adds nothing, and without a store nothing is drawn."""
    run, other, off = Run(), Run(), Run()
    off.run_id = None
    log_frontier(run, report(0.4, 0.6))
    log_frontier(other, {"critic_cases": {}})
    log_frontier(off, report(0.4, 0.6))
    assert run.logged["replay.gain_low"] == pytest.approx(0.0)
    assert (run.logged["replay.rules"], run.logged["replay.replayed.same"]) == (10_585, 20)
    assert len(run.logged["frontier"]) == 2
    assert run.files == ["frontier/frontier.png", "frontier/frontier.svg"]
    assert (other.logged, other.files, off.files) == ({}, [], [])


@pytest.mark.parametrize(
    ("changes", "said", "not_said"),
    [
        pytest.param({}, "left out of the choice", "more questions are needed", id="a gain"),
        pytest.param({"held": -0.01}, "more questions are needed", "(not ", id="no gain on other questions"),
        pytest.param({"held": None}, "more questions are needed", "left out of the choice", id="too few to tell"),
        pytest.param({"gain": 0.0, "held": 0.0}, "20 of 20", "more questions are needed", id="nothing to gain"),
    ],
)
def test_a_person_is_told_what_the_gain_is_worth(changes: dict[str, Any], said: str, not_said: str) -> None:
    """On the questions of the choice, and on others; where that is nothing it says so."""
    text = "\n".join(tuning_lines(report(0.4, 0.6, **changes)))
    assert said in text
    assert not_said not in text
    assert "replayed 10,585 stopping rules" in text


def test_questions_that_replay_otherwise_are_named() -> None:
    """Never hidden behind a mean; and a strategy that replays nothing has no lines."""
    bad = report(0.4) | {"replayed": {"n": 3, "same": 2, "score": 0.6, "differ": ["q7"]}}
    assert "2 of 3 questions score the same (not q7)" in "\n".join(tuning_lines(bad))
    assert tuning_lines({"critic_cases": {}}) == []
