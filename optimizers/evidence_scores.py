"""Scores of what an answer stands on, read from a prediction with the fields of `Result` and a record's labels.

Citations after ALCE (Gao et al. 2023), with the record's supporting passages as gold instead of an NLI judge.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from reflective_rag.signatures.errors import ContractError
from reflective_rag.signatures.types import ClaimSupport, Passage

SUPPORT_VALUES = {"supported": 1.0, "partially": 0.5, "not_supported": 0.0, "contradicted": 0.0}


@dataclass(frozen=True)
class CitationScores:
    """How far the cited passages are the supporting ones, each 0..1."""

    precision: float
    """Share of the cited passages that support the answer; 0 without citations."""
    recall: float
    """Share of the supporting passages that are cited."""

    @property
    def f1(self) -> float:
        """Harmonic mean of the two; 0 where both are 0."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def passages_of(prediction: Any) -> list[Passage]:
    """The passages that the answer was written from.

    Raises:
        ContractError: The prediction has none of ours under `passages`, as that of a stock module.
    """
    passages = getattr(prediction, "passages", None)
    if not isinstance(passages, (list, tuple)) or not all(isinstance(item, Passage) for item in passages):
        raise ContractError("this metric needs `passages` on the prediction, which programs of this library report.")
    return list(passages)


def cited_passages(prediction: Any) -> list[Passage]:
    """The passages that the answer or one of its claims cites, each once, in reading order."""
    claims = getattr(prediction, "claims", ())
    citations = [*getattr(prediction, "citations", ()), *(c for claim in claims for c in claim.citations)]
    ids = {citation.passage_id for citation in citations}
    return [passage for passage in passages_of(prediction) if passage.id in ids]


def citation_scores(prediction: Any, supporting: Collection[str]) -> CitationScores:
    """Citations against the supporting passages (by `Passage.key`), of which there must be at least one."""
    cited = {passage.key for passage in cited_passages(prediction)}
    right = len(cited & set(supporting))
    return CitationScores(precision=right / len(cited) if cited else 0.0, recall=right / len(set(supporting)))


def groundedness(prediction: Any) -> float:
    """Mean support of the answer's claims: supported 1, partially .5, not supported or contradicted 0.

    Raises:
        ContractError: No claim has a verdict that could be read.
    """
    claims: tuple[ClaimSupport, ...] = tuple(getattr(prediction, "claims", None) or ())
    values = [SUPPORT_VALUES[claim.support] for claim in claims if claim.support is not None]
    if not values:
        raise ContractError(
            "metric 'groundedness' needs checked claims on the prediction, and there are none. "
            "Use a program that checks its answers (`critics.support` other than 'off')."
        )
    return sum(values) / len(values)


def supporting_of(example: Any, metric: str) -> tuple[str, ...]:
    """The supporting passages' keys of an example of `to_examples`.

    Raises:
        ContractError: There are none, so that the metric does not apply.
    """
    supporting = tuple(getattr(example, "supporting", None) or ())
    if not supporting:
        raise ContractError(f"metric {metric!r} needs records whose supporting passages are marked, got one without.")
    return supporting
