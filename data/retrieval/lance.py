"""The embedded retriever: keyword and dense search over one LanceDB folder, in this process, fused by rank."""

from __future__ import annotations

import logging
import shutil
import threading
import weakref
from collections.abc import Iterable, Sequence, Sized
from pathlib import Path
from typing import Any, NamedTuple

from reflective_rag.data.retrieval.adding import batches, embed_texts, ticker
from reflective_rag.data.retrieval.ann import Ann, VectorIndex, ann_from
from reflective_rag.data.retrieval.arguments import Addable, checked_ids, checked_passages, checked_query
from reflective_rag.data.retrieval.base import Mode, Progress, RetrieverMethods
from reflective_rag.data.retrieval.cache import CachingEmbedder, VectorCache
from reflective_rag.data.retrieval.embedders import Embedder, recorded_embedder
from reflective_rag.data.retrieval.filters import OWN_FIELDS, Condition, Filters, parse_filters
from reflective_rag.data.retrieval.fusion import reciprocal_rank_fusion
from reflective_rag.data.retrieval.rows import analyze, embedding_text, to_passage, to_row
from reflective_rag.data.retrieval.store import LanceStore
from reflective_rag.data.threads import in_daemon_thread
from reflective_rag.signatures.errors import DataError
from reflective_rag.signatures.types import Passage

logger = logging.getLogger(__name__)

VECTOR_TOP_K = 10
KEYWORD_TOP_K = 5
WRITE_BATCH = 2048
"""Passages a write: some megabytes of memory; smaller ones make more files, through which every write must look."""
KEYS_SAMPLE = 1_000
RECALL_SAMPLE = 50
"""Stored vectors that the recall of an approximate index is measured on."""


class _Open(NamedTuple):
    """What cannot be copied or pickled."""

    store: LanceStore
    embedder: CachingEmbedder | None


class LanceRetriever(RetrieverMethods):
    """A `Retriever` over a folder that `open_retriever` made or found; use that function rather than this class.

    Dense search compares every vector up to 10,000 passages and is approximate beyond; `ann` says otherwise, and
    `vector_index` how much is found. In hybrid mode `score` is that of reciprocal rank fusion, in keyword mode BM25.
    Equal scores are ordered by id. After `close` a `local:` index opens itself again at the next use; a `memory:` index
    is gone.
    """

    def __init__(
        self,
        folder: Path,
        address: str,
        *,
        embedder: str | Embedder = "auto",
        vector_top_k: int = VECTOR_TOP_K,
        keyword_top_k: int = KEYWORD_TOP_K,
        ann: Ann = "auto",
        temporary: bool = False,
    ) -> None:
        self._folder, self._address = folder, address
        self._vector_top_k, self._keyword_top_k = vector_top_k, keyword_top_k
        self._ann_from = ann_from(ann)
        self._lock = threading.Lock()
        # At the end of the process too, and without the warning that TemporaryDirectory gives.
        self._remove = weakref.finalize(self, shutil.rmtree, folder.parent, ignore_errors=True) if temporary else None
        store = LanceStore(folder, address, self._ann_from)
        self._embedder, self.note = recorded_embedder(store.embedder, embedder, address, "folder")
        self.mode: Mode = "hybrid" if self._embedder else "keyword"
        self._handle: _Open | None = self._opened(store)

    def search(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """At most `k` passages, best first. A query without a single word or number finds nothing."""
        query, k = checked_query(query, k)
        conditions = parse_filters(filters)
        words = analyze(query)
        if not words:
            return []
        found = self._best(query, words, k, conditions)
        if not found and (missing := self._missing(conditions)):
            known = ", ".join(self.filter_keys())
            logger.warning("no passage of %s has %s to filter by; there are %s", self._address, missing, known)
        return found

    def _best(self, query: str, words: str, k: int, conditions: Sequence[Condition]) -> list[Passage]:
        store, embedder = self._open()
        n = max(k, self._keyword_top_k)
        if embedder is None:
            return [to_passage(hit.row, hit.score) for hit in store.by_words(words, n, conditions)[:k]]
        # Beside each other: most of a search is waiting for LanceDB's own threads.
        other = in_daemon_thread(lambda: store.by_words(words, n, conditions))
        by_vector = store.by_vector(embedder.query(query), max(k, self._vector_top_k), conditions)
        by_words = other.result()
        rows = {hit.row["id"]: hit.row for hit in by_vector + by_words}
        fused = reciprocal_rank_fusion([[hit.row["id"] for hit in hits] for hits in (by_words, by_vector)])
        return [to_passage(rows[name], score) for name, score in fused[:k]]

    def add(self, passages: Iterable[Addable], *, progress: Progress | None = None) -> int:
        """Store passages, in batches; the number written: new ids, and ids whose text or other fields changed.

        Of two passages with one id the later stays; they count twice where they are far apart. Raises `DataError` where
        the index holds vectors and its embedder is not at hand. What was embedded before an interruption is not
        embedded again.
        """
        store, embedder = self._open()
        if embedder is None and store.dimensions:
            raise DataError(f"cannot add to {self._address!r}. {self.note}")
        written = 0
        tick = ticker(progress, len(passages) if isinstance(passages, Sized) else None)
        for batch in batches(checked_passages(passages), WRITE_BATCH):
            rows = {passage.id: (to_row(passage), passage) for passage in batch}
            stored = store.digests(list(rows))
            changed = [pair for name, pair in rows.items() if stored.get(name) != pair[0]["digest"]]
            tick(len(batch) - len(changed))
            vectors = embed_texts(embedder, [embedding_text(passage) for _, passage in changed], tick)
            if changed:
                store.upsert([row for row, _ in changed], vectors)
                store.tidy()
            written += len(changed)
        return written

    def delete(self, ids: Iterable[str]) -> int:
        """Remove passages by id; the number that were stored."""
        return self._open().store.delete(checked_ids(ids))

    def stored(self, ids: Iterable[str]) -> set[str]:
        """Those of the ids that are stored."""
        return self._open().store.known(checked_ids(ids))

    def count(self) -> int:
        """How many passages are stored."""
        return self._open().store.count()

    def filter_keys(self) -> list[str]:
        """What can be filtered by: the passage's own fields, and the keys of the metadata of the first 1,000."""
        return [*OWN_FIELDS, *self._open().store.metadata_keys(KEYS_SAMPLE)]

    def missing_keys(self, filters: Filters) -> list[str]:
        """The keys of `filters` that no passage has. Raises as `parse_filters`."""
        return self._missing(parse_filters(filters))

    def _missing(self, conditions: Sequence[Condition]) -> list[str]:
        store = self._open().store
        return list(dict.fromkeys(c.field for c in conditions if not c.own and not store.any_with(c)))

    def vector_index(self, sample: int = RECALL_SAMPLE) -> VectorIndex | None:
        """How dense search goes, with the recall of an approximate one measured on `sample` stored vectors.

        What this retriever added is brought into the indexes first. It reads every vector once: about a second for
        100,000 passages. None where there are no vectors to search.
        """
        if self.mode != "hybrid":
            return None
        store = self._open().store
        store.tidy(closing=True)
        return store.vector_index(sample)

    def close(self) -> None:
        """Let go of the open table, in shape where passages were added; remove a `memory:` index."""
        with self._lock:
            handle, self._handle = self._handle, None
        if handle and not self._remove:
            handle.store.tidy(closing=True)
        if self._remove:
            self._remove()

    def _open(self) -> _Open:
        with self._lock:
            if self._handle is None:
                if not self._folder.is_dir():
                    raise DataError(f"the index {self._address!r} is gone: it was closed, or its folder removed")
                self._handle = self._opened(LanceStore(self._folder, self._address, self._ann_from))
            return self._handle

    def _opened(self, store: LanceStore) -> _Open:
        if self._embedder is None or store.dimensions is None:
            return _Open(store, None)
        return _Open(store, CachingEmbedder(self._embedder, store.dimensions, VectorCache()))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_handle": None, "_remove": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())
