"""What an index was made from: every file, its content, its passages. So only what changed is read again."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from reflective_rag.data.retrieval.cache import FULL_DISK, LOCK_SECONDS, cache_folder
from reflective_rag.signatures.errors import DataError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY, root TEXT NOT NULL, path TEXT NOT NULL, digest TEXT, passages INTEGER NOT NULL DEFAULT 0,
    UNIQUE (root, path));
CREATE TABLE IF NOT EXISTS owned (
    passage TEXT NOT NULL, file INTEGER NOT NULL, key TEXT NOT NULL, run INTEGER NOT NULL,
    PRIMARY KEY (passage, file)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS owned_by_file ON owned (file, key);
CREATE TABLE IF NOT EXISTS labels (root TEXT PRIMARY KEY, label TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS runs (id INTEGER PRIMARY KEY);
"""


class FileEntry(NamedTuple):
    """A file that is known. `digest` is None until all of its passages are in the index."""

    id: int
    path: str
    digest: str | None
    passages: int


def manifest_path(address: str) -> Path:
    """Inside an index on disk; for a server, whose collection has no place for it, in the cache folder."""
    scheme, _, rest = address.partition(":")
    if scheme == "local":
        return Path(rest.partition("?")[0]).expanduser().resolve() / "sources.sqlite3"
    return cache_folder() / "sources" / f"{hashlib.sha256(address.encode()).hexdigest()[:16]}.sqlite3"


class Manifest:
    """One SQLite file. Each opening is a run; passages are entered before they are indexed, so none is ever forgotten.

    Raises:
        DataError: The file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._telling():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=LOCK_SECONDS)
            self._db.executescript(_SCHEMA)
            self.run = self._db.execute("INSERT INTO runs DEFAULT VALUES").lastrowid or 0
            self._db.commit()

    def label(self, root: str, wanted: str) -> str:
        """The name that ids and citations have for a source, the same in every run: `wanted`, or that with a number."""
        with self._telling():
            number, label = 1, wanted
            while True:
                known = self._db.execute("SELECT label FROM labels WHERE root = ?", (root,)).fetchone()
                if known:
                    return str(known[0])
                self._db.execute("INSERT OR IGNORE INTO labels VALUES (?, ?)", (root, label))
                number, label = number + 1, f"{wanted}-{number + 1}"

    def file(self, root: str, path: str) -> FileEntry:
        """The entry of a file, made where there is none."""
        with self._telling():
            self._db.execute("INSERT OR IGNORE INTO files (root, path) VALUES (?, ?)", (root, path))
            query = "SELECT id, path, digest, passages FROM files WHERE root = ? AND path = ?"
            return FileEntry(*self._db.execute(query, (root, path)).fetchone())

    def files(self, root: str) -> list[FileEntry]:
        """All files that are known of a source."""
        with self._telling():
            rows = self._db.execute("SELECT id, path, digest, passages FROM files WHERE root = ?", (root,))
            return [FileEntry(*row) for row in rows]

    def roots(self) -> list[str]:
        """Every source that is known: absolute paths, and names of data sets."""
        with self._telling():
            return [row[0] for row in self._db.execute("SELECT DISTINCT root FROM files ORDER BY root")]

    def holds(self, file: int, key: str) -> bool:
        """Whether a text has come from this file in this run."""
        query = "SELECT 1 FROM owned WHERE file = ? AND key = ? AND run = ?"
        with self._telling():
            return self._db.execute(query, (file, key, self.run)).fetchone() is not None

    def taken(self, passage: str, file: int, key: str) -> bool:
        """Whether the id stands for another text: of another file, or of this one in this run."""
        query = "SELECT 1 FROM owned WHERE passage = ? AND key != ? AND (file != ? OR run = ?)"
        with self._telling():
            return self._db.execute(query, (passage, key, file, self.run)).fetchone() is not None

    def own(self, passage: str, file: int, key: str) -> None:
        """Enter a passage, before it is indexed."""
        with self._telling():
            self._db.execute(
                "INSERT INTO owned VALUES (?, ?, ?, ?) ON CONFLICT (passage, file) DO UPDATE SET "
                "key = excluded.key, run = max(run, excluded.run)",
                (passage, file, key, self.run),
            )

    def begin(self, file: int) -> None:
        """The file is read anew: until `done` it counts as changed."""
        with self._telling():
            self._db.execute("UPDATE files SET digest = NULL WHERE id = ?", (file,))

    def done(self, file: int, digest: str | None, passages: int) -> None:
        """All passages of the file are in the index."""
        with self._telling():
            self._db.execute("UPDATE files SET digest = ?, passages = ? WHERE id = ?", (digest, passages, file))

    def forget_lost(self, root: str, stored: Callable[[Iterable[str]], set[str]]) -> None:
        """A file counts as changed of which the index, of which `stored` tells, lacks a passage, whatever took it."""
        owned = self._owned(root)
        there = stored(passage for passages in owned.values() for passage in passages)
        for file, passages in owned.items():
            if not there.issuperset(passages):
                self.begin(file)

    def _owned(self, root: str) -> dict[int, list[str]]:
        query = "SELECT file, passage FROM owned JOIN files ON files.id = owned.file WHERE root = ?"
        found: dict[int, list[str]] = {}
        with self._telling():
            for file, passage in self._db.execute(query, (root,)):
                found.setdefault(file, []).append(passage)
        return found

    def stale(self, file: int) -> list[str]:
        """Passages that earlier runs took from the file and this one did not, and that no other file has."""
        query = (
            "SELECT passage FROM owned AS mine WHERE file = ? AND run < ? AND NOT EXISTS "
            "(SELECT 1 FROM owned WHERE passage = mine.passage AND file != mine.file)"
        )
        with self._telling():
            return [row[0] for row in self._db.execute(query, (file, self.run))]

    def forget_stale(self, file: int) -> None:
        """The stale passages are out of the index."""
        with self._telling():
            self._db.execute("DELETE FROM owned WHERE file = ? AND run < ?", (file, self.run))

    def forget(self, files: Iterable[int]) -> None:
        """The files are gone, and with them what they owned."""
        with self._telling():
            for file in files:
                self._db.execute("DELETE FROM owned WHERE file = ?", (file,))
                self._db.execute("DELETE FROM files WHERE id = ?", (file,))

    def clear(self) -> None:
        """The index is empty: nothing is known."""
        with self._telling():
            self._db.executescript("DELETE FROM owned; DELETE FROM files;")

    def commit(self) -> None:
        """Make what was said so far last."""
        with self._telling():
            self._db.commit()

    def close(self) -> None:
        """Close the file; what was not committed is dropped."""
        self._db.close()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if "locked" in str(error):
                raise DataError(
                    f"another run is indexing into the same index (`{self._path}` is in use). Wait until it has ended, "
                    "and run it again: what is indexed stays."
                ) from error
            if FULL_DISK.search(str(error)):
                raise DataError(
                    f"`{self._path}` cannot be written: {error}. Make room and run it again: what is indexed stays."
                ) from error
            raise DataError(
                f"the list of indexed files `{self._path}` cannot be used: {error}. If it is damaged, remove it: "
                "everything is then read again, and what has not changed stays as it is."
            ) from error
