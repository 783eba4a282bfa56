"""Run a recipe's strategy: its model calls become progress, and what ends an optimizer becomes one of our errors."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import DSPyError

from reflective_rag.experiments.jobs import Job
from reflective_rag.experiments.models import first_line
from reflective_rag.optimizers.strategies import Compiled
from reflective_rag.signatures.errors import ReflectiveRAGError


def compiled_by(job: Job, plan: Mapping[str, Any], progress: Callable[[str, int, int], object]) -> Compiled:
    """What the job's strategy makes of its program.

    DSPy's optimizers tell nothing while they work, so every model call is counted; `plan` says how many are expected at
    most. Without a model the strategies report for themselves.

    Raises:
        ReflectiveRAGError: The optimizer gave up.
    """
    calls = plan["calls_compiling"]["high"] + plan["calls_writing_instructions"]
    if not (job.strategy.asks_model and calls):
        return _compiled(job)
    counter = _CallCounter(f"{job.strategy.name}, model calls (at most)", calls, progress)
    with dspy.context(callbacks=[*dspy.settings.callbacks, counter]):
        return _compiled(job)


def _compiled(job: Job) -> Compiled:
    try:
        return job.strategy.compile(job.task)
    except ReflectiveRAGError:
        raise
    except Exception as error:
        # DSPy's optimizers end with its own errors, or with a bare Exception after too many failures.
        if not isinstance(error, DSPyError) and type(error) is not Exception:
            raise
        raise ReflectiveRAGError(
            f"strategy {job.strategy.name!r} gave up, no artefact was written: {first_line(error)}. The model's "
            "replies could not be used; try a more able model, smaller options, or another strategy"
        ) from error


class _CallCounter(BaseCallback):
    """Reports each model call that has ended, from whatever thread."""

    def __init__(self, what: str, expected: int, progress: Callable[[str, int, int], object]) -> None:
        self._what, self._expected, self._progress = what, expected, progress
        self._done = 0
        self._lock = threading.Lock()
        progress(what, 0, expected)

    def on_lm_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        """One more."""
        with self._lock:
            self._done += 1
            self._progress(self._what, self._done, max(self._done, self._expected))
