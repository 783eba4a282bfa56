"""Runs a loop's steps: in threads, on an event loop, as a stream of events, or from a record of earlier outcomes.

A driver owns budgets, deadlines, retries, side-by-side execution and the order of the DSPy trace. Results do not depend
on thread timing: outcomes come back, and traces are merged, in step order.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import dspy

from reflective_rag.data.threads import in_daemon_thread
from reflective_rag.programs.asking import AskRun
from reflective_rag.programs.ledger import Ledger
from reflective_rag.programs.rules.deadline import within
from reflective_rag.programs.running import Run, ajob, job, late, prepare
from reflective_rag.programs.searching import SearchHandle
from reflective_rag.programs.steps import Ask, Outcome, Report, Score, Search, SearchOutcome, Step, Steps, Write
from reflective_rag.programs.trace_marks import mark
from reflective_rag.signatures.types import Result, Round

MUCH_TEXT = 8_000
"""Characters found so far from which what rules do between the steps leaves the event loop: some ten milliseconds."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened while a question is answered.

    `started` and `finished` name a step (`step`: "search", or the name of the predictor or scorer); `round` carries a
    finished round, whose `decision` is None where the program does not judge (see `Round`); `result` is the last event
    and carries the whole result (as the `dspy.Prediction` that a plain call returns).
    """

    kind: Literal["started", "finished", "round", "result"]
    step: str = ""
    queries: tuple[str, ...] = ()
    round: Round | None = None
    result: Any = None


def run(steps: Steps, search: SearchHandle, ledger: Ledger) -> Result:
    """Run to the end in this thread and a pool."""
    return _last(_events(steps, search, ledger))


def stream(steps: Steps, search: SearchHandle, ledger: Ledger) -> Iterator[Event]:
    """The same, with an event before and after every step; the first comes before the first model reply."""
    return _events(steps, search, ledger)


def record(steps: Steps, search: SearchHandle, ledger: Ledger, observe: Callable[[Step, Outcome], None]) -> Result:
    """The same as `run`, telling `observe` every step with its outcome, so that `replay` can run it again."""
    return _last(_events(steps, search, ledger, observe))


def _last(events: Iterator[Event]) -> Result:
    for event in events:
        if event.kind == "result":
            result: Result = event.result
            return result
    raise AssertionError("a loop ends with a result")


def _events(
    steps: Steps, search: SearchHandle, ledger: Ledger, observe: Callable[[Step, Outcome], None] | None = None
) -> Iterator[Event]:
    outcomes: list[Outcome] | None = None
    try:
        while True:
            try:
                batch = _go_on(steps, outcomes, ledger)
            except StopIteration as stop:
                ledger.close()
                yield Event(kind="result", result=stop.value)
                return
            yield from _starting(batch)
            outcomes = _run_batch(batch, search, ledger)
            if observe is not None:
                for step, outcome in zip(batch, outcomes, strict=True):
                    observe(step, outcome)
            yield from _finished(batch)
    finally:
        steps.close()


async def arun(steps: Steps, search: SearchHandle, ledger: Ledger) -> Result:
    """Run to the end on the event loop; independent steps are gathered."""
    async for event in astream(steps, search, ledger):
        if event.kind == "result":
            result: Result = event.result
            return result
    raise AssertionError("a loop ends with a result")


async def astream(steps: Steps, search: SearchHandle, ledger: Ledger) -> AsyncIterator[Event]:
    """The events of `stream`, on the event loop."""
    loop = _OnLoop(steps, ledger)
    try:
        batch = await loop.go_on(None)
        while batch is not None:
            for event in _starting(batch):
                yield event
            outcomes = await _arun_batch(batch, search, ledger)
            for event in _finished(batch):
                yield event
            batch = await loop.go_on(outcomes)
        ledger.close()
        yield Event(kind="result", result=loop.result)
    finally:
        loop.close()


def _go_on(steps: Steps, outcomes: list[Outcome] | None, ledger: Ledger) -> Sequence[Step]:
    """The next steps; the rules that are at work in between know when the time is up."""
    with within(None if ledger.seconds_left() is None else ledger.seconds_to_limit, ledger.undone):
        return next(steps) if outcomes is None else steps.send(outcomes)


class _OnLoop:
    """A loop's generator on an event loop: it goes on in a thread where rules have much to read in between."""

    def __init__(self, steps: Steps, ledger: Ledger) -> None:
        self.steps, self.ledger = steps, ledger
        self.result: Any = None
        self._found = 0
        self._running: Future[Sequence[Step] | None] | None = None

    async def go_on(self, outcomes: list[Outcome] | None) -> Sequence[Step] | None:
        """The next steps; None at the end, when `result` is there."""
        for outcome in outcomes or ():
            if isinstance(outcome, SearchOutcome):
                self._found += sum(len(passage.text) for passage in outcome.passages)
        if self._found < MUCH_TEXT:
            return self._next(outcomes)
        self._running = in_daemon_thread(partial(self._next, outcomes))
        return await asyncio.wrap_future(self._running)

    def _next(self, outcomes: list[Outcome] | None) -> Sequence[Step] | None:
        try:
            return _go_on(self.steps, outcomes, self.ledger)
        except StopIteration as stop:  # no future can carry it
            self.result = stop.value
            return None

    def close(self) -> None:
        """Close the generator; where it is still at work in its thread (the caller gave up), when it has ended."""
        if self._running is None or self._running.done():
            self.steps.close()
        else:
            self._running.add_done_callback(lambda _: self.steps.close())


def replay(steps: Steps, outcomes: Callable[[Step], Outcome]) -> Result:
    """Run against recorded outcomes, without a model or a retriever. `outcomes` raises for a step it does not know."""
    try:
        batch = next(steps)
        while True:
            batch = steps.send([None if isinstance(step, Report) else outcomes(step) for step in batch])
    except StopIteration as stop:
        result: Result = stop.value
        return result


def _starting(batch: Sequence[Step]) -> Iterator[Event]:
    for step in batch:
        if isinstance(step, Search):
            yield Event(kind="started", step="search", queries=step.queries)
        elif isinstance(step, Ask | Score | Write):
            yield Event(kind="started", step=step.name)
        elif step.round is not None:
            yield Event(kind="round", round=step.round)


def _finished(batch: Sequence[Step]) -> Iterator[Event]:
    for step in batch:
        if isinstance(step, Search):
            yield Event(kind="finished", step="search", queries=step.queries)
        elif isinstance(step, Ask | Score | Write):
            yield Event(kind="finished", step=step.name)


def _run_batch(batch: Sequence[Step], search: SearchHandle, ledger: Ledger) -> list[Outcome]:
    runs = [prepare(step, ledger) for step in batch]
    jobs = [job(run_, search, ledger) for run_ in runs]
    outcomes = _side_by_side(jobs, runs, ledger)
    _merge_traces(runs, outcomes, ledger)
    return outcomes


async def _arun_batch(batch: Sequence[Step], search: SearchHandle, ledger: Ledger) -> list[Outcome]:
    runs = [prepare(step, ledger) for step in batch]
    if len(runs) == 1 and ledger.seconds_left() is None:
        outcomes = [await ajob(runs[0], search, ledger)]
    else:
        tasks = [_within(ajob(run, search, ledger), run, ledger) for run in runs]
        outcomes = list(await asyncio.gather(*tasks))
    _merge_traces(runs, outcomes, ledger)
    return outcomes


async def _within(work: Any, run: Run, ledger: Ledger) -> Outcome:
    try:
        outcome: Outcome = await asyncio.wait_for(work, ledger.seconds_left())
        return outcome
    except TimeoutError:
        return late(run)


def _side_by_side(jobs: Sequence[Callable[[], Outcome]], runs: Sequence[Run], ledger: Ledger) -> list[Outcome]:
    """Run the jobs at once, outcomes in order; the first runs in this thread unless there is a deadline."""
    if ledger.seconds_left() is not None:
        return _until_deadline(jobs, runs, ledger)
    futures = [in_daemon_thread(each) for each in jobs[1:]]
    try:
        first = jobs[0]()
    except Exception:
        wait(futures)  # an error must not leave calls running behind the caller's back
        raise
    return [first, *(future.result() for future in futures)]


def _until_deadline(jobs: Sequence[Callable[[], Outcome]], runs: Sequence[Run], ledger: Ledger) -> list[Outcome]:
    """As above, but a job that is late is abandoned: a thread cannot be stopped, only left behind."""
    futures = [in_daemon_thread(each) for each in jobs]
    outcomes: list[Outcome] = []
    for future, run_ in zip(futures, runs, strict=True):
        try:
            outcomes.append(future.result(timeout=ledger.seconds_left()))
        except FutureTimeout:
            outcomes.append(late(run_))
    return outcomes


def _merge_traces(runs: Sequence[Run], outcomes: Sequence[Outcome], ledger: Ledger) -> None:
    trace = dspy.settings.trace
    if trace is None:
        return
    for run_ in runs:
        if isinstance(run_, AskRun):
            for entry in run_.demo_trace():
                mark(entry[2], ledger.searches)
                if len(trace) >= dspy.settings.max_trace_size:
                    trace.pop(0)
                trace.append(entry)
    ledger.searches += any(isinstance(outcome, SearchOutcome) and bool(outcome.ran) for outcome in outcomes)
