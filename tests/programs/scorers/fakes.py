"""Objects with `predict(pairs)` as callers bring them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from reflective_rag.programs.scorers.base import Nli, Pair

if TYPE_CHECKING:
    from reflective_rag.data.retrieval.embedders import Vectors


class Fake:
    """Returns what a function makes of the pairs; further attributes as a CrossEncoder has them."""

    def __init__(self, answer: Callable[[Sequence[Pair]], Any], **attributes: Any) -> None:
        self.asked: list[Pair] = []
        self._answer = answer
        self.__dict__.update(attributes)

    def predict(self, pairs: Sequence[Pair]) -> Any:
        self.asked += pairs
        return self._answer(pairs)


def always(value: Any) -> Fake:
    """The same reply to every call, whatever it is."""
    return Fake(lambda pairs: value)


class Tensor:
    """A torch tensor as far as it matters here: no sequence, but `tolist`."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def tolist(self) -> Any:
        return self._values


def configured(labels: Mapping[Any, str]) -> SimpleNamespace:
    """What a CrossEncoder of older releases has as `model`."""
    return SimpleNamespace(config=SimpleNamespace(id2label=labels))


def yes(contradiction: float = 0.0) -> Nli:
    """A row that entails, or contradicts by so much."""
    return Nli(1 - contradiction, 0.0, contradiction)


NEUTRAL = Nli(0.05, 0.9, 0.05)


class WordEmbedder:
    """Vectors of the words a, b and c: texts that share words lie close together."""

    name = "words"
    dimensions = 3

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def passages(self, texts: list[str]) -> Vectors:
        import numpy as np

        self.embedded += texts
        rows = [[text.split().count(word) + 1e-3 for word in "abc"] for text in texts]
        vectors = np.asarray(rows, dtype=np.float32)
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def query(self, text: str) -> Vectors:
        row: Vectors = self.passages([text])[0]
        self.embedded.pop()
        return row
