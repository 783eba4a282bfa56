"""The hard limit on money: what is counted, what is free, and that it holds under threads and asyncio."""

import asyncio
import copy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy
import pytest

from reflective_rag.programs import NaiveRAG
from reflective_rag.programs.lm.capped import SpendingCap, cap_model
from reflective_rag.programs.lm.prices import FREE, Price, price_of
from reflective_rag.programs.lm.recording import Recording
from reflective_rag.programs.lm.recording_engine import header_for, recorded_lm
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.signatures.errors import BudgetExceeded, ConfigError
from tests.fakes import FakeLM, chat_reply, fake_lm

PRICED = "openai/gpt-4o-mini"


def model_of(lm: dspy.LM) -> Model:
    """A model around a client."""
    return Model(name=lm.model, lm=lm)


def answering(name: str = PRICED, **options: Any) -> FakeLM:
    """A model that always answers 42."""
    return fake_lm(lambda request: chat_reply(answer="42"), model=name, **options)


def ask(number: int = 0) -> str:
    """One call through an adapter."""
    return str(dspy.Predict("question -> answer")(question=f"question {number}").answer)


def test_prices_come_from_the_list() -> None:
    """A listed model has a price, an unlisted one none, and no model at all is free."""
    price = price_of(answering())
    assert price is not None
    assert 0 < price.prompt < price.completion
    assert price_of(dspy.LM(PRICED)) == price
    assert price_of(answering("fake/model")) is None
    assert price_of(None) == FREE
    assert Price(2.0, 3.0).of(10, 1) == 23.0


def test_the_cost_is_tokens_times_price() -> None:
    """Replies pass unchanged, usage and history are as without a limit, and the cap knows what they cost."""
    lm = answering()
    model, cap = cap_model(model_of(lm), 1.0)
    with model.use():
        assert ask() == "42"
        usage = dspy.settings.lm.history[-1]["usage"]
    price = price_of(lm)
    assert price is not None
    assert cap.spent == pytest.approx(price.of(usage["prompt_tokens"], usage["completion_tokens"]))
    assert (cap.calls, cap.tripped, len(lm.engine.calls)) == (1, False, 1)


def test_no_call_is_made_beyond_the_limit() -> None:
    """The limit may be passed by one call's completion at most; after that nothing is asked, and the cap says so."""
    lm = answering()
    one = _cost_of_one()
    model, cap = cap_model(model_of(lm), 2.5 * one)
    refused = 0
    with model.use():
        for number in range(9):
            try:
                ask(number)
            except Exception as error:  # noqa: BLE001 - DSPy wraps what an engine raises
                refused += isinstance(error.__cause__, BudgetExceeded)
    assert refused == 9 - cap.calls
    assert len(lm.engine.calls) == cap.calls <= 3
    assert cap.spent <= cap.limit + one
    with pytest.raises(BudgetExceeded, match=r"the cost limit of \$") as caught:
        cap.check()
    assert caught.value.limit == "cost"


def test_threads_share_one_limit() -> None:
    """Calls side by side are booked before they are made."""
    lm = answering(delay=0.02)
    one = _cost_of_one()
    model, cap = cap_model(model_of(lm), 4.2 * one)

    def attempt(number: int) -> bool:
        with model.use():
            try:
                ask(number)
            except Exception:  # noqa: BLE001 - DSPy wraps what an engine raises
                return False
        return True

    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(attempt, range(24)))
    assert done.count(True) == len(lm.engine.calls) == cap.calls
    assert 3 <= cap.calls <= 5
    assert cap.spent <= cap.limit + one
    assert cap.tripped


async def test_asyncio_has_the_same_limit() -> None:
    """`acall` passes the cap too."""
    lm = answering(delay=0.01)
    model, cap = cap_model(model_of(lm), 2.2 * _cost_of_one())
    with model.use():
        calls = [dspy.Predict("question -> answer").acall(question=f"question {number}") for number in range(8)]
        done = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(not isinstance(each, BaseException) for each in done) == cap.calls == len(lm.engine.calls) <= 3


def test_a_program_ends_with_the_limit() -> None:
    """The error surfaces from a program as ours, not as a degraded answer."""
    model, _ = cap_model(model_of(answering()), 0.0)
    with model.use(), pytest.raises(BudgetExceeded):
        NaiveRAG(search=lambda query, k: ["The answer is 42."])(question="What is the answer?")


def test_the_cache_is_free() -> None:
    """A reply from DSPy's cache costs nothing and needs no money left."""
    lm = answering(cache=True)
    model, cap = cap_model(model_of(lm), 1.5 * _cost_of_one())
    with model.use():
        assert [ask(), ask(), ask()] == ["42"] * 3
    assert (cap.calls, len(lm.engine.calls)) == (1, 1)


def test_failed_calls_cost_nothing_and_do_not_block() -> None:
    """A booking is given back when a call fails."""

    def failing(request: object) -> str:
        raise ConnectionError("down")

    model, cap = cap_model(model_of(fake_lm(failing, model=PRICED)), 1e-3)
    with model.use():
        for _ in range(3):
            with pytest.raises(Exception, match="down"):
                ask()
    assert (cap.spent, cap.tripped) == (0.0, False)


@pytest.mark.parametrize("kind", ["rules", "replay"])
def test_what_costs_nothing_is_not_capped(tmp_path: Path, kind: str) -> None:
    """Rules and replays go through a limit of 0."""
    lm = None
    if kind == "replay":
        header = header_for(answering(), adapter="chat", today="2026-01-01")
        recording = Recording.create(tmp_path / "calls.jsonl", header)
        with dspy.context(lm=recorded_lm(recording, answering())):
            ask()
        recording.close()
        lm = recorded_lm(Recording.load(tmp_path / "calls.jsonl"))
    model, cap = cap_model(Model(name=kind, lm=lm), 0.0)
    assert model.lm is lm
    if lm is not None:
        with model.use():
            assert ask() == "42"
    assert cap.spent == 0.0


def test_recorded_replies_are_free_and_new_ones_are_not(tmp_path: Path) -> None:
    """The limit stands below the recording, so a run that goes on pays for nothing twice."""
    lm = answering()
    recording = Recording.create(tmp_path / "calls.jsonl", header_for(lm, adapter="chat", today="2026-01-01"))
    model, cap = cap_model(Model(name=PRICED, lm=recorded_lm(recording, lm), recording=recording), 1.0)
    with model.use():
        assert [ask(1), ask(1), ask(2)] == ["42"] * 3
    assert cap.calls == len(lm.engine.calls) == 2


@pytest.mark.parametrize("dollars", [-0.01, float("nan"), float("inf")])
def test_the_limit_must_be_an_amount(dollars: float) -> None:
    """Anything else is refused."""
    with pytest.raises(ConfigError, match="amount in dollars"):
        cap_model(model_of(answering()), dollars)


def test_an_unknown_price_is_refused() -> None:
    """A limit that could not be kept is no limit."""
    with pytest.raises(ConfigError, match="needs the price of 'fake/model'"):
        cap_model(model_of(answering("fake/model")), 1.0)


def test_copies_share_the_limit() -> None:
    """Optimizers deep-copy programs and clients; the money is one."""
    model, cap = cap_model(model_of(answering()), 1.0)
    assert model.lm is not None
    with dspy.context(lm=copy.deepcopy(model.lm)):
        ask()
    assert cap.calls == 1


def test_a_booking_waits_for_calls_that_may_leave_room() -> None:
    """Beside a call under way a second one that might not fit waits, and goes when there is room after all."""
    cap = SpendingCap(1.0)
    cap.reserve(0.6)
    with ThreadPoolExecutor(1) as threads:
        second = threads.submit(cap.reserve, 0.6)
        cap.settle(0.6, 0.1)
        second.result(timeout=5)
    cap.settle(0.6, 0.6)
    assert (round(cap.spent, 6), cap.tripped) == (0.7, False)


def _cost_of_one() -> float:
    model, cap = cap_model(model_of(answering()), 1.0)
    with model.use():
        ask()
    return cap.spent
