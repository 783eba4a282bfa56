"""Rows of an evaluation in a file, written as they come, so that a killed run goes on where it stopped."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from reflective_rag.data.line_file import LineFile, parsed
from reflective_rag.optimizers.evaluation import Row
from reflective_rag.signatures.errors import DataError


class _NoRows:
    """Stands for no file at all."""

    def __init__(self) -> None:
        self.done: dict[str, Row] = {}

    def add(self, row: Row) -> None:
        """Keep nothing."""


@contextmanager
def open_rows(path: Path | None, header: Mapping[str, Any]) -> Iterator["RowFile | _NoRows"]:
    """The file at `path`, closed at the end of the block; without a path nothing is kept. Raises as `RowFile`."""
    if path is None:
        yield _NoRows()
        return
    with RowFile(path, header) as file:
        yield file


class RowFile:
    """A JSON Lines file: a header that says what was run, then one row a question.

    Args:
        path: Made if it does not exist; otherwise its header must equal `header`.
        header: What the rows depend on (program, model, data, …), as plain JSON.

    Raises:
        DataError: The file holds something else or rows of another run (it is left untouched), is being written by
            another process, or cannot be written.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path = path
        self.done: dict[str, Row] = {}
        """Record id → finished row. Rows that failed are left out: they are tried again."""
        self._header = {"kind": "header", **header}
        self._file = LineFile(path, f"`--rows {path}`")
        try:
            self._begin(self._file.lines())
        except BaseException:
            self._file.abandon()
            raise

    def add(self, row: Row) -> None:
        """Append a row and write it out at once. Raises `DataError` when it cannot be written."""
        self._file.append({"kind": "row", **row.model_dump(mode="json")})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def _begin(self, lines: list[tuple[int, bytes]]) -> None:
        """Go on with a file of this run, or begin a new one; anything else is left as it is."""
        if self._file.empty:
            self._file.append(self._header)
            return
        self._check(self._first(lines))
        self._read(lines[1:])
        self._file.mend()

    def _first(self, lines: list[tuple[int, bytes]]) -> Mapping[str, Any]:
        try:
            found = parsed(lines[0][1]) if lines else None
        except ValueError as error:
            raise DataError(f"`--rows {self.path}` is no file of rows: {error}. Give another file.") from None
        if not isinstance(found, dict) or found.get("kind") != "header":
            raise DataError(f"`--rows {self.path}` is no file of rows: its first line is no header. Give another file.")
        return found

    def _check(self, found: Mapping[str, Any]) -> None:
        wanted = json.loads(json.dumps(self._header))
        for key in sorted(wanted.keys() | found.keys()):
            if found.get(key) != wanted.get(key):
                raise DataError(
                    f"`--rows {self.path}` holds rows of another run: `{key}` was {found.get(key)!r}, now it is "
                    f"{wanted.get(key)!r}. Give another file, or run as before to go on."
                )

    def _read(self, lines: list[tuple[int, bytes]]) -> None:
        for number, line in lines:
            try:
                row = Row(**{key: value for key, value in parsed(line).items() if key != "kind"})
            except (ValueError, TypeError, AttributeError) as error:
                what = "no row of this version" if isinstance(error, ValidationError) else "damaged"
                raise DataError(
                    f"`{self.path}:{number}` is {what}. Remove that line, and its question is asked again. "
                    "Give another file to begin anew."
                ) from None
            if row.error is None:
                self.done[row.record_id] = row
