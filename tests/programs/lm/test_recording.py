"""Recordings: what a model was asked and replied, replayed exactly and offline, without keys."""

import errno
import gzip
import json
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from reflective_rag.programs import ReflectiveRAG
from reflective_rag.programs.lm.recording import Recording
from reflective_rag.programs.lm.recording_engine import header_for, recorded_lm
from reflective_rag.signatures.errors import DataError, ReplayError
from tests.fakes import FakeLM, chat_reply, fake_lm, field_of
from tests.programs.worlds import make_world, plain

KEY = "s" + "k-recording-secret-0123456789"
HEADER: dict[str, Any] = {
    "model": "fake/model",
    "kwargs": {"temperature": 0.0},
    "adapter": "chat",
    "today": "2026-11-30",
    "capabilities": {"response_schema": False, "params": ["temperature"]},
}


def shouting(**options: Any) -> FakeLM:
    """A model that answers the question in capitals."""
    return fake_lm(lambda request: chat_reply(answer=field_of(request, "question").upper()), **options)


def ask(lm: dspy.LM, question: str, **config: Any) -> str:
    """One question to a predictor."""
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        return str(dspy.Predict("question -> answer")(question=question, config=config).answer)


@pytest.fixture(params=["calls.jsonl", "calls.jsonl.gz"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A plain and a compressed recording."""
    return tmp_path / str(request.param)


def record(path: Path, *questions: str, lm: FakeLM | None = None) -> FakeLM:
    """Record questions, continuing what is there."""
    lm = lm or shouting()
    recording = Recording.create(path, HEADER)
    for question in questions:
        ask(recorded_lm(recording, lm), question)
    recording.close()
    return lm


def test_a_replay_gives_the_recorded_replies(path: Path) -> None:
    """Without a model, in any order, as often as asked."""
    record(path, "who?", "谁？")
    replay = recorded_lm(Recording.load(path))
    assert [ask(replay, q) for q in ("谁？", "who?", "who?")] == ["谁？", "WHO?", "WHO?"]


async def test_a_replay_serves_async_calls(path: Path) -> None:
    """What was recorded by a plain call is replayed through `acall`, and the other way round."""
    record(path, "who?")
    recording = Recording.create(path, HEADER)
    with dspy.context(lm=recorded_lm(recording, shouting()), adapter=dspy.ChatAdapter()):
        new = (await dspy.Predict("question -> answer").acall(question="when?")).answer
    recording.close()
    with dspy.context(lm=recorded_lm(Recording.load(path)), adapter=dspy.ChatAdapter()):
        old = (await dspy.Predict("question -> answer").acall(question="who?")).answer
    assert (old, new, ask(recorded_lm(Recording.load(path)), "when?")) == ("WHO?", "WHEN?", "WHEN?")


@pytest.mark.parametrize("mode", ["paired", "fused", "separate"])
def test_a_whole_run_is_replayed_exactly(mode: str, path: Path) -> None:
    """A question with parse failures and several rounds gives the same result, usage included, with no model there."""
    world = make_world(10, mode)
    world.broken_model, world.options["budget"] = 0, {}
    recording = Recording.create(path, HEADER)
    with dspy.context(lm=recorded_lm(recording, world.lm()), adapter=dspy.ChatAdapter()):
        live = world.program()(question=world.question)
    recording.close()
    with dspy.context(lm=recorded_lm(Recording.load(path)), adapter=dspy.ChatAdapter()):
        replayed = world.program()(question=world.question)
    assert plain(replayed) == plain(live)
    assert sum(u.calls for u in live.usage.values()) > 1


def test_an_unknown_request_fails_loudly_with_the_difference(path: Path) -> None:
    """The error shows the nearest recorded request against this one, and `check` repeats it if it was swallowed."""
    record(path, "Who painted it?", "Something else entirely")
    recording = Recording.load(path)
    rag = ReflectiveRAG(lambda query, k: ["text"])
    with pytest.raises(ReplayError) as raised, dspy.context(lm=recorded_lm(recording)):
        rag(question="Who sculpted it?")
    message = str(raised.value)
    assert "is not in it" in message
    assert "nearest recorded request" in message
    assert "Who sculpted it?" in message
    with pytest.raises(ReplayError, match="request\\(s\\) in all"):
        recording.check()


def test_the_difference_is_small(path: Path) -> None:
    """Only the lines that differ are shown: the recorded one and this one."""
    record(path, "Who painted it?")
    recording = Recording.load(path)
    with pytest.raises(Exception, match="Who sculpted it"):
        ask(recorded_lm(recording), "Who sculpted it?")
    lines = recording.misses[0].splitlines()
    assert "-Who painted it?" in lines
    assert "+Who sculpted it?" in lines
    assert len(lines) < 15


def test_a_replay_without_misses_passes_the_check(path: Path) -> None:
    """`check` is silent when everything was known."""
    record(path, "who?")
    recording = Recording.load(path)
    ask(recorded_lm(recording), "who?")
    recording.check()
    assert recording.misses == []


def test_continuing_asks_only_for_the_rest(path: Path) -> None:
    """A second run over the same file pays only for what is new."""
    record(path, "one?", "two?")
    lm = record(path, "one?", "two?", "three?")
    assert [field_of(r, "question") for r in lm.engine.requests] == ["three?"]
    assert len(Recording.load(path)) == 3


def test_a_cut_off_recording_is_continued(tmp_path: Path) -> None:
    """A writer that was killed in the middle of a line loses that line alone."""
    path = tmp_path / "calls.jsonl"
    record(path, "one?", "two?")
    data = path.read_bytes()
    path.write_bytes(data[:-40])
    lm = record(path, "one?", "two?")
    assert [field_of(r, "question") for r in lm.engine.requests] == ["two?"]
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"my notes\nwithout a line end", id="notes"),
        pytest.param(b"\x00\x01binary", id="binary"),
        pytest.param(b'{"question": "q"}\n{"question": "r"}', id="other JSON lines"),
        pytest.param(b'{"kind": "header" mine}\nmy precious tail', id="almost a header"),
        pytest.param(b'{"kind": "header", "format": 1}\nmy precious tail', id="another header"),
        pytest.param(b'{"kind": "header", "lm": "m"}\n{"kind": "row", "answer": ', id="rows of a killed evaluate"),
    ],
)
def test_another_file_is_not_touched(content: bytes, tmp_path: Path) -> None:
    """`--record` on a file that is no recording is refused and leaves it as it was."""
    path = tmp_path / "mine.txt"
    path.write_bytes(content)
    with pytest.raises(DataError):
        Recording.create(path, HEADER)
    assert path.read_bytes() == content


def numbering() -> FakeLM:
    """A model that samples: every reply is another one."""
    lock, count = threading.Lock(), [0]

    def reply(request: Request) -> str:
        with lock:
            count[0] += 1
        return chat_reply(answer=f"sample {count[0]}")

    return fake_lm(reply)


def test_sampled_replies_come_in_recorded_order(path: Path) -> None:
    """At a temperature above 0 each asking has its own reply; once more than recorded is an error that says so."""
    recording, lm = Recording.create(path, HEADER), numbering()
    live = [ask(recorded_lm(recording, lm), "q", temperature=1.0) for _ in range(3)]
    recording.close()
    assert len(set(live)) == 3
    replay = Recording.load(path)
    assert [ask(recorded_lm(replay), "q", temperature=1.0) for _ in live] == live
    with pytest.raises(Exception, match="asked more often than it was recorded"):
        ask(recorded_lm(replay), "q", temperature=1.0)


def test_no_key_and_no_address_is_in_the_file(path: Path) -> None:
    """What belongs to the user's account stays out of a file that is made to be shared."""
    lm = dspy.LM("openai/some-model", api_key=KEY, api_base="http://localhost:1/v1", temperature=0.0, max_tokens=99)
    header = header_for(lm, adapter="chat", today="2026-11-30")
    recording = Recording.create(path, header)
    ask(recorded_lm(recording, shouting(model="openai/some-model")), "who?")
    recording.close()
    text = _read(path)
    assert KEY not in text
    assert "localhost" not in text
    assert json.loads(text.splitlines()[0])["kwargs"] == {"temperature": 0.0, "max_tokens": 99}


def _read(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def test_a_recording_is_readable(path: Path) -> None:
    """A header, then one line per call with the prompt and the reply as text, Chinese unescaped."""
    record(path, "谁？")
    header, call = map(json.loads, _read(path).splitlines())
    assert (header["kind"], header["model"], call["kind"]) == ("header", "fake/model", "call")
    assert "谁？" in _read(path)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param({"model": "fake/other"}, "model", id="model"),
        pytest.param({"kwargs": {"temperature": 1.0}}, "kwargs", id="settings"),
        pytest.param({"adapter": "json"}, "adapter", id="adapter"),
    ],
)
def test_a_recording_of_another_set_up_is_not_continued(change: dict[str, Any], named: str, path: Path) -> None:
    """Replies of two models never mix in one file."""
    record(path, "who?")
    with pytest.raises(DataError, match=f"another set-up \\({named} differ"):
        Recording.create(path, HEADER | change)


def header(**change: Any) -> str:
    """A header line."""
    return json.dumps({"kind": "header", "format": 1, **HEADER, **change})


def call_line(**change: Any) -> str:
    """A call that follows a header."""
    return "\n" + json.dumps({"kind": "call", "key": "k", "request": {}, "reply": {}} | change) + "\n"


@pytest.mark.parametrize(
    ("make", "named"),
    [
        pytest.param(lambda p: None, "there is no recording", id="missing"),
        pytest.param(lambda p: p.mkdir(), "damaged", id="folder"),
        pytest.param(lambda p: p.write_text(""), "not a recording", id="empty"),
        pytest.param(lambda p: p.write_text("[1]\n"), "not a recording", id="list"),
        pytest.param(lambda p: p.write_text('{"question": "q"}\n'), "not a recording", id="other JSON lines"),
        pytest.param(lambda p: p.write_text("prose\n"), "line 1 is no JSON", id="prose"),
        pytest.param(lambda p: p.write_bytes(b"\xff\xfe"), "damaged", id="binary"),
        pytest.param(lambda p: p.write_text(header(format=9)), "`format` must be 1, got 9", id="newer format"),
        pytest.param(
            lambda p: p.write_text('{"kind": "header", "format": 1, "model": "m"}'), "lacks `kwargs`", id="half"
        ),
        pytest.param(lambda p: p.write_text(header() + '\n{"kind": "call"}\n'), "line 2", id="half a call"),
        pytest.param(lambda p: p.write_text(header() + "\n\n{\n"), "line 3 is no JSON", id="damaged line"),
        pytest.param(lambda p: p.write_text(header() + call_line(key=[])), "line 2 `key` must be a text", id="key"),
        pytest.param(lambda p: p.write_text(header() + call_line(reply=1)), "`reply` must be an object", id="reply"),
        pytest.param(lambda p: p.write_text(header(model=5)), "`model` must be", id="model"),
        pytest.param(lambda p: p.write_text(header(kwargs=[])), "`kwargs` must be", id="kwargs"),
        pytest.param(lambda p: p.write_text(header(kwargs={"engine": 1})), "`kwargs` must be", id="engine"),
        pytest.param(
            lambda p: p.write_text(header(adapter="x")), "`adapter` must be 'chat' or 'json', got 'x'", id="ad"
        ),
        pytest.param(lambda p: p.write_text(header(today="zz")), "`today` must be a date", id="today"),
        pytest.param(lambda p: p.write_text(header(today=None)), "`today` must be a date", id="no date"),
        pytest.param(lambda p: p.write_text(header(capabilities=[])), "`capabilities` must be an object", id="list"),
        pytest.param(lambda p: p.write_text(header(capabilities={})), "`capabilities.response_schema`", id="nothing"),
        pytest.param(
            lambda p: p.write_text(header(capabilities={"response_schema": True, "params": "no"})),
            "`capabilities.params` must be a list of texts",
            id="params",
        ),
    ],
)
def test_what_is_no_recording_is_a_data_error(make: Callable[[Path], Any], named: str, tmp_path: Path) -> None:
    """Missing, damaged, foreign and newer files each get one clear message."""
    path = tmp_path / "calls.jsonl"
    make(path)
    with pytest.raises(DataError, match=named):
        Recording.load(path)


def test_a_damaged_gzip_is_a_data_error(tmp_path: Path) -> None:
    """A compressed recording that is cut in half is refused as a whole."""
    path = tmp_path / "calls.jsonl.gz"
    record(path, "who?")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match="damaged"):
        Recording.load(path)


def test_dspys_cache_stays_out_of_a_recording(path: Path) -> None:
    """A reply from the cache would be missing in the file: every request reaches the recording."""
    lm = shouting(cache=True)
    ask(lm, "who?")
    record(path, "who?", lm=lm)
    assert len(Recording.load(path)) == 1


def test_a_reply_that_cannot_be_read_is_the_recordings_fault(path: Path) -> None:
    """Not the model's: the program raises it instead of answering without a model."""
    record(path, "who?")
    lines = [json.loads(line) for line in _read(path).splitlines()]
    lines[1]["reply"] = {"nothing": 1}
    target = path.with_name("broken.jsonl")
    target.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(Exception, match="is damaged: the `reply` of the call") as raised:
        ask(recorded_lm(Recording.load(target)), "who?")
    causes = [raised.value, raised.value.__cause__, raised.value.__context__]
    assert any(isinstance(cause, DataError) for cause in causes)


def test_a_recording_is_written_by_one_run_at_a_time(path: Path) -> None:
    """A second one would cut the line that the first is writing; once the first is closed, it goes on."""
    first = Recording.create(path, HEADER)
    with pytest.raises(DataError, match="being written by another run"):
        Recording.create(path, HEADER)
    first.close()
    Recording.create(path, HEADER).close()
    assert len(Recording.load(path)) == 0


def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing can be written."""

    def no_room(self: object, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("reflective_rag.data.line_file.LineFile._write", no_room)


def test_a_full_disk_ends_the_run_and_is_not_blamed_on_the_model(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing more is asked, `check` repeats it if it was swallowed, and what was written before is there."""
    lm = shouting()
    recording = Recording.create(path, HEADER)
    rag = ReflectiveRAG(lambda query, k: ["text"])
    ask(recorded_lm(recording, lm), "who?")
    with monkeypatch.context() as patch, dspy.context(lm=recorded_lm(recording, lm), adapter=dspy.ChatAdapter()):
        full_disk(patch)
        with pytest.raises(DataError, match="cannot be written: No space left on device"):
            rag(question="when?")
        asked = len(lm.engine.calls)
        with pytest.raises(DataError, match="No space left on device"):
            rag(question="where?")
    with pytest.raises(DataError, match="No space left on device"):
        recording.check()
    recording.close()
    assert len(lm.engine.calls) == asked
    assert len(Recording.load(path)) == len(recording) == 1


def test_a_recording_that_cannot_be_begun_is_one_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And leaves no file."""
    full_disk(monkeypatch)
    with pytest.raises(DataError, match=f"the recording `{re.escape(str(path))}` cannot be written: No space left"):
        Recording.create(path, HEADER)
    assert not path.exists()


def test_no_key_is_in_the_file_by_value(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question or a reply may hold the key of the environment; live and replayed answers are the same without it."""
    monkeypatch.setenv("FAKE_API_KEY", KEY)
    lm = fake_lm(lambda request: chat_reply(answer=f"Your key is {KEY}"))
    recording = Recording.create(path, HEADER)
    live = ask(recorded_lm(recording, lm), f"Is {KEY} my key?")
    recording.close()
    assert KEY not in _read(path)
    assert live == "Your key is [removed]"
    assert ask(recorded_lm(Recording.load(path)), f"Is {KEY} my key?") == live
    with pytest.raises(Exception, match="is not in it") as raised:
        ask(recorded_lm(replay := Recording.load(path)), f"What is {KEY}?")
    assert KEY not in replay.misses[0]
    assert KEY not in str(raised.value)


def test_lone_surrogates_are_recorded(path: Path) -> None:
    """Models write them, and UTF-8 has none; they come back as they were."""
    lm = fake_lm(lambda request: chat_reply(answer="a \ud800 b"))
    record(path, "who?", lm=lm)
    assert ask(recorded_lm(Recording.load(path)), "who?") == "a \ud800 b"


def test_the_connection_of_a_model_is_not_recorded(path: Path) -> None:
    """Headers and bodies of one's own may hold keys under any name; the recording replays without them."""
    own = {"extra_headers": {"X-Auth": "hdrSecret123abc"}, "extra_body": {"user_token": "bodySecret1"}}
    header = header_for(
        dspy.LM("openai/gpt-x", api_key="k", temperature=0.5, **own), adapter="chat", today="2026-11-30"
    )
    assert header["kwargs"] == {"temperature": 0.5}
    Recording.create(path, header).close()
    assert "Secret" not in _read(path)
    assert recorded_lm(Recording.load(path)).model == "openai/gpt-x"


def test_settings_that_no_model_takes_name_the_recording(path: Path) -> None:
    """A damaged first line is the fault of the file, not of a model that nobody named."""
    header = header_for(dspy.LM("openai/gpt-x", api_key="k"), adapter="chat", today="2026-11-30")
    header["kwargs"] |= {"num_retries": "two"}
    Recording.create(path, header).close()
    with pytest.raises(DataError, match="is damaged: the settings of the model in its first line"):
        recorded_lm(Recording.load(path))
