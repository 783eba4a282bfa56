"""`inspect` and `diff`, and the compiled artefact that comes with the library."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest

from reflective_rag.data.records import load_sample, pool
from reflective_rag.data.retrieval import open_retriever
from reflective_rag.programs import ReflectiveRAG, load_program, result_of, save_program
from reflective_rag.programs.artefacts import read_manifest, set_calibration
from reflective_rag.programs.fingerprints import program_digest
from tests.experiments.helpers import run, run_json, write_recipe
from tests.fakes import chat_reply, fake_lm, prompt_text
from tests.programs.test_calibration import flat

SHIPPED = Path(__file__).resolve().parents[2] / "experiments" / "artefacts" / "sample-mipro"
SCORES = {"dev": {"after": {"n": 4, "f1": {"mean": 0.5, "low": 0.25, "high": 0.75, "n": 4}, "stop_reasons": {"x": 4}}}}
DATA = {"train": {"file": "训练.jsonl", "n": 4, "fingerprint": "0123456789abcdef"}}


def program(**options: Any) -> Any:
    """A program with an instruction and a demo of its own."""
    rag = ReflectiveRAG(mode="rules", repair=False, **options)
    rag.answer.signature = rag.answer.signature.with_instructions("Use the passages.\n只用段落回答。\nBe short.")
    rag.answer.demos = [dspy.Example(question="乔托生于何年？", passages="[1] …", answer="1267年", cited=[1])]
    return rag


@pytest.fixture
def saved(workplace: Path) -> Path:
    """An artefact with everything in it."""
    notes = {"recipe": "mine", "strategy": "mipro", "seed": 3}
    return save_program(program(theta=0.55), "old", model="fake/model", data=DATA, scores=SCORES, notes=notes)


def test_inspect_tells_everything(saved: Path) -> None:
    """Instructions, demos, settings, controls, scores, model and data; for people the same in words."""
    found = run_json("inspect", saved)
    assert found["predictors"]["answer"]["demos"][0]["answer"] == "1267年"
    assert found["predictors"]["answer"]["instructions"].startswith("Use the passages.\n只用段落")
    assert (found["model"], found["program"], found["loads"], found["calibration"]) == (
        "fake/model",
        "reflective",
        "",
        None,
    )
    assert found["controls"]["theta"] == 0.55
    assert found["made_by"] == {"recipe": "mine", "strategy": "mipro", "seed": 3}
    assert (found["data"], found["scores"]) == (DATA, SCORES)
    shown = run("inspect", saved).stdout
    for part in (
        "fake/model",
        "strategy mipro",
        "theta 0.55",
        "训练.jsonl, 4 questions",
        "0.500 [0.250, 0.750]",
        "1267年",
    ):
        assert part in shown
    assert "no probability" in shown
    assert "只用段落回答。" in shown


def test_what_is_cut_is_said_and_full_shows_it(workplace: Path) -> None:
    """A long instruction or demo ends with how much is missing and how to see it; `--full` cuts nothing."""
    long = "Use the passages.\n" + "x" * 400 + "\nthe end of it"
    rag = program()
    rag.answer.signature = rag.answer.signature.with_instructions(long)
    rag.answer.demos = [dspy.Example(question="Q", passages="y" * 400, answer="the last word", cited=[1])]
    save_program(rag, "long")
    save_program(program(), "short")
    for command in (("inspect", "long"), ("diff", "short", "long")):
        shown = run(*command).stdout
        assert re.search(r"… \d+ characters more; --full shows all", " ".join(shown.split()))
        full = run(*command, "--full").stdout
        assert "characters more" not in full
        assert "the end of it" in full
        assert "y" * 400 in full.replace("\n", "").replace(" ", "")
    assert "the end of it" not in run("inspect", "long").stdout


def test_a_difference_begins_with_what_matters(saved: Path) -> None:
    """Instructions, demos, settings, controls and scores, and only then data, signatures and versions."""
    rag = program(theta=0.8, k=3)
    rag.answer.signature = rag.answer.signature.with_instructions("Another.")
    rag.answer.demos = []
    scores = {"dev": {"after": {"f1": {"mean": 0.9, "low": 0.8, "high": 1.0, "n": 4}}}}
    save_program(rag, "new", model="fake/model", data={"train": DATA["train"] | {"n": 5}}, scores=scores)
    parts = list(run_json("diff", saved, "new")["differences"])
    assert parts[:5] == ["instructions", "demos", "settings", "controls", "scores"]
    assert parts[-1] == "data"
    shown = run("diff", saved, "new").stdout
    places = [
        shown.index(title) for title in ("instructions of answer", "demos of answer", "settings", "scores", "data")
    ]
    assert places == sorted(places)


def test_inspect_tells_of_a_calibration(saved: Path) -> None:
    """What it was fitted on."""
    set_calibration(saved, flat(0.7, program=program_digest(load_program(saved))))
    assert run_json("inspect", saved)["calibration"]["kind"]
    assert "calibration  " in run("inspect", saved).stdout


def test_inspect_says_why_an_artefact_does_not_load(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose signatures have changed since can still be read."""
    monkeypatch.setattr(
        "reflective_rag.programs.artefact_fit.program_fingerprints", lambda program: {"answer": "0" * 16}
    )
    assert "predictor `answer` has other fields" in run_json("inspect", saved)["loads"]
    assert "compile again" in run("inspect", saved).stdout


def test_an_old_format_is_told(workplace: Path) -> None:
    """As a note, on every command that reads one."""
    folder = SHIPPED.parents[2] / "tests" / "programs" / "artefacts" / "format-1"
    assert "format 1" in run_json("inspect", folder)["notes"][0]
    assert "format 1" in run("inspect", folder).stderr


def other_model(folder: Path) -> None:
    """The same, compiled with another model."""
    save_program(program(theta=0.55), folder, model="fake/other", data=DATA, scores=SCORES)


def other_controls(folder: Path) -> None:
    """Another θ, and another k."""
    save_program(program(theta=0.8, k=3), folder, model="fake/model", data=DATA, scores=SCORES)


def other_instructions(folder: Path) -> None:
    """One line of the instructions."""
    rag = program(theta=0.55)
    rag.answer.signature = rag.answer.signature.with_instructions("Use the passages.\n只用段落作答。\nBe short.")
    save_program(rag, folder, model="fake/model", data=DATA, scores=SCORES)


def other_demos(folder: Path) -> None:
    """One demo for another."""
    rag = program(theta=0.55)
    rag.answer.demos = [dspy.Example(question="When?", passages="[1] …", answer="1267", cited=[1])]
    save_program(rag, folder, model="fake/model", data=DATA, scores=SCORES)


def other_data(folder: Path) -> None:
    """Trained on other questions, with another score."""
    scores = {"dev": {"after": {"f1": {"mean": 0.9, "low": 0.8, "high": 1.0, "n": 4}}}}
    save_program(
        program(theta=0.55), folder, model="fake/model", data={"train": DATA["train"] | {"n": 5}}, scores=scores
    )


@pytest.mark.parametrize(
    ("make", "part", "said"),
    [
        pytest.param(other_model, ["model"], ["fake/other"], id="model"),
        pytest.param(other_controls, ["controls", "settings"], ["theta", "0.55", "0.8"], id="controls"),
        pytest.param(other_instructions, ["instructions"], ["-只用段落回答。", "+只用段落作答。"], id="instructions"),
        pytest.param(other_demos, ["demos"], ["+ question: When?", "- question: 乔托生于何年？"], id="demos"),
        pytest.param(other_data, ["data", "scores"], ["train.n", "0.900 [0.800, 1.000]"], id="data and scores"),
    ],
)
def test_diff_names_what_differs(
    make: Callable[[Path], None], part: list[str], said: list[str], saved: Path, workplace: Path
) -> None:
    """And nothing else; for people with the lines that changed."""
    make(workplace / "new")
    found = run_json("diff", saved, "new")
    changed = {name for name in found["differences"] if name != "made_by"}
    assert sorted(changed) == sorted(part)
    assert not found["same"]
    shown = run("diff", saved, "new").stdout
    for text in said:
        assert text in shown


def test_two_copies_do_not_differ(saved: Path) -> None:
    """The same artefact twice."""
    assert run_json("diff", saved, saved) == {"before": "old", "after": "old", "same": True, "differences": {}}
    assert "no difference" in run("diff", saved, saved).stdout


def test_seconds_are_no_difference(saved: Path) -> None:
    """Two compiles that did the same took other times."""
    for name, seconds in (("fast", 1.5), ("slow", 9.0)):
        scores = {"dev": {"after": {"n": 4, "seconds": seconds}}}
        save_program(program(theta=0.55), name, model="fake/model", data=DATA, scores=scores)
    found = run_json("diff", "fast", "slow")
    assert (found["same"], found["differences"]) == (True, {})


def test_artefacts_of_different_programs_are_compared_too(saved: Path, workplace: Path) -> None:
    """One is tuned, the other has a demo."""
    run_json("compile", write_recipe(workplace), "--out", "tuned")
    found = run_json("diff", saved, "tuned")["differences"]
    assert found["instructions"]["answer"]["after"].startswith("Answer the question")
    assert len(found["demos"]["answer"]["removed"]) == 1
    assert found["model"] == {"before": "fake/model", "after": "rules"}


@pytest.mark.parametrize("command", ["inspect", "diff"])
@pytest.mark.parametrize(
    ("folder", "said"), [("nowhere", "there is no artefact at `nowhere`"), ("empty", "`manifest.json` is missing")]
)
def test_what_is_no_artefact_is_one_error(command: str, folder: str, said: str, saved: Path, workplace: Path) -> None:
    """Exit code 2."""
    (workplace / "empty").mkdir()
    done = run(command, folder, *([saved] if command == "diff" else []))
    assert done.exit_code == 2
    assert said in done.stderr


def test_the_shipped_artefact_is_small_and_clean() -> None:
    """Two JSON files, under 50 kB, without a key, an address or a path of the machine that made it."""
    files = sorted(SHIPPED.iterdir())
    assert [path.name for path in files] == ["manifest.json", "program.json"]
    assert sum(path.stat().st_size for path in files) < 50_000
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    assert not re.search(r"sk-[A-Za-z0-9]{8}|api_key|https?://|/[r]oot/|/home/|/[w]ork/", text)
    assert read_manifest(SHIPPED).note == ""


def test_the_shipped_artefact_loads_and_answers() -> None:
    """On the sample's passages: its demos and its instruction are in the prompt."""
    manifest = read_manifest(SHIPPED)
    asked: list[str] = []

    def reply(request: Any) -> str:
        asked.append(prompt_text(request))
        return chat_reply(answer="Lake Baikal", cited=[1])

    passages = pool(load_sample("test"))
    with open_retriever("memory:", embedder="none") as search, dspy.context(lm=fake_lm(reply)):
        search.add(passages)
        program: Any = load_program(SHIPPED, search)
        result = result_of(program(question="Which lake is deeper, Lake Baikal or Lake Tanganyika?"))
    assert result.answer == "Lake Baikal"
    assert manifest.notes["chosen"]["instructions"]["answer"] in asked[0]
    assert program.answer.demos
    assert all(demo["question"] in asked[0] for demo in program.answer.demos)


def test_the_shipped_artefact_answers_on_the_command_line(workplace: Path) -> None:
    """Without a model on rules, and the note says so."""
    question = "Which lake is deeper, Lake Baikal or Lake Tanganyika?"
    document = run_json("ask", question, "--artifact", SHIPPED, "--lm", "rules")
    assert document["answer"] == "Lake Baikal"
    assert "it runs on rules" in document["notes"][0]
    assert json.loads((SHIPPED / "manifest.json").read_text(encoding="utf-8"))["notes"]["recipe"] == "sample-mipro"
