"""Run a program over labelled questions: one row a question, and the numbers a report needs.

A failure is a row with `error`, never a silent 0: means count it as 0 and `failed` says how many there were.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from reflective_rag.data.records import Record
from reflective_rag.data.secrets import scrub
from reflective_rag.optimizers.checked import number_of
from reflective_rag.optimizers.evaluation_rows import Row, blank_row, row_of
from reflective_rag.optimizers.evaluation_traces import counted_claims
from reflective_rag.optimizers.examples import to_examples
from reflective_rag.optimizers.statistics import Interval, bootstrap_mean
from reflective_rag.signatures.errors import BudgetExceeded, ConfigError, DataError, described

__all__ = ["Evaluation", "Metric", "OnResult", "Program", "Row", "evaluate"]

Program = Callable[..., Any]
"""Called with `question=…`; returns a prediction with `answer`, and the other fields of `Result` where it has them."""
Metric = Callable[[Any, Any], Any]
"""Called with an example of `to_examples` and the prediction; returns a number or a prediction with `score`."""
OnResult = Callable[["Row", int, int], object]
"""Called with a new row, how many rows there are now, and how many there will be; in the calling thread."""
SCORES = ("em", "f1", "containment", "recall", "unsupported", "citation_precision", "citation_recall")
"""Columns of a `Row` that a summary gives with their intervals."""
_ENDING = (ConfigError, DataError, BudgetExceeded)
"""Raised for what every other question would meet too."""


@dataclass(frozen=True)
class Evaluation:
    """The rows of one run, in the order of the records."""

    rows: tuple[Row, ...]

    def interval(self, column: str, *, seed: int = 0, resamples: int = 2000, level: float = 0.95) -> Interval:
        """Mean and bootstrap interval of a numeric column (`f1`, `score`, `tokens`, …) over the rows that have it."""
        values = [value for row in self.rows if (value := getattr(row, column)) is not None]
        return bootstrap_mean(values, seed=seed, resamples=resamples, level=level)

    def summary(self) -> dict[str, Any]:
        """The run in one dict, ready for JSON.

        `n` questions, of which `failed` raised, `abstained` and `degraded`; `unparsed` is a sum of replies. `em`, `f1`
        and `containment` are {mean, low, high, n} with failures as 0; `recall`, `unsupported` (share of an answer's
        claims), `citation_precision` and `citation_recall` are over the questions where they apply. `claims` counts the
        claims of all answers by verdict.
        `…_per_question` are means over the rows that tell it, None where none does. `stop_reasons` counts questions.
        `seconds` is the sum of the calls' wall times, so with threads it exceeds the time that passed.
        """
        rows = self.rows
        scores = {name: self.interval(name).to_dict() for name in SCORES}
        means = {f"{name}_per_question": self._mean(name) for name in ("tokens", "lm_calls", "retrievals")}
        return {
            "n": len(rows),
            "failed": sum(row.error is not None for row in rows),
            "unparsed": sum(row.unparsed for row in rows),
            "abstained": sum(row.abstained for row in rows),
            "degraded": sum(row.degraded for row in rows),
            **scores,
            "claims": counted_claims(rows),
            **means,
            "stop_reasons": dict(sorted(Counter(row.stop_reason for row in rows if row.stop_reason).items())),
            "seconds": sum(row.seconds for row in rows),
        }

    def _mean(self, column: str) -> float | None:
        told = [value for row in self.rows if (value := getattr(row, column)) is not None]
        return sum(told) / len(told) if told else None


def evaluate(
    program: Program,
    records: Sequence[Record],
    *,
    metric: Metric | None = None,
    num_threads: int = 1,
    on_result: OnResult | None = None,
    done: Mapping[str, Row] | None = None,
    program_for: Callable[[Record], Program] | None = None,
) -> Evaluation:
    """Ask the program every record's question.

    Each call runs in a copy of the caller's context, so a surrounding `dspy.context` holds in the threads too. Rows
    come back in the order of the records, whatever the threads do.

    Args:
        metric: Fills the column `score`; EM, F1 and containment are always there.
        num_threads: Questions asked side by side, at least 1.
        on_result: For progress, and for writing rows as they come; not called for rows of `done`.
        done: Record id → row of an earlier, interrupted run. They are taken as they are: leave out those with `error`
            to try them again.
        program_for: Gives the program for one record instead of `program`, where each has a search of its own, say;
            called when its turn comes.

    Raises:
        ConfigError, DataError, BudgetExceeded, KeyboardInterrupt: From the program or metric; the run ends at once,
            because every other question would meet the same. Rows finished by then have been given to `on_result`.
        DataError: Also when two records share an id, or a row of `done` belongs to another question.
    """
    if num_threads < 1:
        raise ConfigError(f"`num_threads` must be at least 1, got {num_threads!r}.")
    rows = _resumed(records, done or {})
    asking = {
        record.id: partial(_ask, program_for or (lambda _: program), record, metric)
        for record in records
        if record.id not in rows
    }

    def finish(row: Row) -> None:
        rows[row.record_id] = row
        if on_result is not None:
            on_result(row, len(rows), len(records))

    if num_threads == 1:
        for ask in asking.values():
            finish(copy_context().run(ask))
    else:
        _ask_side_by_side(list(asking.values()), num_threads, finish)
    return Evaluation(tuple(rows[record.id] for record in records))


def _resumed(records: Sequence[Record], done: Mapping[str, Row]) -> dict[str, Row]:
    questions = {record.id: record.question for record in records}
    if len(questions) < len(records):
        twice = next(id_ for id_, count in Counter(record.id for record in records).items() if count > 1)
        raise DataError(f"records must have ids that differ, got {twice!r} more than once.")
    rows = {id_: row for id_, row in done.items() if id_ in questions}
    for id_, row in rows.items():
        if row.question != questions[id_]:
            raise DataError(
                f"the finished row of record {id_!r} is for the question {row.question!r}, but the record asks "
                f"{questions[id_]!r}. Resume with the data the run began with, or start anew."
            )
    return rows


def _ask_side_by_side(asking: Sequence[Callable[[], Row]], num_threads: int, finish: Callable[[Row], None]) -> None:
    # Daemon threads, not an executor: Python waits for an executor's threads when it exits, so a Ctrl-C would hang for
    # as long as the slowest model call. A context can be entered by one thread at a time: each question has its copy.
    todo: SimpleQueue[Callable[[], Row]] = SimpleQueue()
    finished: SimpleQueue[Row | BaseException] = SimpleQueue()
    for ask in asking:
        todo.put(partial(copy_context().run, ask))
    stopped = threading.Event()
    for number in range(min(num_threads, len(asking))):
        threading.Thread(target=_work, args=(todo, finished, stopped), name=f"evaluate-{number}", daemon=True).start()
    try:
        for _ in asking:
            outcome = finished.get()
            if isinstance(outcome, BaseException):
                raise outcome
            finish(outcome)
    except BaseException:
        stopped.set()
        while not finished.empty():  # paid for, so handed over
            outcome = finished.get()
            if isinstance(outcome, Row):
                finish(outcome)
        raise


def _work(
    todo: SimpleQueue[Callable[[], Row]], finished: SimpleQueue[Row | BaseException], stopped: threading.Event
) -> None:
    with suppress(Empty):
        while not stopped.is_set():
            ask = todo.get_nowait()
            try:
                finished.put(ask())
            except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
                stopped.set()  # here too: the other threads must not begin what cannot succeed
                finished.put(error)


def _ask(program_for: Callable[[Record], Program], record: Record, metric: Metric | None) -> Row:
    start = time.perf_counter()
    try:
        prediction = program_for(record)(question=record.question)
        seconds = time.perf_counter() - start
        row = row_of(record, prediction).model_copy(update={"seconds": seconds})
    except _ENDING:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a program raises is this question's failure, not the run's
        failed = blank_row(record, error=scrub(described(error)))
        return failed.model_copy(update={"seconds": time.perf_counter() - start})
    return row if metric is None else _scored(row, record, prediction, metric)


def _scored(row: Row, record: Record, prediction: Any, metric: Metric) -> Row:
    (example,) = to_examples([record])
    try:
        score = number_of(metric(example, prediction))
    except _ENDING:
        raise
    except Exception as error:  # noqa: BLE001 - a judge model may fail on one question
        return row.model_copy(update={"error": scrub(f"in the metric: {described(error)}")})
    return row.model_copy(update={"score": score})
