"""Tables that fit: what a wide table becomes in a terminal that is narrower than it.

In this order, and no further than is needed: zeros before the decimal point go and lists stand one item a line;
intervals stand under their means; texts wrap between words; long names are cut in the middle, with a footnote; the
columns are parted into several tables, each with the first column.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

NAME_CELLS = 20
"""A word longer than this is cut in the middle where nothing else helps."""
TEXT_CELLS = 12
"""Texts are not wrapped to less than this."""

_ZERO = re.compile(r"(?<![\d.,])0(?=\.\d\d)")
_ITEM = r"[^\s,]+ (?:[\d,.%]+|\([^)]*\))"
_CHINESE_OR_BLANK = re.compile(r"[ \n\u2e80-\u9fff\uff00-\uffef]")
_LIST = re.compile(rf"{_ITEM}(, {_ITEM})+")
_BETWEEN = re.compile(r", (?![^(]*\))")
_LABEL = re.compile(r" *(?:[^\s]+ )*[^\s]+ {2,}(?=\S)| *(?:- |\[\d+\] )?")
MOST_HANGING = 24
"""A label wider than this does not set in the lines below it."""
_INTERVAL = re.compile(r" (?=\[[^\]]*\])")
_INTERVAL_INSIDE = re.compile(r"\[([^\],]*), ")
_SHARE = re.compile(r" (\(\d+) (%\))$")
_WHOLE = "\u00a0"
"""Stands in for the blank inside an interval, so that it is never wrapped there."""


@dataclass(frozen=True)
class _Grid:
    """A table's cells: the first row holds the headers."""

    like: Table
    rows: tuple[tuple[str, ...], ...]

    def mapped(self, change: Callable[[str], str]) -> "_Grid":
        return replace(self, rows=tuple(tuple(map(change, row)) for row in self.rows))

    def column(self, at: int) -> list[str]:
        return [row[at] for row in self.rows]

    def chosen(self, columns: range) -> "_Grid":
        return replace(self, rows=tuple((row[0], *(row[at] for at in columns)) for row in self.rows))

    def drawn(self) -> Table:
        like = self.like
        table = Table(box=like.box, padding=like.padding, pad_edge=like.pad_edge, show_header=like.show_header)
        for at, header in enumerate(self.rows[0]):
            table.add_column(Text(header), no_wrap=True, justify=like.columns[min(at, len(like.columns) - 1)].justify)
        for row in self.rows[1:]:
            table.add_row(*map(Text, row))
        return table

    def width(self) -> int:
        return _width(self.drawn())


def _width(table: Table) -> int:
    return Console(width=10_000).measure(table).maximum


def fits(table: Table, width: int) -> bool:
    """Whether the table, as it is, is at most `width` cells wide."""
    return _width(table) <= width


def fitted(table: Table, width: int) -> tuple[list[Table], list[str]]:
    """The table in at most `width` cells: one or more tables without title, and footnotes for names that were cut."""
    headers = tuple(_plain(column.header) for column in table.columns)
    cells = [[_plain(cell) for cell in column.cells] for column in table.columns]
    grid = _Grid(table, (headers, *zip(*cells, strict=True)))
    notes: dict[str, str] = {}
    return [part.drawn() for part in _parts(grid, width, notes)], [f"{cut}  {whole}" for cut, whole in notes.items()]


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)


def _parts(grid: _Grid, width: int, notes: dict[str, str]) -> Iterator[_Grid]:
    """The grid in as few parts as fit."""
    for step in (lambda each: each, _leaner, _stacked):
        grid = grid.mapped(step)
        if grid.width() <= width:
            yield grid
            return
    wrapped = _wrapped(grid, width)
    if wrapped.width() <= width:
        yield wrapped
        return
    cuts: dict[str, str] = {}
    cut = _wrapped(grid.mapped(lambda cell: _cut_names(cell, cuts)), width)
    columns = len(grid.rows[0])
    if cut.width() <= width or columns <= 2:
        notes |= cuts
        yield cut
        return
    middle = (columns + 1) // 2
    yield from _parts(grid.chosen(range(1, middle)), width, notes)
    yield from _parts(grid.chosen(range(middle, columns)), width, notes)


def _leaner(cell: str) -> str:
    """No zero before the decimal points of an interval; a list one item a line."""
    if _LIST.fullmatch(cell):
        cell = _BETWEEN.sub("\n", cell)
    return _ZERO.sub("", cell) if "[" in cell else cell


def _stacked(cell: str) -> str:
    """An interval under its mean, a share under both; neither is wrapped inside."""
    cell = _SHARE.sub(rf"\n\1{_WHOLE}\2", cell)
    return _INTERVAL_INSIDE.sub(rf"[\1,{_WHOLE}", _INTERVAL.sub("\n", cell, count=1))


def _wrapped(grid: _Grid, width: int) -> _Grid:
    """Texts wrapped between words, the widest column first, until it fits or no column can be narrower."""
    columns = range(len(grid.rows[0]))
    widths = [max(map(_lines_width, grid.column(at))) for at in columns]
    floors = [min(widths[at], max(TEXT_CELLS if at else 1, *map(_word_width, grid.column(at)))) for at in columns]
    over = grid.width() - width
    while over > 0:
        wide = max(columns, key=lambda at: (widths[at] > floors[at], widths[at]))
        if widths[wide] <= floors[wide]:
            break
        widths[wide] -= 1
        over -= 1
    rows = (tuple(_wrap(cell, widths[at]) for at, cell in enumerate(row)) for row in grid.rows)
    return replace(grid, rows=tuple(rows))


def _wrap(cell: str, width: int) -> str:
    lines = Text(cell).wrap(Console(width=width), width)
    return "\n".join(line.plain.rstrip(" ") for line in lines)


def _lines_width(cell: str) -> int:
    return max(map(cell_len, cell.split("\n")))


def _word_width(cell: str) -> int:
    """Width of the longest word; Chinese may be wrapped anywhere."""
    return max(2, *map(cell_len, _CHINESE_OR_BLANK.split(cell)))


def _cut_names(cell: str, notes: dict[str, str]) -> str:
    """Words that are too long, cut in the middle."""

    def cut(found: re.Match[str]) -> str:
        whole = found[0]
        if cell_len(whole) <= NAME_CELLS or _WHOLE in whole:
            return whole
        tail = (NAME_CELLS - 1) // 2
        name = f"{whole[: NAME_CELLS - 1 - tail]}…{whole[-tail:]}"
        notes[name] = whole
        return name

    return re.sub(r"[^ \n]+", cut, cell)


def folded(text: str, width: int) -> str:
    """Lines wrapped between words, set in under what follows their label; a path or a link is never broken."""
    return "\n".join(line if cell_len(line) <= width else _fold(line, width) for line in text.split("\n"))


def _fold(line: str, width: int) -> str:
    found = _LABEL.match(line)
    label = found[0] if found and cell_len(found[0]) <= MOST_HANGING else ""
    hang = cell_len(label)
    if _word_width(line) > width - hang:
        return line
    return label + _wrap(line[len(label) :], width - hang).replace("\n", "\n" + " " * hang)
