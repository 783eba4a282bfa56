"""The circuit breaker."""

import pytest

from reflective_rag.data.retrieval import CircuitBreaker, RetrieverUnavailable
from tests.data.retrieval.helpers import run_threads


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    """At zero."""
    return Clock()


@pytest.fixture
def breaker(clock):
    """Opens after two failures, for ten seconds."""
    return CircuitBreaker("the server", failures=2, rest_seconds=10, clock=clock)


def fail(breaker, error=RetrieverUnavailable):
    """A call that fails."""
    with pytest.raises(error), breaker:
        raise error("failed")


def succeed(breaker):
    """A call that works."""
    with breaker:
        pass


def test_failures_in_a_row_open_it(breaker):
    """Then calls are refused at once, with the server's name and what to ask."""
    fail(breaker)
    assert breaker.state == "closed"
    fail(breaker)
    assert breaker.state == "open"
    with (
        pytest.raises(RetrieverUnavailable, match=r"the server did not answer 2 times.*10 seconds.*running\?"),
        breaker,
    ):
        pytest.fail("the call went through")


def test_a_success_between_keeps_it_closed(breaker):
    """Only failures in a row count, and an error that the server itself gave is an answer."""
    for _ in range(3):
        fail(breaker)
        succeed(breaker)
        fail(breaker)
        fail(breaker, ValueError)
    assert breaker.state == "closed"


def test_after_the_rest_one_call_decides(breaker, clock):
    """Half-open: its success closes the breaker, its failure opens it for as long again."""
    fail(breaker)
    fail(breaker)
    clock.now = 10.0
    assert breaker.state == "half-open"
    fail(breaker)
    assert breaker.state == "open"
    clock.now = 19.9
    assert breaker.state == "open"
    clock.now = 20.0
    succeed(breaker)
    assert breaker.state == "closed"
    fail(breaker)
    assert breaker.state == "closed"


def test_while_one_call_tries_the_others_are_refused(breaker, clock):
    """Half-open lets one call through at a time; one that was interrupted leaves its place to the next."""
    fail(breaker)
    fail(breaker)
    clock.now = 10.0
    with breaker, pytest.raises(RetrieverUnavailable), breaker:
        pytest.fail("the call went through")
    fail(breaker)
    fail(breaker)
    clock.now = 20.0
    with pytest.raises(KeyboardInterrupt), breaker:
        raise KeyboardInterrupt
    assert breaker.state == "half-open"
    succeed(breaker)
    assert breaker.state == "closed"


def test_many_threads_fail_at_once(breaker):
    """The count is right whoever fails."""
    run_threads(lambda: fail(breaker), 8)
    assert breaker.state == "open"
