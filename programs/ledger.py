"""Counts what one question costs, by phase, and holds its hard limits. Thread-safe."""

import threading
import time
from collections.abc import Callable

from reflective_rag.programs.settings import Budget
from reflective_rag.programs.steps import Limit
from reflective_rag.signatures.types import Phase, PhaseUsage

LONGEST_WAIT = min(threading.TIMEOUT_MAX, 1e9)
"""Seconds that Python can wait for; a longer limit is none that anybody sees."""


class Ledger:
    """Usage and limits of one question. Calls and tokens are reserved before a call and settled after it."""

    def __init__(self, budget: Budget | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget or Budget()
        self.retrievals = 0
        self.searches = 0
        """Searches that ran while DSPy's trace was kept; those of one round run side by side, and count as one."""
        self.undone: set[str] = set()
        """What rules left undone when the time was up."""
        self._clock = clock
        self._start = clock()
        self._lock = threading.Lock()
        self._usage: dict[Phase, PhaseUsage] = {}
        self._reserved_calls = 0
        self._reserved_tokens = 0
        self._closed = False

    @property
    def usage(self) -> dict[Phase, PhaseUsage]:
        """A copy of the usage so far."""
        with self._lock:
            return dict(self._usage)

    def seconds_left(self) -> float | None:
        """Seconds until the limit (not below 0, and not above what can be waited for), or None without one."""
        left = self.seconds_to_limit()
        return None if left is None else min(max(0.0, left), LONGEST_WAIT)

    def seconds_to_limit(self) -> float | None:
        """The same, and below 0 when the limit is passed."""
        return None if self.budget.seconds is None else self.budget.seconds - (self._clock() - self._start)

    def reserve_call(self, tokens: int) -> Limit | None:
        """Book one call of about `tokens` prompt tokens; returns the limit that forbids it, or None when it may go.

        A call may start while any of the budget is left and no other call is under way (so tokens are overshot by at
        most one call); beside calls that are under way it must fit with its estimate.
        """
        with self._lock:
            if self.seconds_left() == 0.0:
                return "seconds"
            spent = sum(u.calls for u in self._usage.values()) + self._reserved_calls
            if self.budget.lm_calls is not None and spent >= self.budget.lm_calls:
                return "calls"
            if self.budget.tokens is not None:
                used = sum(u.prompt_tokens + u.completion_tokens for u in self._usage.values())
                estimate = self._reserved_tokens + (tokens if self._reserved_calls else 0)
                if used + estimate >= self.budget.tokens:
                    return "tokens"
            self._reserved_calls += 1
            self._reserved_tokens += tokens
            return None

    def release_call(self, tokens: int) -> None:
        """Take back a reservation, once the call has been counted with `count_call` (or never happened)."""
        with self._lock:
            self._reserved_calls -= 1
            self._reserved_tokens -= tokens

    def reserve_retrievals(self, wanted: int) -> int:
        """How many of `wanted` queries may run; they are counted at once."""
        with self._lock:
            if self.seconds_left() == 0.0:
                return 0
            limit = self.budget.retrievals
            granted = wanted if limit is None else max(0, min(wanted, limit - self.retrievals))
            self.retrievals += granted
            return granted

    def count_call(self, phase: Phase, *, prompt: int = 0, completion: int = 0, cached: bool = False) -> None:
        """Add one model call (a failed attempt counts with no tokens). After `close` it is ignored."""
        self._add(phase, PhaseUsage(calls=1, cached=int(cached), prompt_tokens=prompt, completion_tokens=completion))

    def count_seconds(self, phase: Phase, seconds: float) -> None:
        """Add time spent in a phase; steps that run side by side each count their own."""
        self._add(phase, PhaseUsage(seconds=seconds))

    def close(self) -> None:
        """Freeze the figures: a call that was abandoned at the deadline and ends later must not change a result."""
        with self._lock:
            self._closed = True

    def _add(self, phase: Phase, more: PhaseUsage) -> None:
        with self._lock:
            if self._closed:
                return
            old = self._usage.get(phase, PhaseUsage())
            self._usage[phase] = PhaseUsage(
                calls=old.calls + more.calls,
                cached=old.cached + more.cached,
                prompt_tokens=old.prompt_tokens + more.prompt_tokens,
                completion_tokens=old.completion_tokens + more.completion_tokens,
                seconds=old.seconds + more.seconds,
            )
