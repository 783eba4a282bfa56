"""The rules of the test run itself (tests/conftest.py) and the language model that tests use (tests/fakes.py)."""

import asyncio
import copy
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import dspy
import pytest
from dspy.lm15 import Message, Request

from reflective_rag.signatures.types import Passage
from tests.fakes import FakeLM, asks_for, chat_reply, fake_lm, field_of, fields_of, json_reply, last_user_text

Refused = pytest.fail.Exception


class Judge(dspy.Signature):
    """Judge the passages."""

    question: str = dspy.InputField()
    passages: list[str] = dspy.InputField()
    grounds: list[str] = dspy.OutputField()
    support: Literal["fully", "none"] = dspy.OutputField()


def echo() -> FakeLM:
    """A model that answers the question with itself in capitals."""
    return fake_lm(lambda request: chat_reply(answer=field_of(request, "question").upper()))


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda: socket.getaddrinfo("example.org", 80), id="look-up"),
        pytest.param(lambda: socket.gethostbyname("example.org"), id="old look-up"),
        pytest.param(lambda: socket.create_connection(("192.0.2.1", 80), timeout=1), id="connection"),
        pytest.param(lambda: socket.socket().connect_ex(("192.0.2.1", 80)), id="connection without error"),
        pytest.param(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53)), id="datagram"),
        pytest.param(lambda: asyncio.run(asyncio.open_connection("192.0.2.1", 80)), id="asyncio"),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the refused sockets are left to the garbage collector
def test_the_network_is_refused(use, no_network: list[str]) -> None:
    """No look-up, connection or datagram leaves this machine; the failure is none that `except Exception` catches."""
    with pytest.raises(Refused, match="network use in a test"):
        use()
    assert not issubclass(Refused, Exception)
    assert len(no_network) == 1
    no_network.clear()


def test_network_use_in_a_thread_is_remembered(no_network: list[str]) -> None:
    """A look-up whose failure is swallowed in a thread is on record, and fails the test at its end."""

    def look_up() -> None:
        try:
            socket.getaddrinfo("example.org", 80)
        except BaseException:  # noqa: BLE001 - the worst a library could do
            return

    thread = threading.Thread(target=look_up)
    thread.start()
    thread.join()
    assert no_network == ["getaddrinfo 'example.org'"]
    no_network.clear()


def test_this_machine_can_be_reached() -> None:
    """Loopback servers, Unix socket pairs and asyncio's own sockets work, so tests may start a stand-in server."""

    async def talk() -> bytes:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"here")
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            reply = await reader.read()
            writer.close()
            return reply

    assert asyncio.run(talk()) == b"here"
    assert socket.getaddrinfo("localhost", 80)


def test_nothing_personal_reaches_a_test(request: pytest.FixtureRequest) -> None:
    """No key, no server address and no MLflow or project setting of the user is in the environment."""
    personal = [name for name in os.environ if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL"))]
    assert personal == []
    assert "MLFLOW_TRACKING_URI" not in os.environ
    assert not Path(os.environ["RRAG_CACHE"]).is_relative_to(Path.home())
    assert not Path(os.environ["DSPY_CACHEDIR"]).is_relative_to(Path.home())


@pytest.mark.parametrize("turn", ["first", "second"])
def test_dspy_settings_do_not_leak(turn: str) -> None:
    """What a test configures is gone in the next one, whichever thread or task configured it."""
    assert dspy.settings.lm is None
    assert "left_over" not in dspy.settings
    with ThreadPoolExecutor(1) as pool:
        pool.submit(dspy.configure, lm=echo(), left_over=turn).result()
    assert dspy.settings.left_over == turn


def test_the_fake_answers_by_the_request() -> None:
    """A fake model computes each reply from the prompt and keeps every call; DSPy's cache is off."""
    lm = echo()
    with dspy.context(lm=lm):
        program = dspy.Predict("question -> answer")
        assert [program(question=text).answer for text in ("who?", "who?", "谁?")] == ["WHO?", "WHO?", "谁?"]
    assert [field_of(call.request, "question") for call in lm.engine.calls] == ["who?", "who?", "谁?"]
    assert "[[ ## answer ## ]]\nWHO?" in (lm.engine.calls[0].reply or "")


async def test_the_fake_answers_async() -> None:
    """`acall` reaches the same function and the same log; calls overlap."""
    lm = fake_lm(lambda request: chat_reply(answer=field_of(request, "question")), delay=0.01)
    with dspy.context(lm=lm):
        program = dspy.Predict("question -> answer")
        answers = await asyncio.gather(*(program.acall(question=str(n)) for n in range(5)))
    assert [answer.answer for answer in answers] == list("01234")
    assert len(lm.engine.calls) == 5


def test_the_fake_works_in_threads() -> None:
    """Results do not depend on thread timing, and no call is lost from the log."""
    lm = echo()
    with dspy.context(lm=lm):
        examples = [dspy.Example(question=f"q{n}").with_inputs("question") for n in range(20)]
        found = dspy.Predict("question -> answer").batch(examples, num_threads=4, disable_progress_bar=True)
    assert [prediction.answer for prediction in found] == [f"Q{n}" for n in range(20)]
    assert len(lm.engine.requests) == 20


async def test_the_fake_streams() -> None:
    """`dspy.streamify` gets chunks and the final prediction from the fake."""
    lm = echo()
    listener = dspy.streaming.StreamListener(signature_field_name="answer")
    with dspy.context(lm=lm):
        stream = dspy.streamify(dspy.Predict("question -> answer"), stream_listeners=[listener])
        chunks = [chunk async for chunk in stream(question="who?")]
    assert chunks[-1].answer == "WHO?"
    assert "".join(chunk.chunk for chunk in chunks[:-1]) == "WHO?"


def test_a_failing_function_is_logged_and_raised() -> None:
    """What the function raises reaches the caller through DSPy, and the call counts, with no reply."""

    def broken(request: Request) -> str:
        raise dspy.lm15.ServerError("down")

    lm = fake_lm(broken)
    with dspy.context(lm=lm), pytest.raises(dspy.LMServerError, match="down"):
        dspy.Predict("question -> answer")(question="who?")
    assert [call.reply for call in lm.engine.calls] == [None]


def test_copies_share_one_log() -> None:
    """Optimizers deep-copy programs with their models; calls of the copies are counted in the one log."""
    lm = echo()
    twin = copy.deepcopy(lm)
    with dspy.context(lm=twin):
        dspy.Predict("question -> answer")(question="who?")
    assert len(lm.engine.calls) == 1


@pytest.mark.parametrize(
    ("adapter", "write"),
    [
        pytest.param(dspy.ChatAdapter(use_json_adapter_fallback=False), chat_reply, id="chat"),
        pytest.param(dspy.JSONAdapter(), json_reply, id="json"),
    ],
)
def test_replies_are_read_by_the_adapters(adapter: dspy.Adapter, write) -> None:
    """`chat_reply` and `json_reply` are what DSPy's adapters parse, typed fields and Chinese included, in one call."""
    lm = fake_lm(lambda request: write(grounds=["北京", 'a "quote"'], support="fully"), response_schema=True)
    with dspy.context(lm=lm, adapter=adapter):
        found = dspy.Predict(Judge)(question="who?", passages=["p"])
    assert (found.grounds, found.support) == (["北京", 'a "quote"'], "fully")
    assert len(lm.engine.calls) == 1


@pytest.mark.parametrize("adapter", [dspy.ChatAdapter(), dspy.JSONAdapter()], ids=["chat", "json"])
def test_fields_are_read_from_the_newest_message(adapter: dspy.Adapter) -> None:
    """`fields_of` gives the inputs of this call, not those of demos, and without the adapter's closing words."""
    program = dspy.Predict(Judge)
    program.demos = [dspy.Example(question="demo?", passages=["demo"], grounds=["d"], support="none")]
    lm = fake_lm(lambda request: json_reply(grounds=[], support="none"), response_schema=True)
    with dspy.context(lm=lm, adapter=adapter):
        program(question="two\nlines [[ ## passages ## ]] in a line", passages=["one", "two"])
    request = lm.engine.requests[-1]
    assert fields_of(request) == {
        "question": "two\nlines [[ ## passages ## ]] in a line",
        "passages": "[1] «one»\n[2] «two»" if "«one»" in last_user_text(request) else '["one", "two"]',
    }
    assert asks_for(request, "support")
    assert not asks_for(request, "question")
    with pytest.raises(AssertionError, match=r"no input field 'gap' .* \['passages', 'question'\]"):
        field_of(request, "gap")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param("plain 文字", "plain 文字", id="text"),
        pytest.param(True, "true", id="truth"),
        pytest.param(None, "null", id="nothing"),
        pytest.param(0.5, "0.5", id="number"),
        pytest.param(("a", "乙"), '["a", "乙"]', id="tuple"),
        pytest.param([Passage(id="1", text="x")], '[{"id": "1", "text": "x"', id="models"),
        pytest.param({"k": Passage(id="1", text="x")}, '{"k": {"id": "1", "text": "x"', id="models in a dict"),
    ],
)
def test_values_are_written_as_adapters_expect(value: object, written: str) -> None:
    """Text stays as it is; everything else becomes JSON, pydantic models included."""
    assert f"[[ ## field ## ]]\n{written}" in chat_reply(field=value)


def test_usage_counts_characters() -> None:
    """A fake call reports one token per four characters, so budgets can be tested exactly."""
    lm = fake_lm(lambda request: "x" * 40)
    response = lm(Request(model="fake/model", messages=(Message.user("y" * 80),)))
    assert (response.usage.input_tokens, response.usage.output_tokens) == (20, 10)
