"""What a report is made from: a file of rows, a folder of `compare --out` or `sweep --out`, or an MLflow run."""

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from reflective_rag.experiments.comparison_report import ROWS
from reflective_rag.experiments.rows import read_rows
from reflective_rag.optimizers.evaluation import Row
from reflective_rag.signatures.errors import DataError

Kind = Literal["rows", "compare", "several", "noise", "threshold"]
_RUN_ID = re.compile(r"[0-9a-f]{32}")
DOCUMENT = "report.json"


@dataclass(frozen=True, kw_only=True)
class Run:
    """The rows of one system under one condition."""

    system: str
    rows: Sequence[Row] = field(repr=False)
    about: Mapping[str, Any] = field(default_factory=dict)
    """What is known of it: `program`, `lm`, `data`, `corpus`, `metric`, `settings`, …"""
    cell: str = ""
    """The condition of a sweep; empty for a plain evaluation."""

    @property
    def metric(self) -> str | None:
        """The further metric of the run."""
        return self.about.get("metric")


@dataclass(frozen=True, kw_only=True)
class Source:
    """One thing that was named."""

    name: str
    kind: Kind
    document: Mapping[str, Any] = field(default_factory=dict)
    """Of a comparison or sweep."""
    runs: Sequence[Run] = ()


def load_sources(names: Sequence[str], *, uri: str, split: str = "dev") -> list[Source]:
    """`load_source` for each, once; a comparison on several data sets is followed by a source for each of them."""
    found: list[Source] = []
    for name in dict.fromkeys(names):
        source = load_source(name, uri=uri, split=split)
        found.append(source)
        if source.kind == "several":
            found += [_folder(place.parent) for place in sorted(Path(name).glob(f"*/{DOCUMENT}"))]
    return found


def load_source(name: str, *, uri: str, split: str = "dev") -> Source:
    """What `name` means: an existing file or folder, else an MLflow run.

    Args:
        uri: The MLflow store.
        split: Of the run of a compile: `dev` or `test`.

    Raises:
        DataError: There is no such thing, or it holds nothing that a report can be made from.
    """
    path = Path(name)
    if path.is_dir():
        return _folder(path)
    if path.is_file():
        return Source(name=name, kind="rows", runs=_runs(path))
    if not _RUN_ID.fullmatch(name):
        raise DataError(
            f"`{name}` is no file, no folder and no id of an MLflow run: give a file of `evaluate --rows`, a folder of "
            "`compare --out` or `sweep --out`, or a run's id (32 letters and digits, as the commands print it)"
        )
    return _mlflow(name, uri, split)


def _folder(path: Path) -> Source:
    document = _document(path)
    files = sorted((path / ROWS).rglob("*.jsonl"))
    return _source(str(path), document, [run for file in files for run in _runs(file)])


def _document(path: Path) -> Any:
    try:
        return json.loads((path / DOCUMENT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            f"`{path}` has no `{DOCUMENT}`: give a folder that `compare --out` or `sweep --out` has finished writing"
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"`{path / DOCUMENT}` cannot be read: {error}; run the command that wrote it again") from None


def _source(name: str, document: Any, runs: Sequence[Run]) -> Source:
    if isinstance(document, dict) and isinstance(document.get("comparisons"), list):
        return Source(name=name, kind="several", document=document)
    if isinstance(document, dict) and isinstance(document.get("systems"), list):
        order = [each.get("system") for each in document["systems"]]
        ours = [run for run in runs if run.system in order]
        return Source(
            name=name, kind="compare", document=document, runs=sorted(ours, key=lambda r: order.index(r.system))
        )
    sweep = document.get("sweep") if isinstance(document, dict) else None
    if sweep not in ("noise", "threshold"):
        raise DataError(f"`{name}`: its `{DOCUMENT}` is neither of `compare` nor of `sweep`")
    return Source(name=name, kind=sweep, document=document, runs=runs)


def _runs(path: Path) -> list[Run]:
    """One run a cell of a file of rows."""
    found = read_rows(path)
    about = {**found.header, **found.about}
    about.pop("kind", None)
    if not any(found.cells.values()):
        raise DataError(f"`{path}` holds no rows yet")
    system = str(about.get("system") or about.get("program") or path.stem)
    return [Run(system=system, rows=rows, about=about, cell=cell) for cell, rows in found.cells.items() if rows]


def _mlflow(run_id: str, uri: str, split: str) -> Source:
    from reflective_rag.experiments.run_entries import entries_of

    if document := _artifact(run_id, uri):
        return _source(run_id, document, ())
    entries, notes = entries_of([run_id], "", split, uri)
    runs = [
        Run(system=entry.name, rows=rows, about={**entry.params, "run_id": entry.run_id})
        for entry in entries
        if (rows := _rows(entry.rows))
    ]
    if not runs:
        raise DataError(
            f"the MLflow run {run_id!r} has no rows to report on{': ' if notes else ''}{'; '.join(notes)}; give the "
            "run of a `compare`, a `sweep` or a `compile`"
        )
    return Source(name=run_id, kind="rows", runs=runs)


def _artifact(run_id: str, uri: str) -> Any:
    """The document of a sweep's run; None for another run."""
    from mlflow.artifacts import download_artifacts
    from mlflow.exceptions import MlflowException

    from reflective_rag.experiments.tracking_leaderboard import existing_store
    from reflective_rag.experiments.tracking_store import quiet_mlflow, refusals

    address, client = existing_store(uri)
    with refusals(address), quiet_mlflow():
        try:
            run = client.get_run(run_id)
        except MlflowException:
            raise DataError(f"there is no run {run_id!r} in the MLflow store `{address.shown}`") from None
        if not str(run.data.tags.get("kind", "")).startswith("sweep"):
            return None
        with tempfile.TemporaryDirectory(prefix="reflective-rag-") as folder:
            source = f"{run.info.artifact_uri}/sweep/{DOCUMENT}"
            path = Path(download_artifacts(artifact_uri=source, dst_path=folder, tracking_uri=address.uri))
            return json.loads(path.read_text(encoding="utf-8"))


def _rows(values: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Rows of a table of MLflow; columns of other versions are left out."""
    known = set(Row.model_fields)
    found = []
    for value in values:
        told = {key: item for key, item in value.items() if key in known and item is not None}
        try:
            found.append(Row(**told))
        except ValidationError as error:
            raise DataError(f"a row of the MLflow run cannot be read: {error.errors()[0]['msg']}") from None
    return found
