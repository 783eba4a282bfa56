"""A compile that goes on from an artefact: stages one on top of the other."""

from pathlib import Path
from typing import Any

import pytest

from reflective_rag.experiments.compiling import run_compile
from reflective_rag.experiments.recipes import load_recipe
from reflective_rag.programs.artefacts import load_program, read_manifest
from tests.experiments.helpers import run, run_json, use_model, write_recipe
from tests.experiments.test_compile import RULES, FakeTracker


@pytest.fixture
def first(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An artefact with demos, made by `bootstrap`."""
    use_model(monkeypatch)
    recipe = write_recipe(
        workplace, strategy="bootstrap", program_options={"mode": "rules", "repair": False}, metric_options={}
    )
    run_json("compile", recipe, "--out", "first", "--lm", "x/y")
    return workplace


def _next(folder: Path, **changes: Any) -> Path:
    return write_recipe(folder, **{"artifact": "first", "program_options": {}, **changes})


def test_the_next_stage_keeps_what_the_first_has_learnt(first: Path) -> None:
    """Controls are tuned over a program with its demos; the new artefact has both, and says where it comes from."""
    demos = {name: each.demos for name, each in load_program("first").named_predictors()}
    assert demos["answer"]
    document = run_json("compile", _next(first, strategy="controls"), "--out", "second", "--lm", "x/y")
    second = load_program("second")
    assert {name: each.demos for name, each in second.named_predictors()} == demos
    assert (document["program"], second.settings.mode) == ("reflective", "rules")
    assert document["started_from"].endswith("first")
    assert read_manifest("second").notes["started_from"] == "first"


def test_options_of_the_recipe_win_over_the_artefacts(first: Path) -> None:
    """As `--option` does beside `--artifact`."""
    run_json("compile", _next(first, strategy="none", program_options={"k": 7}), "--out", "second", "--lm", "x/y")
    assert load_program("second").settings.k == 7


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"artifact": "gone"}, "gone` does not exist", id="missing"),
        pytest.param({"program": "naive"}, "is 'naive', but", id="another-program"),
    ],
)
def test_what_cannot_be_started_from_is_told(first: Path, changes: dict[str, Any], said: str) -> None:
    """Before a model is asked."""
    done = run("compile", _next(first, **{"strategy": "none", **changes}), "--lm", "x/y")
    assert (done.exit_code, said in " ".join(done.stderr.split())) == (2, True)


def test_the_run_names_the_artefact_without_its_place(first: Path) -> None:
    """As with the corpus, no path of this machine gets into the store."""
    tracker = FakeTracker()
    recipe = load_recipe(_next(first, strategy="none"))
    run_compile(recipe, model=RULES, out=first / "second", tracker=tracker)
    assert tracker.arguments["params"]["artifact"] == "first"
