"""The records of a CSV file, each by itself: a quote that is opened and not closed costs its own line and no other."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

LONGEST_FIELD = 1 << 26
"""Characters of a field; behind a quote that is never closed no more than that is read before it is told."""
UNCLOSED = "opens a quote that is not closed, or not at the end of a field"


class CsvRecord(NamedTuple):
    """`line` is where it begins, from 1. `fields` is empty where it cannot be read: `fault` says why."""

    line: int
    fields: list[str]
    fault: str = ""


class _Lines:
    """The lines of a file, one after another; those of the record that is being read can be put back."""

    def __init__(self, file: Iterable[str]) -> None:
        self._file = iter(file)
        self._again: deque[str] = deque()
        self.taken: list[str] = []
        self.line = 1

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        text = self._again.popleft() if self._again else next(self._file)
        self.taken.append(text)
        return text

    def settle(self, count: int) -> None:
        """The first `count` of the lines that were taken are done with; the others come again."""
        self._again.extendleft(reversed(self.taken[count:]))
        self.line += count
        self.taken = []


def csv_records(file: Iterable[str], separator: str) -> Iterator[CsvRecord]:
    """The records that are not blank. After one that cannot be read it goes on with the line after its first."""
    csv.field_size_limit(LONGEST_FIELD)
    lines = _Lines(file)
    reader = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        try:
            fields, fault = next(reader), ""
        except StopIteration:
            return
        except csv.Error:
            fields, fault = _leniently(lines.taken, separator)
        record = CsvRecord(lines.line, fields, fault)
        lines.settle(1 if fault else len(lines.taken))
        if fields or fault:
            yield record


def _leniently(taken: list[str], separator: str) -> tuple[list[str], str]:
    """A line whose quotes all are on it is taken as it can be (`"a" b` is `a b`); whatever spans lines is at fault."""
    if len(taken) > 1 or taken[0].count('"') % 2:
        return [], UNCLOSED
    try:
        return next(csv.reader(taken, delimiter=separator)), ""
    except csv.Error as error:
        return [], f"cannot be read: {error}"
