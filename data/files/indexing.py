"""From sources to an index: only what changed is read, what is gone is removed, a broken run goes on where it was."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from reflective_rag.data.chunking import ChunkSizes
from reflective_rag.data.files.document import Unreadable
from reflective_rag.data.files.kinds import read_document
from reflective_rag.data.files.manifest import FileEntry, Manifest
from reflective_rag.data.files.passages import document_passages, row_passages
from reflective_rag.data.files.report import IndexReport
from reflective_rag.data.files.sources import Source, file_digest
from reflective_rag.data.files.walking import documents_in
from reflective_rag.data.retrieval import Retriever
from reflective_rag.signatures.errors import DataError
from reflective_rag.signatures.text import identity
from reflective_rag.signatures.types import Passage

FLUSH = 4096
"""Passages that are gathered before they are written: some tens of megabytes, and few versions of the index."""
MOST_BYTES = 100 << 20
"""Of a document. Files of rows are streamed and may be of any size."""
Report = Callable[[str, int, int], None]
"""Told what is done, how much of it, and how much there is."""


class _Read(NamedTuple):
    """A file that is read to its end; `digest` is None where it is to be read again the next time."""

    file: int
    digest: str | None
    passages: int


class Indexer:
    """Puts sources into one index. Used in one thread.

    `open_index` and `open_manifest` are called when the first passage comes, or at once where the index exists
    (`exists`): a run that finds nothing leaves nothing behind. `everything` reads unchanged files too.

    Order of writing, so that a kill at any point loses nothing: the ids are entered in the manifest, the passages are
    written, what the file no longer holds is removed, and only then the file counts as done.
    """

    def __init__(
        self,
        open_index: Callable[[], Retriever],
        open_manifest: Callable[[], Manifest],
        *,
        exists: bool = False,
        sizes: ChunkSizes | None = None,
        most_bytes: int = MOST_BYTES,
        everything: bool = False,
        progress: Report = lambda what, done, total: None,
    ) -> None:
        self._open_index, self._open_manifest = open_index, open_manifest
        self._sizes = (sizes or ChunkSizes()).checked()
        self._most_bytes, self._everything, self._progress = most_bytes, everything, progress
        self._opened: tuple[Retriever, Manifest] | None = None
        self._buffer: list[tuple[int, Passage]] = []
        self._pending: list[_Read] = []
        self._failed: set[int] = set()
        self._indexed = 0
        self.report = IndexReport()
        if exists:
            self._open()

    @property
    def index(self) -> Retriever | None:
        """The index, once it is open."""
        return self._opened[0] if self._opened else None

    def add(self, source: Source) -> None:
        """Index a source. Raises `DataError` where it cannot be read, or is a folder without a document."""
        if self._opened:
            self._opened[1].forget_lost(source.root, self._opened[0].stored)
        if source.is_folder:
            self._folder(source)
        elif source.is_rows:
            rows = source.rows(lambda place, why: self.report.skip(f"{source.name}: {place}", why))
            try:
                digest = file_digest(source.path, self._sizes) if source.path else None
            except OSError as error:
                raise DataError(f"`{source.name}` cannot be read: {error.strerror or error}") from error
            self._rows(source, rows, digest)
        else:
            assert source.path is not None
            self._document(source, "", source.path)
        self._flush()

    def add_passages(self, source: Source, passages: Iterable[Passage]) -> None:
        """Index passages that are at hand, as rows of `source`."""
        self._rows(source, (("", passage) for passage in passages), None)
        self._flush()

    def close(self) -> None:
        """Close index and manifest."""
        if self._opened:
            for part in self._opened:
                part.close()

    def _open(self) -> tuple[Retriever, Manifest]:
        if self._opened is None:
            index = self._open_index()
            manifest = self._open_manifest()
            self._opened = index, manifest
            if not index.count():  # emptied, or made anew
                manifest.clear()
        return self._opened

    def _folder(self, source: Source) -> None:
        assert source.path is not None
        unlisted: list[str] = []

        def skip(place: str, reason: str) -> None:
            self.report.skip(f"{source.label}/{place}", reason)
            if place.endswith("/"):
                unlisted.append("" if place == "./" else place)

        files = list(documents_in(source.path, skip))
        if not files:
            why = "; ".join(self.report.lines(3))
            raise DataError(f"the folder `{source.name}` holds no document that can be read. {why}".rstrip())
        for number, (name, path) in enumerate(files, 1):
            self._document(source, name, path)
            self._progress(f"reading {source.label}", number, len(files))
        self._flush()
        self._remove_gone(source, {name for name, _ in files}, unlisted)

    def _remove_gone(self, source: Source, there: set[str], unlisted: list[str]) -> None:
        if self._opened is None:
            return
        index, manifest = self._opened
        for entry in manifest.files(source.root):
            if entry.path in there or any(entry.path.startswith(prefix) for prefix in unlisted):
                continue
            self.report.remove(f"{source.label}/{entry.path}", index.delete(manifest.stale(entry.id)))
            manifest.forget([entry.id])
            manifest.commit()

    def _document(self, source: Source, name: str, path: Path) -> None:
        place = f"{source.label}/{name}" if name else source.label
        known = self._opened[1].file(source.root, name) if self._opened else None
        try:
            digest = file_digest(path, self._sizes)
            if self._unchanged(known, digest):
                return
            document = read_document(path, most_bytes=self._most_bytes)
        except (Unreadable, OSError) as error:
            reason = str(error) if isinstance(error, Unreadable) else f"cannot be read: {error.strerror or error}"
            kept = "; the passages of its earlier content stay" if known and known.passages else ""
            self.report.skip(place, reason + kept)
            return
        manifest = self._open()[1]
        label = manifest.label(source.root, source.label)
        entry = manifest.file(source.root, name)
        manifest.begin(entry.id)
        passages = document_passages(document, f"{label}/{name}" if name else label, self._sizes)
        count = self._put(entry.id, ((passage, _key(passage)) for passage in passages))
        self._read(entry, digest, count)

    def _rows(self, source: Source, rows: Iterator[tuple[str, Passage]], digest: str | None) -> None:
        known = self._opened[1].file(source.root, "") if self._opened else None
        if self._unchanged(known, digest):
            return
        entry, count = None, 0
        for seen, (_, passage) in enumerate(rows, 1):
            manifest = self._open()[1]
            if entry is None:
                entry = manifest.file(source.root, "")
                manifest.begin(entry.id)
            count += self._put_row(entry.id, passage)
            if seen % FLUSH == 0:
                self._progress(f"reading {source.label}", seen, seen)
        if entry is not None:
            self._read(entry, digest, count)
        elif known is not None and known.passages:
            raise DataError(f"`{source.name}` holds no passages any more; what the index has of it stays")

    def _put_row(self, file: int, passage: Passage) -> int:
        manifest = self._open()[1]
        pieces = self._pieces(passage)
        if all(manifest.holds(file, key) for _, key in pieces):
            self.report.duplicates += 1
            return 0
        if any(manifest.taken(piece.id, file, key) for piece, key in pieces):
            self.report.renamed += 1
            pieces = self._pieces(passage.model_copy(update={"id": f"{passage.id}~{passage.key}"}))
        return self._put(file, pieces)

    def _pieces(self, passage: Passage) -> list[tuple[Passage, str]]:
        return [(piece, _key(piece)) for piece in row_passages(passage, self._sizes)]

    def _put(self, file: int, pieces: Iterable[tuple[Passage, str]]) -> int:
        manifest, count = self._open()[1], 0
        for count, (passage, key) in enumerate(pieces, 1):  # noqa: B007 - the last is how many
            manifest.own(passage.id, file, key)
            self._buffer.append((file, passage))
            if len(self._buffer) >= FLUSH:
                self._flush()
        return count

    def _read(self, entry: FileEntry, digest: str | None, count: int) -> None:
        self._pending.append(_Read(entry.id, digest, count))
        self.report.files_read += 1
        self.report.passages += count

    def _unchanged(self, known: FileEntry | None, digest: str | None) -> bool:
        if known is None or digest is None or known.digest != digest or self._everything:
            return False
        self.report.files_unchanged += 1
        self.report.passages += known.passages
        return True

    def _flush(self) -> None:
        """Write what is gathered, and finish the files that are read to their end."""
        if self._opened is None:
            return
        index, manifest = self._opened
        manifest.commit()
        if self._buffer:
            self.report.added += self._written(index)
        for read in self._pending:
            self.report.removed += index.delete(manifest.stale(read.file))
            manifest.forget_stale(read.file)
            manifest.done(read.file, None if read.file in self._failed else read.digest, read.passages)
        self._pending.clear()
        manifest.commit()

    def _written(self, index: Retriever) -> int:
        from reflective_rag.data.retrieval import ImportFailures

        base, files = self._indexed, {passage.id: file for file, passage in self._buffer}
        passages = [passage for _, passage in self._buffer]
        self._buffer.clear()
        self._indexed += len(passages)
        try:
            return index.add(
                passages, progress=lambda done, total: self._progress("indexing passages", base + done, base + total)
            )
        except ImportFailures as error:
            self.report.failures |= error.failures
            self._failed |= {files[name] for name in error.failures}
            return error.stored


def _key(passage: Passage) -> str:
    """32 hex digits of what makes the text another one."""
    return hashlib.sha256(identity(passage.text).encode()).hexdigest()[:32]
