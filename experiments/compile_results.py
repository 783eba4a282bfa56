"""What a compile leaves: the artefact, and the results in its MLflow run."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reflective_rag.experiments.compile_report import CompileReport
from reflective_rag.experiments.corpus_notes import corpus_names
from reflective_rag.experiments.frontier_plots import frontier_rows, save_frontier
from reflective_rag.experiments.jobs import Job
from reflective_rag.experiments.models import is_recording
from reflective_rag.experiments.recipes import OWN
from reflective_rag.experiments.reporting import flat_metrics, is_number, log_diagnosis, rows_of, scored_summary
from reflective_rag.optimizers.strategies import Compiled
from reflective_rag.programs.artefacts import save_program
from reflective_rag.programs.module import RagModule


def save_compiled(job: Job, report: CompileReport, compiled: Compiled, out: Path) -> Path:
    """Write the artefact. Raises `DataError` when it cannot be written."""
    recipe = report.recipe
    scores = {
        split: {
            "before": scored_summary(report.before[split], recipe.metric),
            "after": scored_summary(evaluation, recipe.metric),
            "difference": report.differences[split],
        }
        for split, evaluation in report.after.items()
    }
    notes = {
        "recipe": recipe.name,
        **({"started_from": Path(recipe.artifact).name} if recipe.artifact else {}),
        "corpus": corpus_names(recipe.corpus),
        "embedder": recipe.embedder,
        "strategy": recipe.strategy,
        "stage": recipe.stage,
        "strategy_options": dict(job.task.options),
        "metric": recipe.metric,
        "seed": recipe.seed,
        "plan": dict(report.plan),
        "chosen": dict(report.chosen),
        "report": dict(compiled.report),
        "run_id": report.run_id,
    }
    model = "" if report.lm == "rules" else report.lm
    return save_program(compiled.program, out, model=model, data=job.data.fingerprints(), scores=scores, notes=notes)


def log_compiled(run: Any, job: Job, report: CompileReport, compiled: Compiled, lm: str | None = None) -> None:
    """Scores before and after, what it cost, one child a candidate, data, instructions, artefact, and a model of it.

    Args:
        lm: The model string, where it is known.
    """
    run.inputs(job.data.fingerprints())
    for when, evaluations in (("before", report.before), ("after", report.after)):
        for split, evaluation in evaluations.items():
            summary = scored_summary(evaluation, job.task.metric.name)
            if is_recording(report.lm):
                del summary["seconds"]  # of the replay, not of the model
            run.metrics(flat_metrics(summary, f"{split}.{when}."))
            run.table(f"{split}_{when}", rows_of(evaluation))
            log_diagnosis(run, evaluation, job.task.metric.name, f"{split}_{when}_", f"{split}.{when}.")
    for split, each in report.differences.items():
        run.metrics(flat_metrics(each, f"{split}.difference."))
    if report.spent:
        run.metrics({f"spent.{name}": value for name, value in report.spent.items() if value is not None})
    for candidate in compiled.candidates:
        details = dict(candidate.details)
        numbers = {name: float(value) for name, value in details.items() if is_number(value)}
        params = {name: value for name, value in details.items() if name not in numbers}
        run.child(candidate.name, params=params, metrics={"score": candidate.score, **numbers})
    log_frontier(run, compiled.report)
    if "trials" in compiled.report:
        run.metrics(flat_metrics({k: v for k, v in compiled.report.items() if k != "chosen"}, "trials."))
    run.folder(report.artifact, "artefact")
    texts = [instructions_of(program) for program in (job.task.program, compiled.program)]
    if texts[1]:
        run.prompts(report.recipe.name, *texts, {"recipe": report.recipe.name, "strategy": report.recipe.strategy})
    run.model(report.artifact, serving_config(report, lm))


def log_frontier(run: Any, report: Mapping[str, Any]) -> None:
    """What replay tuning found: its figures, the frontier as a table, and as plots (PNG and SVG) in `frontier`."""
    if "frontier" not in report:
        return
    numbers = {name: value for name, value in report.items() if name not in ("frontier", "chosen", "by_kind", "stops")}
    run.metrics(flat_metrics(numbers, "replay."))
    run.table("frontier", frontier_rows(report))
    if run.run_id is None:
        return
    with tempfile.TemporaryDirectory() as temporary:
        if save_frontier(report, Path(temporary)):
            run.folder(temporary, "frontier")


def serving_config(report: CompileReport, lm: str | None = None) -> dict[str, Any]:
    """Where a served model searches and what it asks, as in the compile.

    Args:
        lm: The model string where it is known; without it that of the report, and none for a recording.
    """
    recipe = report.recipe
    own = [name for name in (recipe.data.train, recipe.data.dev, recipe.data.test) if name]
    corpus = [file for name in recipe.corpus for file in (own if name == OWN else [name])]
    named = lm or ("" if is_recording(report.lm) else report.lm)
    return {"lm": named, "corpus": list(dict.fromkeys(corpus)), "embedder": recipe.embedder}


def instructions_of(program: RagModule) -> dict[str, str]:
    """Predictor name → its instructions."""
    return {name: predictor.signature.instructions for name, predictor in program.named_predictors()}
