"""What is printed where, and that a long run is never silent."""

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table

from reflective_rag.experiments.console import Lines, note, out, print_json, print_whole
from tests.experiments.helpers import records, run, use_model, write_jsonl, write_recipe


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def told(lines: Lines, clock: Clock, steps: list[tuple[float, str, int, int]]) -> None:
    """Report at the given times."""
    for now, what, done, total in steps:
        clock.now = now
        lines(what, done, total)


def test_a_task_is_told_when_it_begins_and_then_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """And when it ends, once, however often it reports."""
    clock = Clock()
    lines = Lines(clock=clock)
    told(lines, clock, [(second, "dev before", second, 40) for second in range(41)])
    told(lines, clock, [(41, "test before", 0, 3), (42, "test before", 3, 3), (43, "test before", 3, 3)])
    shown = capsys.readouterr()
    assert shown.err.splitlines() == [
        *(f"dev before: {done} of 40 ({share} %)" for done, share in ((0, 0), (10, 25), (20, 50), (30, 75), (40, 100))),
        "test before: 0 of 3 (0 %)",
        "test before: 3 of 3 (100 %)",
    ]
    assert not shown.out


def test_work_that_is_done_at_once_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A first report that is the last, nor anything short before ten seconds have passed."""
    clock = Clock()
    told(Lines(clock=clock), clock, [(0, "indexing passages", 6, 6)])
    told(Lines(clock=clock), clock, [(20, "indexing passages", 6, 6)])
    clock.now = 0
    told(Lines(short=True, clock=clock), clock, [(0, "indexing passages", 0, 600), (9, "indexing passages", 500, 600)])
    assert capsys.readouterr().err == ""
    clock.now = 0
    told(Lines(short=True, clock=clock), clock, [(11, "indexing passages", 32, 600)])
    assert capsys.readouterr().err == "indexing passages: 32 of 600 (5 %)\n"


@pytest.mark.parametrize("strategy", ["mipro", "bootstrap"])
def test_the_work_of_dspys_optimizers_is_told_by_its_calls(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """In a pipe each phase of a compile has its line on stderr, and stdout is the JSON alone."""
    monkeypatch.setattr("reflective_rag.experiments.console.EVERY_SECONDS", 0.0)
    lm = use_model(monkeypatch)
    options = {"mipro": {"num_trials": 2}}.get(strategy, {})
    recipe = write_recipe(workplace, strategy=strategy, strategy_options=options)
    done = run("compile", recipe, "--out", "art", "--lm", "fake/model", "--json")
    assert done.exit_code == 0, done.stderr
    lines = done.stderr.splitlines()
    assert "dev before: 0 of 2 (0 %)" in lines
    assert "dev after: 2 of 2 (100 %)" in lines
    counted = [int(number) for number in re.findall(rf"{strategy}, model calls \(at most\): (\d+) of", done.stderr)]
    assert counted == list(range(len(counted)))
    assert counted[-1] > 0
    assert lm.engine.calls
    assert json.loads(done.stdout)["artifact"] == "art"


def test_an_evaluation_is_told_on_stderr_alone(workplace: Path) -> None:
    """When it begins."""
    data = write_jsonl(workplace / "data.jsonl", records())
    done = run("evaluate", "--data", data, "--json")
    assert "reflective: 0 of 6 (0 %)" in done.stderr.splitlines()
    assert json.loads(done.stdout)["n"] == 6


@pytest.mark.parametrize(("encoding", "expected"), [("utf-8", "耶鲁 🎓"), ("latin-1", r"\u8036\u9c81 \ud83c\udf93")])
def test_json_can_be_printed_in_any_encoding(monkeypatch: pytest.MonkeyPatch, encoding: str, expected: str) -> None:
    """Letters that the terminal lacks become JSON's escapes, which every reader turns back."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    print_json({"answer": "耶鲁 🎓"})
    text = raw.getvalue().decode(encoding)
    assert expected in text
    assert json.loads(text) == {"answer": "耶鲁 🎓"}


def test_the_seconds_of_a_recording_are_not_shown(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those of a replay and say nothing of the model: neither tables nor MLflow have them."""
    from reflective_rag.programs.lm import resolve
    from tests.experiments.helpers import knowing
    from tests.experiments.test_compile import FakeTracker
    from tests.fakes import fake_lm

    monkeypatch.setattr(resolve, "_live", lambda spec, options: (fake_lm(knowing, model="fake/model"), "chat"))
    data = write_jsonl(workplace / "data.jsonl", records())
    live = run("evaluate", "--data", data, "--lm", "fake/model", "--record", "calls.jsonl")
    again = run("evaluate", "--data", data, "--replay", "calls.jsonl")
    assert _row(live.stdout, "seconds") != "recorded"
    assert _row(again.stdout, "seconds") == "recorded"
    recipe = write_recipe(workplace, strategy="none")
    monkeypatch.setattr("reflective_rag.experiments.tracking.check_store", lambda uri: None)
    for options, logged in ((("--lm", "x/y", "--record", "c.jsonl"), True), (("--replay", "c.jsonl"), False)):
        tracker = FakeTracker()
        monkeypatch.setattr("reflective_rag.experiments.tracking.tracked", tracker)
        assert run("compile", recipe, "--out", "art", *options).exit_code == 0
        assert ("dev.after.seconds" in tracker.run.logged["metrics"]) is logged


def _row(table: str, label: str) -> str:
    (line,) = (line for line in table.splitlines() if f" {label} " in line)
    cells: list[Any] = line.strip("│┃ ").split("│")
    return str(cells[1]).strip()


def test_a_task_that_ends_early_tells_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    """Else the last line of a search that stopped before its last trial would be `0 of 90`."""
    clock = Clock()
    lines = Lines(clock=clock)
    told(lines, clock, [(0, "mipro", 0, 90), (1, "mipro", 37, 90), (2, "test after", 0, 3), (3, "test after", 3, 3)])
    lines.close()
    assert capsys.readouterr().err.splitlines()[-1] == "mipro: ended at 37 of 90"
    lines.close()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "says", "not_said"),
    [
        pytest.param(("ask", "hi", "--option", "tehta=.4"), "did you mean 'theta'?", "known: 'theta'", id="slip"),
        pytest.param(
            ("ask", "hi", "--option", "abstain_at_risk=0.1"), "needs the calibration", "did you mean", id="right name"
        ),
        pytest.param(("ask", "hi", "--option", "theta=1.4"), "error: `theta`: ", "LoopControls", id="class name"),
        pytest.param(
            ("ask", "hi", "--today", "notadate"), "such as 2026-11-30, got 'notadate'", "Value error", id="date"
        ),
        pytest.param(("evaluate", "--data", "passages.jsonl"), "give it with `--corpus`", "missing", id="passages"),
        pytest.param(("compile", "my-recipe.toml"), "`my-recipe.toml` does not exist", "pyproject", id="no recipe"),
        pytest.param(("compile", "bad.toml"), "`program_options.theta`: ", "LoopControls", id="field of a recipe"),
    ],
)
def test_a_slip_is_told_once_and_by_its_name(
    arguments: tuple[str, ...], says: str, not_said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors name what the user wrote, and suggest only what would work there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'mine'\n")
    (tmp_path / "bad.toml").write_text(
        "program = 'reflective'\nstrategy = 'controls'\n[program_options]\ntheta = 1.4\n"
        "[data]\ntrain = 'sample:train'\ndev = 'sample:dev'\n"
    )
    (tmp_path / "passages.jsonl").write_text('{"id": "a", "text": "Some text."}\n' * 12)
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stderr.count(says) == 1
    assert not_said not in done.stderr
    assert done.stderr.count("did you mean") <= 1


def test_a_name_of_an_emoji_in_a_text_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Passages, notes and the cells of tables come out word for word."""
    table = Table(title="of :smile:")
    table.add_column(":car:")
    table.add_row("a :warning: b")
    print_whole(table)
    out.print("the key :fire: is pressed", markup=False)
    note("the file :tea:.md is skipped")
    shown = capsys.readouterr()
    for text in ("of :smile:", ":car:", "a :warning: b", "the key :fire: is pressed"):
        assert text in shown.out
    assert "the file :tea:.md is skipped" in shown.err
