"""Why an answer is wrong: one kind of failure a question, how often each occurs, and what to work on next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from reflective_rag.data.records import Record
from reflective_rag.optimizers.calibration.cases import Correct
from reflective_rag.optimizers.diagnosis_advice import A_MODEL, ADVICE, ANSWERING, FailureKind, bare, has_setting
from reflective_rag.optimizers.evaluation_rows import Row
from reflective_rag.optimizers.evaluation_traces import NOT_FOUND
from reflective_rag.optimizers.outcomes import is_right, is_silent
from reflective_rag.optimizers.ranking_metrics import wilson
from reflective_rag.optimizers.statistics import Interval
from reflective_rag.programs.calibrated import OUTSIDE
from reflective_rag.programs.module import RagModule

EXAMPLES = 3
"""Questions shown of each kind."""


def failure_of(row: Row, record: Record | None = None, correct: Correct = "f1") -> FailureKind | None:
    """The kind of failure of one question; None where the answer is right. Pure.

    The first that holds: the program, model or retriever failed; nothing readable came; an unanswerable question was
    answered; a supporting passage was not read, because it was dropped, because the loop stopped as if it had enough,
    or because it was never retrieved; all were read, and there is no answer, an answer that is not carried, or another.

    Args:
        record: Where it is at hand its labels count, else the row's own.
        correct: Which column says whether an answer is right.
    """
    if is_right(row, correct):
        return None
    if row.error is not None or row.stop_reason in OUTSIDE:
        return "failed"
    silent = is_silent(row)
    if silent and row.unparsed:
        return "unreadable"
    answerable = record.answerable if record is not None else row.answerable and bool(row.answers)
    if not answerable:
        return "false_sufficient"
    return _by_evidence(row, silent=silent)


def _by_evidence(row: Row, *, silent: bool) -> FailureKind:
    if row.recall is None or row.trace is None:
        return "unclear"
    if row.recall < 1:
        return _of_missing(row, silent=silent)
    if silent:
        return "over_conservative"
    return "unsupported" if row.unsupported else "wrong_despite_evidence"


def _of_missing(row: Row, *, silent: bool) -> FailureKind:
    """Where the supporting passage was lost that was not read."""
    assert row.trace is not None
    lost = [passage.lost for passage in row.trace.missed]
    if any(why not in (None, NOT_FOUND) for why in lost):
        return "wrongly_dropped"
    if row.stop_reason == "sufficient" and not silent:
        return "false_sufficient"
    return "unclear" if None in lost else "retrieval_miss"


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The failures of one run."""

    rows: Sequence[Row]
    kinds: Sequence[FailureKind | None]
    """Of each row."""
    correct: Correct
    program: RagModule | None = None
    """The program that was asked, where it is at hand: only what it has is named to work on."""

    def counts(self) -> dict[FailureKind, int]:
        """Kind → questions, of the kinds that occur, in the order of the pipeline."""
        return {kind: count for kind in get_args(FailureKind) if (count := self.kinds.count(kind))}

    def next(self) -> FailureKind | None:
        """What to work on: the kind with the most questions, of equals the earliest in the pipeline; None without one.

        What is unclear comes last: nothing can be done about it but labelling.
        """
        counts = self.counts()
        known = {kind: count for kind, count in counts.items() if kind != "unclear"} or counts
        return max(known, key=lambda kind: known[kind]) if known else None

    def brief(self) -> dict[str, Any]:
        """A few numbers for a report: `n`, `wrong`, `kinds` with counts, and `next`."""
        return {"n": len(self.rows), "wrong": len(self.rows) - self.kinds.count(None), "kinds": self.counts()} | {
            "next": self._next()
        }

    def to_dict(self) -> dict[str, Any]:
        """For JSON: every kind with `count`, `share` (Wilson interval of 95 %), meaning, examples; `next`; questions.

        `right_but_unsupported` counts right answers with a claim that no passage carries: right by luck or by memory.
        """
        n = len(self.rows)
        lucky = sum(kind is None and bool(row.unsupported) for row, kind in self._pairs())
        return {
            "n": n,
            "correct": self.correct,
            "wrong": _share(n - self.kinds.count(None), n),
            "kinds": {kind: self._about(kind, count) for kind, count in self.counts().items()},
            "right_but_unsupported": lucky,
            "next": self._next(),
            "questions": self.table(),
        }

    def table(self) -> list[dict[str, Any]]:
        """One row a question that failed, for a table."""
        return [_line(row, kind) for row, kind in self._pairs() if kind is not None]

    def _about(self, kind: FailureKind, count: int) -> dict[str, Any]:
        examples = [_line(row, kind) for row, its in self._pairs() if its == kind][:EXAMPLES]
        return {**_share(count, len(self.rows)), "means": ADVICE[kind].means, "examples": examples}

    def _next(self) -> dict[str, Any] | None:
        kind = self.next()
        if kind is None:
            return None
        asks = any(row.lm_calls for row in self.rows)
        predictors = ADVICE[kind].predictors if asks else ()
        settings = ADVICE[kind].settings
        if self.program is not None:
            settings = tuple(name for name in settings if has_setting(self.program, name))
            predictors = tuple(name for name in predictors if bare(name) in dict(self.program.named_predictors()))
        if self._wants_model(asks):
            settings = (A_MODEL, *settings) if kind in ANSWERING else (*settings, A_MODEL)
        return {"kind": kind, "settings": list(settings), "predictors": list(predictors)}

    def _wants_model(self, asks: bool) -> bool:
        """Whether rules answered, a model could, and most of what went wrong is the answering."""
        counts = self.counts()
        answering = sum(counts.get(kind, 0) for kind in ANSWERING)
        able = self.program is None or self.program.asks_model
        return able and not asks and 2 * answering > sum(counts.values())

    def _pairs(self) -> list[tuple[Row, FailureKind | None]]:
        return list(zip(self.rows, self.kinds, strict=True))


def diagnose(
    rows: Sequence[Row],
    records: Sequence[Record] = (),
    correct: Correct = "f1",
    *,
    program: RagModule | None = None,
) -> Diagnosis:
    """The failures of a run; `records` may be any that were asked, found by their ids, and `program` the one asked."""
    known = {record.id: record for record in records}
    kinds = [failure_of(row, known.get(row.record_id), correct) for row in rows]
    return Diagnosis(rows=rows, kinds=kinds, correct=correct, program=program)


def _share(count: int, n: int) -> dict[str, Any]:
    found = Interval(count / n, *wilson(count / n, n), n) if n else Interval(None, None, None, 0)
    return {"count": count, "share": found.to_dict()}


def _line(row: Row, kind: FailureKind) -> dict[str, Any]:
    missed = row.trace.missed if row.trace else ()
    return {
        "record_id": row.record_id,
        "kind": kind,
        "question": row.question,
        "answer": row.answer,
        "answers": list(row.answers),
        "stop_reason": row.stop_reason,
        "missed": [passage.title or passage.start for passage in missed],
        "error": row.error,
    }
