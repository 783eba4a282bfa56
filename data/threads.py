"""Work in threads that nobody has to wait for."""

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def in_daemon_thread(job: Callable[[], T]) -> Future[T]:
    """Run `job` in a thread that keeps neither the process nor an event loop from ending (an executor's does)."""
    future: Future[T] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(context.run(job))
        except BaseException as error:  # noqa: BLE001 - whoever waits for the future raises it there
            future.set_exception(error)

    threading.Thread(target=work, daemon=True, name="reflective-rag-step").start()
    return future
