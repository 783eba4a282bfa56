"""What keeps a dead server from costing more than seconds: a deadline for each call, and a circuit breaker over all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Literal, Self, TypeVar

from reflective_rag.signatures.errors import DataError

T = TypeVar("T")

FAILURES = 3
"""Failures in a row after which a server is left alone."""
REST_SECONDS = 30.0
"""How long it is left alone before one call may try it again."""


class RetrieverUnavailable(DataError):
    """The server of a retriever does not answer. A program goes on with the passages it has, and says so."""


class CircuitBreaker:
    """Refuses calls to a server that failed several times in a row (M. Nygard, "Release It!", 2007).

    `closed`: calls go through. `open`: calls are refused at once. `half-open`, after `rest_seconds`: one call goes
    through; its success closes the breaker, its failure opens it again. A failure is a `RetrieverUnavailable`; any
    other error is an answer. Used as a context manager around each call; safe for threads. `clock` gives seconds.
    """

    def __init__(
        self,
        name: str,
        *,
        failures: int = FAILURES,
        rest_seconds: float = REST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._limit, self._rest, self._clock = name, failures, rest_seconds, clock
        self._failed = 0
        self._opened_at: float | None = None
        self._trying = False
        self._lock = threading.Lock()

    @property
    def state(self) -> Literal["closed", "open", "half-open"]:
        """Without changing it."""
        with self._lock:
            return self._state()

    def __enter__(self) -> Self:
        with self._lock:
            state = self._state()
            if state == "open" or (state == "half-open" and self._trying):
                raise RetrieverUnavailable(
                    f"{self._name} did not answer {self._failed} times in a row and is left alone for "
                    f"{self._rest:g} seconds. Is it running?"
                )
            self._trying = state == "half-open"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._lock:
            was_trying, self._trying = self._trying, False
            if isinstance(error, RetrieverUnavailable):
                self._failed += 1
                if was_trying or self._failed >= self._limit:
                    self._opened_at = self._clock()
            elif error is None or isinstance(error, Exception):
                self._failed, self._opened_at = 0, None

    def _state(self) -> Literal["closed", "open", "half-open"]:
        if self._opened_at is None:
            return "closed"
        return "half-open" if self._clock() - self._opened_at >= self._rest else "open"
