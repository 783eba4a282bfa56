"""Rows of an evaluation in a file, written as they come, so that a killed run goes on where it stopped."""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from reflective_rag.data.line_file import LineFile, numbered, parsed, unpacked
from reflective_rag.optimizers.evaluation import Row
from reflective_rag.signatures.errors import DataError

_ABOUT = "about"


def is_finished(row: Row) -> bool:
    """Whether a row need not be asked again: nothing raised, and the retriever was there for a first search."""
    return row.error is None and not found_nothing_to_search(row)


def found_nothing_to_search(row: Row) -> bool:
    """Whether the retriever failed at once, so that the answer, if any, stands on nothing that was retrieved."""
    return row.stop_reason == "retriever_error" and not row.read_tokens


class Rows:
    """Rows in cells, for as long as the process lives.

    A cell is what was run under one setting of a sweep; the rows of a plain evaluation are the cell without a name.
    """

    def __init__(self) -> None:
        self._cells: dict[str, dict[str, Row]] = {}

    @property
    def done(self) -> dict[str, Row]:
        """Record id → finished row. Rows that failed are left out: they are tried again."""
        return self.cell("")

    def cell(self, name: str) -> dict[str, Row]:
        """`done` of the cell of that name; empty where nothing was run yet."""
        return self._cells.setdefault(name, {})

    def add(self, row: Row, cell: str = "") -> None:
        """Keep a row."""
        if is_finished(row):
            self.cell(cell)[row.record_id] = row


@contextmanager
def open_rows(
    path: Path | None, header: Mapping[str, Any], *, name: str = "", about: Mapping[str, Any] | None = None
) -> Iterator[Rows]:
    """The file at `path`, closed at the end of the block; without a path nothing is kept. Raises as `RowFile`."""
    if path is None:
        yield Rows()
        return
    with RowFile(path, header, name=name, about=about) as file:
        yield file


class RowFile(Rows):
    """A JSON Lines file: a header that says what was run, then one row a question, with the name of its cell if any.

    Args:
        path: Made if it does not exist; otherwise its header must equal `header`.
        header: What the rows depend on (program, model, data, …), as plain JSON.
        name: How messages call a file in a folder of ours; by default it is that of the option `--rows`.
        about: What a reader of the rows likes to know (settings in words, …). A run that goes on need not agree.

    Raises:
        DataError: The file holds something else or rows of another run (it is left untouched), is being written by
            another process, or cannot be written.
    """

    def __init__(
        self, path: Path, header: Mapping[str, Any], *, name: str = "", about: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__()
        self.path = path
        self._name = name or f"`--rows {path}`"
        self._other = "Give another folder" if name else "Give another file"
        self._header = {"kind": "header", **header}
        self._about = {} if about is None else {_ABOUT: dict(about)}
        self._file = LineFile(path, self._name)
        try:
            self._begin(self._file.lines())
        except BaseException:
            self._file.abandon()
            raise

    def add(self, row: Row, cell: str = "") -> None:
        """Append a row and write it out at once. Raises `DataError` when it cannot be written."""
        named = {"cell": cell} if cell else {}
        self._file.append({"kind": "row", **named, **row.model_dump(mode="json")})
        super().add(row, cell)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def _begin(self, lines: list[tuple[int, bytes]]) -> None:
        """Go on with a file of this run, or begin a new one; anything else is left as it is."""
        if self._file.empty:
            self._file.append(self._header | self._about)
            return
        self._check(self._first(lines))
        self._read(lines[1:])
        self._file.mend()

    def _first(self, lines: list[tuple[int, bytes]]) -> Mapping[str, Any]:
        try:
            found = parsed(lines[0][1]) if lines else None
        except ValueError as error:
            raise DataError(f"{self._name} is no file of rows: {error}. {self._other}.") from None
        if not isinstance(found, dict) or found.get("kind") != "header":
            raise DataError(f"{self._name} is no file of rows: its first line is no header. {self._other}.")
        return found

    def _check(self, found: Mapping[str, Any]) -> None:
        wanted = json.loads(json.dumps(self._header))
        for key in sorted((wanted.keys() | found.keys()) - {_ABOUT}):
            if found.get(key) != wanted.get(key):
                raise DataError(
                    f"{self._name} holds rows of another run: `{key}` was {found.get(key)!r}, now it is "
                    f"{wanted.get(key)!r}. {self._other}, or run as before to go on."
                )

    def _read(self, lines: list[tuple[int, bytes]]) -> None:
        for number, line in lines:
            try:
                cell, row = _cell_and_row(line)
            except (ValueError, TypeError, AttributeError) as error:
                what = "no row of this version" if isinstance(error, ValidationError) else "damaged"
                raise DataError(
                    f"`{self.path}:{number}` is {what}. Remove that line, and its question is asked again. "
                    f"{self._other} to begin anew."
                ) from None
            if is_finished(row):
                self.cell(cell)[row.record_id] = row


def write_rows(path: Path, header: Mapping[str, Any], about: Mapping[str, Any], rows: Sequence[Row]) -> Path:
    """A file of rows at once, whole or not at all, in place of an earlier one; folders above it are made.

    Raises:
        DataError: It cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        with RowFile(part, header, name=f"`{path}`", about=about) as file:
            for row in rows:
                file.add(row)
        part.replace(path)
    except OSError as error:
        raise DataError(f"`{path}` cannot be written: {error.strerror or error}; give another folder") from None
    return path


def _cell_and_row(line: bytes) -> tuple[str, Row]:
    value = parsed(line)
    cell = str(value.pop("cell", ""))
    return cell, Row(**{key: item for key, item in value.items() if key != "kind"})


@dataclass(frozen=True, kw_only=True)
class ReadRows:
    """A file of rows that is only read."""

    header: Mapping[str, Any]
    about: Mapping[str, Any]
    """What was written beside the header; empty in files of earlier versions."""
    cells: Mapping[str, Sequence[Row]]
    """Cell → its rows, the last of each question, in the order in which they were first written; "" without cells."""


def read_rows(path: Path) -> ReadRows:
    """Read a file of rows without touching it; a last line that is being written is left out.

    Raises:
        DataError: It cannot be read, is no file of rows, or has a row of another version.
    """
    try:
        lines = numbered(unpacked(path.read_bytes(), path))
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"`{path}` cannot be read: {getattr(error, 'strerror', None) or error}") from None
    header = _header_of(lines, path)
    cells: dict[str, dict[str, Row]] = {}
    for number, line in lines[1:]:
        try:
            cell, row = _cell_and_row(line)
        except (ValueError, TypeError, AttributeError) as error:
            if number == lines[-1][0] and not isinstance(error, ValidationError):
                break
            raise DataError(
                f"`{path}:{number}` is no row of this version; run `evaluate` again for this file"
            ) from None
        cells.setdefault(cell, {})[row.record_id] = row
    about = header.pop(_ABOUT, None) or {}
    return ReadRows(header=header, about=about, cells={cell: tuple(rows.values()) for cell, rows in cells.items()})


def _header_of(lines: Sequence[tuple[int, bytes]], path: Path) -> dict[str, Any]:
    try:
        found = parsed(lines[0][1]) if lines else None
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("kind") != "header":
        raise DataError(f"`{path}` is no file of rows: give one that `evaluate --rows` wrote, or a folder of `--out`")
    return found
