"""Compile a recipe: check everything, score, compile, score again, save the artefact, log the run."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reflective_rag.experiments.compile_report import CompileReport
from reflective_rag.experiments.compile_results import log_compiled, save_compiled
from reflective_rag.experiments.compile_runs import CompileRun, sources, spent_by
from reflective_rag.experiments.estimating import estimate
from reflective_rag.experiments.gains import nothing_told
from reflective_rag.experiments.jobs import Job, prepare
from reflective_rag.experiments.models import asking, model_named, ping
from reflective_rag.experiments.optimizing import compiled_by
from reflective_rag.experiments.recipes import Recipe
from reflective_rag.experiments.reporting import chosen_by, flat_metrics, rows_of
from reflective_rag.experiments.warming import warm_up
from reflective_rag.optimizers.evaluation import Evaluation, Row, evaluate
from reflective_rag.programs.artefacts import is_artefact
from reflective_rag.programs.lm.capped import SpendingCap, cap_model
from reflective_rag.programs.lm.kept import Kept
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.programs.module import RagModule
from reflective_rag.signatures.errors import ReflectiveRAGError

__all__ = ["CompileReport", "Progress", "Tracker", "flat_metrics", "rows_of", "run_compile"]

Progress = Callable[[str, int, int], object]
"""Called with what is being done, how much of it is done, and how much there is."""
Tracker = Callable[..., AbstractContextManager[Any]]
"""`tracking.tracked`, or a stand-in with its interface."""


def silent(what: str, done: int, total: int) -> None:
    """No progress is shown."""


@dataclass(frozen=True, kw_only=True)
class _Work:
    """What a compile works with, once it may begin to spend."""

    job: Job
    report: CompileReport
    model: Model
    cap: SpendingCap | None
    run: CompileRun | None
    kept: Sequence[Kept]
    out: Path
    tracker: Tracker
    progress: Progress

    @contextmanager
    def checked(self) -> Iterator[None]:
        """`check` at the end of the block, also where that is an error, which may only follow from what it finds."""
        try:
            yield
        except Exception:
            self.check()
            raise
        self.check()

    def check(self) -> None:
        """Neither an optimizer nor a failed row may hide that replies were refused, unknown, lost or not to be had."""
        if self.cap is not None:
            self.cap.check()
        if self.model.recording:
            self.model.recording.check()
        for kept in self.kept:
            kept.check()
            if kept.engine.failing:  # one bad request, or the end of all? One word tells.
                _check_answers(kept)


def run_compile(
    recipe: Recipe,
    *,
    model: Model,
    out: Path,
    dry_run: bool = False,
    max_cost: float | None = None,
    run: CompileRun | None = None,
    tracker: Tracker | None = None,
    progress: Progress = silent,
) -> CompileReport:
    """Compile `recipe` with `model` into the artefact folder `out`.

    Args:
        dry_run: Only check and plan: no model is asked, nothing is indexed or written.
        max_cost: Most dollars the model may cost, in this attempt and earlier ones of `run`.
        run: Keeps every reply, so that a killed compile can go on (see `compile_runs`); None keeps nothing.
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
        prepare(recipe, model, out, dry_run=dry_run, progress=progress, cap=cap, keeps=run is not None) as job,
        ExitStack() as opened,
    ):
        evaluated = len(job.data.dev) + len(job.data.test)
        report = CompileReport(
            recipe=recipe,
            lm=model_named(job.task.program, model),
            n=job.data.sizes(),
            plan=estimate(job.task, job.strategy.plan(job.task), model, evaluated=evaluated),
            warnings=job.data.warnings,
        )
        if dry_run:
            return report
        job, model, kept = _keeping(opened, job, model, run, cap)
        work = _Work(
            job=job,
            report=report,
            model=model,
            cap=cap,
            run=run,
            kept=kept,
            out=out,
            tracker=tracker or _tracker(),
            progress=progress,
        )
        done = _compile(work)
    if run is not None:
        run.done()
    return done


def _keeping(
    opened: ExitStack, job: Job, model: Model, run: CompileRun | None, cap: SpendingCap | None
) -> tuple[Job, Model, Sequence[Kept]]:
    """Job and model with every reply kept in the run's folder until `opened` ends; as they are without a run."""
    if run is None:
        return job, model, ()
    run.begin({**job.data.fingerprints(), **sources(job.data.recipe)})
    own = {} if model.recording or model.is_rules else {"": model}  # the user's own recording keeps them already
    by_role = opened.enter_context(run.keeping({**own, **job.task.models}))
    kept = list({id(each.engine): each for each in by_role.values()}.values())
    if cap is not None:
        cap.spent += sum(each.dollars() for each in kept)
    if "" in by_role:
        model = by_role[""].model
        opened.enter_context(model.use())
    others = {role: each.model for role, each in by_role.items() if role}
    return replace(job, task=replace(job.task, models=others)), model, kept


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


def _check_answers(kept: Kept) -> None:
    try:
        ping(kept.model)
    except ReflectiveRAGError as error:
        raise type(error)(f"the model stopped answering while the compile was under way: {error}") from error


def _compile(work: _Work) -> CompileReport:
    job, report = work.job, work.report
    with _logged(work) as logged:
        with work.checked():
            before = _score(job, job.task.program, "before", work.progress)
        with work.checked():
            compiled = compiled_by(job, report.plan, work.progress)
        with work.checked():
            after = _score(job, compiled.program, "after", work.progress)
        chosen = chosen_by(job.task.program, compiled.program)
        done = replace(
            report,
            run_id=logged.run_id,
            before=before,
            after=after,
            warnings=(*report.warnings, *nothing_told(before, after, job.task.metric.name)),
            chosen=chosen,
            report=compiled.report,
            dollars=None if work.cap is None else work.cap.spent,
            run=work.run.name if work.run else None,
            spent=spent_by(work.kept) if work.kept else {},
        )
        replaced = is_artefact(work.out)
        done = replace(done, artifact=save_compiled(job, done, compiled, work.out), replaced=replaced)
        log_compiled(logged, job, done, compiled, work.run.order.lm if work.run else None)
    return done


@contextmanager
def _logged(work: _Work) -> Iterator[Any]:
    """The MLflow run, which a run that goes on knows by its id."""
    recipe = work.report.recipe
    tags = {"kind": "compile", "recipe": recipe.name}
    earlier = work.run.order.mlflow_runs if work.run else ()
    if work.run:
        tags |= {"compile": work.run.name} | ({"resumes": earlier[-1]} if earlier else {})
    params = work.job.params(work.report.lm)
    more = {"abandoned": earlier} if earlier else {}
    with work.tracker(
        recipe.name, experiment=recipe.experiment, uri=recipe.tracking, params=params, tags=tags, **more
    ) as logged:
        if work.run and logged.run_id:
            work.run.update(mlflow_runs=(*earlier, logged.run_id))
        yield logged


def _score(job: Job, program: RagModule, when: str, progress: Progress) -> dict[str, Evaluation]:
    """Dev and, where there is one, test."""
    evaluations = {}
    for split, records in (("dev", job.data.dev), ("test", job.data.test)):
        if records:
            what = f"{split} {when}"
            progress(what, 0, len(records))
            warm_up(program.search if program.needs_search else None, [record.question for record in records])
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
