"""One row a question: what an evaluation keeps of a prediction."""

from functools import partial
from typing import Any

from reflective_rag.data.records import Record, supporting_keys
from reflective_rag.optimizers.evaluation_traces import Trace, evidence_columns, trace_of
from reflective_rag.optimizers.metrics import containment, exact_match, f1, grade, retrieval_recall
from reflective_rag.optimizers.predictions import (
    answer_of,
    phases_of,
    signals_of,
    tokens_of,
    usage_of,
    whole_result,
)
from reflective_rag.signatures.types import Frozen, Passage, PhaseUsage

BYTES_PER_TOKEN = 4
"""The size of a token in `Row.read_tokens`: a rule of thumb for English; a Chinese character is three bytes."""


class Row(Frozen):
    """One question. None means not applicable, or not told by the prediction (a stock module tells only `answer`)."""

    record_id: str
    question: str
    answer: str
    answers: tuple[str, ...]
    answerable: bool = True
    """False where the right reaction is to abstain; in rows of earlier versions not told."""
    em: float = 0.0
    f1: float = 0.0
    containment: float = 0.0
    score: float | None = None
    """What the `metric` said; None without one, or where it or the program failed."""
    recall: float | None = None
    """Share of the supporting passages that the answer was written from."""
    tokens: int | None = None
    """Prompt and completion tokens, cached replies included."""
    lm_calls: int | None = None
    cached_calls: int | None = None
    """Of `lm_calls`, those answered from the cache."""
    retrievals: int | None = None
    stop_reason: str | None = None
    abstained: bool = False
    degraded: bool = False
    unparsed: int = 0
    """Model replies, or parts of them, that could not be read."""
    warnings: tuple[str, ...] = ()
    """Codes, in the order they were given."""
    confidence: float | None = None
    evidence_score: float | None = None
    signals: dict[str, float] | None = None
    """What a calibration is fitted on, see `programs.signals`; None where a calibration was in use."""
    usage: dict[str, PhaseUsage] | None = None
    """What each phase cost; on rules too, with seconds alone."""
    redundancy: float | None = None
    """Share of the text that was read which repeats other text of it, 0..1."""
    read_tokens: int | None = None
    """Size of the passages that were read, in tokens of 4 bytes: what they would cost in a prompt."""
    claims: dict[str, int] | None = None
    """Verdict of the support critic (`unread` where it gave none) → claims of the answer; None where nobody checks."""
    unsupported: float | None = None
    """Share of the claims with a verdict that are not supported or contradicted."""
    citation_precision: float | None = None
    """Share of the cited passages that are labelled as supporting; None without citations."""
    citation_recall: float | None = None
    """Share of the supporting passages that are cited."""
    trace: Trace | None = None
    """How the answer came about; None for a stock module, and in rows of earlier versions."""
    seconds: float = 0.0
    """Wall time of the program's call."""
    error: str | None = None
    """Class and message of what the program or the metric raised."""


def blank_row(record: Record, **known: Any) -> Row:
    """The row of a record that nothing is known of but `known`."""
    about = {"record_id": record.id, "question": record.question, "answers": record.answers}
    return Row(**{**about, "answerable": record.answerable, "answer": "", **known})


def row_of(record: Record, prediction: Any) -> Row:
    """The row of a prediction, but for the seconds and the metric's score."""
    answer = answer_of(prediction)
    told = partial(getattr, prediction)
    result = whole_result(prediction)
    wanted = supporting_keys(record)
    abstained = bool(told("abstained", False))
    phases = phases_of(prediction)
    scores = {
        name: grade(score, answer, record.answers, abstained=abstained, answerable=record.answerable)
        for name, score in (("em", exact_match), ("f1", f1), ("containment", containment))
    }
    return blank_row(
        record,
        answer=answer,
        **scores,
        recall=_recall(told("passages", None), wanted),
        tokens=tokens_of(prediction),
        lm_calls=None if phases is None else sum(phase.calls for phase in phases),
        cached_calls=None if phases is None else sum(phase.cached for phase in phases),
        retrievals=told("retrievals", None),
        usage=usage_of(prediction),
        redundancy=told("redundancy_after", None),
        read_tokens=_read_tokens(told("passages", None)),
        stop_reason=told("stop_reason", None),
        abstained=abstained,
        degraded=bool(told("degraded", False)),
        unparsed=told("unparsed", 0),
        warnings=tuple(getattr(warning, "code", warning) for warning in told("warnings", ())),
        confidence=told("confidence", None),
        evidence_score=told("evidence_score", None),
        signals=signals_of(prediction),
        **({} if result is None else evidence_columns(record, result, wanted)),
        trace=None if result is None else trace_of(record, result, wanted),
    )


def _recall(passages: Any, wanted: frozenset[str]) -> float | None:
    return retrieval_recall(passages, wanted) if _are_passages(passages) else None


def _read_tokens(passages: Any) -> int | None:
    if not _are_passages(passages):
        return None
    texts = [p if isinstance(p, str) else f"{p.title} {p.text}" for p in passages]
    return sum(len(text.encode(errors="replace")) for text in texts) // BYTES_PER_TOKEN


def _are_passages(passages: Any) -> bool:
    """Not where a stock module keeps something of its own under `passages`."""
    return isinstance(passages, (list, tuple)) and all(isinstance(item, (Passage, str)) for item in passages)
