"""Rows of an evaluation in a file, written as they come, so that a killed run goes on where it stopped."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TextIO

from pydantic import ValidationError

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
        DataError: The file holds something else, was made by another run, or cannot be written.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path = path
        self.done: dict[str, Row] = {}
        """Record id → finished row. Rows that failed are left out: they are tried again."""
        self._header = {"kind": "header", **header}
        lines = self._lines()
        if lines:
            self._check(lines[0])
            self._read(lines[1:])
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: TextIO = path.open("a", encoding="utf-8")
        except OSError as error:
            raise DataError(f"`--rows {path}` cannot be written: {error.strerror or error}") from None
        if not lines:
            self._write(self._header)

    def add(self, row: Row) -> None:
        """Append a row and write it out at once."""
        self._write({"kind": "row", **row.model_dump(mode="json")})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._file.flush()

    def _lines(self) -> list[dict[str, Any]]:
        """The whole lines of the file; an unfinished last one, of a writer that was killed, is cut off."""
        if not self.path.exists():
            return []
        try:
            data = self.path.read_bytes()
            whole = data[: data.rfind(b"\n") + 1]
            lines = [json.loads(line) for line in whole.splitlines() if line.strip()]
        except (OSError, ValueError) as error:
            raise DataError(f"`--rows {self.path}` is no file of rows: {error}. Give another file.") from None
        if (data.strip() and not lines) or not all(isinstance(line, dict) for line in lines):
            raise DataError(f"`--rows {self.path}` is no file of rows. Give another file.")
        if len(whole) < len(data):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
        return lines

    def _check(self, found: Mapping[str, Any]) -> None:
        if found.get("kind") != "header":
            raise DataError(f"`--rows {self.path}` is no file of rows: its first line is no header. Give another file.")
        wanted = json.loads(json.dumps(self._header))
        for key in sorted(wanted.keys() | found.keys()):
            if found.get(key) != wanted.get(key):
                raise DataError(
                    f"`--rows {self.path}` holds rows of another run: `{key}` was {found.get(key)!r}, now it is "
                    f"{wanted.get(key)!r}. Give another file, or run as before to go on."
                )

    def _read(self, lines: list[dict[str, Any]]) -> None:
        for number, line in enumerate(lines, start=2):
            try:
                row = Row(**{key: value for key, value in line.items() if key != "kind"})
            except ValidationError:
                raise DataError(f"`{self.path}:{number}` is no row of this version. Give another file.") from None
            if row.error is None:
                self.done[row.record_id] = row
