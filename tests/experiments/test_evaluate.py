"""`reflective-rag evaluate` and its file of rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.experiments.rows import RowFile
from reflective_rag.optimizers.evaluation import Row
from reflective_rag.signatures.errors import DataError
from tests.experiments.helpers import FACTS, records, run, run_json, use_model, write_jsonl, write_recipe

CONTRACT = {
    "program",
    "data",
    "lm",
    "n",
    "failed",
    "unparsed",
    "em",
    "f1",
    "containment",
    "recall",
    "tokens_per_question",
    "lm_calls_per_question",
    "retrievals_per_question",
    "stop_reasons",
    "seconds",
}
"""Keys that others script against."""


@pytest.fixture
def data(workplace: Path) -> Path:
    """The facts as labelled questions."""
    return write_jsonl(workplace / "data.jsonl", records())


def test_the_contract_of_its_json(data: Path) -> None:
    """Every promised key is there; scores carry mean and interval; n is the number of questions."""
    document = run_json("evaluate", "--program", "naive", "--data", data)
    assert set(document) >= CONTRACT
    assert (document["program"], document["data"], document["lm"], document["n"]) == ("naive", str(data), "rules", 6)
    for score in ("em", "f1", "containment", "recall"):
        assert set(document[score]) >= {"mean", "low", "high"}
    assert sum(document["stop_reasons"].values()) == 6
    assert document["recall"]["mean"] == 1.0


def test_a_model_is_scored(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that knows every answer scores 1, with its calls and tokens counted."""
    use_model(monkeypatch)
    document = run_json("evaluate", "--program", "naive", "--data", data, "--lm", "fake/model")
    assert (document["lm"], document["em"]["mean"], document["lm_calls_per_question"]) == ("fake/model", 1.0, 1.0)
    assert document["tokens_per_question"] > 0


def test_who_checked_the_claims_is_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules, the model by its name, or nobody: the share of claims unsupported means nothing without it."""
    rules = run_json("evaluate", "--program", "reflective", "--data", data)
    assert rules["support_critic"] == "rules"
    assert sum(rules["claims"].values()) >= rules["unsupported"]["n"] > 0
    assert run_json("evaluate", "--program", "naive", "--data", data)["support_critic"] is None
    use_model(monkeypatch)
    asked: list[str | Path] = [
        "evaluate",
        "--program",
        "reflective",
        "--data",
        data,
        "--lm",
        "fake/model",
        "--limit",
        "1",
    ]
    assert run_json(*asked, "--option", "critics.support=lm")["support_critic"] == "lm: fake/model"
    off = run_json(*asked, "--option", "critics.support=off")
    assert (off["support_critic"], off["unsupported"]["n"], off["claims"]) == (None, 0, {})
    assert "claims checked by" in run("evaluate", "--program", "self-rag", "--data", data).stdout


def test_an_artefact_is_scored(data: Path, workplace: Path) -> None:
    """`--artifact` takes the program, its settings and its controls from the folder; options still win over them."""
    assert run("compile", write_recipe(workplace, program_options={"k": 3}), "--out", "art").exit_code == 0
    document = run_json("evaluate", "--artifact", "art", "--data", data)
    assert (document["program"], document["artifact"]) == ("reflective", "art")
    once = run_json("evaluate", "--artifact", "art", "--data", data, "--option", "max_rounds=1", "--option", "k=1")
    assert once["retrievals_per_question"] == 1.0
    fixed = run("evaluate", "--artifact", "art", "--data", data, "--option", "mode=fused")
    assert (fixed.exit_code, "`mode` cannot be changed on an artefact" in fixed.stderr) == (2, True)


def test_a_corpus_of_several_parts(data: Path, workplace: Path) -> None:
    """`--corpus` may be given several times; a file of records gives its passages."""
    few = write_jsonl(workplace / "few.jsonl", records(0, 2))
    alone = run_json("evaluate", "--program", "naive", "--data", few, "--k", "100", "--corpus", "own")
    wide = run_json("evaluate", "--program", "naive", "--data", few, "--k", "100", "--corpus", "own", "--corpus", data)
    assert (alone["corpus"], wide["corpus"]) == (["own"], ["own", str(data)])
    assert wide["recall"]["mean"] == alone["recall"]["mean"] == 1.0


def test_limit_and_seed_choose_the_questions(data: Path) -> None:
    """Without a seed the first N are asked, with one the same sample each time, and the corpus stays whole."""
    first = run_json("evaluate", "--data", data, "--limit", "2", "--rows", "first.jsonl")
    assert first["n"] == 2
    asked = [json.loads(line)["record_id"] for line in Path("first.jsonl").read_text().splitlines()[1:]]
    assert asked == ["q0", "q1"]
    for name in ("a.jsonl", "b.jsonl"):
        run_json("evaluate", "--data", data, "--limit", "2", "--seed", "3", "--rows", name)
    ids = [
        [json.loads(line)["record_id"] for line in Path(n).read_text().splitlines()[1:]] for n in ("a.jsonl", "b.jsonl")
    ]
    assert ids[0] == ids[1] != asked


def test_a_further_metric(data: Path) -> None:
    """`--metric costed` adds a score with its name."""
    document = run_json("evaluate", "--data", data, "--metric", "costed")
    assert document["score"]["metric"] == "costed"
    assert document["score"]["mean"] < document["f1"]["mean"]


def test_a_table_for_people(data: Path) -> None:
    """Scores stand with intervals and n; that the sample is a smoke test is said of the sample alone."""
    done = run("evaluate", "--data", data)
    for part in ("F1", "EM", "recall", "[", "failed", "unparsed", "stopped", "6 questions"):
        assert part in done.stdout
    assert "smoke test" not in done.stderr
    assert "smoke test" in run("evaluate", "--data", "sample:dev", "--limit", "2").stderr


def test_an_interrupted_run_goes_on(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finished questions are not asked again, an unfinished line is cut off, and the summary is that of a whole run."""
    asked: list[str] = []
    interrupt_at = 4

    def reply(request: Any) -> str:
        from tests.experiments.helpers import knowing
        from tests.fakes import field_of

        asked.append(field_of(request, "question"))
        if len(asked) == interrupt_at:
            raise KeyboardInterrupt
        return knowing(request)

    use_model(monkeypatch, reply)
    # The first question of all is the check that the model is there, so three rows are done.
    monkeypatch.setattr("reflective_rag.experiments.models.ping", lambda model: None)
    command = ("evaluate", "--program", "naive", "--data", data, "--lm", "fake/model", "--rows", "rows.jsonl")
    assert run(*command).exit_code == 130
    with Path("rows.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"kind": "row", "record_id": "q')
    asked.clear()
    interrupt_at = 0
    document = run_json(*command)
    assert asked == [fact[2] for fact in FACTS[3:]]
    assert (document["n"], document["em"]["mean"]) == (6, 1.0)
    assert len(Path("rows.jsonl").read_text(encoding="utf-8").splitlines()) == 1 + 6


def test_failed_rows_are_tried_again(tmp_path: Path) -> None:
    """A row with an error is kept in the file, but does not count as done."""
    row = Row(record_id="a", question="q?", answer="", answers=("x",))
    with RowFile(tmp_path / "rows.jsonl", {"lm": "m"}) as file:
        file.add(row)
        file.add(row.model_copy(update={"record_id": "b", "error": "ValueError: x"}))
    with RowFile(tmp_path / "rows.jsonl", {"lm": "m"}) as file:
        assert list(file.done) == ["a"]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (["--program", "naive"], "program"),
        (["--k", "3"], "settings"),
        (["--option", "theta=0.1"], "settings"),
        (["--metric", "em"], "metric"),
        (["--corpus", "sample"], "corpus"),
        (["--data", "sample:dev"], "data"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_rows_of_another_run_are_refused(data: Path, change: list[str], key: str) -> None:
    """Program, settings, data, corpus and metric must be those the file was begun with."""
    run_json("evaluate", "--data", data, "--rows", "rows.jsonl")
    before = Path("rows.jsonl").read_bytes()
    done = run("evaluate", "--data", data, "--rows", "rows.jsonl", *change)
    assert done.exit_code == 2
    assert "holds rows of another run" in done.stderr
    assert f"`{key}` was" in done.stderr or change[0] == "--data"
    assert Path("rows.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        b"hello\n",
        b"hello",
        b'{"kind": "row"}\n',
        b"[1]\n",
        b"\xff\xfe\n",
        b'{"kind": "header", "lm": "m"}\n{"kind": "row"}\n',
        b'{"a": 1}\nmy precious tail',
        b'{"kind": "header" mine}\nmy precious tail',
        b'{"kind": "header", "lm": "m"}\n{"kind": "row"}\n{"kind": "r',
    ],
    ids=["text", "unfinished", "no-header", "list", "not-utf8", "no-row", "tail", "almost", "no-row-tail"],
)
def test_other_files_are_not_taken_for_rows(tmp_path: Path, content: bytes) -> None:
    """Whatever else is in the file stays there."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match="Give another file"):
        RowFile(path, {"lm": "m"})
    assert path.read_bytes() == content


def test_an_unfinished_tail_of_another_run_stays(tmp_path: Path) -> None:
    """A file is mended only after it is known to be of this run."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content := b'{"kind": "header", "lm": "other"}\n{"kind": "row", "rec')
    with pytest.raises(DataError, match="holds rows of another run"):
        RowFile(path, {"lm": "m"})
    assert path.read_bytes() == content


def test_a_damaged_row_is_named_by_its_line(tmp_path: Path) -> None:
    """The message says what to do: without that line the file goes on. Blank lines count."""
    path = tmp_path / "rows.jsonl"
    with RowFile(path, {"lm": "m"}) as file:
        for name in "ab":
            file.add(Row(record_id=name, question="q?", answer="", answers=("x",)))
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([header, "", rows[0], '{"kind": "row", "rec', rows[1], ""]), encoding="utf-8")
    with pytest.raises(DataError, match=r"rows\.jsonl:4` is damaged\. Remove that line"):
        RowFile(path, {"lm": "m"})
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    with RowFile(path, {"lm": "m"}) as file:
        assert list(file.done) == ["a", "b"]


def test_rows_are_written_by_one_run_at_a_time(data: Path) -> None:
    """A second evaluate on the same file would pay for everything twice."""
    with RowFile(Path("rows.jsonl"), {"lm": "m"}):
        done = run("evaluate", "--data", data, "--rows", "rows.jsonl")
    assert done.exit_code == 2
    assert "`--rows rows.jsonl` is being written by another run" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_disk_is_bad_input(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and recording: one line that names the file, exit code 2."""
    use_model(monkeypatch)
    done = run("evaluate", "--data", data, "--rows", "/dev/full")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "`--rows /dev/full` cannot be written: No space left on device" in done.stderr
    monkeypatch.undo()
    done = run("evaluate", "--data", data, "--lm", "openai/x", "--record", "/dev/full")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "the recording `/dev/full` cannot be written: No space left on device" in done.stderr


def test_a_row_that_cannot_be_written_ends_the_run(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with several threads: the questions that are left are not paid for."""

    def full(self: object, row: object) -> None:
        raise DataError("`--rows rows.jsonl` cannot be written: No space left on device")

    monkeypatch.setattr(RowFile, "add", full)
    for threads in ("1", "2"):
        done = run("evaluate", "--data", data, "--rows", "rows.jsonl", "--threads", threads)
        assert done.exit_code == 2
        assert "No space left on device" in done.stderr


def test_a_key_that_a_server_echoes_is_not_shown(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither on stderr nor in the rows."""
    key = "s" + "k-echoed-0123456789"
    monkeypatch.setenv("FAKE_API_KEY", key)

    def refuse(request: object) -> str:
        raise ValueError(f"401 incorrect key {key}")

    use_model(monkeypatch, refuse)
    done = run("evaluate", "--data", data, "--lm", "fake/model")
    assert done.exit_code == 2
    assert "incorrect key [removed]" in done.stderr
    assert key not in done.output

    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError(f"bad {key}")

    monkeypatch.setattr("reflective_rag.experiments.models.ping", lambda model: None)
    monkeypatch.setattr("reflective_rag.programs.module.RagModule.__call__", fail)
    run("evaluate", "--data", data, "--lm", "fake/model", "--rows", "rows.jsonl")
    assert "RuntimeError: bad [removed]" in Path("rows.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "`data.jsonl` does not exist", id="missing"),
        pytest.param("", "`data.jsonl` holds no records", id="empty"),
        pytest.param(
            '{"id": "1"\n', "data.jsonl:1: not valid JSON (expecting ',' delimiter at character 11)", id="no-json"
        ),
        pytest.param('{"q": "x"}\n', "id: expected a value, but the field is missing; question: ", id="no-fields"),
        pytest.param('{"id": "1", "answers": ["a"], "passages": []}\n', "data.jsonl:1: question: ", id="no-question"),
        pytest.param(
            '{"id": "1", "question": "q?", "answers": ["a"], "passages": []}\n',
            "`own` is the passages",
            id="no-passages",
        ),
    ],
)
def test_bad_data_is_one_error(workplace: Path, content: str | None, message: str) -> None:
    """The error names file, line and field."""
    if content is not None:
        Path("data.jsonl").write_text(content, encoding="utf-8")
    done = run("evaluate", "--data", "data.jsonl")
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "sample:foo"], "`sample:foo` names no data"),
        (["--data", "sample:dev", "--limit", "0"], "`limit` must be at least 1"),
        (["--data", "sample:dev", "--metric", "foo"], "`metric` must be one of"),
        (["--data", "sample:dev", "--metric", "group"], "got 'group'; did you mean 'groups'?"),
        (["--data", "sample:dv"], "did you mean `sample:dev`?"),
        (["--data", ""], "the name of a data or corpus file is empty"),
        (["--data", "sample:dev", "--rows", "/proc/x/rows.jsonl"], "cannot be written"),
        (["--data", "sample:dev", "--corpus", "nowhere.jsonl"], "`nowhere.jsonl` does not exist"),
    ],
)
def test_bad_options_are_one_error(workplace: Path, arguments: list[str], message: str) -> None:
    """Found before a question is asked."""
    done = run("evaluate", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_an_unreachable_model_is_found_before_anything_is_asked(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One call tells, and no row is written."""

    def down(request: object) -> str:
        raise ConnectionError("connection refused")

    lm = use_model(monkeypatch, down)
    done = run("evaluate", "--data", data, "--lm", "fake/model", "--rows", "rows.jsonl")
    assert done.exit_code == 2
    assert "connection refused" in done.stderr
    assert len(lm.engine.calls) == 1
    assert not Path("rows.jsonl").exists()
