"""Models that fail, stay busy or never answer: a run degrades and says so; only the caller's mistakes raise."""

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request
from dspy.utils.exceptions import LMAuthError, LMBillingError, LMRateLimitError, LMServerError, LMTransportError

from reflective_rag.programs import Budget, NaiveRAG, ReflectiveRAG
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.fakes import asks_for, chat_reply, fake_lm, prompt_text
from tests.programs.faults import MODES, QUESTION, ask, codes, failing, good, search


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Retries wait for nothing; the delays that were asked for are noted."""
    delays: list[float] = []

    def note(delay: float) -> None:
        if delay:  # the fake model sleeps for 0 s
            delays.append(delay)

    async def anote(delay: float) -> None:
        note(delay)

    monkeypatch.setattr("time.sleep", note)
    monkeypatch.setattr("asyncio.sleep", anote)
    return delays


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(LMTransportError("connection refused"), id="unreachable"),
        pytest.param(LMServerError("500"), id="server error"),
        pytest.param(RuntimeError("engine bug"), id="bug in the engine"),
    ],
)
def test_a_dead_model_gives_way_to_rules(error: Exception, mode: str) -> None:
    """The question is answered by extraction, with the stop reason, the error and the substitution said."""
    lm = failing(error)
    result = ask(lm, mode=mode)
    assert (result.stop_reason, result.degraded, result.answer) == ("model_error", True, "1267")
    assert {"model_degraded", "rules_only"} <= codes(result)
    assert str(error) in next(w.message for w in result.warnings if w.code == "model_degraded")
    assert sum(u.calls for u in result.usage.values()) == len(lm.engine.calls)


def test_a_dead_model_is_not_asked_again_and_again() -> None:
    """After the answer and the assessment failed, there is no third attempt: every one would wait for its retries."""
    lm = failing(LMTransportError("connection refused"))
    ask(lm)
    assert len(lm.engine.calls) == 2


async def test_a_dead_model_degrades_async_too() -> None:
    """`acall` gives the same result as a plain call."""
    lm = failing(LMTransportError("connection refused"))
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        result = await ReflectiveRAG(search).acall(question=QUESTION)
    assert (result.stop_reason, result.answer) == ("model_error", "1267")


def test_a_busy_model_is_asked_again(no_waiting: list[float]) -> None:
    """After a 429 the call is repeated, its hint on waiting is kept, and each attempt counts as a call."""
    lm = failing(LMRateLimitError("busy", retry_after=7.0), times=1, num_retries=2)
    result = ask(lm)
    assert (result.stop_reason, result.degraded, result.answer) == ("sufficient", False, "1267")
    assert no_waiting == [7.0, 7.0]
    assert sum(u.calls for u in result.usage.values()) == len(lm.engine.calls) == 4


def test_a_model_that_stays_busy_is_given_up(no_waiting: list[float]) -> None:
    """After `num_retries` attempts with growing pauses the run degrades."""
    lm = failing(LMRateLimitError("busy"), num_retries=2)
    result = ask(lm, mode="fused")
    assert result.stop_reason == "model_error"
    assert no_waiting == [1.0, 2.0]
    assert len(lm.engine.calls) == 3


async def test_a_busy_model_is_asked_again_async(no_waiting: list[float]) -> None:
    """The same on the event loop, without blocking it."""
    lm = failing(LMServerError("overloaded"), times=1, num_retries=1)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        result = await ReflectiveRAG(search, mode="fused").acall(question=QUESTION)
    assert (result.stop_reason, no_waiting) == ("sufficient", [1.0])


def test_a_long_retry_after_counts_as_down(no_waiting: list[float]) -> None:
    """A server that says "come back in an hour" is not waited for."""
    result = ask(failing(LMRateLimitError("busy", retry_after=3600.0), num_retries=5))
    assert (result.stop_reason, no_waiting) == ("model_error", [])


def test_retries_stay_within_the_call_budget(no_waiting: list[float]) -> None:
    """Each attempt takes from the budget, so a busy server cannot run it over."""
    lm = failing(LMRateLimitError("busy"), num_retries=9)
    ask(lm, budget={"lm_calls": 4})
    assert len(lm.engine.calls) <= 4


@pytest.mark.parametrize(
    "error", [pytest.param(LMAuthError("bad key"), id="key"), pytest.param(LMBillingError("no credit"), id="billing")]
)
@pytest.mark.parametrize("program", [ReflectiveRAG, NaiveRAG])
def test_a_refused_key_is_the_callers_to_mend(error: Exception, program: Any) -> None:
    """Nothing that time heals: one ConfigError instead of an answer by rules that looks like the model's."""
    with pytest.raises(ConfigError, match=f"model cannot be used.*{error}"):
        ask(failing(error, num_retries=3), program(search))


async def test_a_refused_key_raises_async_too() -> None:
    """The same through `acall`."""
    with dspy.context(lm=failing(LMAuthError("bad key"))), pytest.raises(ConfigError, match="bad key"):
        await ReflectiveRAG(search).acall(question=QUESTION)


def test_an_error_that_the_caller_is_handling_is_not_taken_for_the_models() -> None:
    """A question asked inside an `except` block degrades as anywhere else."""
    try:
        raise DataError("the artefact is damaged")
    except DataError:
        result = ask(failing(LMTransportError("connection refused")))
    assert result.stop_reason == "model_error"


def test_a_model_error_in_a_later_call_is_said() -> None:
    """When only the repair fails, the draft stands and the failure is a warning."""

    def reply(request: Request) -> str:
        if asks_for(request, "sufficient"):
            return good(request)
        if "draft" in prompt_text(request):
            raise RuntimeError("fell over")
        return chat_reply(answer="1999", cited=[1])

    result = ask(fake_lm(reply))
    assert (result.answer, result.degraded) == ("1999", True)
    assert {"model_degraded", "unsupported_answer"} <= codes(result)


@pytest.fixture
def stuck() -> Iterator[threading.Event]:
    """An event that stuck functions wait for; set at the end, so that no thread stays behind."""
    event = threading.Event()
    yield event
    event.set()


BUDGET = 0.3
GENEROUS = 10.0
"""Seconds; far above the budget, far below what the stuck functions would take."""


@pytest.mark.parametrize("mode", MODES)
def test_a_slow_model_ends_with_the_seconds(mode: str, stuck: threading.Event) -> None:
    """At the deadline the call is left behind; the evidence that is there is answered from, by rules."""

    def reply(request: Request) -> str:
        stuck.wait(GENEROUS * 3)
        return good(request)

    started = time.monotonic()
    result = ask(fake_lm(reply), mode=mode, budget=Budget(seconds=BUDGET))
    assert time.monotonic() - started < GENEROUS
    assert (result.stop_reason, result.answer) == ("budget_seconds", "1267")
    assert {"budget_exhausted", "rules_only"} <= codes(result)


async def test_a_slow_model_ends_with_the_seconds_async() -> None:
    """On the event loop the call is cancelled."""
    lm = fake_lm(good, delay=GENEROUS * 3)
    started = time.monotonic()
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        result = await ReflectiveRAG(search, budget=Budget(seconds=BUDGET)).acall(question=QUESTION)
    assert time.monotonic() - started < GENEROUS
    assert (result.stop_reason, result.answer) == ("budget_seconds", "1267")


def test_a_stuck_retriever_ends_with_the_seconds(stuck: threading.Event) -> None:
    """A retriever that never returns costs the seconds of the budget and no more."""

    def never(query: str, k: int) -> list[str]:
        stuck.wait(GENEROUS * 3)
        return []

    started = time.monotonic()
    result = ask(fake_lm(good), ReflectiveRAG(never, budget=Budget(seconds=BUDGET)))
    assert time.monotonic() - started < GENEROUS
    assert (result.stop_reason, result.abstained, result.passages) == ("budget_seconds", True, ())


def test_a_stuck_retriever_does_not_hold_the_event_loop(stuck: threading.Event) -> None:
    """Neither `acall` nor the end of `asyncio.run` waits for a search that was given up."""

    def never(query: str, k: int) -> list[str]:
        stuck.wait(GENEROUS * 3)
        return []

    async def main() -> dspy.Prediction:
        with dspy.context(lm=fake_lm(good), adapter=dspy.ChatAdapter()):
            return await ReflectiveRAG(never, budget=Budget(seconds=BUDGET)).acall(question=QUESTION)

    started = time.monotonic()
    result = asyncio.run(main())
    assert time.monotonic() - started < GENEROUS
    assert result.stop_reason == "budget_seconds"
