"""From blocks to chunks: pure, the same text always gives the same chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reflective_rag.data.chunking.blocks import Block
from reflective_rag.data.chunking.sizes import size
from reflective_rag.data.chunking.units import Unit, units
from reflective_rag.signatures.errors import ConfigError


class ChunkSizes(NamedTuple):
    """Limits, in the tokens of `size`: of a chunk that is searched, of what two neighbours share, of a window."""

    chunk: int = 200
    overlap: int = 40
    window: int = 600

    def checked(self) -> ChunkSizes:
        """Itself. Raises `ConfigError` for limits that cannot work together."""
        if not 0 <= self.overlap < self.chunk <= self.window:
            raise ConfigError(
                f"chunks need 0 ≤ overlap < chunk ≤ window, got {self.overlap}, {self.chunk}, {self.window}"
            )
        return self


DEFAULT_SIZES = ChunkSizes()


class Chunk(NamedTuple):
    """`text[start:end]`, found by a search, and `text[window_start:window_end]` around it, to be read.

    Windows do not overlap, and a window lies within one section, whose headings from the outermost are `headings`.
    """

    start: int
    end: int
    window_start: int
    window_end: int
    headings: tuple[str, ...] = ()


def chunked(text: str, blocks: Sequence[Block], sizes: ChunkSizes = DEFAULT_SIZES) -> list[Chunk]:
    """Chunks in the order of the text; every visible character of the blocks lies in at least one.

    A chunk is a run of whole sentences, tables and code blocks of at most `sizes.chunk`; a longer sentence, table or
    block of code is a chunk of its own up to `sizes.window`, and beyond that is cut, at the end of a row or a clause
    where there is one. The headings over a section stand in its first chunk, on top of the limit where they must.
    """
    sizes.checked()
    chunks = []
    for headings, section in _sections(blocks):
        for window in _windows(text, section, sizes.window):
            begin, end = window[0].start, window[-1].end
            chunks += [Chunk(*span, begin, end, headings) for span in _spans(text, window, sizes)]
    return chunks


def _sections(blocks: Sequence[Block]) -> Iterator[tuple[tuple[str, ...], list[Block]]]:
    """Headings in force and the blocks under them. A heading without a text of its own goes with the next one."""
    path: list[Block] = []
    section: list[Block] = []
    has_text = False
    for block in blocks:
        if block.kind == "heading":
            if has_text:
                yield _titles(path), section
                section, has_text = [], False
            path = [*(above for above in path if above.level < block.level), block]
        else:
            has_text = True
        section.append(block)
    if section:
        yield _titles(path), section


def _titles(path: Sequence[Block]) -> tuple[str, ...]:
    return tuple(block.title for block in path if block.title)


def _windows(text: str, section: Sequence[Block], limit: int) -> Iterator[list[Unit]]:
    """The units of a section in windows; one ends between two blocks where the next block fits into a window."""
    window: list[Unit] = []
    for block_units in units(text, section, limit):
        whole = size(text[block_units[0].start : block_units[-1].end]) <= limit
        if window and whole and _over(text, window[0].start, block_units[-1].end, limit):
            yield window
            window = []
        for unit in block_units:
            if window and _over(text, window[0].start, unit.end, limit):
                yield window
                window = []
            window.append(unit)
    if window:
        yield window


def _spans(text: str, window: Sequence[Unit], sizes: ChunkSizes) -> Iterator[tuple[int, int]]:
    first = 0
    while first < len(window):
        last = first
        while last + 1 < len(window) and not _over(text, window[first].start, window[last + 1].end, sizes.chunk):
            last += 1
        yield window[first].start, window[last].end
        if last + 1 == len(window):
            return
        first = _next(text, window, first, last, sizes)


def _next(text: str, window: Sequence[Unit], first: int, last: int, sizes: ChunkSizes) -> int:
    """The unit that the next chunk begins with: some sentences back, if the one after `last` then still fits."""
    begin = last + 1
    while begin - 1 > first and window[begin - 1].sentence:
        start = window[begin - 1].start
        if _over(text, start, window[last].end, sizes.overlap) or _over(text, start, window[last + 1].end, sizes.chunk):
            break
        begin -= 1
    return begin


def _over(text: str, start: int, end: int, limit: int) -> bool:
    return size(text[start:end]) > limit
