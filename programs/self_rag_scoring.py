"""Self-RAG's arithmetic on critic verdicts: pure functions (Asai et al., 2023, arXiv 2310.11511, section 3.3).

A verdict is a distribution over the values of its critic: from token log-probabilities where the model reports them,
else with all its mass on the written value. Unlike the paper's token set, "no support" and "contradicted" are apart.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from reflective_rag.programs.settings import Strict
from reflective_rag.signatures.text import normalize

USEFULNESS: Mapping[str, float] = {"1": -1.0, "2": -0.5, "3": 0.0, "4": 0.5, "5": 1.0}
"""Value of each [IsUSE] grade (appendix A.3 of the paper)."""
PARTLY = 0.5
"""What a partly supported claim counts."""


class CriticWeights(Strict):
    """Weights of the three critics in a candidate's score; the paper's own defaults."""

    relevance: float = Field(default=1.0, ge=0)
    support: float = Field(default=1.0, ge=0)
    usefulness: float = Field(default=0.5, ge=0)


@dataclass(frozen=True, kw_only=True)
class CriticScores:
    """What the critics made of one candidate; None where a verdict could not be read or was not asked for."""

    relevance: float | None = None
    """0..1"""
    support: float | None = None
    """0..1"""
    usefulness: float | None = None
    """−1..1"""


def hard(value: str | None) -> dict[str, float]:
    """The distribution of a written verdict; empty for one that could not be read."""
    return {} if value is None else {value: 1.0}


def retrieval_score(verdict: Mapping[str, float]) -> float | None:
    """p(yes) / (p(yes) + p(no)); "continue" is left out, as in the paper's adaptive retrieval. None without mass.

    Example: yes .3, no .6, continue .1 → .333.
    """
    total = sum(verdict.get(name, 0.0) for name in ("yes", "no"))
    return verdict.get("yes", 0.0) / total if total > 0 else None


def relevance_score(verdict: Mapping[str, float]) -> float | None:
    """p(relevant) / (p(relevant) + p(irrelevant)); "partly" counts half to each. None without mass.

    Example: relevant .6, irrelevant .2 → .75.
    """
    total = sum(verdict.get(name, 0.0) for name in ("relevant", "partly", "irrelevant"))
    return (verdict.get("relevant", 0.0) + PARTLY * verdict.get("partly", 0.0)) / total if total > 0 else None


def support_score(verdict: Mapping[str, float]) -> float | None:
    """(p(supported) + ½·p(partially)) / Σ p over all four values. None without mass.

    Example: supported .5, partially .3, not supported .2 → .65.
    """
    names = ("supported", "partially", "not_supported", "contradicted")
    total = sum(verdict.get(name, 0.0) for name in names)
    return (verdict.get("supported", 0.0) + PARTLY * verdict.get("partially", 0.0)) / total if total > 0 else None


def usefulness_score(verdict: Mapping[str, float]) -> float | None:
    """Σ vᵢ·p(i) / Σ p(i) with v = −1, −½, 0, ½, 1. None without mass.

    Example: grade 4 with .5 and grade 5 with .5 → .75.
    """
    total = sum(verdict.get(grade, 0.0) for grade in USEFULNESS)
    return sum(value * verdict.get(grade, 0.0) for grade, value in USEFULNESS.items()) / total if total > 0 else None


def usefulness_grade(score: float) -> float:
    """A usefulness of −1..1 on the scale 1..5, for a threshold such as `min_usefulness`."""
    return 3.0 + 2.0 * score


def candidate_score(scores: CriticScores, weights: CriticWeights, sequence: float | None = None) -> float:
    """w_rel·rel + w_sup·sup + w_use·use, plus `sequence` (mean token probability of the answer) where it is known.

    A verdict that is missing counts as its middle (.5, .5, 0): an unreadable verdict is neither a yes nor a no.

    Example with the default weights: rel 1, sup .5, use .5 → 1.75.
    """
    relevance = 0.5 if scores.relevance is None else scores.relevance
    support = 0.5 if scores.support is None else scores.support
    usefulness = scores.usefulness or 0.0
    judged = weights.relevance * relevance + weights.support * support + weights.usefulness * usefulness
    return judged + (sequence or 0.0)


def share_of_best(score: float, weights: CriticWeights) -> float:
    """A candidate's score on 0..1: 0 the worst that the weights allow, 1 the best; 0 where all weights are 0."""
    lowest, highest = -weights.usefulness, weights.relevance + weights.support + weights.usefulness
    return min(1.0, max(0.0, (score - lowest) / (highest - lowest))) if highest > lowest else 0.0


def pooled(answers: Sequence[str], scores: Iterable[float]) -> dict[str, float]:
    """Normal form of an answer → sum of the scores of the candidates that give it: the vote of closed-set tasks."""
    total: dict[str, float] = {}
    for answer, score in zip(answers, scores, strict=True):
        total[normalize(answer)] = total.get(normalize(answer), 0.0) + score
    return total


def beam_score(parent: float, own: float) -> float:
    """The score of a segment on its path: the parent's times its own (both ≥ 0, on the scale of `share_of_best`)."""
    return parent * own
