"""Compile a recipe: check everything, score, compile, score again, save the artefact, log the run."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reflective_rag.experiments.estimating import estimate
from reflective_rag.experiments.jobs import Job, prepare
from reflective_rag.experiments.models import asking, is_recording, model_named
from reflective_rag.experiments.optimizing import compiled_by
from reflective_rag.experiments.recipes import Recipe
from reflective_rag.experiments.reporting import chosen_by, flat_metrics, is_number, rows_of, scored_summary
from reflective_rag.optimizers.evaluation import Evaluation, Row, evaluate
from reflective_rag.optimizers.strategies import Compiled
from reflective_rag.programs.artefacts import save_program
from reflective_rag.programs.lm.capped import SpendingCap, cap_model
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.programs.module import RagModule

__all__ = ["CompileReport", "Progress", "Tracker", "flat_metrics", "rows_of", "run_compile"]

Progress = Callable[[str, int, int], object]
"""Called with what is being done, how much of it is done, and how much there is."""
Tracker = Callable[..., AbstractContextManager[Any]]
"""`tracking.tracked`, or a stand-in with its interface."""


def silent(what: str, done: int, total: int) -> None:
    """No progress is shown."""


@dataclass(frozen=True, kw_only=True)
class CompileReport:
    """What a compile did, or with `dry_run` would do."""

    recipe: Recipe
    lm: str
    """`rules` where no model was asked."""
    n: Mapping[str, int]
    """Questions in train, val, dev and test."""
    plan: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    artifact: Path | None = None
    run_id: str | None = None
    before: Mapping[str, Evaluation] = field(default_factory=dict)
    after: Mapping[str, Evaluation] = field(default_factory=dict)
    chosen: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    dollars: float | None = None
    """Spent, where a limit was set."""

    def as_json(self) -> dict[str, Any]:
        """Ready for `json.dumps`; `before` and `after` hold a summary for dev and test."""
        return {
            "artifact": str(self.artifact) if self.artifact else None,
            "run_id": self.run_id,
            "recipe": self.recipe.name,
            "strategy": self.recipe.strategy,
            "stage": self.recipe.stage,
            "program": self.recipe.program,
            "lm": self.lm,
            "n": dict(self.n),
            "before": self._summaries(self.before),
            "after": self._summaries(self.after),
            "plan": dict(self.plan),
            "chosen": dict(self.chosen),
            "report": dict(self.report),
            "dollars": self.dollars,
            "warnings": list(self.warnings),
        }

    def _summaries(self, evaluations: Mapping[str, Evaluation]) -> dict[str, Any]:
        return {split: scored_summary(evaluation, self.recipe.metric) for split, evaluation in evaluations.items()}


def run_compile(
    recipe: Recipe,
    *,
    model: Model,
    out: Path,
    dry_run: bool = False,
    max_cost: float | None = None,
    tracker: Tracker | None = None,
    progress: Progress = silent,
) -> CompileReport:
    """Compile `recipe` with `model` into the artefact folder `out`.

    Args:
        dry_run: Only check and plan: no model is asked, nothing is indexed or written.
        max_cost: Most dollars the model may cost.
        tracker: Opens the MLflow run; `tracking.tracked` unless given.

    Raises:
        ConfigError, DataError: Before anything is spent, all problems at once.
        BudgetExceeded: `max_cost` is reached; no artefact is written.
        ReplayError: The replay lacks a request; no artefact is written.
    """
    model, cap = cap_model(model, max_cost) if max_cost is not None else (model, None)
    with (
        _all_paid_for(cap),
        asking(model),
        prepare(recipe, model, out, dry_run=dry_run, progress=progress, cap=cap) as job,
    ):
        evaluated = len(job.data.dev) + len(job.data.test)
        report = CompileReport(
            recipe=recipe,
            lm=model_named(job.task.program, model),
            n=job.data.sizes(),
            plan=estimate(job.task, job.strategy.plan(job.task), model, evaluated=evaluated),
            warnings=job.data.warnings,
        )
        return report if dry_run else _compile(job, report, model, cap, out, tracker or _tracker(), progress)


def _tracker() -> Tracker:
    from reflective_rag.experiments.tracking import tracked

    return tracked


@contextmanager
def _all_paid_for(cap: SpendingCap | None) -> Iterator[None]:
    """An optimizer may swallow the error of a refused call, or turn it into one of its own."""
    try:
        yield
    except Exception:
        if cap is not None:
            cap.check()
        raise


def _compile(
    job: Job,
    report: CompileReport,
    model: Model,
    cap: SpendingCap | None,
    out: Path,
    tracker: Tracker,
    progress: Progress,
) -> CompileReport:
    recipe = report.recipe
    params = job.params(report.lm)
    tags = {"kind": "compile", "recipe": recipe.name}
    with tracker(recipe.name, experiment=recipe.experiment, uri=recipe.tracking, params=params, tags=tags) as run:
        before = _score(job, job.task.program, "before", progress)
        compiled = compiled_by(job, report.plan, progress)
        after = _score(job, compiled.program, "after", progress)
        # Neither the optimizer nor a failed row may hide that replies were refused or unknown: no artefact then.
        if cap is not None:
            cap.check()
        if model.recording:
            model.recording.check()
        chosen = chosen_by(job.task.program, compiled.program)
        artefact = _save(job, report, compiled, before, after, chosen, out)
        _log(run, job, report.lm, compiled, before, after, artefact)
        return CompileReport(
            **{name: getattr(report, name) for name in ("recipe", "lm", "n", "plan", "warnings")},
            artifact=artefact,
            run_id=run.run_id,
            before=before,
            after=after,
            chosen=chosen,
            report=compiled.report,
            dollars=None if cap is None else cap.spent,
        )


def _score(job: Job, program: RagModule, when: str, progress: Progress) -> dict[str, Evaluation]:
    """Dev and, where there is one, test."""
    evaluations = {}
    for split, records in (("dev", job.data.dev), ("test", job.data.test)):
        if records:
            what = f"{split} {when}"
            progress(what, 0, len(records))
            evaluations[split] = evaluate(
                program,
                records,
                metric=job.task.metric,
                num_threads=job.task.num_threads,
                on_result=_told(progress, what),
            )
    return evaluations


def _told(progress: Progress, what: str) -> Callable[[Row, int, int], object]:
    return lambda row, done, total: progress(what, done, total)


def _save(
    job: Job,
    report: CompileReport,
    compiled: Compiled,
    before: Mapping[str, Evaluation],
    after: Mapping[str, Evaluation],
    chosen: Mapping[str, Any],
    out: Path,
) -> Path:
    recipe = report.recipe
    scores = {
        split: {
            "before": scored_summary(before[split], recipe.metric),
            "after": scored_summary(evaluation, recipe.metric),
        }
        for split, evaluation in after.items()
    }
    notes = {
        "recipe": recipe.name,
        "strategy": recipe.strategy,
        "stage": recipe.stage,
        "strategy_options": dict(job.task.options),
        "metric": recipe.metric,
        "seed": recipe.seed,
        "plan": dict(report.plan),
        "chosen": dict(chosen),
        "report": dict(compiled.report),
    }
    model = "" if report.lm == "rules" else report.lm
    return save_program(compiled.program, out, model=model, data=job.data.fingerprints(), scores=scores, notes=notes)


def _log(
    run: Any,
    job: Job,
    lm: str,
    compiled: Compiled,
    before: Mapping[str, Evaluation],
    after: Mapping[str, Evaluation],
    artefact: Path,
) -> None:
    for when, evaluations in (("before", before), ("after", after)):
        for split, evaluation in evaluations.items():
            summary = scored_summary(evaluation, job.task.metric.name)
            if is_recording(lm):
                del summary["seconds"]  # of the replay, not of the model
            run.metrics(flat_metrics(summary, f"{split}.{when}."))
            run.table(f"{split}_{when}", rows_of(evaluation))
    for candidate in compiled.candidates:
        details = dict(candidate.details)
        numbers = {name: float(value) for name, value in details.items() if is_number(value)}
        params = {name: value for name, value in details.items() if name not in numbers}
        run.child(candidate.name, params=params, metrics={"score": candidate.score, **numbers})
    run.folder(artefact, "artefact")
