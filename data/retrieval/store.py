"""The LanceDB table under the embedded index: made in one step, opened, searched, kept in shape."""

from __future__ import annotations

import json
import logging
import shutil
import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reflective_rag.data.retrieval.filters import Condition, matches
from reflective_rag.data.retrieval.rows import INDEX_VERSION, STORED, read_about, table_schema
from reflective_rag.signatures.errors import ConfigError, DataError

if TYPE_CHECKING:
    from reflective_rag.data.retrieval.embedders import Vectors

logger = logging.getLogger(__name__)

TABLE = "passages"
IDS_PER_FILTER = 500
MAX_UNINDEXED = 1024
"""Rows that may wait outside the full-text index; they are found all the same, by a scan (10 ms for a thousand)."""


class Hit(NamedTuple):
    """A row that a search found, with the search's own score (higher is better)."""

    row: dict[str, Any]
    score: float


def create_index(folder: Path, embedder: str, dimensions: int | None) -> None:
    """Make an empty index at `folder`, all or nothing: under another name beside it, then renamed.

    An index that another process made meanwhile is left as it is.
    """
    lancedb = _lancedb()
    from lancedb.index import FTS

    building = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}.new")
    building.mkdir(parents=True)
    try:
        table = lancedb.connect(building).create_table(TABLE, schema=table_schema(embedder, dimensions))
        words = FTS(
            base_tokenizer="whitespace", stem=True, ascii_folding=True, remove_stop_words=False, max_token_length=None
        )
        table.create_index("tokens", config=words)
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()  # renaming onto an empty folder works on POSIX only
        building.rename(folder)
    except OSError:
        if not (folder / f"{TABLE}.lance").is_dir():
            raise
    finally:
        shutil.rmtree(building, ignore_errors=True)


class LanceStore:
    """An open index: rows in and out, and the two searches. Safe for threads; other processes' changes are seen."""

    def __init__(self, folder: Path, address: str) -> None:
        lancedb = _lancedb()
        self._address = address
        self._writing = threading.Lock()
        with self._readable():
            # Zero: look for changes of other processes at every read (a directory listing).
            database = lancedb.connect(folder, read_consistency_interval=timedelta(0))
            self._table: Any = database.open_table(TABLE)  # its type stubs lag behind what it returns
            schema = self._table.schema
        about = read_about(schema)
        if about is None:
            raise DataError(
                f"{address!r} is a LanceDB folder, but not made by `reflective-rag index`. Give another path."
            )
        version, self.embedder = about
        if version != INDEX_VERSION:
            raise DataError(
                f"the index {address!r} has format {version}, this version reads {INDEX_VERSION}. "
                f"Index the corpus again into a new folder."
            )
        self.dimensions: int | None = schema.field("vector").type.list_size if "vector" in schema.names else None

    def count(self) -> int:
        """The number of rows."""
        with self._readable():
            return int(self._table.count_rows())

    def digests(self, ids: Sequence[str]) -> dict[str, str]:
        """Id → content digest of those that are stored."""
        with self._readable():
            found = self._table.search().where(_one_of(ids)).select(["id", "digest"]).limit(len(ids)).to_arrow()
        return {row["id"]: row["digest"] for row in found.to_pylist()}

    def upsert(self, rows: list[dict[str, Any]], vectors: Vectors | None) -> None:
        """Insert rows, or replace those with the same id, in one atomic version."""
        import pyarrow as pa

        schema = table_schema(self.embedder, self.dimensions)
        columns = {name: [row[name] for row in rows] for name in schema.names if name != "vector"}
        arrays = [pa.array(columns[name], schema.field(name).type) for name in columns]
        if vectors is not None:
            arrays.append(pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1]))
        with self._writing, self._readable():
            merge = self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
            merge.execute(pa.Table.from_arrays(arrays, schema=schema))

    def delete(self, ids: Sequence[str]) -> int:
        """Remove rows by id; the number that were there."""
        removed = 0
        for start in range(0, len(ids), IDS_PER_FILTER):
            with self._writing, self._readable():
                removed += self._table.delete(_one_of(ids[start : start + IDS_PER_FILTER])).num_deleted_rows
        return removed

    def tidy(self) -> None:
        """Bring waiting rows into the full-text index and join small files, once they are 1 % of the rows."""
        try:
            with self._writing:
                stats = self._table.index_stats("tokens_idx")
                waiting = stats.num_unindexed_rows if stats else 0
                if waiting and waiting >= min(MAX_UNINDEXED, self._table.count_rows() // 100):
                    self._table.optimize()
        except (RuntimeError, OSError) as error:  # another process writes: whoever adds next does it
            logger.info("index %s is left untidied: %s", self._address, error)

    def by_words(self, words: str, n: int, conditions: Sequence[Condition] = ()) -> list[Hit]:
        """The best `n` by BM25 for words that went through `rows.analyze`."""
        import lancedb.query

        # A MatchQuery takes words as they are; a plain string would be parsed. Naming the score column keeps LanceDB
        # from logging a deprecation at every query.
        match = lancedb.query.MatchQuery(words, "tokens")  # type: ignore[call-arg]  # it has defaults
        search = self._table.search(match, query_type="fts").select([*STORED, "_score"])
        return self._best(search, n, "_score", conditions)

    def by_vector(self, vector: Vectors, n: int, conditions: Sequence[Condition] = ()) -> list[Hit]:
        """The best `n` by dot product, exactly (every vector is compared)."""
        search = self._table.search(vector, vector_column_name="vector", query_type="vector").distance_type("dot")
        return self._best(search.select([*STORED, "_distance"]), n, "_distance", conditions, sign=-1)

    def _best(self, search: Any, n: int, column: str, conditions: Sequence[Condition], sign: int = 1) -> list[Hit]:
        """The first `n` by score and then id. Ties at the cut are fetched whole, else their order would be chance."""
        if conditions:
            search = search.where(" AND ".join(map(_where, conditions)), prefilter=True)
        limit = n + 1
        while True:
            with self._readable():
                found = search.limit(limit).to_arrow().to_pylist()
            rows = [row for row in found if not conditions or matches(conditions, row, json.loads(row["metadata"]))]
            if len(found) < limit or (len(rows) > n and rows[n - 1][column] != rows[-1][column]):
                break
            limit *= 4
        hits = [Hit(row, sign * row[column]) for row in rows]
        return sorted(hits, key=lambda hit: (-hit.score, hit.row["id"]))[:n]

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """LanceDB reports a missing or damaged file by several plain exceptions."""
        try:
            yield
        except (RuntimeError, OSError, ValueError) as error:
            reason = (str(error).splitlines() or [""])[0][:300]
            raise DataError(
                f"the index {self._address!r} cannot be used: {reason}. "
                "If its files are damaged, index again into a new folder."
            ) from error


def _lancedb() -> Any:
    try:
        import lancedb
    except ImportError as error:
        raise ConfigError(
            f"`local:` and `memory:` need the package `lancedb`, which cannot be imported here ({error}). "
            "Its wheels cover Linux, Windows and Macs with Apple silicon."
        ) from error
    return lancedb


def _one_of(ids: Iterable[str]) -> str:
    """The SQL filter for a set of ids."""
    return f"id IN ({', '.join(map(_quoted, ids))})"


def _where(condition: Condition) -> str:
    """The condition in SQL; for metadata, kept as JSON, only that the key is there (`matches` then decides)."""
    if not condition.own:
        return f"strpos(metadata, {_quoted(json.dumps(condition.field) + ': ')}) > 0"
    values = [("DATE " if condition.kind is date else "") + _quoted(str(value)) for value in condition.values]
    if condition.operator == "in":
        return f"{condition.field} IN ({', '.join(values)})"
    return f"{condition.field} {condition.operator.replace('==', '=')} {values[0]}"


def _quoted(text: str) -> str:
    """A literal of SQL: a quote is doubled, nothing else is special."""
    return "'" + text.replace("'", "''") + "'"
