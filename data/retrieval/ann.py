"""Approximate search over the vectors of a large index: from what size, by which index, how much it finds of the exact.

The index is LanceDB's IVF_RQ (RaBitQ: Gao and Long, SIGMOD 2024), two bits a dimension, with the exact distances of ten
times as many candidates as are asked for. Of the kinds that LanceDB 0.40 has it builds the fastest by far and finds
the most; see "Retrieval: speed and size" in `experiments/RESULTS.md`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from reflective_rag.signatures.errors import ConfigError

if TYPE_CHECKING:
    from reflective_rag.data.retrieval.embedders import Vectors

Ann = Literal["auto", "exact"] | int
"""`auto` searches approximately from `ANN_FROM` passages on, a number from that many on, `exact` never."""

ANN_FROM = 10_000
"""Passages from which comparing every vector takes more than twice as long (17 ms against 7; 25 at 20,000)."""
_BITS, _REFINE, _PROBES = 2, 10, 40
_MOST = 500
"""Candidates up to which the approximate search is asked; more are wanted only behind a narrow filter."""
_DIVISOR = 8
"""IVF_RQ takes vectors whose size this divides."""
_PREFIX = "vector_"
_GROWN = 2
"""The index is trained anew once the passages are this many times those that it was trained on."""


class VectorIndex(NamedTuple):
    """How dense search goes.

    `kind` is `exact` or `approximate`; `passages` is how many are stored, `waiting` how many of them are outside the
    approximate index and compared one by one. `recall` is the share of the exact ten nearest passages that the
    approximate search finds, the mean over `sample` stored vectors as queries; 1 where the search is exact.
    """

    kind: Literal["exact", "approximate"]
    passages: int
    waiting: int = 0
    recall: float = 1.0
    sample: int = 0

    def __str__(self) -> str:
        if self.kind == "exact":
            return "exact dense search"
        behind = f", {self.waiting} not in it yet and compared one by one" if self.waiting else ""
        return (
            f"approximate dense search: recall@10 {self.recall:.3f} of exact "
            f"(mean over {self.sample} stored vectors){behind}"
        )


def ann_from(setting: Ann) -> int | None:
    """The number of passages from which search is approximate; None is never. Raises `ConfigError` for no setting."""
    if setting == "auto":
        return ANN_FROM
    if setting == "exact":
        return None
    if type(setting) is int and setting >= 1:  # True is no number of passages
        return setting
    raise ConfigError(f"`ann` must be 'auto', 'exact', or a number of passages from 1 up, got {setting!r}")


def parse_ann(text: str, address: str) -> Ann:
    """The setting as an address has it: `?ann=auto`, `?ann=exact` or `?ann=NUMBER`."""
    if re.fullmatch(r"[1-9]\d{0,11}", text, re.ASCII):
        return int(text)
    if text == "auto":
        return "auto"
    if text == "exact":
        return "exact"
    raise ConfigError(f"`ann={text}` in the address {address!r}: expected 'auto', 'exact', or a number of passages")


def nearest(table: Any, vector: Vectors, exact: bool) -> Any:
    """LanceDB's query for the nearest by dot product; a table without an index compares every vector either way."""
    search = table.search(vector, vector_column_name="vector", query_type="vector").distance_type("dot")
    if exact:
        return search.bypass_vector_index()
    # The least number of lists is raised after the limit is off; all are looked through where a filter leaves few.
    return search.maximum_nprobes(0).minimum_nprobes(_PROBES).refine_factor(_REFINE)


def narrow(limit: int) -> bool:
    """Whether so many candidates are wanted that comparing every vector is the better way."""
    return limit > _MOST


def keep_index(table: Any, rows: int, start: int | None, dimensions: int | None) -> None:
    """Make the vector index where it is due, or anew where the table has grown much since; one atomic version each.

    How many passages it was trained on is part of its name.
    """
    if start is None or rows < start or not dimensions or dimensions % _DIVISOR:
        return
    from lancedb.index import IvfRq

    old = index_names(table)
    if any(rows < _GROWN * int(name.removeprefix(_PREFIX)) for name in old):
        return
    name = f"{_PREFIX}{rows}"
    table.create_index("vector", config=IvfRq(distance_type="dot", num_bits=_BITS), name=name)
    for outdated in old:
        if outdated != name:
            table.drop_index(outdated)


def index_names(table: Any) -> list[str]:
    """Of the vector indexes that the table has: one, or for a moment two."""
    return [index.name for index in table.list_indices() if re.fullmatch(rf"{_PREFIX}\d+", index.name)]


def describe(table: Any, exact: bool, sample: int) -> VectorIndex:
    """How the table is searched, and its recall measured on `sample` stored vectors, spread over the table."""
    rows = table.count_rows()
    names = [] if exact else index_names(table)
    if not names or not rows:
        return VectorIndex("exact", rows)
    stats = table.index_stats(names[-1])
    picked = table.take_offsets(range(0, rows, max(1, -(-rows // sample)))).select(["id", "vector"]).to_arrow()
    found = _recall(table, picked["id"].to_pylist(), _matrix(picked["vector"]))
    return VectorIndex("approximate", rows, stats.num_unindexed_rows if stats else rows, found, len(picked))


def _recall(table: Any, ids: list[str], queries: Vectors, n: int = 10) -> float:
    """Mean share of the exact `n` nearest to each stored vector, itself left out, that the search finds."""
    import numpy as np

    floors = _nth_scores(table, queries, n + 1)
    wanted = min(n, table.count_rows() - 1)
    shares = []
    for name, query, floor in zip(ids, queries, floors, strict=True):
        hits = nearest(table, query, exact=False).select(["id", "_distance"]).limit(n + 1).to_arrow().to_pylist()
        # LanceDB's distance is 1 - dot product. By score, so that equal passages stand for each other; rounding aside.
        near = [hit for hit in hits if hit["id"] != name and 1 - hit["_distance"] >= floor - 1e-5]
        shares.append(min(1.0, len(near) / wanted) if wanted else 1.0)
    return float(np.mean(shares))


def _nth_scores(table: Any, queries: Vectors, n: int) -> Any:
    """The `n`-th best dot product of each query with all vectors, which are streamed: memory stays where it is."""
    import numpy as np

    best = np.full((len(queries), 0), -np.inf, dtype=np.float32)
    for batch in table.search().select(["vector"]).to_batches():
        scores = queries @ _matrix(batch["vector"]).T
        best = np.concatenate([best, scores], axis=1)
        if best.shape[1] > n:
            best = -np.partition(-best, n - 1, axis=1)[:, :n]
    return best.min(axis=1)


def _matrix(column: Any) -> Vectors:
    """A column of vectors as a matrix."""
    import numpy as np

    flat = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    width = column.type.list_size
    matrix: Vectors = np.asarray(flat.flatten(), dtype=np.float32).reshape(-1, width)
    return matrix
