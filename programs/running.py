"""One step at work: a model call, a search, or a small model; in this thread or on the event loop."""

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from reflective_rag.data.partial import failed_part
from reflective_rag.data.secrets import scrub
from reflective_rag.data.threads import in_daemon_thread, is_cancelled
from reflective_rag.programs.asking import AskRun, logger
from reflective_rag.programs.ledger import Ledger
from reflective_rag.programs.searching import SearchHandle, finish, is_async
from reflective_rag.programs.steps import (
    Ask,
    AskOutcome,
    Late,
    Limit,
    Outcome,
    Score,
    ScoreOutcome,
    Search,
    SearchOutcome,
    Step,
    Write,
)
from reflective_rag.signatures.errors import ConfigError, ContractError, described
from reflective_rag.signatures.text import well_formed
from reflective_rag.signatures.types import Passage


@dataclass(frozen=True)
class SearchRun:
    """A search whose queries are already booked, so that what a budget refuses does not depend on timing."""

    step: Search
    granted: int


@dataclass(frozen=True)
class ScoreRun:
    """A small model at work."""

    step: Score
    ledger: Ledger

    def run(self) -> ScoreOutcome:
        """Never raises for what the model does; raises for what the user must mend."""
        if self.ledger.seconds_left() == 0.0:
            return ScoreOutcome(refused="seconds")
        started = time.monotonic()
        try:
            return ScoreOutcome(scores=self.step.predict(self.step.pairs) if self.step.pairs else [])
        except ConfigError:
            raise
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - a user's scorer; the judgement falls back
            message = scrub(described(error).splitlines()[0])
            logger.warning("%s failed: %s", self.step.name, message)
            return ScoreOutcome(error=message)
        finally:
            self.ledger.count_seconds(self.step.phase, time.monotonic() - started)


class WriteRun:
    """A generator of the caller's at work: one call, reserved like a model's."""

    def __init__(self, step: Write, ledger: Ledger) -> None:
        self.step, self.ledger = step, ledger
        self.refused = ledger.reserve_call(0)
        self._uncounted = threading.Lock()

    def run(self) -> AskOutcome:
        """In this thread; an async generator gets an event loop of its own."""
        if self.refused:
            return AskOutcome(refused=self.refused)
        started = time.monotonic()
        try:
            found = self.step.write(self.step.question, self.step.passages)
            return self._read(finish(found) if inspect.isawaitable(found) else found)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - a user's generator; the loop ends
            return self._failed(error)
        finally:
            self._settle(started)

    async def arun(self) -> AskOutcome:
        """The same on the event loop; a plain function goes into a thread."""
        if self.refused:
            return AskOutcome(refused=self.refused)
        if not is_async(self.step.write):
            return await asyncio.wrap_future(in_daemon_thread(self.run))
        started = time.monotonic()
        try:
            return self._read(await self.step.write(self.step.question, self.step.passages))
        except (Exception, asyncio.CancelledError) as error:
            if is_cancelled():
                raise
            return self._failed(error)
        finally:
            self._settle(started)

    def abandon(self) -> None:
        """Book a call that is left behind at the deadline; its own end is not counted any more."""
        self._count()

    def _read(self, found: Any) -> AskOutcome:
        if not isinstance(found, str):
            raise ContractError(f"`{self.step.name}` must return the answer as a string, got {type(found).__name__}")
        return AskOutcome(fields={"answer": well_formed(found), "cited": []})

    def _failed(self, error: BaseException) -> AskOutcome:
        if isinstance(error, ConfigError):
            raise error
        message = scrub(described(error).splitlines()[0])
        logger.warning("%s failed: %s", self.step.name, message)
        return AskOutcome(error=message)

    def _settle(self, started: float) -> None:
        self._count()
        self.ledger.count_seconds(self.step.phase, time.monotonic() - started)
        self.ledger.release_call(0)

    def _count(self) -> None:
        """Once, whoever comes first: the call's own end, or the deadline (which also ends a call on the event loop)."""
        if self._uncounted.acquire(blocking=False):
            self.ledger.count_call(self.step.phase)


Run = AskRun | SearchRun | ScoreRun | WriteRun | None


def prepare(step: Step, ledger: Ledger) -> Run:
    """The step with its budget booked; None for a report."""
    if isinstance(step, Ask):
        return AskRun(step, ledger)
    if isinstance(step, Search):
        return SearchRun(step, ledger.reserve_retrievals(len(step.queries)))
    if isinstance(step, Write):
        return WriteRun(step, ledger)
    return ScoreRun(step, ledger) if isinstance(step, Score) else None


def late(run: Run) -> Outcome:
    """What a step amounts to that has not ended at the deadline. A model call is booked: it was sent."""
    if isinstance(run, AskRun | WriteRun) and not run.refused:
        run.abandon()
    if isinstance(run, SearchRun):
        return SearchOutcome(refused="seconds")
    if isinstance(run, ScoreRun):
        return ScoreOutcome(refused="seconds")
    return Late() if run is None else AskOutcome(refused="seconds")


def job(run: Run, search: SearchHandle, ledger: Ledger) -> Callable[[], Outcome]:
    """What to call in a thread."""
    if isinstance(run, AskRun | ScoreRun | WriteRun):
        return run.run
    if isinstance(run, SearchRun):
        return lambda: _search(run, search, ledger)
    return lambda: _reported(ledger)


def _reported(ledger: Ledger) -> Late | None:
    return Late() if ledger.seconds_left() == 0.0 else None


async def ajob(run: Run, search: SearchHandle, ledger: Ledger) -> Outcome:
    """The same on the event loop; what blocks goes into a thread."""
    if isinstance(run, AskRun | WriteRun):
        return await run.arun()
    if isinstance(run, ScoreRun):
        return await asyncio.wrap_future(in_daemon_thread(run.run))
    if not isinstance(run, SearchRun):
        return _reported(ledger)
    started = time.monotonic()
    queries = run.step.queries[: run.granted]
    source = run.step.source or search
    found = await asyncio.gather(*(source.acall(q, run.step.k) for q in queries), return_exceptions=True)
    return _search_outcome(run, found, started, ledger)


def _search(run: SearchRun, search: SearchHandle, ledger: Ledger) -> SearchOutcome:
    started = time.monotonic()
    queries = run.step.queries[: run.granted]

    def one(query: str) -> list[Passage] | Exception:
        try:
            return (run.step.source or search)(query, run.step.k)
        except Exception as error:  # noqa: BLE001 - a retriever may raise anything; `_search_outcome` says what it means
            return error

    if len(queries) == 1:
        return _search_outcome(run, [one(queries[0])], started, ledger)
    futures = [in_daemon_thread(partial(one, query)) for query in queries]
    found = [future.result() for future in futures]
    return _search_outcome(run, found, started, ledger)


def _search_outcome(run: SearchRun, found: Sequence[Any], started: float, ledger: Ledger) -> SearchOutcome:
    """A retriever that fails is an outcome, not a crash: the loop goes on with what it has and says so."""
    ledger.count_seconds("retrieve", time.monotonic() - started)
    error = ""
    for failure in (f for f in found if isinstance(f, BaseException)):
        if isinstance(failure, ConfigError) or not isinstance(failure, Exception):
            raise failure
        error = scrub(described(failure))
        logger.warning("the retriever failed: %s", error)
    missing = scrub("; ".join(dict.fromkeys(filter(None, map(failed_part, found)))))
    if missing:
        logger.warning("a part of the retriever failed: %s", missing)
    refused: Limit | None = None
    if run.granted < len(run.step.queries):
        refused = "seconds" if ledger.seconds_left() == 0.0 else "retrievals"
    return SearchOutcome(
        ran=run.step.queries[: run.granted],
        results=tuple(() if isinstance(f, BaseException) else tuple(f) for f in found),
        refused=refused,
        error=error,
        partial=missing,
    )
