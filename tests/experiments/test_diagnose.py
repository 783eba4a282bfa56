"""`diagnose`: why answers are wrong, from rows or from a run of its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.helpers import records, run, run_json, write_jsonl


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six questions of which one expects another answer than its passage states, in the current folder."""
    monkeypatch.chdir(tmp_path)
    lines = records()
    lines[1]["answers"] = ["Kraków"]
    return write_jsonl(tmp_path / "data.jsonl", lines)


def asked(data: Path, *more: str) -> list[str]:
    """Arguments that ask the data by rules."""
    return ["--program", "reflective", "--data", str(data), "--embedder", "none", "--lm", "rules", *more]


def test_a_run_and_its_rows_give_the_same_diagnosis(data: Path) -> None:
    """Asking and reading what an evaluation wrote lead to the same kinds, and `evaluate` has them in short."""
    fresh = run_json("diagnose", *asked(data))
    short = run_json("evaluate", *asked(data, "--rows", "rows.jsonl"))["diagnosis"]
    read = run_json("diagnose", "--rows", "rows.jsonl")
    assert read["kinds"] == fresh["kinds"]
    assert {kind: about["count"] for kind, about in fresh["kinds"].items()} == short["kinds"]
    assert short["wrong"] == fresh["wrong"]["count"] >= 1
    assert "q1" in [line["record_id"] for line in fresh["questions"]]
    assert short["next"] == fresh["next"]


def test_a_person_sees_kinds_examples_and_the_next_step(data: Path) -> None:
    """A table, the questions with what was said and expected, and what to work on."""
    done = run("diagnose", *asked(data))
    assert done.exit_code == 0, done.stderr
    for text in ("of 6 questions went wrong", "Where was Marie Curie born?", "Kraków", "work on"):
        assert text in done.stdout


def test_where_nothing_is_wrong_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No kinds, no next step."""
    monkeypatch.chdir(tmp_path)
    good = write_jsonl(tmp_path / "data.jsonl", records(0, 2))
    assert "nothing went wrong" in run("diagnose", *asked(good)).stdout
    assert run_json("diagnose", *asked(good))["next"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "give `--rows FILE`", id="nothing"),
        pytest.param(["--rows", "no.jsonl"], "no.jsonl", id="no such rows"),
        pytest.param(["--rows", "x.jsonl", "--program", "naive"], "leave them out", id="a program without data"),
        pytest.param(["--rows", "rows.jsonl", "--correct", "groups"], "no scores of 'groups'", id="no such scores"),
        pytest.param(["--rows", "rows.jsonl", "--correct", "rouge"], "must be one of", id="unknown measure"),
        pytest.param(["--rows", "empty.jsonl"], "no rows of a plain evaluation", id="a header alone"),
    ],
)
def test_what_cannot_be_read_is_told(data: Path, arguments: list[str], message: str) -> None:
    """One line, and exit code 2."""
    header: dict[str, Any] = {"kind": "header", "metric": None}
    body = {"kind": "row", "record_id": "q", "question": "?", "answer": "a", "answers": ["a"]}
    Path("rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (header, body)))
    Path("empty.jsonl").write_text(json.dumps(header) + "\n")
    done = run("diagnose", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
