"""From scores to the types of a judgement: grades of passages, support of claims, contradictions. Pure functions.

Each judgement is a pair of functions: what to ask a scorer, as `[((text, text), where)]`, and what its scores tell.
"""

from collections.abc import Sequence

from reflective_rag.data.retrieval.rows import embedding_text
from reflective_rag.programs.scorers.base import Pair
from reflective_rag.programs.scorers.conflicts import Clash, contradiction_pairs, contradictions_from
from reflective_rag.programs.scorers.support import Premise, SupportThresholds, support_from, support_pairs
from reflective_rag.signatures.types import Passage

__all__ = [
    "Clash",
    "Premise",
    "SupportThresholds",
    "contradiction_pairs",
    "contradictions_from",
    "grades_from",
    "relevance_pairs",
    "support_from",
    "support_pairs",
]


def relevance_pairs(question: str, passages: Sequence[Passage]) -> list[Pair]:
    """(question, title and text), one a passage, put together as the index embeds it: its vectors are in the cache."""
    return [(question, embedding_text(passage)) for passage in passages]


def grades_from(scores: Sequence[float], passages: Sequence[Passage]) -> dict[str, float]:
    """Passage id → grade 0..1; a repeated id keeps its best."""
    grades: dict[str, float] = {}
    for score, passage in zip(scores, passages, strict=True):
        grades[passage.id] = max(grades.get(passage.id, 0.0), round(score, 4))
    return grades
