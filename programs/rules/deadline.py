"""When the rules have to stop: a question's time limit, looked at between sentences, not only between steps.

Pure functions know no clock, so the limit is set around them (`within`) and watched by the loops that may be long.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Left = Callable[[], float | None]
"""Seconds that are left, below 0 when the limit is passed; None without a limit."""

GRACE = 0.25
"""Seconds that rules may go on after the limit, to answer from what there is and to check it."""

_limit: ContextVar[Left | None] = ContextVar("rules_limit", default=None)
_watched: ContextVar[Left | None] = ContextVar("rules_watched", default=None)


class OutOfTime(Exception):
    """The time is up in the middle of a judgement by rules; never seen outside of them."""


@contextmanager
def within(left: Left | None) -> Iterator[None]:
    """Set the limit of the rules that are called inside."""
    token = _limit.set(left)
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def watched(grace: float = 0.0) -> Iterator[None]:
    """Let `check` raise `OutOfTime` inside, `grace` seconds after the limit."""
    left = _limit.get()
    if left is None or left() is None:
        yield
        return

    def late() -> float:
        return (left() or 0.0) + grace

    token = _watched.set(late)
    try:
        yield
    finally:
        _watched.reset(token)


def check() -> None:
    """Raise `OutOfTime` when the limit is passed, where somebody watches."""
    left = _watched.get()
    if left is not None and (seconds := left()) is not None and seconds <= 0:
        raise OutOfTime
