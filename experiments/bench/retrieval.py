"""`bench retrieval`: the embedded index at a size, its query against the bare library's, and how it grows."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

from reflective_rag.data.retrieval import LanceRetriever, open_retriever
from reflective_rag.data.retrieval.ann import nearest
from reflective_rag.data.retrieval.lance import KEYWORD_TOP_K, VECTOR_TOP_K
from reflective_rag.data.retrieval.rows import STORED, analyze
from reflective_rag.data.retrieval.store import TABLE
from reflective_rag.experiments.bench.pairs import alternate, row_of
from reflective_rag.experiments.bench.retrieval_data import Known, Material, gather, made_vectors
from reflective_rag.signatures.errors import ContractError

PASSAGES, QUESTIONS, ADDED, K = 100_000, 100, 100, 5
QUERY_SECONDS, OPEN_SECONDS, RECALL = 0.015, 1.0, 0.95
_NEAREST = 10


def run(repeats: int, *, passages: int = PASSAGES, shared: Path) -> dict[str, Any]:
    """Rows as in `bench.loop`, what the vectors were made from, and `VectorIndex` of the index that was made.

    Nothing is embedded but the questions and, once on a machine, the bundled sample.
    """
    material = gather(shared, QUESTIONS)
    with tempfile.TemporaryDirectory() as folder, _own_cache(folder):
        known = Known(made_vectors(material, passages + (repeats + 1) * ADDED), material)
        address = f"local:{folder}/index"
        rebuilt = _build(address, known, material, passages)
        with _opened(address, known) as index:
            rows = [
                _query(index, material, repeats, passages),
                _adapter(index, f"{folder}/index", material, repeats),
                _recall(f"{folder}/index", material),
                _open(address, known, repeats),
            ]
            state = index.vector_index()
            rows.append(_adding(index, material, passages, rebuilt, repeats))
    dense = {**state._asdict(), "says": str(state)} if state else None
    return {"source": material.source, "passages": passages, "rebuild_seconds": rebuilt, "dense": dense, "rows": rows}


@contextmanager
def _own_cache(folder: str) -> Iterator[None]:
    """Vectors that mean nothing stay out of the user's cache."""
    before = os.environ.get("RRAG_CACHE")
    os.environ["RRAG_CACHE"] = f"{folder}/cache"
    try:
        yield
    finally:
        if before is None:
            del os.environ["RRAG_CACHE"]
        else:
            os.environ["RRAG_CACHE"] = before


def _opened(address: str, known: Known, *, create: bool = False) -> LanceRetriever:
    index = open_retriever(address, embedder=known, create=create)
    if not isinstance(index, LanceRetriever):
        raise ContractError(f"{address!r} is no embedded index")
    return index


def _build(address: str, known: Known, material: Material, passages: int) -> float:
    """Seconds from nothing to an index in shape, without embedding."""
    started = time.perf_counter()
    with _opened(address, known, create=True) as index:
        index.add(material.passages(0, passages))
    return round(time.perf_counter() - started, 3)


def _query(index: LanceRetriever, material: Material, repeats: int, passages: int) -> dict[str, Any]:
    """The median over the questions, in every round."""

    def median() -> float:
        return statistics.median(_seconds(partial(index.search, question, K)) for question in material.questions)

    pairs = [(median(), QUERY_SECONDS) for _ in range(repeats + 1)][1:]
    name = f"hybrid query of {passages:,} passages without embedding, p50 / {QUERY_SECONDS * 1000:g} ms"
    return row_of(name, pairs, "<= 1", lambda ratio: ratio <= 1)


def _adapter(index: LanceRetriever, folder: str, material: Material, repeats: int) -> dict[str, Any]:
    """Our query against LanceDB alone: the same two searches and the same fusion over words analysed beforehand."""
    table = _table(folder)
    bare = [(analyze(question), vector) for question, vector in zip(material.questions, material.vectors, strict=True)]
    ours_next, bare_next = cycle(material.questions), cycle(bare)
    pairs = alternate(
        lambda: index.search(next(ours_next), K),
        lambda: _bare(table, *next(bare_next)),
        repeats,
        inner=len(bare),
    )
    return row_of("our query / LanceDB's own two searches, fused", pairs, "<= 1.2", lambda ratio: ratio <= 1.2)


def _table(folder: str) -> Any:
    """As the index opens it: what another process writes is seen at once."""
    import lancedb

    return lancedb.connect(folder, read_consistency_interval=timedelta(0)).open_table(TABLE)


def _bare(table: Any, words: str, vector: Any) -> list[dict[str, Any]]:
    from lancedb.query import MatchQuery

    match = MatchQuery(words, "tokens")  # type: ignore[call-arg]  # it has defaults
    searches = (
        (table.search(match, query_type="fts").select([*STORED, "_score"]), KEYWORD_TOP_K),
        (nearest(table, vector, exact=False).select([*STORED, "_distance"]), VECTOR_TOP_K),
    )
    rows: dict[str, dict[str, Any]] = {}
    scores: dict[str, float] = {}
    for search, most in searches:
        for rank, row in enumerate(search.limit(most + 1).to_arrow().to_pylist()[:most], 1):
            rows[row["id"]] = row
            scores[row["id"]] = scores.get(row["id"], 0.0) + 1 / (60 + rank)
    return [rows[name] for name in sorted(scores, key=lambda name: (-scores[name], name))[:K]]


def _recall(folder: str, material: Material) -> dict[str, Any]:
    """The share of the exact ten that the approximate search finds for each question; seconds of both."""
    table, shares, pairs = _table(folder), [], []
    for vector in material.vectors:
        (found, ours), (exact, bare) = (_nearest(table, vector, way) for way in (False, True))
        shares.append(len(found & exact) / max(1, len(exact)))
        pairs.append((ours, bare))
    row = row_of(f"dense search alone: recall@{_NEAREST} of exact, mean", pairs, f">= {RECALL:g}", lambda ratio: True)
    mean = statistics.mean(shares)
    return {**row, "ratio": mean, "lowest": min(shares), "highest": max(shares), "met": mean >= RECALL}


def _nearest(table: Any, vector: Any, exact: bool) -> tuple[set[str], float]:
    started = time.perf_counter()
    found = nearest(table, vector, exact).select(["id", "_distance"]).limit(_NEAREST).to_arrow()
    return set(found["id"].to_pylist()), time.perf_counter() - started


def _open(address: str, known: Known, repeats: int) -> dict[str, Any]:
    """Open and count; the library itself is imported already."""

    def once() -> None:
        _opened(address, known).count()

    pairs = [(_seconds(once), OPEN_SECONDS) for _ in range(repeats + 1)][1:]
    return row_of(f"open / {OPEN_SECONDS:g} s", pairs, "<= 1", lambda ratio: ratio <= 1)


def _adding(index: LanceRetriever, material: Material, passages: int, rebuilt: float, repeats: int) -> dict[str, Any]:
    """Passages that are new, found by the next query; the rebuild is timed once."""
    pairs = []
    for start in range(passages, passages + (repeats + 1) * ADDED, ADDED):
        more = list(material.passages(start, start + ADDED))
        pairs.append((_seconds(partial(index.add, more)), rebuilt))
    name = f"adding {ADDED} passages / building all {passages:,}"
    return row_of(name, pairs[1:], "<= .01", lambda ratio: ratio <= 0.01)


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def growth(sizes: Sequence[int], *, shared: Path) -> list[dict[str, Any]]:
    """Indexing by keyword alone at each size, in a process of its own: see `bench.growth`."""
    from reflective_rag.experiments.bench.growth import measured

    return [measured(size, shared) for size in sizes]
