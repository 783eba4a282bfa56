"""A calibration in MLflow: what it was fitted on, how good it is, the thresholds, plots, rows and the artefact."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reflective_rag.data.records import Record, record_fingerprint
from reflective_rag.experiments.calibration_plots import save_plots
from reflective_rag.experiments.recipes import is_sample
from reflective_rag.experiments.reporting import flat_metrics, rows_of
from reflective_rag.experiments.systems import System
from reflective_rag.experiments.tracking import tracked
from reflective_rag.optimizers.calibration.report import Report
from reflective_rag.optimizers.evaluation import Evaluation

COUNTS = ("n", "answered", "right", "abstained", "failed", "outages")
OF_A_RISK = ("abstain_below", "coverage", "observed", "n")


def log_calibration(
    report: Report,
    document: Mapping[str, Any],
    evaluation: Evaluation,
    system: System,
    data: Mapping[str, Sequence[Record]],
    *,
    uri: str,
    experiment: str,
) -> str | None:
    """Log a finished calibration as one run; its id, None with `uri` off.

    Raises:
        DataError: The store cannot be written.
    """
    params = _params(document, system)
    with tracked("calibrate", experiment=experiment, uri=uri, params=params, tags={"kind": "calibrate"}) as run:
        if run.run_id is None:
            return None
        run.inputs({_context(name): _about(name, records) for name, records in data.items()})
        run.metrics(calibration_metrics(document))
        run.table("rows", rows_of(evaluation))
        run.table("risks", document["risks"])
        with tempfile.TemporaryDirectory() as temporary:
            save_plots(report, Path(temporary))
            run.folder(temporary, "plots")
        run.text("calibration.json", report.calibration.model_dump_json(indent=2))
        if document["artifact"]:
            run.folder(document["artifact"], "artefact")
        return run.run_id


def calibration_metrics(document: Mapping[str, Any]) -> dict[str, float]:
    """Counts, and each measure with its interval: `after.auroc`, `before.…`, `difference.…`, `baseline.…`, `risk.…`."""
    metrics = flat_metrics({name: document[name] for name in COUNTS})
    metrics |= flat_metrics(document["after"], "after.") | flat_metrics(document["before"], "before.")
    metrics |= flat_metrics(document["differences"], "difference.")
    for name, measured in document["baselines"].items():
        metrics |= flat_metrics(measured, f"baseline.{name.replace(' ', '_')}.")
    for dimension, changed in document["ablation"].items():
        metrics |= flat_metrics(changed, f"without.{dimension}.")
    for each in document["risks"]:
        figures = {name: each[name] for name in OF_A_RISK}
        metrics |= flat_metrics(figures, f"risk.{each['risk']:g}.{each['rule']}.")
    return metrics


def _params(document: Mapping[str, Any], system: System) -> dict[str, Any]:
    """What the calibration holds for, and how it was fitted."""
    program = system.program
    controls = getattr(program, "controls", None)
    params: dict[str, Any] = {name: document[name] for name in ("program", "lm", "method", "correct", "delta")}
    params |= {"system": system.name, "artifact": document["artifact"]}
    params |= {name: ", ".join(document[name]) for name in ("data", "corpus")}
    params |= {"risks": ", ".join(dict.fromkeys(f"{each['risk']:g}" for each in document["risks"]))}
    params |= {f"program.{name}": value for name, value in program.settings.model_dump(mode="json").items()}
    if controls is not None:
        params |= {f"controls.{name}": value for name, value in controls.values.model_dump(mode="json").items()}
    return params


def _about(name: str, records: Sequence[Record]) -> dict[str, Any]:
    file = name if is_sample(name) else Path(name).name
    return {"file": file, "n": len(records), "fingerprint": record_fingerprint(records)}


def _context(name: str) -> str:
    """The part of a data set in MLflow's inputs: several files are told apart by their names."""
    return f"calibration {Path(name).stem}"
