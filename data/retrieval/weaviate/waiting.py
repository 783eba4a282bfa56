"""Waiting for a server no longer than makes sense: a deadline, and a question whether it is there at all.

The client repeats a call to a dead server for 63 seconds, and no setting changes that. So a call that has not ended
after a second is asked about over REST: where the server does not answer the call has failed, else it may take until
its deadline.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from reflective_rag.data.retrieval.weaviate.connection import PROBE_SECONDS
from reflective_rag.data.threads import in_daemon_thread

T = TypeVar("T")

PATIENCE_SECONDS = 1.0
"""How long a call may take before the server is asked whether it is there."""


class Silence(Exception):
    """The call did not end. `ready` is whether the server answered when it was asked about meanwhile."""

    def __init__(self, ready: bool) -> None:
        super().__init__("no answer")
        self.ready = ready


def wait(job: Callable[[], T], ready: Callable[[], bool | None], seconds: float) -> T:
    """The result of `job`, run in a thread that is left behind when `Silence` is raised.

    `ready` is false or raises where the server does not answer, and is None where it cannot be asked yet.
    """
    end = time.monotonic() + seconds
    future = in_daemon_thread(job)
    try:
        return future.result(min(PATIENCE_SECONDS, seconds))
    except TimeoutError:
        if future.done():  # the job's own
            raise
    answer = _is_ready(ready, max(0.0, min(PROBE_SECONDS, end - time.monotonic())))
    if answer is False:
        raise Silence(ready=False)
    try:
        return future.result(max(0.0, end - time.monotonic()))
    except TimeoutError:
        if future.done():
            raise
        raise Silence(ready=answer is True) from None


def _is_ready(ready: Callable[[], bool | None], seconds: float) -> bool | None:
    try:
        return in_daemon_thread(ready).result(seconds)
    except Exception:  # noqa: BLE001 - whatever keeps it from saying yes
        return False


async def await_(work: Coroutine[Any, Any, T], ready: Callable[[], Awaitable[bool | None]], seconds: float) -> T:
    """The same on an event loop; what is left behind is cancelled."""
    end = time.monotonic() + seconds
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=min(PATIENCE_SECONDS, seconds))
        if not done:
            answer = await _ais_ready(ready, max(0.0, min(PROBE_SECONDS, end - time.monotonic())))
            if answer is False:
                raise Silence(ready=False)
            done, _ = await asyncio.wait({task}, timeout=max(0.0, end - time.monotonic()))
            if not done:
                raise Silence(ready=answer is True)
        return task.result()
    finally:
        task.cancel()


async def _ais_ready(ready: Callable[[], Awaitable[bool | None]], seconds: float) -> bool | None:
    try:
        return await asyncio.wait_for(ready(), seconds)
    except Exception:  # noqa: BLE001 - whatever keeps it from saying yes
        return False
