"""A compile that goes on from an artefact: stages one on top of the other."""

import shutil
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
    shown = " ".join(run("inspect", "second").stdout.split())
    assert "goes on from first" in shown
    assert run_json("inspect", "second")["made_by"]["started_from"] == "first"
    changed = run_json("diff", "first", "second")["differences"]["made_by"]["started_from"]
    assert changed == {"before": None, "after": "first"}
    assert "started_from" in run("diff", "first", "second").stdout


def test_the_plan_says_what_it_goes_on_from(first: Path) -> None:
    """Already a dry run does; a compile from a fresh program has no such line."""
    shown = run("compile", _next(first, strategy="none"), "--dry-run", "--lm", "x/y").stdout
    assert f"goes on from {first / 'first'}" in " ".join(shown.split())
    assert "goes on" not in run("compile", write_recipe(first, strategy="none"), "--dry-run", "--lm", "rules").stdout


def test_options_of_the_recipe_win_over_the_artefacts(first: Path) -> None:
    """As `--option` does beside `--artifact`."""
    run_json("compile", _next(first, strategy="none", program_options={"k": 7}), "--out", "second", "--lm", "x/y")
    assert load_program("second").settings.k == 7


def test_its_path_is_looked_for_from_the_recipes_folder(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the command runs, as with every path of a recipe; `~` is the user's home."""
    recipe = _next(first, strategy="none")
    (first / "elsewhere").mkdir()
    monkeypatch.chdir(first / "elsewhere")
    assert run_json("compile", recipe, "--dry-run", "--lm", "x/y")["started_from"] == str(first / "first")
    monkeypatch.setenv("HOME", str(first))
    recipe = _next(first, strategy="none", artifact="~/first")
    assert run_json("compile", recipe, "--dry-run", "--lm", "x/y")["started_from"] == str(first / "first")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"artifact": "gone"}, "gone` does not exist", id="missing"),
        pytest.param({"artifact": "gone"}, "`artifact` of the recipe: there is no artefact", id="missing: which key"),
        pytest.param({"artifact": "gone"}, "from the recipe's own folder", id="missing: from where"),
        pytest.param({"artifact": ""}, "`artifact` is empty; leave it out", id="empty"),
        pytest.param({"artifact": "recipe.toml"}, "is a file, and an artefact is a folder", id="a-file"),
        pytest.param({"artifact": "hollow"}, "`manifest.json` is missing", id="an-empty-folder"),
        pytest.param({"artifact": "newer"}, "written by a newer reflective-rag", id="newer"),
        pytest.param({"artifact": "cut"}, "is damaged", id="damaged"),
        pytest.param({"artifact": "foreign"}, "it is no manifest of an artefact", id="foreign"),
        pytest.param({"artifact": "models:/x@y"}, "`artifact` of the recipe: there is no MLflow store", id="no-store"),
        pytest.param({"program": "naive"}, "is 'naive', but", id="another-program"),
    ],
)
def test_what_cannot_be_started_from_is_told(first: Path, changes: dict[str, Any], said: str) -> None:
    """Before a model is asked, with the key of the recipe."""
    shutil.copytree("first", "newer")
    manifest = Path("newer/manifest.json")
    manifest.write_text(manifest.read_text("utf-8").replace('"schema_version": 2', '"schema_version": 9'), "utf-8")
    shutil.copytree("first", "cut")
    Path("cut/program.json").write_bytes(Path("first/program.json").read_bytes()[:40])
    Path("hollow").mkdir()
    Path("foreign").mkdir()
    for name in ("manifest.json", "program.json"):
        Path("foreign", name).write_text('{"x": 1}', "utf-8")
    done = run("compile", _next(first, **{"strategy": "none", **changes}), "--lm", "x/y")
    assert (done.exit_code, said in " ".join(done.stderr.split())) == (2, True)


def test_the_run_names_the_artefact_without_its_place(first: Path) -> None:
    """As with the corpus, no path of this machine gets into the store."""
    tracker = FakeTracker()
    recipe = load_recipe(_next(first, strategy="none"))
    run_compile(recipe, model=RULES, out=first / "second", tracker=tracker)
    assert tracker.arguments["params"]["artifact"] == "first"
