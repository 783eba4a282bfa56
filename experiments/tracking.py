"""Runs in MLflow: the one place that opens and closes them.

    with tracked("mipro", experiment="hotpotqa", uri="sqlite:///mlflow.db", params={"seed": 0}) as run:
        run.metrics({"f1": 0.61})
        run.child("candidate 1", params={"instruction": "…"}, metrics={"f1": 0.58})

Every write names its run. MLflow's own *active run* belongs to one thread, and a write from another thread silently
opens a stray run. A run that the caller has active becomes the parent of ours and is otherwise left alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from reflective_rag.experiments.tracking_leaderboard import leaderboard
from reflective_rag.experiments.tracking_processes import close_killed
from reflective_rag.experiments.tracking_recorder import Recorder
from reflective_rag.experiments.tracking_run import TrackedRun, closing
from reflective_rag.experiments.tracking_secrets import Scrubber
from reflective_rag.experiments.tracking_store import (
    DEFAULT_URI,
    OFF,
    check_store,
    experiment_id,
    open_store,
    parse_address,
    quiet_mlflow,
    refusals,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient

__all__ = ["DEFAULT_URI", "OFF", "TrackedRun", "check_store", "leaderboard", "tracked"]


@contextmanager
def tracked(
    name: str,
    *,
    experiment: str,
    uri: str,
    params: Mapping[str, Any],
    tags: Mapping[str, str] | None = None,
    abandoned: Sequence[str] = (),
) -> Iterator[TrackedRun]:
    """Open a run, give it to the block, and close it: FINISHED, FAILED on an exception, KILLED on Ctrl-C.

    Runs of the experiment whose process was killed (on this machine, see `tracking_processes`) are closed as KILLED
    first.
    An exception passes through; the tags `error.type` and `error.message` (its first line) keep it. Once the run is
    open, what the store does not take is counted in `TrackedRun.lost` and told once; it never stops the block.

    Args:
        name: Of the run, shown in MLflow.
        experiment: Made when it does not exist, with its artifacts beside a SQLite file.
        uri: Of the store, see `tracking_store`; `off` gives a run that does nothing.
        params: Settings of the run.
        tags: Further words about it.
        abandoned: Ids of earlier runs that this one goes on with. Those whose process was killed still say RUNNING,
            and would for ever: they are closed as KILLED.

    Raises:
        DataError: the store cannot be written or the experiment was deleted; raised before the block begins.
    """
    if uri == OFF:
        yield TrackedRun()
        return
    run, recorder = _start(name, experiment, uri)
    with closing(run, recorder):
        run.params(params)
        run.tags(tags or {})
        for run_id in abandoned:
            recorder.attempt(f"the end of the run {run_id}", partial(_abandon, recorder.client, run_id))
        yield run


def _abandon(client: "MlflowClient", run_id: str) -> None:
    if client.get_run(run_id).info.status == "RUNNING":
        client.set_terminated(run_id, "KILLED")


def _start(name: str, experiment: str, uri: str) -> tuple[TrackedRun, Recorder]:
    check_store(uri)
    address = parse_address(uri)
    client = open_store(address)
    recorder = Recorder(client, experiment_id(client, Scrubber().text(experiment), address))
    recorder.attempt("the end of runs that were killed", lambda: close_killed(client, recorder.experiment))
    with refusals(address), quiet_mlflow():
        run_id = recorder.create(name, _active_run(client))
    return TrackedRun(recorder, run_id), recorder


def _active_run(client: "MlflowClient") -> str | None:
    """Id of the run that the caller has active in this thread, if it is in the same store."""
    import mlflow
    from mlflow.exceptions import MlflowException

    if active := mlflow.active_run():
        try:
            return str(client.get_run(active.info.run_id).info.run_id)
        except MlflowException:
            return None
    return None
