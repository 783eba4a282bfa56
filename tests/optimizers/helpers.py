"""Records and the prediction of a good program: what the tests of evaluation share."""

from typing import Any

import dspy

from reflective_rag.data.records import Record
from reflective_rag.signatures.types import Passage, PhaseUsage, Result, ResultWarning

GOLD = Passage(id="elsewhere", text="the capital of france is paris")


def record(number: int, **changes: Any) -> Record:
    """Record q0, q1, …; its answer is Paris, and one of its two passages is supporting."""
    passages = [
        {"id": "p1", "text": "The capital of France is Paris.", "supporting": True},
        {"id": "p2", "text": "Lyon lies on the Rhône.", "supporting": False},
    ]
    good = {"id": f"q{number}", "question": f"Question {number}?", "answers": ["Paris"], "passages": passages}
    return Record.model_validate(good | changes)


RECORDS = [record(number) for number in range(6)]


def full(**changes: Any) -> dspy.Prediction:
    """What one of our programs returns."""
    result = Result(
        answer="Paris",
        confidence=0.9,
        evidence_score=0.8,
        stop_reason="sufficient",
        warnings=(ResultWarning(code="outdated_info", message="…"),),
        passages=(GOLD,),
        retrievals=2,
        unparsed=1,
        usage={
            "assess": PhaseUsage(calls=2, cached=1, prompt_tokens=100, completion_tokens=10),
            "answer": PhaseUsage(calls=1, prompt_tokens=50, completion_tokens=5),
        },
    )
    return dspy.Prediction(**(dict(result) | changes))
