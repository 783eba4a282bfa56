"""Every program of the registry by its name on the command line, with a model and without one."""

from pathlib import Path

import pytest

from reflective_rag.programs import PROGRAMS
from tests.experiments.helpers import records, run, run_json, use_model, write_jsonl
from tests.fakes import FakeLM
from tests.programs.systems import good

ON_RULES = sorted(name for name, cls in PROGRAMS.items() if not cls.needs_model)
NEED_MODEL = sorted(set(PROGRAMS) - set(ON_RULES))


@pytest.fixture
def data(workplace: Path) -> Path:
    """The facts as labelled questions."""
    return write_jsonl(workplace / "data.jsonl", records())


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FakeLM:
    """A model that plays every part."""
    return use_model(monkeypatch, good)


@pytest.mark.parametrize("name", ON_RULES)
def test_what_runs_on_rules_is_evaluated_on_rules(name: str, data: Path) -> None:
    """Without a model, every question answered, nothing failed."""
    document = run_json("evaluate", "--program", name, "--data", data, "--lm", "rules")
    assert (document["program"], document["lm"], document["n"], document["failed"]) == (name, "rules", 6, 0)


@pytest.mark.parametrize("command", ["ask", "evaluate"])
@pytest.mark.parametrize("name", NEED_MODEL)
def test_what_needs_a_model_is_not_imitated(name: str, command: str, data: Path) -> None:
    """One clear line before anything is indexed."""
    what = ["Where was Marie Curie born?"] if command == "ask" else ["--data", data]
    done = run(command, *what, "--program", name, "--lm", "rules")
    assert done.exit_code == 2
    assert f"`{name}` is n/a on rules" in done.stderr
    assert "Traceback" not in done.stderr


def test_compare_reports_what_cannot_run_as_not_available(data: Path) -> None:
    """Beside those that can; `k` goes to those that search."""
    names = ["naive", *(name for name in sorted(PROGRAMS) if name != "naive")]
    document = run_json("compare", *names, "--data", data, "--lm", "rules", "--k", "2", "--tracking", "off")
    by_name = {each["system"]: each for each in document["systems"]}
    assert list(by_name) == names
    assert {name for name, each in by_name.items() if "not_available" in each} == set(NEED_MODEL)
    assert all(by_name[name]["n"] == 6 for name in ON_RULES)
    assert all(by_name[name]["n"] == 0 for name in NEED_MODEL)
    shown = run("compare", "naive", "react", "--data", data, "--lm", "rules", "--tracking", "off")
    assert "react: n/a (`react` is n/a on rules" in shown.stdout
    assert "n/a" not in shown.stderr


def test_a_baseline_that_cannot_run_is_refused(data: Path) -> None:
    """There would be nothing to compare with."""
    done = run("compare", "react", "naive", "--data", data, "--lm", "rules", "--tracking", "off")
    assert done.exit_code == 2
    assert "the baseline `react` is n/a on rules" in done.stderr


@pytest.mark.parametrize("name", NEED_MODEL)
def test_with_a_model_they_are_asked_by_name(name: str, data: Path, model: FakeLM) -> None:
    """`ask` prints the answer of each program that needs a model."""
    document = run_json("ask", "Where was Marie Curie born?", "--program", name, "--corpus", data, "--lm", "fake/model")
    assert (document["program"], document["lm"]) == (name, "fake/model")
    assert model.engine.calls
