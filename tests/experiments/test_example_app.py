"""The example app, in process: JSON, server-sent events, its limit on concurrency, and what it says of bad input."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Message

from reflective_rag.experiments.corpora import open_search
from reflective_rag.experiments.examples import app as example
from reflective_rag.programs import Event, ReflectiveRAG, save_program
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Result
from tests.experiments.helpers import use_model

LAKES = "Which lake is deeper, Lake Baikal or Lake Tanganyika?"
RAILWAY = "京张铁路的总工程师毕业于哪所大学？"
KEY = "s" + "k-fake-0123456789abcdef"


@pytest.fixture(autouse=True)
def artefact(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An artefact on rules, and a retriever that needs no index."""
    save_program(ReflectiveRAG(mode="rules", theta=0.75), workplace / "artefact")
    monkeypatch.setenv("RRAG_ARTIFACT", str(workplace / "artefact"))
    searching(monkeypatch, lambda query, k: ["Giotto was born in 1267."])


@asynccontextmanager
async def serving() -> AsyncIterator[httpx.AsyncClient]:
    """The app after its start, and a client of it."""
    async with example.app.router.lifespan_context(example.app):
        transport = httpx.ASGITransport(example.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            yield client


def searching(monkeypatch: pytest.MonkeyPatch, search: Callable[[str, int], Any]) -> None:
    """Serve with this retriever."""
    monkeypatch.setattr(example, "open_search", lambda names, embedder: contextlib.nullcontext(search))


def events_of(text: str) -> list[tuple[str, Any]]:
    """Kind and data of each server-sent event."""
    blocks = [dict(line.split(": ", 1) for line in block.split("\n")) for block in text.strip().split("\n\n")]
    return [(block["event"], json.loads(block["data"])) for block in blocks]


async def test_questions_about_the_sample_are_answered_in_both_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    """As set up without a corpus: JSON from /ask, and the same result as the last event of /stream."""
    monkeypatch.setattr(example, "open_search", open_search)
    async with serving() as client:
        english = await client.post("/ask", json={"question": LAKES})
        chinese = await client.get("/stream", params={"question": RAILWAY})
    result = Result.model_validate_json(english.content)
    assert (result.answer, result.stop_reason) == ("Lake Baikal", "sufficient")
    assert result.citations
    kind, last = events_of(chinese.text)[-1]
    assert (kind, last["answer"], last["stop_reason"]) == ("result", "耶鲁大学", "sufficient")


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        pytest.param("When was Giotto born?", "Giotto was born in 1267.", "1267", id="en"),
        pytest.param("乔托出生在哪里？", "乔托于1267年出生在佛罗伦萨附近。", "佛罗伦萨", id="zh"),
    ],
)
async def test_json_and_events_agree(question: str, text: str, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same result by every way; events come in the order of the loop, the result last."""
    searching(monkeypatch, lambda query, k: [text])
    async with serving() as client:
        asked = await client.post("/ask", json={"question": question})
        streams = [
            await client.get("/stream", params={"question": question}),
            await client.post("/stream", json={"question": question}),
        ]
    result = Result.model_validate_json(asked.content)
    assert (result.answer, result.stop_reason, asked.headers["content-type"]) == (
        answer,
        "sufficient",
        "application/json",
    )
    assert result.citations
    for stream in streams:
        assert stream.headers["content-type"].startswith("text/event-stream")
        kinds = [kind for kind, _ in events_of(stream.text)]
        assert kinds == ["started", "finished", "round", "result"]
        first, *_, (_, last) = events_of(stream.text)
        assert first == ("started", {"step": "search", "queries": [question]})
        assert Result.model_validate(last).model_copy(update={"usage": {}}) == result.model_copy(update={"usage": {}})


async def test_the_artefact_is_loaded_once() -> None:
    """At the start: every question is answered by the same program, with the artefact's controls."""
    async with serving() as client:
        program = example.app.state.program
        await client.post("/ask", json={"question": LAKES})
        health = (await client.get("/health")).json()
        assert example.app.state.program is program
    assert program.controls.values.theta == 0.75
    assert health == {"status": "ok", "program": "reflective", "lm": "rules", "free": 4}


@pytest.mark.parametrize("variable", ["RRAG_ARTIFACT", "RRAG_CORPUS"])
async def test_what_cannot_be_loaded_ends_the_start(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the first question."""
    monkeypatch.setattr(example, "open_search", open_search)
    monkeypatch.setenv(variable, "no-such-thing")
    with pytest.raises(DataError, match="no-such-thing"):
        async with serving():
            pass


async def test_a_model_is_used_where_one_is_named(monkeypatch: pytest.MonkeyPatch, workplace: Path) -> None:
    """The app's model is DSPy's model for each question, side by side too."""
    lm = use_model(monkeypatch)
    monkeypatch.setenv("RRAG_ARTIFACT", "naive")
    searching(monkeypatch, lambda query, k: ["Marie Curie was born in Warsaw in 1867."])
    async with serving() as client:
        question = {"question": "Where was Marie Curie born?"}
        replies = await asyncio.gather(*(client.post("/ask", json=question) for _ in range(3)))
    assert [reply.json()["answer"] for reply in replies] == ["Warsaw"] * 3
    assert len(lm.engine.calls) == 3


async def test_questions_at_once_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two are answered, the third is told when to come again; then the places are free again."""
    monkeypatch.setenv("RRAG_CONCURRENCY", "2")
    entered, go_on = asyncio.Semaphore(0), asyncio.Event()

    async def search(query: str, k: int) -> list[str]:
        entered.release()
        await go_on.wait()
        return ["Giotto was born in 1267."]

    searching(monkeypatch, search)
    question = {"question": "When was Giotto born?"}
    async with serving() as client:
        first = [
            asyncio.create_task(client.post("/ask", json=question)),
            asyncio.create_task(client.get("/stream", params=question)),
        ]
        await entered.acquire()
        await entered.acquire()
        refused = [await client.post("/ask", json=question), await client.get("/stream", params=question)]
        busy = (await client.get("/health")).json()["free"]
        go_on.set()
        done = await asyncio.gather(*first)
        after = await client.post("/ask", json=question)
        free = (await client.get("/health")).json()["free"]
    assert [(reply.status_code, reply.headers.get("retry-after")) for reply in refused] == [(503, "2")] * 2
    assert [reply.status_code for reply in [*done, after]] == [200, 200, 200]
    assert (busy, free) == (0, 2)


@pytest.mark.parametrize("path", ["/ask", "/stream"])
async def test_the_work_of_a_client_that_goes_away_ends(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disconnect cancels the step under way, asks no further one, and frees the place."""
    entered, cancelled = asyncio.Event(), asyncio.Event()

    async def search(query: str, k: int) -> list[str]:
        entered.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return []

    incoming: asyncio.Queue[Message] = asyncio.Queue()
    incoming.put_nowait({"type": "http.request", "body": json.dumps({"question": LAKES}).encode(), "more_body": False})
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    searching(monkeypatch, search)
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
    }
    scope |= {"path": path, "raw_path": path.encode(), "root_path": "", "query_string": b"", "headers": []}
    async with serving():
        request = asyncio.create_task(example.app(scope, incoming.get, send))
        await entered.wait()
        incoming.put_nowait({"type": "http.disconnect"})
        await request
        free = example.app.state.free
    assert cancelled.is_set()
    assert free == 4
    assert b"stop_reason" not in b"".join(message.get("body", b"") for message in sent)


@pytest.mark.parametrize(
    ("variable", "own", "limit"),
    [
        pytest.param(None, None, 60.0, id="by default"),
        pytest.param("0.5", None, 0.5, id="by the environment"),
        pytest.param("0.5", 7.0, 7.0, id="of the artefact"),
    ],
)
async def test_a_question_has_a_limit_of_seconds(
    variable: str | None, own: float | None, limit: float, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model or a retriever that hangs holds no place for ever."""
    if variable:
        monkeypatch.setenv("RRAG_SECONDS", variable)
    if own:
        save_program(ReflectiveRAG(mode="rules", budget={"seconds": own}), workplace / "limited")
        monkeypatch.setenv("RRAG_ARTIFACT", str(workplace / "limited"))
    async with serving():
        assert example.app.state.program.settings.budget.seconds == limit


async def test_a_hanging_retriever_is_left_behind_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer says that the time was up, and the place is free."""

    async def search(query: str, k: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    monkeypatch.setenv("RRAG_SECONDS", "0.05")
    searching(monkeypatch, search)
    async with serving() as client:
        reply = await client.post("/ask", json={"question": LAKES})
        free = example.app.state.free
    assert (reply.json()["stop_reason"], reply.json()["abstained"], free) == ("budget_seconds", True, 4)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        pytest.param(
            {"RRAG_CONCURRENCY": "0.5"}, "`RRAG_CONCURRENCY` must be a whole number above 0, got '0.5'", id="half"
        ),
        pytest.param(
            {"RRAG_CONCURRENCY": "2.5"}, "`RRAG_CONCURRENCY` must be a whole number above 0, got '2.5'", id="2.5"
        ),
        pytest.param(
            {"RRAG_ARTIFACT": "react"}, "`react` is n/a on rules.*`RRAG_LM`", id="a program that needs a model"
        ),
    ],
)
async def test_what_could_never_answer_a_question_ends_the_start(
    settings: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a place is none, and a program that needs a model has none on rules."""
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=said):
        async with serving():
            pass


@pytest.mark.parametrize("variable", ["RRAG_SECONDS", "RRAG_CONCURRENCY"])
@pytest.mark.parametrize("value", ["soon", "0", "-1", "nan", "inf", ""])
async def test_a_limit_that_is_no_number_ends_the_start(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, not a traceback at the first question."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=f"{variable}.*above 0"):
        async with serving():
            pass


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        pytest.param(b"", 422, "give a text as `question`", id="nothing"),
        pytest.param(b"{", 422, "give a text as `question`", id="broken JSON"),
        pytest.param(b"[1]", 422, "give a text as `question`", id="a list"),
        pytest.param(b"null", 422, "give a text as `question`", id="null"),
        pytest.param(b"{}", 422, "give a text as `question`", id="no question"),
        pytest.param(b"\xff\xfe", 422, "give a text as `question`", id="no text"),
        pytest.param(b"[" * 60_000, 422, "give a text as `question`", id="deep nesting"),
        pytest.param(b'{"question": 5}', 422, "must be a string, got int", id="number"),
        pytest.param(b'{"question": " \\u200b"}', 422, "`question` is empty", id="white space"),
        pytest.param(b'{"question": "a\\ud83d"}', 422, "half of a surrogate pair", id="half a character"),
        pytest.param(json.dumps({"question": "x" * 20_000}).encode(), 422, "20,000 characters", id="long question"),
        pytest.param(b" " * 70_000, 413, "longer than 65,536 bytes", id="long body"),
    ],
)
@pytest.mark.parametrize("path", ["/ask", "/stream"])
async def test_bad_input_gets_one_clear_sentence(path: str, body: bytes, status: int, said: str) -> None:
    """Nothing is asked, and no place is taken."""
    async with serving() as client:
        reply = await client.post(path, content=body)
        assert example.app.state.free == 4
    assert (reply.status_code, list(reply.json())) == (status, ["detail"])
    assert said in reply.json()["detail"]


async def test_a_question_is_needed_in_the_address_too() -> None:
    """GET /stream without one, or with an empty one; GET /ask does not exist."""
    async with serving() as client:
        replies = [await client.get("/stream"), await client.get("/stream?question="), await client.get("/ask")]
    assert [reply.status_code for reply in replies] == [422, 422, 405]


async def test_no_error_shows_what_is_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure of the program: one sentence for the client, the rest is for the log."""
    async with serving() as client:

        async def broken(question: str) -> AsyncIterator[Any]:
            yield Event(kind="result", result=1 / len(question[:0]))

        monkeypatch.setattr(example.app.state.program, "acall", lambda question: anext(broken(question)))
        monkeypatch.setattr(example.app.state.program, "astream", broken)
        asked = await client.post("/ask", json={"question": LAKES})
        stream = await client.post("/stream", json={"question": LAKES})
        assert example.app.state.free == 4
    assert (asked.status_code, asked.json()) == (500, example.FAILED)
    assert "division" not in asked.text + stream.text
    assert events_of(stream.text) == [("error", example.FAILED)]


async def test_a_failing_retriever_is_a_result_and_shows_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is degraded and says why, without the credentials that the error held."""
    monkeypatch.setenv("INDEX_API_KEY", KEY)

    def search(query: str, k: int) -> Any:
        raise ConnectionError(f"https://user:secret-word@index refused {KEY}")

    searching(monkeypatch, search)
    async with serving() as client:
        reply = await client.post("/ask", json={"question": LAKES})
    assert (reply.status_code, reply.json()["stop_reason"], reply.json()["degraded"]) == (200, "retriever_error", True)
    assert "ConnectionError" in reply.text
    assert KEY not in reply.text
    assert "secret-word" not in reply.text


async def test_a_client_that_goes_away_in_its_own_question_is_no_fault() -> None:
    """No traceback in the log, and no place is held."""
    parts: list[Message] = [{"type": "http.request", "body": b'{"que', "more_body": True}, {"type": "http.disconnect"}]
    heard = iter(parts)
    sent: list[Message] = []

    async def receive() -> Message:
        return next(heard)

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/ask", "query_string": b"", "headers": []}
    async with serving():
        await example.app(scope, receive, send)
        assert example.app.state.free == 4
    assert sent[0]["status"] == 499
