"""When the rules have to stop: a question's time limit, looked at between sentences, not only between steps.

Pure functions know no clock, so the limit is set around them (`within`) and watched by the loops that may be long.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Left = Callable[[], float | None]
"""Seconds that are left, below 0 when the limit is passed; None without a limit."""

GRACE = 0.25
"""Seconds that rules may go on after the limit, to answer from what there is and to check it."""

_limit: ContextVar[Left | None] = ContextVar("rules_limit", default=None)
_undone: ContextVar[set[str] | None] = ContextVar("rules_undone", default=None)
_watched: ContextVar[Left | None] = ContextVar("rules_watched", default=None)


class OutOfTime(Exception):
    """The time is up in the middle of a judgement by rules; never seen outside of them."""


@contextmanager
def within(left: Left | None, undone: set[str] | None = None) -> Iterator[None]:
    """Set the limit of the rules that are called inside; what they leave undone for it is put into `undone`."""
    tokens = _limit.set(left), _undone.set(undone)
    try:
        yield
    finally:
        _limit.reset(tokens[0])
        _undone.reset(tokens[1])


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


def is_up() -> bool:
    """Whether the limit is passed."""
    left = _limit.get()
    return left is not None and (seconds := left()) is not None and seconds <= 0


def leave_undone(part: str) -> None:
    """Note a part of the work that the limit left undone, under a name of `signatures.wording.WORDS`."""
    if (undone := _undone.get()) is not None:
        undone.add(part)


def in_time(part: str, work: Callable[[], T], otherwise: T, grace: float = 0.0) -> T:
    """What `work` returns; where the limit ends it in the middle, `otherwise`, and the part counts as undone."""
    try:
        with watched(grace):
            return work()
    except OutOfTime:
        leave_undone(part)
        return otherwise
