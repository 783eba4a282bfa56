"""The ledger of one question: what it cost, and the four hard limits."""

from typing import Any

import pytest

from reflective_rag.programs.ledger import Ledger
from reflective_rag.programs.settings import Budget


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def spend(ledger: Ledger, calls: int, *, prompt: int = 10, completion: int = 5) -> list[Any]:
    """Make calls one after the other; what the ledger said to each."""
    answers: list[Any] = []
    for _ in range(calls):
        answers.append(ledger.reserve_call(prompt))
        if answers[-1] is None:
            ledger.count_call("answer", prompt=prompt, completion=completion)
            ledger.release_call(prompt)
    return answers


@pytest.mark.parametrize(
    ("limit", "granted"),
    [
        pytest.param(0, 0, id="0"),
        pytest.param(1, 1, id="1"),
        pytest.param(3, 3, id="n"),
        pytest.param(None, 5, id="none"),
    ],
)
def test_calls_are_limited_exactly(limit: int | None, granted: int) -> None:
    """After the last call of the budget the next is refused, and the refusal names the budget."""
    answers = spend(Ledger(Budget(lm_calls=limit)), 5)
    assert answers == [None] * granted + ["calls"] * (5 - granted)


@pytest.mark.parametrize(
    ("limit", "granted"),
    [
        pytest.param(0, 0, id="0"),
        pytest.param(1, 1, id="1"),
        pytest.param(15, 1, id="one call's worth"),
        pytest.param(16, 2, id="a little more"),
        pytest.param(None, 5, id="none"),
    ],
)
def test_tokens_are_overshot_by_one_call_at_most(limit: int | None, granted: int) -> None:
    """A call may start while any of the budget is left; prompt and completion count together."""
    ledger = Ledger(Budget(tokens=limit))
    assert spend(ledger, 5) == [None] * granted + ["tokens"] * (5 - granted)
    if limit is not None:
        used = ledger.usage["answer"] if granted else None
        assert (used.prompt_tokens + used.completion_tokens if used else 0) <= limit + 15


def test_calls_side_by_side_are_booked_before_they_run() -> None:
    """What is under way counts: two calls cannot both take the last place."""
    ledger = Ledger(Budget(lm_calls=1))
    assert [ledger.reserve_call(1), ledger.reserve_call(1)] == [None, "calls"]
    ledger = Ledger(Budget(tokens=100))
    assert [ledger.reserve_call(60), ledger.reserve_call(60)] == [None, "tokens"]
    ledger.release_call(60)
    assert ledger.reserve_call(60) is None


def test_one_call_larger_than_the_budget_may_start_alone() -> None:
    """Otherwise a small token budget would never give an answer."""
    assert Ledger(Budget(tokens=10)).reserve_call(10_000) is None


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(0, [0, 0, 0], id="0"),
        pytest.param(1, [1, 0, 0], id="1"),
        pytest.param(3, [2, 1, 0], id="n"),
        pytest.param(None, [2, 2, 2], id="none"),
    ],
)
def test_retrievals_are_granted_in_part(limit: int | None, expected: list[int]) -> None:
    """Of two wanted queries only one may be left; what is granted is counted at once."""
    ledger = Ledger(Budget(retrievals=limit))
    assert [ledger.reserve_retrievals(2) for _ in range(3)] == expected
    assert ledger.retrievals == sum(expected)


@pytest.mark.parametrize("limit", [pytest.param(0.0, id="0"), pytest.param(1.0, id="1"), pytest.param(9.5, id="n")])
def test_after_the_deadline_nothing_starts(limit: float) -> None:
    """Seconds end calls and retrievals alike, and the time that is left is never negative."""
    clock = Clock()
    ledger = Ledger(Budget(seconds=limit), clock)
    assert ledger.seconds_left() == limit
    clock.now = limit
    assert (ledger.seconds_left(), ledger.reserve_call(1), ledger.reserve_retrievals(1)) == (0.0, "seconds", 0)
    clock.now = limit + 100
    assert ledger.seconds_left() == 0.0


def test_no_limit_is_no_deadline() -> None:
    """Without a limit on seconds there is nothing left to count down."""
    assert Ledger().seconds_left() is None


def test_usage_is_kept_by_phase() -> None:
    """Calls, cache hits, tokens and seconds add up for each phase; what is handed out is a copy."""
    ledger = Ledger()
    ledger.count_call("answer", prompt=10, completion=2)
    ledger.count_call("answer", prompt=1, completion=1, cached=True)
    ledger.count_call("assess")
    ledger.count_seconds("retrieve", 0.5)
    usage = ledger.usage
    answer = usage["answer"]
    assert (answer.calls, answer.cached, answer.prompt_tokens, answer.completion_tokens) == (2, 1, 11, 3)
    assert (usage["assess"].calls, usage["retrieve"].seconds) == (1, 0.5)
    usage.clear()
    assert ledger.usage


def test_a_closed_ledger_ignores_what_comes_late() -> None:
    """A call that was abandoned at the deadline and ends later does not change a result that was given."""
    ledger = Ledger()
    ledger.count_call("answer", prompt=1)
    before = ledger.usage
    ledger.close()
    ledger.count_call("answer", prompt=1)
    ledger.count_seconds("answer", 1.0)
    assert ledger.usage == before
