"""Right, hallucinated, rejected: what became of a question, and selective answering built on it."""

from typing import Any

import pytest

from reflective_rag.optimizers.evaluation import Row
from reflective_rag.optimizers.outcomes import differences, figures, summarised
from reflective_rag.optimizers.selective import ranked, selective
from reflective_rag.signatures.errors import ContractError


def row(number: int = 0, **known: Any) -> Row:
    """A row of one question, answered."""
    about = {"record_id": f"q{number}", "question": "?", "answer": "Paris", "answers": ("Paris",)}
    return Row(**{**about, **known})


@pytest.mark.parametrize(
    ("known", "correct", "expected"),
    [
        ({"score": 1.0}, "score", (1, 0, 0)),
        ({"score": 0.5}, "score", (0, 1, 0)),
        ({"f1": 0.5}, "f1", (1, 0, 0)),
        ({"f1": 0.49}, "f1", (0, 1, 0)),
        ({"f1": 0.0, "abstained": True}, "f1", (0, 0, 1)),
        ({"f1": 1.0, "abstained": True}, "f1", (1, 0, 1)),
        ({"answer": "  "}, "f1", (0, 0, 1)),
        ({"error": "TimeoutError: slow"}, "f1", (0, 0, 0)),
        ({"score": None}, "score", (0, 1, 0)),
    ],
    ids=["right", "half", "near", "wrong", "silent", "rightly silent", "blank", "failed", "not scored"],
)
def test_wrong_and_not_abstained_is_a_hallucination(known: dict[str, Any], correct: Any, expected: Any) -> None:
    """An abstention is none, and a failure is neither right, nor wrong, nor an abstention."""
    found = figures(row(**known), correct)
    assert (found["accuracy"], found["hallucination"], found["rejection"]) == expected


def test_a_summary_leaves_out_what_does_not_apply() -> None:
    """Recall is over the questions that have supporting passages; failures are counted apart."""
    rows = [row(0, recall=0.5), row(1), row(2, error="OSError: gone", unparsed=1)]
    found = summarised(rows, "f1")
    assert (found["n"], found["failed"], found["unparsed"]) == (3, 1, 1)
    assert found["recall"] == {"mean": 0.5, "low": None, "high": None, "n": 1}
    assert found["rejection"]["n"] == 3


def test_differences_are_paired() -> None:
    """Ours minus theirs on the same questions, over those where both have a value; other questions are refused."""
    ours = [row(0, f1=1.0, recall=1.0), row(1, f1=0.0)]
    theirs = [row(0, f1=0.0, recall=0.5), row(1, f1=0.0, recall=1.0)]
    found = differences(ours, theirs, "f1")
    assert found["accuracy"]["mean"] == 0.5
    assert found["recall"] == {"mean": 0.5, "low": None, "high": None, "n": 1}
    assert "tokens" not in found
    with pytest.raises(ContractError, match="same questions"):
        differences(ours, theirs[::-1], "f1")


def test_the_surest_first_gives_risk_over_coverage() -> None:
    """By hand: right, wrong, right, silent; risks 0, 1/2, 1/3, 1/2, whose mean is the AURC."""
    rows = [
        row(0, f1=1.0, confidence=0.9),
        row(1, f1=0.0, confidence=0.8),
        row(2, f1=1.0, confidence=0.3),
        row(3, confidence=0.0, abstained=True),
    ]
    order = ranked(rows, "f1")
    assert order.by == "confidence"
    assert order.curve == [(0.25, 0.0), (0.5, 0.5), (0.75, pytest.approx(1 / 3)), (1.0, 0.5)]
    found = selective(order)
    assert found["aurc"]["mean"] == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert found["selective_accuracy"]["0.5"]["mean"] == 0.5
    assert found["differences"] == {}
    assert selective(order, order)["differences"]["aurc"]["mean"] == 0.0


def test_without_a_confidence_the_best_retrieval_score_ranks() -> None:
    """NaiveRAG tells none; where there is no score either, nothing ranks, and the AURC is the error rate."""
    scored = [row(n, f1=float(n), confidence=0.0, signals={"top_score": n / 10}) for n in (0, 1)]
    assert ranked(scored, "f1").by == "top_score"
    assert ranked(scored, "f1").curve == [(0.5, 0.0), (1.0, 0.5)]
    bare = ranked([row(0, f1=1.0), row(1, f1=0.0)], "f1")
    assert bare.by == "nothing"
    assert selective(bare)["aurc"]["mean"] == 0.5
    assert selective(ranked([], "f1"))["aurc"] is None
