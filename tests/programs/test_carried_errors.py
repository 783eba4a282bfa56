"""Exceptions of a caller's own code that would end a wait instead of telling of a failure: sync and async agree."""

import asyncio
from collections.abc import Callable
from typing import Any

import dspy
import pytest

from reflective_rag.data.threads import in_daemon_thread
from reflective_rag.programs import CorrectiveRAG, RagModule, ReflectiveRAG, ReflectiveWrapper, make_program
from reflective_rag.programs.searching import SearchHandle
from reflective_rag.signatures.types import Passage
from tests.fakes import fake_lm
from tests.programs.faults import good
from tests.programs.worlds import TODAY

QUESTION = "When was Giotto born?"
TEXT = Passage(id="a", text="Giotto di Bondone lived near Florence.", title="Giotto")
errors = pytest.mark.parametrize("error", [StopIteration, StopAsyncIteration, asyncio.CancelledError])
doors = pytest.mark.parametrize("door", ["sync", "async", "stream"])


async def through(door: str, rag: RagModule) -> dspy.Prediction:
    """One question by one door; a wait that never ends is a failure."""
    if door == "sync":
        return await asyncio.wait_for(asyncio.to_thread(rag, question=QUESTION), 20)
    if door == "async":
        return await asyncio.wait_for(rag.acall(question=QUESTION), 20)
    events = [event async for event in rag.astream(question=QUESTION)]
    return events[-1].result


def plain(error: type[BaseException]) -> Callable[..., Any]:
    """A plain function that raises it."""

    def fault(*args: Any, **kwargs: Any) -> Any:
        raise error

    return fault


def asynchronous(error: type[BaseException]) -> Callable[..., Any]:
    """The same as a coroutine function."""

    async def fault(*args: Any, **kwargs: Any) -> Any:
        raise error

    return fault


kinds = pytest.mark.parametrize("make", [plain, asynchronous])


@errors
@doors
@kinds
@pytest.mark.parametrize("name", ["naive", "self-rag", "reflective"])
async def test_a_search_is_a_failed_search(
    name: str, make: Callable[..., Any], door: str, error: type[BaseException]
) -> None:
    """The first search: the run ends with `retriever_error`, and the error is named."""
    with dspy.context(lm=None):
        result = await through(door, make_program(name, make(error), mode="rules"))
    assert result.stop_reason == "retriever_error"
    assert error.__name__ in next(w.message for w in result.warnings if w.code == "retriever_degraded")


@errors
@doors
@kinds
async def test_a_second_source_is_a_failed_search(
    make: Callable[..., Any], door: str, error: type[BaseException]
) -> None:
    """Asked for a gap, or in place of evidence that was thrown away."""

    def first(query: str, k: int) -> list[Passage]:
        return [TEXT]

    with dspy.context(lm=None):
        for rag in (
            ReflectiveRAG(first, gap_search=make(error), mode="rules"),
            CorrectiveRAG(first, fallback_search=make(error), mode="rules", upper=1.0, lower=1.0),
        ):
            result = await through(door, rag)
            assert result.retrievals > 1
            assert error.__name__ in next(w.message for w in result.warnings if w.code == "retriever_degraded")


@errors
@doors
@kinds
async def test_a_generator_is_a_failed_model(make: Callable[..., Any], door: str, error: type[BaseException]) -> None:
    """A wrapper's generator: what was found is answered by extraction."""
    rag = ReflectiveWrapper(lambda query: ["Giotto was born in 1267."], make(error), today=TODAY)
    result = await through(door, rag)
    assert (result.stop_reason, result.answer) == ("model_error", "1267")


@errors
@doors
async def test_a_scorer_falls_back(door: str, error: type[BaseException]) -> None:
    """A small model of the caller's."""

    class Scorer:
        predict = staticmethod(plain(error))

    rag = ReflectiveRAG(
        lambda query, k: ["Giotto was born in 1267."],
        mode="rules",
        critics={"relevance": "models"},
        scorers={"relevance": Scorer()},
    )
    result = await through(door, rag)
    assert result.degraded
    assert error.__name__ in next(w.message for w in result.warnings if w.code == "model_degraded")


@errors
@doors
async def test_a_language_model_is_a_failed_model(door: str, error: type[BaseException]) -> None:
    """A client of the caller's."""
    with dspy.context(lm=fake_lm(plain(error))):
        result = await through(door, make_program("naive", lambda query, k: ["Giotto was born in 1267."]))
    assert (result.stop_reason, result.answer) == ("model_error", "1267")


async def test_a_run_that_is_called_off_still_ends() -> None:
    """A cancellation from outside is no error of the search: it goes through."""
    entered, ended = asyncio.Event(), asyncio.Event()

    async def search(query: str, k: int) -> list[str]:
        entered.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        return []

    task = asyncio.create_task(ReflectiveRAG(search, mode="rules").acall(question=QUESTION))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


@errors
def test_a_future_of_a_thread_is_always_done(error: type[BaseException]) -> None:
    """It carries a RuntimeError that names what was raised; other exceptions come as they are."""
    with pytest.raises(RuntimeError, match=error.__name__):
        in_daemon_thread(plain(error)).result(timeout=5)
    with pytest.raises(KeyError):
        in_daemon_thread(plain(KeyError)).result(timeout=5)
    with pytest.raises(RuntimeError, match=error.__name__):
        SearchHandle(plain(error))("q", 1)


def test_what_watches_a_run_may_raise_anything() -> None:
    """An observer of a recorded pass that raises StopIteration does not end the pass as if it were done."""
    from reflective_rag.programs import drivers
    from reflective_rag.programs.ledger import Ledger

    rag = ReflectiveRAG(lambda query, k: [TEXT], mode="rules")
    with dspy.context(lm=fake_lm(good)), pytest.raises(RuntimeError, match="StopIteration"):
        drivers.record(rag.steps(QUESTION), rag.search, Ledger(), plain(StopIteration))
