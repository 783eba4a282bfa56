"""Runs of MLflow as entries of a leaderboard: what was measured, on which questions, at what cost."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reflective_rag.experiments.tracking_leaderboard import existing_store, runs_of
from reflective_rag.experiments.tracking_store import Address, quiet_mlflow, refusals
from reflective_rag.signatures.errors import DataError

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

SCORES = ("f1", "em", "containment", "recall", "score")
COSTS = ("tokens_per_question", "lm_calls_per_question", "retrievals_per_question")
COUNTS = ("n", "failed", "abstained")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line: a system that was measured, or a candidate that a compile tried."""

    name: str
    role: str
    """`baseline`, `compiled`, `system`, or `candidate`."""
    run_id: str
    params: Mapping[str, str]
    scores: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    """Score → `mean`, `low`, `high`."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """Counts, and costs a question."""
    rows: Sequence[Mapping[str, Any]] = ()
    """One a question, where they were logged."""
    spent: Mapping[str, float] = field(default_factory=dict)
    """Of a compile: calls, tokens and dollars in all."""
    val: float | None = None
    """Of a candidate: its score on the questions that it was chosen on."""


def entries_of(runs: Sequence[str], experiment: str, split: str, uri: str) -> tuple[list[Entry], list[str]]:
    """Entries of these runs, in their order, or of all runs of an experiment, the oldest first; and what was left out.

    Args:
        runs: Ids; empty means the experiment.
        split: `dev` or `test`, of compiles. A comparison has one set of questions.

    Raises:
        DataError: The store, the experiment or a run does not exist.
    """
    address, client = existing_store(uri)
    with refusals(address), quiet_mlflow():
        if runs:
            named = [_named(client, run, address) for run in dict.fromkeys(runs)]
            known = {run.info.experiment_id for run in named}
            every = [run for number in sorted(known) for run in _all(client, number)]
        else:
            every = runs_of(client, experiment, address)
            named = [run for run in reversed(every) if "mlflow.parentRunId" not in run.data.tags]
        children: dict[str, list[Run]] = {}
        for run in reversed(every):
            children.setdefault(run.data.tags.get("mlflow.parentRunId", ""), []).append(run)
        found: list[Entry] = []
        notes = []
        for run in named:
            entries = list(_entries(run, children.get(run.info.run_id, []), split, address))
            if not entries:
                notes.append(f"the run `{run.info.run_name}` ({run.info.run_id[:8]}, {run.info.status}) has no scores")
            found += entries
    return found, notes


def _named(client: "MlflowClient", run_id: str, address: Address) -> "Run":
    from mlflow.exceptions import MlflowException

    try:
        return client.get_run(run_id)
    except MlflowException as error:
        raise DataError(f"there is no run {run_id!r} in the MLflow store `{address.shown}`") from error


def _all(client: "MlflowClient", experiment_id: str) -> list["Run"]:
    return list(client.search_runs([experiment_id], order_by=["attributes.start_time DESC"], max_results=10_000))


def _entries(run: "Run", children: Sequence["Run"], split: str, address: Address) -> Iterator[Entry]:
    metrics, name = run.data.metrics, str(run.info.run_name)
    if run.data.tags.get("kind") == "compile" or f"{split}.after.f1" in metrics:
        for when, role in (("before", "baseline"), ("after", "compiled")):
            if f"{split}.{when}.f1" in metrics:
                label = f"{name} before" if role == "baseline" else name
                yield _entry(run, label, role, f"{split}.{when}.", f"{split}_{when}.json", address)
        for child in children:
            if (val := child.data.metrics.get("score")) is not None:
                label = f"{name}: {child.info.run_name}"
                yield Entry(name=label, role="candidate", run_id=child.info.run_id, params=child.data.params, val=val)
    elif "f1" in metrics:
        yield _entry(run, name, "system", "", "rows.json", address)
    else:
        for child in children:
            if "f1" in child.data.metrics:
                yield _entry(child, str(child.info.run_name), "system", "", "rows.json", address)


def _entry(run: "Run", name: str, role: str, prefix: str, table: str, address: Address) -> Entry:
    metrics = {key.removeprefix(prefix): value for key, value in run.data.metrics.items() if key.startswith(prefix)}
    scores = {
        key: {"mean": metrics[key], "low": metrics.get(f"{key}_low"), "high": metrics.get(f"{key}_high")}
        for key in SCORES
        if key in metrics
    }
    whole = run.data.metrics
    spent = {key.removeprefix("spent."): value for key, value in whole.items() if key.startswith("spent.")}
    return Entry(
        name=name,
        role=role,
        run_id=run.info.run_id,
        params=run.data.params,
        scores=scores,
        numbers={key: metrics[key] for key in (*COUNTS, *COSTS) if key in metrics},
        rows=_rows(run, table, address),
        spent=spent if role == "compiled" else {},
    )


def _rows(run: "Run", name: str, address: Address) -> list[dict[str, Any]]:
    """A table of the run as rows; none where it was not logged or cannot be read."""
    from mlflow.artifacts import download_artifacts

    with tempfile.TemporaryDirectory(prefix="reflective-rag-") as folder:
        try:
            source = f"{run.info.artifact_uri}/{name}"
            path = Path(download_artifacts(artifact_uri=source, dst_path=folder, tracking_uri=address.uri))
            table = json.loads(path.read_text(encoding="utf-8"))
            return [dict(zip(table["columns"], values, strict=True)) for values in table["data"]]
        except Exception:  # noqa: BLE001 - whatever a store raises for a table that is gone: the scores stay
            return []
