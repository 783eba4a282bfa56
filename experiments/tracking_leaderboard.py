"""Reading runs back from MLflow."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from reflective_rag.experiments.tracking_store import (
    OFF,
    Address,
    check_store,
    open_store,
    parse_address,
    quiet_mlflow,
    refusals,
)
from reflective_rag.signatures.errors import DataError

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


def leaderboard(experiment: str, uri: str) -> list[dict[str, Any]]:
    """All runs of an experiment, parents and children, the newest first.

    Each has `run_id`, `name`, `parent_run_id` (None at the top), `status`, `started` (ISO, UTC), `seconds` (None while
    it runs), `params` and `metrics` (the last value of each).

    Raises:
        DataError: the store or the experiment does not exist. The store `off` has no runs.
    """
    if uri == OFF:
        return []
    address, client = existing_store(uri)
    with refusals(address), quiet_mlflow():
        return [_row(run) for run in runs_of(client, experiment, address)]


def existing_store(uri: str) -> tuple[Address, "MlflowClient"]:
    """A store to read from. Raises `DataError` where there is none."""
    check_store(uri)
    address = parse_address(uri)
    if address.path and not address.path.exists():
        raise DataError(f"there is no MLflow store `{address.shown}` yet; a run makes it, or mend the address")
    return address, open_store(address)


def runs_of(client: "MlflowClient", experiment: str, address: Address) -> list["Run"]:
    """All runs of an experiment, the newest first. Raises `DataError` where there is no such experiment."""
    found = client.get_experiment_by_name(experiment)
    if found is None:
        names = ", ".join(f"`{known.name}`" for known in client.search_experiments(max_results=20))
        raise DataError(f"no experiment {experiment!r} in the MLflow store `{address.shown}`; it has {names}")
    runs: list[Run] = []
    more: str | None = ""
    while more is not None:
        page = client.search_runs(
            [found.experiment_id],
            order_by=["attributes.start_time DESC"],
            max_results=1000,
            page_token=more or None,
        )
        runs += page
        more = page.token or None
    return runs


def _row(run: "Run") -> dict[str, Any]:
    start, end = run.info.start_time, run.info.end_time  # milliseconds
    return {
        "run_id": run.info.run_id,
        "name": run.info.run_name,
        "parent_run_id": run.data.tags.get("mlflow.parentRunId"),
        "status": run.info.status,
        "started": datetime.fromtimestamp(start / 1000, UTC).isoformat(timespec="seconds"),
        "seconds": max(0, end - start) / 1000 if end else None,  # a clock may be set back meanwhile
        "params": dict(run.data.params),
        "metrics": dict(run.data.metrics),
    }
