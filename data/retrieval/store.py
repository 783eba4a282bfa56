"""The LanceDB table under the embedded index: made in one step, opened, searched, kept in shape."""

from __future__ import annotations

import ctypes
import json
import logging
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reflective_rag.data.retrieval.ann import VectorIndex, describe, keep_index, narrow, nearest
from reflective_rag.data.retrieval.cache import FULL_DISK
from reflective_rag.data.retrieval.filters import Condition, matches
from reflective_rag.data.retrieval.rows import INDEX_VERSION, STORED, read_about, table_schema
from reflective_rag.data.retrieval.sql import one_of, where
from reflective_rag.signatures.errors import ConfigError, DataError, message_of

if TYPE_CHECKING:
    from reflective_rag.data.retrieval.embedders import Vectors

logger = logging.getLogger(__name__)

TABLE = "passages"
IDS_PER_FILTER = 500
MAX_UNINDEXED = 1024
"""Rows that may wait outside the indexes; they are found all the same, by a scan (10 ms for a thousand)."""
SHARE_OF_TIME = 0.2
"""Of a writer's time that goes into keeping the index in shape while it goes on adding: it rewrites the whole table."""
KEPT_VERSIONS = timedelta(seconds=15)
"""How long files of an older version stay, for the searches that began on it."""


INDEX_CACHE, METADATA_CACHE = 256 << 20, 64 << 20
"""Bytes of indexes and of files' descriptions kept in memory; LanceDB's own limits are 6 GB and 1 GB."""


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

    def __init__(self, folder: Path, address: str, ann_from: int | None = None) -> None:
        lancedb = _lancedb()
        self._address, self._ann_from = address, ann_from
        self._writing = threading.Lock()
        self._untidy, self._tidied, self._took = False, time.monotonic(), 0.0
        with self._readable():
            # Zero: look for changes of other processes at every read (a directory listing).
            session = lancedb.Session(INDEX_CACHE, METADATA_CACHE)
            database = lancedb.connect(folder, read_consistency_interval=timedelta(0), session=session)
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
            found = self._table.search().where(one_of(ids)).select(["id", "digest"]).limit(len(ids)).to_arrow()
        return {row["id"]: row["digest"] for row in found.to_pylist()}

    def known(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids that are stored; for many of them the whole column is read, a second for some millions."""
        if len(ids) <= IDS_PER_FILTER:
            return set(self.digests(ids)) if ids else set()
        wanted = set(ids)
        with self._readable():
            batches = self._table.search().select(["id"]).to_batches()
            return {name for batch in batches for name in batch.column("id").to_pylist() if name in wanted}

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
            self._untidy = True
            # Not through the index of the ids: two processes that add one id at once would end with two rows (seen with
            # LanceDB 0.40).
            merge.use_index(False).execute(pa.Table.from_arrays(arrays, schema=schema))

    def delete(self, ids: Sequence[str]) -> int:
        """Remove rows by id; the number that were there."""
        removed = 0
        for start in range(0, len(ids), IDS_PER_FILTER):
            with self._writing, self._readable():
                removed += self._table.delete(one_of(ids[start : start + IDS_PER_FILTER])).num_deleted_rows
        return removed

    def tidy(self, *, closing: bool = False) -> None:
        """Bring waiting rows into the indexes and join small files, once they are 1 % of the rows.

        That rewrites the table, so while more may be added it takes `SHARE_OF_TIME` at most, unless a quarter of the
        rows are new. Where nothing came through here there is nothing to do.
        """
        if not self._untidy:
            return
        try:
            with self._writing:
                stats, rows = self._table.index_stats("tokens_idx"), self._table.count_rows()
                waiting = stats.num_unindexed_rows if stats else 0
                affordable = self._took <= SHARE_OF_TIME * (time.monotonic() - self._tidied)
                due = waiting and waiting >= min(MAX_UNINDEXED, rows // 100)
                if due and (closing or affordable or 4 * waiting >= rows):
                    self._tidy(rows)
        except (RuntimeError, OSError, ValueError) as error:  # another process writes: whoever adds next does it
            logger.info("index %s is left untidied: %s", self._address, error)

    def _tidy(self, rows: int) -> None:
        began = time.monotonic()
        if self._table.index_stats("id_idx") is None:
            from lancedb.index import BTree

            self._table.create_index("id", config=BTree(), name="id_idx")
        self._table.optimize(cleanup_older_than=KEPT_VERSIONS)
        keep_index(self._table, rows, self._ann_from, self.dimensions)
        _give_back()
        self._untidy, self._tidied = False, time.monotonic()
        self._took = self._tidied - began

    def vector_index(self, sample: int) -> VectorIndex:
        """How dense search goes here, and how much of the exact result it finds."""
        with self._readable():
            return describe(self._table, self._exact(), sample)

    def _exact(self) -> bool:
        """Whether every vector is compared, also where an earlier setting, or a larger table, left an index."""
        return self._ann_from is None or int(self._table.count_rows()) < self._ann_from

    def any_with(self, condition: Condition) -> bool:
        """Whether some passage may have what is filtered by: the key of its metadata occurs."""
        with self._readable():
            return bool(self._table.count_rows(where(condition._replace(operator="==", values=condition.values[:1]))))

    def metadata_keys(self, most: int) -> list[str]:
        """The keys of the metadata of the first `most` passages that can be filtered by, by name."""
        with self._readable():
            found = self._table.search().select(["metadata"]).limit(most).to_arrow().to_pylist()
        values = [pair for row in found for pair in json.loads(row["metadata"]).items()]
        return sorted({key for key, value in values if isinstance(value, str | int | float | list)})

    def by_words(self, words: str, n: int, conditions: Sequence[Condition] = ()) -> list[Hit]:
        """The best `n` by BM25 for words that went through `rows.analyze`."""
        import lancedb.query

        # A MatchQuery takes words as they are; a plain string would be parsed. Naming the score column keeps LanceDB
        # from logging a deprecation at every query.
        match = lancedb.query.MatchQuery(words, "tokens")  # type: ignore[call-arg]  # it has defaults

        def search(limit: int) -> Any:
            return self._table.search(match, query_type="fts").select([*STORED, "_score"])

        return self._best(search, n, "_score", conditions)

    def by_vector(self, vector: Vectors, n: int, conditions: Sequence[Condition] = ()) -> list[Hit]:
        """The best `n` by dot product: through the approximate index where there is one and it may be used."""

        def search(limit: int) -> Any:
            return nearest(self._table, vector, narrow(limit) or self._exact()).select([*STORED, "_distance"])

        return self._best(search, n, "_distance", conditions, sign=-1)

    def _best(
        self, search: Callable[[int], Any], n: int, column: str, conditions: Sequence[Condition], sign: int = 1
    ) -> list[Hit]:
        """The first `n` by score and then id. Ties at the cut are fetched whole, else their order would be chance."""
        sql = " AND ".join(map(where, conditions))
        limit = n + 1
        while True:
            with self._readable():
                query = search(limit).where(sql, prefilter=True) if conditions else search(limit)
                found = query.limit(limit).to_arrow().to_pylist()
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
            reason = (message_of(error).splitlines() or [""])[0][:300]
            if full := FULL_DISK.search(reason):
                raise DataError(
                    f"the index {self._address!r} cannot be written: {full[0]}. Make room and run it again: what is "
                    "stored stays, and is not done twice."
                ) from error
            raise DataError(
                f"the index {self._address!r} cannot be used: {reason}. "
                "If its files are damaged, index again into a new folder."
            ) from error


def _lancedb() -> Any:
    os.environ.setdefault("LANCEDB_LOG", "error")  # read at the import: warns of few vectors a cluster, by the dozen
    try:
        import lancedb
    except ImportError as error:
        raise ConfigError(
            f"`local:` and `memory:` need the package `lancedb`, which cannot be imported here ({error}). "
            "Its wheels cover Linux, Windows and Macs with Apple silicon."
        ) from error
    return lancedb


def _give_back() -> None:
    """Hand freed memory to the system: glibc keeps that of each of LanceDB's threads, more after every rewriting."""
    with suppress(OSError, AttributeError, TypeError):  # another C library, another system
        ctypes.CDLL(None).malloc_trim(0)
