"""Writes to one experiment of an MLflow store that may fail without failing the work they describe."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from reflective_rag.experiments.tracking_checks import reason
from reflective_rag.experiments.tracking_processes import process_tags
from reflective_rag.experiments.tracking_secrets import Scrubber
from reflective_rag.experiments.tracking_store import quiet_mlflow

if TYPE_CHECKING:
    from mlflow import MlflowClient

logger = logging.getLogger(__name__)
T = TypeVar("T")

_SLOW_SECONDS = 3.0
_REST_SECONDS = 60.0
_FIELDS_A_WRITE = 100
"""MLflow's limit for params and for tags; it takes more metrics."""


class Recorder:
    """A client and the id of the experiment it writes to. `lost` counts what the store did not take."""

    def __init__(self, client: "MlflowClient", experiment: str) -> None:
        self.client = client
        self.lost = 0
        self.experiment = experiment
        self._lock = threading.Lock()
        self._rests_until = 0.0

    def attempt(self, what: str, write: Callable[[], T], *, insist: bool = False) -> T | None:
        """The result of `write`, or None when it failed, which is counted.

        A store that is slow to fail is then left alone for a minute, so that a hundred writes to a dead one do not take
        hours; `insist` tries all the same.
        """
        began = time.monotonic()
        if began < self._rests_until and not insist:
            self.lose(what, "the store does not answer")
            return None
        try:
            with quiet_mlflow():
                result = write()
        except Exception as error:  # noqa: BLE001 - whatever a store raises, the work it describes goes on
            if time.monotonic() - began > _SLOW_SECONDS:
                self._rests_until = time.monotonic() + _REST_SECONDS
            self.lose(what, reason(error))
            return None
        self._rests_until = 0.0
        return result

    def lose(self, what: str, why: str) -> None:
        """Count a write that was not taken; the first one is told to the user."""
        with self._lock:
            self.lost += 1
            first = self.lost == 1
        if first:
            told = Scrubber().text(f"MLflow did not take {what} ({why})")
            logger.warning("%s; the work goes on, further losses are counted in `TrackedRun.lost`", told)

    def create(self, name: str, parent: str | None) -> str:
        """Open a run, nested in `parent`, and return its id. Raises what MLflow raises."""
        tags = {"mlflow.source.name": "reflective-rag", "mlflow.source.type": "LOCAL", **process_tags()}
        if parent:
            tags["mlflow.parentRunId"] = parent
        run = self.client.create_run(self.experiment, tags=tags, run_name=Scrubber().text(name)[:250])
        return str(run.info.run_id)

    def end(self, run_id: str, status: str) -> None:
        """Close a run, even one whose store did not answer a moment ago."""
        self.attempt("the end of a run", lambda: self.client.set_terminated(run_id, status), insist=True)

    def params(self, run_id: str, fields: Mapping[str, str]) -> bool:
        """Write params; whether they were taken."""
        from mlflow.entities import Param

        return self._log(run_id, "params", [Param(name, text) for name, text in fields.items()])

    def tags(self, run_id: str, fields: Mapping[str, str]) -> bool:
        """Write tags; whether they were taken."""
        from mlflow.entities import RunTag

        return self._log(run_id, "tags", [RunTag(name, text) for name, text in fields.items()])

    def metrics(self, run_id: str, values: Iterable[tuple[str, float]], step: int) -> bool:
        """Write metrics; whether they were taken."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        return self._log(run_id, "metrics", [Metric(name, value, now, step) for name, value in values])

    def _log(self, run_id: str, kind: str, entities: list[Any]) -> bool:
        def write(batch: list[Any]) -> bool:
            self.client.log_batch(run_id, **{kind: batch}, synchronous=True)
            return True

        starts = range(0, len(entities), _FIELDS_A_WRITE)
        taken = [self.attempt(kind, partial(write, entities[start : start + _FIELDS_A_WRITE])) for start in starts]
        return all(taken)
