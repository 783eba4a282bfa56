"""Vectors on disk by the hash of embedder and text, so that no text is embedded twice.

SQLite of the standard library rather than `diskcache`: the values are plain bytes and must never be unpickled, nothing
is evicted, and one transaction serves a whole batch.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from reflective_rag.data.retrieval.embedders import Embedder, unit_rows
from reflective_rag.signatures.errors import DataError

if TYPE_CHECKING:
    import sqlite3

    from reflective_rag.data.retrieval.embedders import Vectors

T = TypeVar("T")
logger = logging.getLogger(__name__)

FULL_DISK = re.compile(r"no space left on device|disk is full|disk quota exceeded|file too large", re.IGNORECASE)
"""What the system, SQLite and LanceDB say when nothing more can be written."""
LOCK_SECONDS = 30.0
"""How long a process waits for another one's write."""
QUERIES_KEPT = 2048
"""Query vectors kept in memory: an optimizer asks the same questions hundreds of times."""


def cache_folder() -> Path:
    """`$RRAG_CACHE`, else `reflective-rag` in `$XDG_CACHE_HOME` or `~/.cache`."""
    if own := os.environ.get("RRAG_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "reflective-rag"


class VectorCache:
    """Key → bytes in one SQLite file, shared by threads and processes.

    A damaged file is set aside and begun anew; one that cannot be opened or written is done without. Either is a
    warning in the log: a cache may cost time, never an answer.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.path = (folder or cache_folder()) / "embeddings.sqlite3"
        self._warned = False

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The stored values of those keys that are known."""

        def read(connection: sqlite3.Connection) -> dict[bytes, bytes]:
            query = "SELECT key, vector FROM vectors WHERE key = ?"
            rows = [connection.execute(query, (key,)).fetchone() for key in keys]
            return {row[0]: row[1] for row in rows if row is not None and isinstance(row[1], bytes)}

        return self._run(read, {})

    def put(self, values: Mapping[bytes, bytes]) -> None:
        """Store all of them in one transaction."""

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", list(values.items()))

        self._run(write, None)

    def _run(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Do `work` on a connection of its own, which no thread, copy or fork can share."""
        import sqlite3

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=LOCK_SECONDS)) as connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"
                )
                return work(connection)
        except (OSError, sqlite3.OperationalError) as error:  # locked, read only, full
            if not self._warned:
                logger.warning("embedding cache %s cannot be used: %s", self.path, error)
            self._warned = True
        except sqlite3.DatabaseError as error:  # not SQLite, or malformed
            logger.warning("embedding cache %s is damaged and begun anew: %s", self.path, error)
            self._set_aside()
        return otherwise

    def _set_aside(self) -> None:
        for suffix in ("", "-journal"):  # a journal left behind would be played into the new file
            with suppress(OSError):
                damaged = self.path.with_name(self.path.name + suffix)
                damaged.replace(damaged.with_name(damaged.name + ".damaged"))


class CachingEmbedder:
    """An embedder behind the cache: passages on disk, queries in memory. Checks what the embedder returns.

    `dimensions` are those of the index; an embedder that returns another number raises `DataError`.
    """

    def __init__(self, embedder: Embedder, dimensions: int, cache: VectorCache) -> None:
        self._embedder = embedder
        self._dimensions = dimensions
        self._cache = cache
        self._query = lru_cache(maxsize=QUERIES_KEPT)(self._embed_query)

    def query(self, text: str) -> Vectors:
        """Shape (dimensions,). The caller must not write into it."""
        return self._query(text)

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (number of texts, dimensions); only texts not seen before reach the embedder."""
        import numpy as np

        keys = [self._key(text) for text in texts]
        width = self._dimensions * 4
        known = {key: value for key, value in self._cache.get(keys).items() if len(value) == width}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            fresh = self._checked(self._embedder.passages(list(missing.values())), len(missing))
            new = {key: row.tobytes() for key, row in zip(missing, fresh.astype("<f4"), strict=True)}
            self._cache.put(new)
            known |= new
        rows = np.frombuffer(b"".join(known[key] for key in keys), dtype="<f4")
        return rows.reshape(len(keys), self._dimensions).astype(np.float32)

    def _embed_query(self, text: str) -> Vectors:
        row: Vectors = self._checked([self._embedder.query(text)], 1)[0]
        return row

    def _checked(self, raw: object, rows: int) -> Vectors:
        vectors = unit_rows(raw, rows, self._embedder.name)
        if vectors.shape[1] != self._dimensions:
            raise DataError(
                f"the embedder `{self._embedder.name}` gives vectors of {vectors.shape[1]} numbers, "
                f"the index holds vectors of {self._dimensions}. Index again into a new folder."
            )
        return vectors

    def _key(self, text: str) -> bytes:
        return vector_key(self._embedder.name, text)


def vector_key(embedder: str, text: str) -> bytes:
    """The key of a text's vector in the cache, by the name of its embedder."""
    return hashlib.sha256(f"{embedder}\0{text}".encode()).digest()
