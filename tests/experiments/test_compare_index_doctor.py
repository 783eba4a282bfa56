"""`compare`, `index` and `doctor`."""

import json
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.experiments import measuring
from reflective_rag.programs import drivers
from reflective_rag.programs.drivers import run as run_steps
from tests.experiments.helpers import records, run, run_json, use_model, write_jsonl


@pytest.fixture
def data(workplace: Path) -> Path:
    """The facts as labelled questions."""
    return write_jsonl(workplace / "data.jsonl", records())


def test_systems_are_compared_on_the_same_questions(data: Path) -> None:
    """Each has the summary of `evaluate`; all but the first have paired differences to the first."""
    document = run_json("compare", "naive", "reflective", "--data", data)
    first, second = document["systems"]
    assert (document["baseline"], first["system"], second["system"]) == ("naive", "naive", "reflective")
    assert (document["n"], first["n"], second["n"]) == (6, 6, 6)
    assert first["differences"] == {}
    difference = second["differences"]["f1"]
    assert difference["mean"] == pytest.approx(second["f1"]["mean"] - first["f1"]["mean"])
    assert difference["n"] == 6
    assert second["differences"]["retrievals"]["mean"] >= 0


@pytest.mark.parametrize(
    ("during", "words", "said"),
    [
        pytest.param(
            "ReflectiveRAG", ["--out", "out"], ["1 of 2 systems", "naive.jsonl", "diagnose --rows"], id="one is done"
        ),
        pytest.param("NaiveRAG", ["--out", "out"], ["no system was done, so nothing was kept"], id="none is done"),
        pytest.param("ReflectiveRAG", [], ["nothing was kept", "`--out DIR`"], id="no folder"),
    ],
)
def test_an_interrupted_comparison_says_what_is_kept(
    during: str, words: list[str], said: list[str], data: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of each system that is done are in the folder, whole and readable; the last line says how to go on."""

    def interrupting(steps: Any, *args: Any) -> Any:
        if steps.__qualname__ == f"{during}.steps":
            raise KeyboardInterrupt
        return run_steps(steps, *args)

    monkeypatch.setattr(drivers, "run", interrupting)
    monkeypatch.setattr(measuring, "warm_up", lambda *args: None)  # asks a question of its own, once a process
    words = [str(workplace / word) if word == "out" else word for word in words]
    done = run("compare", "naive", "reflective", "--data", data, "--tracking", "off", *words)
    assert done.exit_code == 130
    assert done.stderr.splitlines()[-1].startswith("error: interrupted: ")
    assert all(text in done.stderr for text in said), done.stderr
    rows = sorted(path.name for path in workplace.glob("out/rows/*"))
    assert rows == (["naive.jsonl"] if during != "NaiveRAG" and words else [])
    if rows:
        assert run_json("diagnose", "--rows", workplace / "out" / "rows" / "naive.jsonl")["n"] == 6


def test_an_artefact_is_compared_by_its_folder(data: Path, workplace: Path) -> None:
    """Programs and artefacts stand side by side."""
    from tests.experiments.helpers import write_recipe

    run_json("compile", write_recipe(workplace), "--out", "art")
    done = run("compare", "reflective", "art", "--data", data)
    assert done.exit_code == 0
    for part in ("reflective (rules)", "art (rules)", "difference to reflective", "retrievals"):
        assert part in done.stdout


def test_a_missing_artefact_is_told_with_those_that_could_be_meant(data: Path, workplace: Path) -> None:
    """By `compare`, `evaluate` and `ask`: the folder that is missing, the nearest one, and all that lie there."""
    for name in ("demo-controls", "other"):
        (workplace / "artifacts" / name).mkdir(parents=True)
        (workplace / "artifacts" / name / "manifest.json").touch()
    (workplace / "artifacts" / "empty").mkdir()
    commands = (
        ("compare", "naive", "artifacts/demo-control", "--data", data),
        ("evaluate", "--artifact", "artifacts/demo-control", "--data", data),
        ("ask", "q?", "--artifact", "artifacts/demo-control"),
    )
    for command in commands:
        done = run(*command)
        assert done.exit_code == 2
        for part in (
            "the folder `artifacts/demo-control` does not exist",
            "did you mean 'artifacts/demo-controls'?",
            "artefacts here: `artifacts/demo-controls`, `artifacts/other`",
        ):
            assert part in done.stderr
        assert "empty" not in done.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("reflectiv", "the folder `reflectiv` does not exist; did you mean 'reflective'?"),
        ("data.jsonl", "`data.jsonl` is a file, and an artefact is a folder"),
        ("", "nor an artefact: the name is empty"),
        (".", "`.` is not a whole artefact: `manifest.json` is missing"),
    ],
    ids=["slip", "file", "empty", "folder"],
)
def test_what_is_no_system_says_why(data: Path, name: str, message: str) -> None:
    """A misspelt program, a file, nothing at all, a folder with something else in it."""
    done = run("compare", "naive", name, "--data", data)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_comparison_is_one_run_with_a_child_per_system(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parent says what was compared; each child holds its settings, its scores and its rows."""
    from tests.experiments.test_compile import FakeTracker

    tracker = FakeTracker()
    monkeypatch.setattr("reflective_rag.experiments.tracking.tracked", tracker)
    document = run_json("compare", "naive", "reflective", "--data", data)
    assert document["run_id"] == "run-1"
    assert tracker.arguments["params"]["systems"] == "naive, reflective"
    children = tracker.run.logged["children"]
    assert [child["name"] for child in children] == ["naive", "reflective"]
    assert "difference.f1" in children[1]["metrics"]
    assert len(children[1]["tables"]["rows"]) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["naive", "naive"], "each system can be compared once"),
        (["naive", "foo"], "'foo' is neither a program"),
        (["naive", "reflective", "--tracking", "sqlite:////proc/x/y.db"], "the MLflow store cannot be written"),
        (["naive", "--limit", "0"], "`limit` must be at least 1"),
    ],
)
def test_what_cannot_be_compared_is_one_error(data: Path, arguments: list[str], message: str) -> None:
    """Found before a question is asked."""
    done = run("compare", *arguments, "--data", data)
    assert done.exit_code == 2
    assert message in done.stderr


def test_an_index_is_made_and_kept_up(data: Path) -> None:
    """The report counts what is new; the same again changes nothing; `ask` searches it."""
    first = run_json("index", data, "--to", "local:idx")
    assert (first["added"], first["unchanged"], first["count"], first["mode"]) == (6, 0, 6, "keyword")
    more = write_jsonl(Path("more.jsonl"), [{"id": "n", "text": "Lise Meitner was born in Vienna in 1878."}])
    again = run_json("index", data, more, "--to", "local:idx")
    assert (again["added"], again["unchanged"], again["count"]) == (1, 6, 7)
    assert run_json("ask", "Where was Lise Meitner born?", "--corpus", "local:idx")["answer"] == "Vienna"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["empty.jsonl", "--to", "local:idx"], "`empty.jsonl` holds no records"),
        (["none.jsonl", "--to", "local:idx"], "no passages at all; there is nothing to index"),
        (["missing.jsonl", "--to", "local:idx"], "`missing.jsonl` does not exist"),
        (["sample", "--to", "idx"], "`--to idx` is no address; did you mean `local:idx`"),
        (["sample", "--to", "memory:"], "would be gone at once"),
        (["own", "--to", "local:idx"], "'own' cannot be indexed"),
        (["sample", "--to", "local:full"], "holds something else than an index"),
    ],
)
def test_what_cannot_be_indexed_is_one_error(workplace: Path, arguments: list[str], message: str) -> None:
    """No folder is left behind."""
    write_jsonl(workplace / "empty.jsonl", [])
    write_jsonl(workplace / "none.jsonl", [records(0, 1)[0] | {"passages": []}])
    Path("full").mkdir()
    Path("full/file").touch()
    done = run("index", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not Path("idx").exists()


def test_a_healthy_place(workplace: Path) -> None:
    """Everything is listed, and what is not set up is no problem."""
    document = run_json("doctor")
    status = {check["name"]: check["status"] for check in document["checks"]}
    assert document["ok"]
    assert (status["dspy"], status["bundled sample"], status["cache folder"]) == ("ok", "ok", "ok")
    assert (status["model"], status["tracking store"], status["embedder"]) == ("off", "off", "off")


def test_all_problems_are_told_at_once(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Model, store, cache and embedder each have their line, and the exit code is 1."""

    def down(request: object) -> str:
        raise ConnectionError("connection refused")

    use_model(monkeypatch, down)
    Path("file").touch()
    monkeypatch.setenv("RRAG_CACHE", str(workplace / "file" / "cache"))
    arguments = ("doctor", "--lm", "fake/model", "--tracking", "sqlite:////proc/x/y.db", "--embedder", "foo")
    done = run(*arguments, "--json")
    assert done.exit_code == 1
    found = {check["name"] for check in json.loads(done.stdout)["checks"] if check["status"] == "problem"}
    assert found == {"model", "tracking store", "cache folder", "embedder"}
    assert run(*arguments).stdout.count("PROBLEM") == 4
