"""What a scorer is: something that gives each pair of texts a number (relevance) or three (inference)."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

Pair = tuple[str, str]
"""(question, passage) for relevance, (premise, hypothesis) for inference."""


class Nli(NamedTuple):
    """How a hypothesis stands to a premise: three probabilities that sum to 1, always in this order."""

    entailment: float
    neutral: float
    contradiction: float


NLI_LABELS = Nli._fields


class Predictor(Protocol):
    """Any object with `predict(pairs)`, such as a sentence-transformers `CrossEncoder`.

    It may return a list, a numpy array or a torch tensor, of logits or probabilities: see `normalise`.
    """

    def predict(self, pairs: Sequence[Pair], /) -> Any:
        """One number or one row a pair, in the order of the pairs."""
        ...


class PairScorer(Protocol):
    """Relevance of each pair, 0..1. Synchronous and thread-safe."""

    @property
    def name(self) -> str:
        """What tells this scorer from another in messages and reports."""
        ...

    def predict(self, pairs: Sequence[Pair], /) -> list[float]:
        """One number a pair, in order. Raises `ReflectiveRAGError` (a model that cannot be had, a broken reply)."""
        ...


class NliScorer(Protocol):
    """Entailment, neutral, contradiction of each (premise, hypothesis). Synchronous and thread-safe."""

    @property
    def name(self) -> str:
        """What tells this scorer from another in messages and reports."""
        ...

    def predict(self, pairs: Sequence[Pair], /) -> list[Nli]:
        """Three probabilities a pair, in order. Raises `ReflectiveRAGError`."""
        ...
