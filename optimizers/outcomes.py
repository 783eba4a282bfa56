"""What became of each question: right, hallucinated or rejected; and the other figures that are compared."""

from collections.abc import Mapping, Sequence
from typing import Any

from reflective_rag.optimizers.calibration.cases import RIGHT_AT, Correct
from reflective_rag.optimizers.evaluation_rows import Row
from reflective_rag.optimizers.statistics import bootstrap_mean, paired_difference
from reflective_rag.signatures.errors import ContractError

Figures = Mapping[str, float | None]
"""Name → value for one question; None where it does not apply."""


def is_right(row: Row, correct: Correct) -> bool:
    """Whether the answer counts as right: the column reaches `RIGHT_AT`. A question that failed is not."""
    value = getattr(row, correct)
    return row.error is None and value is not None and value >= RIGHT_AT[correct]


def is_silent(row: Row) -> bool:
    """Whether no answer was given, by choice."""
    return row.error is None and (row.abstained or not row.answer.strip())


def figures(row: Row, correct: Correct) -> dict[str, float | None]:
    """One question in numbers.

    `accuracy` is 1 where the answer is right; `hallucination` where one was given and is wrong; `rejection` where none
    was given. A question that failed is none of the three. The rest are columns of the row.
    """
    right, silent = is_right(row, correct), is_silent(row)
    return {
        "accuracy": float(right),
        "hallucination": float(row.error is None and not right and not silent),
        "rejection": float(silent),
        "containment": row.containment,
        "em": row.em,
        "f1": row.f1,
        "recall": row.recall,
        "redundancy": row.redundancy,
        "unsupported": row.unsupported,
        "citation_precision": row.citation_precision,
        "citation_recall": row.citation_recall,
        "retrievals": row.retrievals,
        "tokens": row.tokens,
        "read_tokens": row.read_tokens,
        "seconds": row.seconds,
    }


def summarised(rows: Sequence[Row], correct: Correct) -> dict[str, Any]:
    """Each figure as {mean, low, high, n} over the questions that have it; beside `n`, `failed` and `unparsed`."""
    each = [figures(row, correct) for row in rows]
    names = each[0] if each else ()
    means = {name: bootstrap_mean([v for f in each if (v := f[name]) is not None]).to_dict() for name in names}
    failed, unparsed = sum(row.error is not None for row in rows), sum(row.unparsed for row in rows)
    return {"n": len(rows), "failed": failed, "unparsed": unparsed, **means}


def differences(ours: Sequence[Row], theirs: Sequence[Row], correct: Correct) -> dict[str, Any]:
    """Each figure's paired difference, ours minus theirs, over the questions where both have it.

    Raises:
        ContractError: They were not asked the same questions.
    """
    if [row.record_id for row in ours] != [row.record_id for row in theirs]:
        raise ContractError("paired differences need the same questions in the same order")
    pairs = [(figures(a, correct), figures(b, correct)) for a, b in zip(ours, theirs, strict=True)]
    found = {}
    for name in pairs[0][0] if pairs else ():
        told = [(x, y) for a, b in pairs if (x := a[name]) is not None and (y := b[name]) is not None]
        if told:
            found[name] = paired_difference([x for x, _ in told], [y for _, y in told]).to_dict()
    return found
