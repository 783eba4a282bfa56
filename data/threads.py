"""Work in threads that nobody has to wait for."""

import asyncio
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

from reflective_rag.signatures.errors import described

T = TypeVar("T")
IDLE_SECONDS = 10.0
"""A thread without work for so long ends."""


class _Worker:
    """A daemon thread that runs one job after another; it waits for the next one among the idle."""

    def __init__(self, first: Callable[[], None]) -> None:
        self.jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.jobs.put(first)
        threading.Thread(target=self._run, daemon=True, name="reflective-rag-step").start()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            job()
            del job  # an idle thread must not keep what the last question read
            _idle.append(self)

    def _next(self) -> Callable[[], None] | None:
        try:
            return self.jobs.get(timeout=IDLE_SECONDS)
        except Empty:
            try:
                _idle.remove(self)
            except ValueError:  # taken in this very moment: its job is on the way
                return self.jobs.get()
            return None


ENDS_A_WAIT = (StopIteration, StopAsyncIteration, asyncio.CancelledError)
"""What ends the one who waits instead of telling him of a failure: no future of asyncio carries the first (it would
never be done), and the last looks as if the waiting itself had been called off."""


def portable(error: BaseException) -> BaseException:
    """An exception as it may be raised across a thread, a future or a generator: as it is, or as a RuntimeError.

    The RuntimeError names what was raised, as Python does for a generator that raises StopIteration (PEP 479).
    """
    if not isinstance(error, ENDS_A_WAIT):
        return error
    text = described(error).removesuffix(": ")
    carrier = RuntimeError(f"raised {text}")
    carrier.__cause__ = error
    return carrier


def is_cancelled() -> bool:
    """Whether somebody called off the task that runs now; if not, a CancelledError in it is its own."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop in this thread
        return False
    return task is not None and task.cancelling() > 0


_idle: deque[_Worker] = deque()
os.register_at_fork(after_in_child=_idle.clear)  # threads do not live on in a forked process


def in_daemon_thread(job: Callable[[], T]) -> Future[T]:
    """Run `job` at once in a thread that keeps neither the process nor an event loop from ending.

    An executor's threads do keep it, and a pool of fixed size would starve behind jobs that hang; here the number of
    threads is the number of jobs at work, and those that are free are used again: starting one costs more than a small
    search.
    """
    future: Future[T] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(context.run(job))
        except BaseException as error:  # noqa: BLE001 - whoever waits for the future raises it there
            future.set_exception(portable(error))

    try:
        worker = _idle.pop()
    except IndexError:
        _Worker(work)
    else:
        worker.jobs.put(work)
    return future
