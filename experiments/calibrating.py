"""Calibrate one system: ask the labelled questions, fit, keep the calibration in the artefact, draw the plots."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reflective_rag.data.records import Record, record_fingerprint
from reflective_rag.data.retrieval import Retriever
from reflective_rag.experiments.calibration_plots import save_plots
from reflective_rag.experiments.registry import is_registered
from reflective_rag.experiments.systems import System
from reflective_rag.optimizers.calibration.cases import Correct
from reflective_rag.optimizers.calibration.report import Report
from reflective_rag.programs.artefacts import is_artefact, read_manifest, save_program, set_calibration
from reflective_rag.programs.calibrated import model_in_use
from reflective_rag.programs.calibration import Calibration
from reflective_rag.programs.fingerprints import program_digest
from reflective_rag.programs.module import RagModule
from reflective_rag.signatures.errors import ConfigError, DataError


def metric_and_column(correct: str) -> tuple[str | None, Correct]:
    """The further metric to score with, and the column of a row that says whether an answer was right.

    Raises:
        ConfigError: Unknown name.
    """
    columns: dict[str, Correct] = {"f1": "f1", "em": "em", "containment": "containment", "groups": "score"}
    if correct not in columns:
        raise ConfigError(f"`--correct` must be one of {', '.join(map(repr, columns))}, got {correct!r}")
    return ("groups" if correct == "groups" else None), columns[correct]


def refuse_changes(artifact: Path | None, changed: bool) -> None:
    """Raise `ConfigError` where options would change an artefact: it would not be what the calibration is kept in."""
    if artifact is not None and is_registered(artifact):
        raise ConfigError(
            f"a calibration is kept in the artefact, and `{artifact}` is a copy in the registry: calibrate the "
            "artefact's folder, and promote that"
        )
    if artifact is not None and changed:
        raise ConfigError(
            "`--option` and `--mode` cannot be used with `--artifact` here: the calibration holds for the artefact as "
            "it is. Compile it that way, or calibrate a `--program`"
        )


def bound(
    calibration: Calibration,
    program: RagModule,
    data: Mapping[str, Sequence[Record]],
    corpus: Sequence[str],
    search: Retriever,
    correct: str,
) -> Calibration:
    """The calibration with what it holds for. Call it while the model is in use."""
    about = {"names": list(corpus), "passages": search.count(), "search": search.mode}
    return calibration.model_copy(
        update={
            "model": model_in_use(program),
            "program": program_digest(program),
            "corpus": about,
            "data": {name: record_fingerprint(records) for name, records in data.items()},
            "correct": correct,
        }
    )


def check_out(out: Path | None) -> None:
    """Raise `DataError` before anything is spent where the folder of the report cannot be made."""
    if out is None:
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"`--out {out}` cannot be made: {error.strerror or error}; give another folder") from None


def keep(
    report: Report, document: Mapping[str, Any], system: System, artifact: Path | None, out: Path | None
) -> dict[str, Any]:
    """Write the calibration into the artefact (for a program by name a new one in `out`), report and plots to `out`.

    Returns:
        `artifact` and `files`, as they were written.
    """
    if artifact is None and out is not None:
        system.program.use_calibration(report.calibration)
        artifact = save_program(system.program, out / "artifact", model=report.calibration.model)
    elif artifact is not None:
        set_calibration(artifact, report.calibration)
    files: list[str] = []
    if out is not None:
        path = out / "report.json"
        path.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        files = [*(str(each) for each in save_plots(report, out)), str(path)]
    return {"artifact": str(artifact) if artifact else None, "files": files}


def embedder_of(artifact: Path | None, asked: str) -> str:
    """The embedder to search with: the one that was asked for, else that of the artefact's compile."""
    if artifact is None or asked != "auto" or not is_artefact(artifact):
        return asked
    return str(read_manifest(artifact).notes.get("embedder") or asked)
