"""What is not cut: sentences, tables, blocks of code; only one that is longer than any limit is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reflective_rag.data.chunking.blocks import Block
from reflective_rag.data.chunking.sizes import size
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.text import sentences

_LINE = late_pattern(r"\S[^\n]*")
# Where a sentence that is too long may be cut, best first.
_CUTS = (late_pattern(r"[；;：:]\s*|[，,、]\s+|，|、"), late_pattern(r"\s+"))


class Unit(NamedTuple):
    """`text[start:end]`. Only sentences are repeated where two chunks overlap."""

    start: int
    end: int
    sentence: bool


def units(text: str, blocks: Sequence[Block], limit: int) -> Iterator[list[Unit]]:
    """The units of each block that is no heading. Headings are part of the unit that follows them."""
    begin: int | None = None
    for block in blocks:
        begin = block.start if begin is None else begin
        if block.kind == "heading":
            continue
        found = _units(text, block, limit)
        yield [found[0]._replace(start=begin), *found[1:]]
        begin = None
    if begin is not None:
        yield [Unit(begin, blocks[-1].end, sentence=False)]


def _units(text: str, block: Block, limit: int) -> list[Unit]:
    body = text[block.start : block.end]
    if block.kind != "text":
        if size(body) <= limit:
            return [Unit(block.start, block.end, sentence=False)]
        spans = [match.span() for match in _LINE.finditer(body)]
    else:
        spans = [(sentence.start, sentence.end) for sentence in sentences(body)]
    return [
        Unit(block.start + start, block.start + end, block.kind == "text")
        for span in spans
        for start, end in _cut(body, *span, limit)
    ]


def _cut(text: str, start: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    """A span in parts of at most `limit`."""
    while start < end:
        stop = _longest(text, start, end, limit)
        if stop < end:
            stop = next((cut for pattern in _CUTS if (cut := _last(pattern, text, start, stop))), stop)
        begin, last = start, stop
        while begin < last and text[begin].isspace():
            begin += 1
        while last > begin and text[last - 1].isspace():
            last -= 1
        if begin < last:
            yield begin, last
        start = stop


def _longest(text: str, start: int, end: int, limit: int) -> int:
    """The end of the longest prefix of the span within `limit`, at least one character."""
    low, high = start + 1, min(end, start + 4 * limit)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(text[start:middle]) <= limit else (low, middle - 1)
    return low


def _last(pattern: re.Pattern[str], text: str, start: int, stop: int) -> int | None:
    """The end of the last match in the second half of the span."""
    ends = [match.end() for match in pattern.finditer(text, start + (stop - start) // 2, stop)]
    return ends[-1] if ends else None
