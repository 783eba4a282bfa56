"""Evaluate one system on records, for `evaluate` and `compare`."""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from reflective_rag import __version__
from reflective_rag.data.records import Record, record_fingerprint
from reflective_rag.data.retrieval import Retriever
from reflective_rag.experiments.models import first_line
from reflective_rag.experiments.reporting import scored_summary
from reflective_rag.experiments.rows import found_nothing_to_search
from reflective_rag.experiments.systems import System
from reflective_rag.experiments.warming import warm_up
from reflective_rag.optimizers.evaluation import Evaluation, Program, Row, evaluate
from reflective_rag.optimizers.metrics import metric as build_metric
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.searching import SearchHandle
from reflective_rag.signatures.errors import ContractError, DataError

Progress = Callable[[str, int, int], object]


def measure(
    system: System,
    records: Sequence[Record],
    *,
    metric: str | None = None,
    threads: int = 1,
    done: dict[str, Row] | None = None,
    keep: Callable[[Row], object] | None = None,
    progress: Progress = lambda what, done, total: None,
    program_for: Callable[[Record], Program] | None = None,
) -> Evaluation:
    """One row a record; `keep` gets every new row at once, `done` are those of an earlier run.

    `program_for` gives the program for a record where it is not the system's own, see `evaluate`; the caller then
    warms up by itself (`warm_up`), which otherwise is done here: what is loaded once is nobody's time.
    """

    def on_result(row: Row, finished: int, total: int) -> None:
        if keep is not None:
            keep(row)
        progress(system.name, finished, total)

    score = None if metric is None else build_metric(metric)
    progress(system.name, 0, len(records))
    waiting = [record.question for record in records if record.id not in (done or {})]
    if waiting and program_for is None:
        warm_up(system.program.search if system.program.needs_search else None, waiting)
    how: dict[str, Any] = {"num_threads": threads, "on_result": on_result, "done": done, "program_for": program_for}
    evaluation = evaluate(system.program, records, metric=score, **how)
    if evaluation.rows and all(map(found_nothing_to_search, evaluation.rows)):
        raise no_search(_reason(system.program.search, records[0].question))
    return evaluation


def no_search(reason: str) -> DataError:
    """The error for a corpus in which no search could be made at all: scores of that would be scores of nothing."""
    return DataError(f"no search could be made: {reason.rstrip('.')}. Mend the corpus or the index, and run it again")


def _reason(search: SearchHandle, question: str) -> str:
    try:
        search(question, 1)
    except Exception as error:  # noqa: BLE001 - a retriever may raise anything; it is told, not handled
        return first_line(error)
    return "the retriever failed at every question"


def summary_of(evaluation: Evaluation, metric: str | None) -> dict[str, Any]:
    """The summary for JSON, with the further metric's score and the number of cached calls."""
    summary = evaluation.summary() if metric is None else scored_summary(evaluation, metric)
    summary["cached_calls"] = sum(row.cached_calls or 0 for row in evaluation.rows)
    return summary


def check_metric(metric: str | None) -> None:
    """Raise `ConfigError` for a metric that does not exist, before anything is spent."""
    from reflective_rag.optimizers.metrics import check_metric_name

    if metric is not None:
        check_metric_name(metric)


def rows_header(
    system: System, *, lm: str, data: Sequence[Record], corpus: Sequence[str], search: Retriever, metric: str | None
) -> dict[str, Any]:
    """What rows depend on: the program as it is compiled, model, data, corpus, metric. A resumed run must agree."""
    program = system.program
    state = json.dumps(program.dump_state(), sort_keys=True, ensure_ascii=False, default=str)
    settings = json.dumps(program.settings.model_dump(mode="json"), sort_keys=True)
    return {
        "program": program.name,
        "settings": hashlib.sha256((settings + state).encode()).hexdigest()[:16],
        "lm": lm,
        "data": record_fingerprint(data),
        "corpus": list(corpus),
        "passages": search.count(),
        "search": search.mode,
        "metric": metric,
        "calibration": _in_use(program),
    }


def about_run(system: System, *, lm: str, data: str, n: int) -> dict[str, Any]:
    """What a reader of the rows likes to know, beside their header."""
    program = system.program
    controls = getattr(program, "controls", None)
    return {
        "system": system.name,
        "data": data,
        "n": n,
        "support_critic": support_critic(system, lm),
        "settings": program.settings.model_dump(mode="json"),
        "controls": None if controls is None else controls.values.model_dump(mode="json"),
        "version": __version__,
    }


def support_critic(system: System, lm: str) -> str | None:
    """Who checks the claims of the answers: `rules`, `lm: NAME`, `models: NAME`; None where nobody does.

    Args:
        lm: The model that the system asks, or `rules`.
    """
    settings = system.program.settings
    if not hasattr(settings, "critics"):
        return None
    chosen = settings.backend("support") if hasattr(settings, "backend") else settings.critics.support
    if chosen == "models":
        return f"models: {settings.critic_models.nli}"
    if chosen == "lm":
        return "rules" if lm == "rules" else f"lm: {lm}"
    return None if chosen == "off" else chosen


def _in_use(program: RagModule) -> str | None:
    """What tells one calibration, with its threshold, from another; None without one, as in files of older versions."""
    if program.calibrated is None:
        return None
    threshold = program.calibrated.threshold
    text = program.calibrated.calibration.model_dump_json() + (threshold.model_dump_json() if threshold else "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def values_in_pairs(a: Evaluation, b: Evaluation, column: str) -> tuple[list[float], list[float]]:
    """The column of both systems over the questions where both have it, in one order.

    Raises:
        ContractError: They were not asked the same questions.
    """
    if [row.record_id for row in a.rows] != [row.record_id for row in b.rows]:
        raise ContractError("paired differences need the same questions in the same order")
    pairs = [(getattr(x, column), getattr(y, column)) for x, y in zip(a.rows, b.rows, strict=True)]
    told = [(float(x), float(y)) for x, y in pairs if x is not None and y is not None]
    return [x for x, _ in told], [y for _, y in told]
