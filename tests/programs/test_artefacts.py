"""Artefacts: whole or not there, JSON only, checked before they are used, loadable by another process."""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import dspy
import pytest

from reflective_rag.programs import (
    LoopControls,
    NaiveRAG,
    ReflectiveRAG,
    Weights,
    artefact_files,
    load_program,
    save_program,
)
from reflective_rag.programs.artefact_manifest import seals_of
from reflective_rag.programs.artefacts import ARTEFACT_VERSION, read_manifest, set_calibration
from reflective_rag.programs.fingerprints import program_fingerprints
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.fakes import chat_reply, fake_lm

KEY = "s" + "k-artefact-secret-0123456789"


def search(query: str, k: int) -> list[str]:
    """One passage."""
    return ["Giotto was born in 1267.", "乔托出生于1267年。"][:k]


def tuned() -> ReflectiveRAG:
    """A program that differs from the default in every part that an artefact keeps."""
    rag = ReflectiveRAG(
        search, theta=0.55, patience=3, weights=Weights(coverage=1.0), k=7, repair=False, budget={"lm_calls": 9}
    )
    rag.answer.demos = [dspy.Example(question="乔托生于何年？", passages="[1] 乔托…", answer="1267年", cited=[1])]
    rag.answer.signature = rag.answer.signature.with_instructions("只用段落回答。")
    rag.set_lm(dspy.LM("openai/some-model", api_key=KEY, api_base="http://localhost:1/v1"))
    return rag


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A saved artefact."""
    return save_program(
        tuned(),
        tmp_path / "artefact",
        model="openai/some-model",
        data={"train": "abc"},
        scores={"f1": 0.5},
        notes={"n": 1},
    )


def test_a_program_comes_back_field_by_field(folder: Path) -> None:
    """Settings, controls, instructions and demos survive; the model does not, an artefact configures none."""
    rag, loaded = tuned(), load_program(folder, search)
    assert isinstance(loaded, ReflectiveRAG)
    assert loaded.settings == rag.settings
    assert loaded.controls.values == rag.controls.values
    assert loaded.answer.signature.instructions == "只用段落回答。"
    assert [dict(d) for d in loaded.answer.demos] == [dict(d) for d in rag.answer.demos]
    assert loaded.predictors()[0].lm is None
    again = save_program(loaded, folder.parent / "again")
    assert (again / "program.json").read_bytes() == (folder / "program.json").read_bytes()


def test_the_manifest_says_what_it_is(folder: Path) -> None:
    """Program, model name, data, scores, notes, versions, and a fingerprint for each predictor."""
    manifest = read_manifest(folder)
    assert (manifest.program, manifest.model, manifest.schema_version) == (
        "reflective",
        "openai/some-model",
        ARTEFACT_VERSION,
    )
    assert (manifest.data, manifest.scores, manifest.notes) == ({"train": "abc"}, {"f1": 0.5}, {"n": 1})
    assert set(manifest.signatures) == {name for name, _ in tuned().named_predictors()}
    assert manifest.versions["dspy"] == dspy.__version__
    assert sorted(p.name for p in folder.parent.iterdir()) == ["artefact"]


def test_no_key_and_no_address_is_written(folder: Path) -> None:
    """A model with a key and an address leaves only its name."""
    text = "".join(p.read_text(encoding="utf-8") for p in folder.iterdir())
    assert KEY not in text
    assert "localhost" not in text


def test_chinese_stays_readable(folder: Path) -> None:
    """Demos are written as UTF-8, not as escapes, so that a person can review them."""
    assert "乔托生于何年？" in (folder / "program.json").read_text(encoding="utf-8")


def test_options_of_the_app_win(folder: Path) -> None:
    """The app that loads an artefact sets its own budget and date."""
    loaded = load_program(folder, search, budget={"lm_calls": 1}, today=date(2020, 1, 1))
    assert (loaded.settings.budget.lm_calls, loaded.settings.k, loaded.today) == (1, 7, date(2020, 1, 1))


@pytest.mark.parametrize(
    ("options", "theta", "patience"),
    [
        pytest.param({}, 0.55, 3, id="the artefact's own"),
        pytest.param({"theta": 0.9}, 0.9, 3, id="θ"),
        pytest.param({"theta": 0.2, "patience": 1}, 0.2, 1, id="θ and patience"),
    ],
)
def test_controls_of_the_app_win(options: dict[str, Any], theta: float, patience: int, folder: Path) -> None:
    """A control that the app names takes effect, for the assessor too; the tuned ones beside it stay."""
    loaded: Any = load_program(folder, search, **options)
    assert (loaded.controls.values.theta, loaded.controls.values.patience) == (theta, patience)
    assert loaded.controls.values.weights == tuned().controls.values.weights
    assert loaded.assessor.controls.values == loaded.controls.values


def test_a_control_of_the_app_changes_where_the_loop_stops(tmp_path: Path) -> None:
    """`max_rounds=1` ends it where the artefact's own setting has the loop search again."""
    folder = save_program(ReflectiveRAG(mode="rules", max_rounds=3), tmp_path / "patient")
    rounds = []
    changes: list[dict[str, Any]] = [{}, {"max_rounds": 1}]
    for options in changes:
        texts = ["Giotto was a painter.", "Giotto was a pupil of Cimabue.", "Giotto was born in 1267."]
        rag = load_program(folder, lambda query, k, texts=texts: [texts.pop(0)] if texts else [], **options)
        rounds.append(len(rag(question="When was Giotto born?").rounds))
    assert rounds[0] > rounds[1] == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param({"mode": "fused"}, "`mode` cannot be changed on an artefact", id="mode"),
        pytest.param({"mode": "paired"}, "`mode` cannot be changed on an artefact", id="its own mode"),
        pytest.param({"preset": "critical"}, "`preset` cannot be changed on an artefact", id="preset"),
        pytest.param({"repair": True, "critics": {"support": "lm"}}, "`critics`, `repair` cannot", id="two at once"),
        pytest.param({"theta": 1.5}, "`theta`.*got 1.5", id="θ out of range"),
        pytest.param({"k": 0}, "`k`.*got 0", id="k out of range"),
        pytest.param({"tetha": 0.5}, "unknown option 'tetha'", id="misspelt"),
    ],
)
def test_an_option_that_an_artefact_cannot_take_is_the_callers_mistake(
    options: dict[str, Any], said: str, folder: Path
) -> None:
    """What decides the predictors is fixed by the compile; a bad value is told as for a new program."""
    with pytest.raises(ConfigError, match=said):
        load_program(folder, search, **options)


def edit(folder: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """Change manifest and state, and make digest and seals fit again: damage that a checksum does not show."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    state = json.loads((folder / "program.json").read_text(encoding="utf-8"))
    change(manifest, state)
    text = json.dumps(state, ensure_ascii=False)
    manifest["digest"] = hashlib.sha256(text.encode()).hexdigest()
    manifest["seals"] = seals_of(manifest)
    (folder / "program.json").write_text(text, encoding="utf-8")
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def cut(name: str) -> Callable[[Path], None]:
    """Half of a file."""

    def damage(folder: Path) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: len(data) // 2])

    return damage


def overwrite(name: str, data: bytes) -> Callable[[Path], Any]:
    """Another content."""
    return lambda folder: (folder / name).write_bytes(data)


def set_manifest(**change: Any) -> Callable[[Path], None]:
    """Other values in the manifest."""
    return lambda folder: edit(folder, lambda manifest, state: manifest.update(change))


def set_controls(**change: Any) -> Callable[[Path], None]:
    """Other values in the saved controls."""
    return lambda folder: edit(folder, lambda manifest, state: state["controls"].update(change))


def rename_signature(folder: Path) -> None:
    """As if a field of a signature had changed since the compile."""
    edit(folder, lambda manifest, state: manifest["signatures"].update(answer="0" * 16))


def drop(part: str) -> Callable[[Path], None]:
    """A part of the state is gone."""
    return lambda folder: edit(folder, lambda manifest, state: state.pop(part) and None)


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        pytest.param(cut("program.json"), "`.*program.json` is damaged", id="state cut in half"),
        pytest.param(cut("manifest.json"), "`.*manifest.json` is damaged", id="manifest cut in half"),
        pytest.param(overwrite("program.json", b""), "program.json` is damaged", id="empty state"),
        pytest.param(overwrite("manifest.json", b"[1]"), "expected a JSON object, got list", id="manifest is a list"),
        pytest.param(overwrite("manifest.json", b"\xff\xfe\x00"), "not valid JSON", id="manifest is binary"),
        pytest.param(overwrite("manifest.json", b"hello"), "not valid JSON", id="manifest is prose"),
        pytest.param(overwrite("manifest.json", b"{}"), "`schema_version`", id="manifest is empty"),
        pytest.param(lambda f: (f / "program.json").unlink(), "`program.json` is missing", id="state missing"),
        pytest.param(lambda f: (f / "manifest.json").unlink(), "`manifest.json` is missing", id="manifest missing"),
        pytest.param(set_manifest(schema_version=99), "`schema_version`.*got 99.*upgrade", id="newer schema"),
        pytest.param(set_manifest(schema_version="1"), "`schema_version`", id="schema as text"),
        pytest.param(set_manifest(program="naive"), "`k`|predictor|`theta`|`repair`", id="another program"),
        pytest.param(set_manifest(program="magic"), "unknown program 'magic'", id="unknown program"),
        pytest.param(set_manifest(settings={"kk": 5}), "settings.*'kk'", id="unknown setting"),
        pytest.param(set_manifest(settings={"k": 0}), "settings.*`k`", id="setting out of range"),
        pytest.param(set_manifest(settings={"mode": "fused"}), "predictor", id="settings of another mode"),
        pytest.param(set_manifest(settings={"search": 1}), "settings.*search", id="a setting that is none"),
        pytest.param(set_manifest(settings=[1]), "`settings`", id="settings as a list"),
        pytest.param(set_manifest(surprise=1), "`surprise` is unknown", id="unknown key"),
        pytest.param(rename_signature, "predictor `answer` has other fields", id="changed signature"),
        pytest.param(set_controls(theta=1.5), "`theta`.*got 1.5", id="θ out of range"),
        pytest.param(set_controls(thetta=0.5), "`thetta` is unknown", id="unknown control"),
        pytest.param(drop("controls"), "differing: controls", id="controls gone"),
        pytest.param(drop("answer"), "differing: answer", id="predictor gone"),
        pytest.param(
            lambda f: edit(f, lambda m, s: s["answer"].update(demos="x")), "`answer.demos`.*'x'", id="demos are no list"
        ),
        pytest.param(
            lambda f: edit(f, lambda m, s: s["answer"].pop("signature")), "program.json", id="instructions gone"
        ),
    ],
)
def test_a_damaged_artefact_is_one_clear_error(damage: Callable[[Path], None], named: str, folder: Path) -> None:
    """Whatever is wrong with it, loading names the file or the field and nothing else happens."""
    damage(folder)
    with pytest.raises(DataError, match=named):
        load_program(folder, search)


@pytest.mark.parametrize("share", [0.1, 0.35, 0.6, 0.9])
@pytest.mark.parametrize("bit", [0, 3, 6])
def test_a_flipped_bit_is_found(share: float, bit: int, folder: Path) -> None:
    """The digest covers every byte of the state."""
    file = folder / "program.json"
    data = bytearray(file.read_bytes())
    data[int(len(data) * share)] ^= 1 << bit
    file.write_bytes(bytes(data))
    with pytest.raises(DataError, match=r"program\.json` is damaged"):
        load_program(folder, search)


@pytest.mark.parametrize("name", ["missing", "file"])
def test_what_is_no_folder_is_no_artefact(name: str, tmp_path: Path) -> None:
    """A path that leads nowhere, or to a file, says how to make an artefact."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match=r"there is no artefact at .*compile"):
        load_program(tmp_path / name)


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", ["fsync", "first rename", "second rename"])
def test_a_killed_writer_leaves_the_old_artefact(step: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a write is interrupted, the old artefact is whole, and nothing else is left in the folder above.

    Here on a system that cannot exchange two folders in one step.
    """
    monkeypatch.setattr(artefact_files, "exchange", lambda a, b: False)
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    real, seen = Path.rename, []

    def rename(source: Path, target: Path) -> Path:
        seen.append(source)
        if len(seen) == {"first rename": 1, "second rename": 2}.get(step):
            raise Killed
        return real(source, target)

    def fsync(descriptor: int) -> None:
        if step == "fsync":
            raise Killed

    monkeypatch.setattr(Path, "rename", rename)
    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(Killed):
        save_program(NaiveRAG(search), folder)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    assert [p.name for p in folder.parent.iterdir()] == [folder.name]
    assert isinstance(load_program(folder, search), ReflectiveRAG)


def test_a_new_artefact_replaces_the_old_one(folder: Path) -> None:
    """Saving to the place of an artefact leaves the new one alone there."""
    save_program(NaiveRAG(search, k=3), folder)
    assert isinstance(load_program(folder, search), NaiveRAG)
    assert sorted(p.name for p in folder.parent.iterdir()) == ["artefact"]


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_no_artefact_is_not_overwritten(kind: str, tmp_path: Path) -> None:
    """A folder with the user's own files, or a file, is never replaced."""
    target = tmp_path / "mine"
    if kind == "folder":
        target.mkdir()
    own = target / "thesis.txt" if kind == "folder" else target
    own.write_text("years of work")
    with pytest.raises(ConfigError, match="is not an artefact"):
        save_program(tuned(), target)
    assert own.read_text() == "years of work"


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    """A folder made beforehand, by a script say, is used."""
    (tmp_path / "deep" / "new").mkdir(parents=True)
    assert load_program(save_program(tuned(), tmp_path / "deep" / "new"), search).name == "reflective"


def test_a_place_that_cannot_be_written_is_a_data_error(tmp_path: Path) -> None:
    """A path below a file cannot be made into a folder."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="cannot be written"):
        save_program(tuned(), tmp_path / "file" / "artefact")


def test_loading_never_unpickles(folder: Path) -> None:
    """An artefact holds two JSON files and nothing that could run."""
    assert sorted(p.name for p in folder.iterdir()) == ["manifest.json", "program.json"]
    assert all(isinstance(json.loads(p.read_bytes()), dict) for p in folder.iterdir())


def test_another_process_loads_it_and_answers(folder: Path) -> None:
    """A fresh interpreter gives the tuned θ, the Chinese demo and the answer."""
    script = (
        "import sys, json\n"
        "from reflective_rag.programs import load_program\n"
        "rag = load_program(sys.argv[1], search=lambda q, k: ['Giotto was born in 1267.'])\n"
        "result = rag(question='When was Giotto born?')\n"
        "print(json.dumps([rag.controls.values.theta, rag.answer.demos[0]['answer'], result.answer]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [0.55, "1267年", "1267"]


def test_a_loaded_program_answers_as_the_saved_one(folder: Path) -> None:
    """The prompt of the loaded program is the same to the letter, demos and instructions included."""
    prompts = []
    for program in (tuned(), load_program(folder, search)):
        lm = fake_lm(lambda request: chat_reply(answer="1267", cited=[1]))
        program.set_lm(lm)
        program(question="When was Giotto born?")
        prompts.append(sorted(repr((r.system, r.messages)) for r in lm.engine.requests))
    assert prompts[0] == prompts[1] != []


def test_controls_out_of_the_box_are_the_default(tmp_path: Path) -> None:
    """An untouched program saves and loads as itself."""
    loaded = load_program(save_program(ReflectiveRAG(search), tmp_path / "a"), search)
    assert loaded.controls.values == LoopControls()


FORMAT_1 = Path(__file__).parent / "artefacts" / "format-1"
"""Written by the version before seals: mode `fused`, θ .55, a Chinese demo."""


@pytest.fixture
def old_format(tmp_path: Path) -> Path:
    """A copy of the artefact of format 1, with the fingerprints of today's signatures."""
    folder = Path(shutil.copytree(FORMAT_1, tmp_path / "old"))
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["signatures"] = program_fingerprints(ReflectiveRAG(mode="fused", repair=False))
    path.write_text(json.dumps(manifest, ensure_ascii=False), encoding="utf-8")
    return folder


def test_an_artefact_of_the_format_before_is_read_with_a_note(old_format: Path) -> None:
    """Settings, controls and demos come back, its files stay as they are, and the manifest says how old it is."""
    before = {path.name: path.read_bytes() for path in old_format.iterdir()}
    loaded: Any = load_program(old_format, search)
    assert (loaded.controls.values.theta, loaded.settings.k) == (0.55, 7)
    assert loaded.assess_and_answer.demos[0]["answer"] == "1267年"
    assert "format 1" in read_manifest(old_format).note
    assert {path.name: path.read_bytes() for path in old_format.iterdir()} == before


def test_saving_an_old_artefact_again_brings_it_up_to_date(old_format: Path, tmp_path: Path) -> None:
    """The new one has the present format, seals and no note, and holds the same state."""
    again = save_program(load_program(old_format, search), tmp_path / "again")
    manifest = read_manifest(again)
    assert (manifest.schema_version, manifest.note) == (ARTEFACT_VERSION, "")
    assert manifest.seals
    assert (again / "program.json").read_bytes() == (old_format / "program.json").read_bytes()


def test_a_calibration_brings_the_manifest_up_to_date(old_format: Path) -> None:
    """What changes a manifest writes it in the present format."""
    set_calibration(old_format, None)
    assert (read_manifest(old_format).schema_version, read_manifest(old_format).note) == (ARTEFACT_VERSION, "")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("scores", {"f1": 0.9}, id="scores"),
        pytest.param("settings", {"k": 8}, id="settings"),
        pytest.param("model", "openai/another", id="model"),
        pytest.param("notes", {}, id="notes"),
        pytest.param("versions", {"dspy": "9"}, id="versions"),
    ],
)
def test_a_manifest_that_was_changed_names_the_field(field: str, value: Any, folder: Path) -> None:
    """A valid value that is not the one that was written is found too."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(manifest | {field: value}), encoding="utf-8")
    with pytest.raises(DataError, match=rf"manifest\.json` is damaged: `{field}` is not as it was written"):
        load_program(folder, search)


def test_every_byte_of_a_manifest_is_covered(folder: Path) -> None:
    """A flipped bit anywhere is an error, or does not change what the manifest says."""
    path = folder / "manifest.json"
    data, whole = path.read_bytes(), read_manifest(folder)
    unnoticed = []
    for place in range(0, len(data), 7):
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        with contextlib.suppress(DataError):
            if read_manifest(folder) != whole:
                unnoticed.append(place)
    assert unnoticed == []


def test_line_ends_that_git_has_changed_do_no_harm(folder: Path) -> None:
    """A checkout with CRLF loads."""
    for path in list(folder.iterdir()):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert load_program(folder, search).name == "reflective"


def test_half_a_character_in_a_demo_survives(tmp_path: Path) -> None:
    """Models do write lone surrogates; the files are valid UTF-8 all the same."""
    rag = ReflectiveRAG(search)
    rag.answer.demos = [dspy.Example(question="q \ud83d", passages="p", answer="a", cited=[1])]
    folder = save_program(rag, tmp_path / "a", notes={"said": "\ud83d"})
    assert "\\ud83d" in (folder / "program.json").read_text(encoding="utf-8")
    loaded: Any = load_program(folder, search)
    assert loaded.answer.demos[0]["question"] == "q \ud83d"


def test_a_folder_that_is_away_for_a_moment_is_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its look at the folder and the next one a reader may have missed all of a replacement in two steps."""
    away = folder.rename(folder.parent / "elsewhere")
    monkeypatch.setattr(time, "sleep", lambda seconds: away.exists() and away.rename(folder))
    assert load_program(folder, search).name == "reflective"


def test_of_two_writers_in_two_steps_the_faster_does_not_stop_the_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process puts its artefact there while the old one has stepped aside: ours follows, nothing is left."""
    others = save_program(NaiveRAG(search), folder.parent / "others")
    monkeypatch.setattr(artefact_files, "exchange", lambda a, b: False)
    real, seen = Path.rename, []

    def rename(source: Path, target: Path) -> Path:
        seen.append(source)
        if len(seen) == 2:
            real(others, folder)
        return real(source, target)

    monkeypatch.setattr(Path, "rename", rename)
    save_program(ReflectiveRAG(search, k=9), folder)
    assert load_program(folder, search).settings.k == 9
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


@pytest.mark.parametrize("in_one_step", [True, False], ids=["exchange", "two renames"])
def test_reading_while_others_write_sees_one_or_the_other(
    in_one_step: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes save different programs to one place without a pause; a reader always gets one of them, whole."""
    if not in_one_step:
        monkeypatch.setattr(artefact_files, "exchange", lambda a, b: False)
    target = tmp_path / "shared"
    programs = [ReflectiveRAG(search, theta=theta, k=k) for theta, k in ((0.3, 3), (0.8, 8))]
    save_program(programs[0], target)
    stop = threading.Event()
    failures: list[BaseException] = []

    def write(program: ReflectiveRAG) -> None:
        try:
            while not stop.is_set():
                save_program(program, target)
        except BaseException as error:  # noqa: BLE001 - told below, in the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=write, args=(program,)) for program in programs]
    for thread in threads:
        thread.start()
    seen = set()
    try:
        for _ in range(40):
            loaded: Any = load_program(target, search)
            seen.add((loaded.controls.values.theta, loaded.settings.k))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert seen <= {(0.3, 3), (0.8, 8)}
    assert [path.name for path in tmp_path.iterdir()] == ["shared"]


def test_an_artefact_behind_a_link_is_replaced_where_it_lies(tmp_path: Path) -> None:
    """The link stays one, nothing is left beside it, and whoever reads the folder itself sees the new program."""
    real, link = tmp_path / "vol" / "art", tmp_path / "art"
    save_program(ReflectiveRAG(theta=0.1), real)
    link.symlink_to(real)
    save_program(ReflectiveRAG(theta=0.9), link)
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["art", "vol"]
    assert all(load_program(each).controls.values.theta == 0.9 for each in (real, link))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("dangling", "which does not exist; remove the link", id="a link to nothing"),
        pytest.param("n" * 300, "File name too long", id="too long"),
        pytest.param("a\0b", "null", id="NUL"),
    ],
)
def test_a_name_that_no_folder_can_have_is_told(tmp_path: Path, name: str, said: str) -> None:
    """One clear error that says what is wrong, not that an artefact is there."""
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DataError, match=said):
        save_program(ReflectiveRAG(), tmp_path / name)
