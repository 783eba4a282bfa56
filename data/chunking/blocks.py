"""A text as blocks: headings, paragraphs, tables, code, each with its offsets."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

from reflective_rag.signatures.patterns import late_pattern

if TYPE_CHECKING:
    from markdown_it.token import Token

BlockKind = Literal["heading", "text", "table", "code"]
_PARAGRAPH = late_pattern(r"\S.*(?:\n[^\S\n]*\S.*)*")
_KINDS: dict[str, BlockKind] = {"table_open": "table", "fence": "code", "code_block": "code", "heading_open": "heading"}


class Block(NamedTuple):
    """`text[start:end]` of a document. A heading has a level from 1, and its words as `title`."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    title: str = ""


def plain_blocks(text: str, start: int = 0, end: int | None = None) -> list[Block]:
    """The paragraphs of `text[start:end]`: runs of lines that are not blank."""
    found = _PARAGRAPH.finditer(text, start, len(text) if end is None else end)
    return [Block("text", match.start(), match.end()) for match in found]


def markdown_blocks(text: str, start: int = 0) -> list[Block]:
    """The blocks of Markdown (CommonMark with tables) from `start` on; together they hold every visible character.

    Library: markdown-it-py. Lists and quotations are text. What the parser drops (definitions of links) is text too.
    """
    from markdown_it import MarkdownIt

    body = text[start:]
    offsets = _line_starts(body)
    tokens = MarkdownIt("commonmark").enable("table").parse(body)
    found = (
        block._replace(start=block.start + start, end=block.end + start) for block in _parsed(tokens, body, offsets)
    )
    return list(_without_gaps(text, found, start))


def _line_starts(text: str) -> list[int]:
    """Where each line begins, counted as the parser counts them, and the end."""
    return [0, *accumulate(len(line) + 1 for line in text.replace("\r\n", " \n").replace("\r", "\n").split("\n"))]


def _parsed(tokens: list[Token], text: str, offsets: list[int]) -> Iterator[Block]:
    for number, token in enumerate(tokens):
        if token.level or token.map is None:
            continue
        first, last = token.map
        begin, end = offsets[first], min(offsets[last], len(text))
        while begin < end and text[begin].isspace():
            begin += 1
        while end > begin and text[end - 1].isspace():
            end -= 1
        if begin == end:
            continue
        kind = _KINDS.get(token.type, "text")
        if kind == "heading":
            yield Block(kind, begin, end, int(token.tag[1]), _words(tokens[number + 1]))
        elif kind == "text":
            yield from plain_blocks(text, begin, end)
        else:
            yield Block(kind, begin, end)


def _words(token: Token) -> str:
    """What a reader sees of a heading: no marks, no addresses."""
    parts = (child.content if child.type in ("text", "code_inline") else " " for child in token.children or ())
    return " ".join("".join(parts).split())


def _without_gaps(text: str, blocks: Iterable[Block], start: int) -> Iterator[Block]:
    position = start
    for block in blocks:
        yield from plain_blocks(text, position, block.start)
        yield block
        position = block.end
    yield from plain_blocks(text, position)


def touched(marks: list[tuple[int, int]], start: int, end: int) -> list[int]:
    """The values of the marks that `start:end` lies in, in order: the pages that a text stands on."""
    first = at(marks, start)
    return [*([] if first is None else [first]), *(value for offset, value in marks if start < offset < end)]


def at(marks: list[tuple[int, int]], offset: int) -> int | None:
    """The value of the last mark (offset, value) at or before `offset`: the page that a character stands on."""
    index = bisect_right(marks, offset, key=lambda mark: mark[0])
    return marks[index - 1][1] if index else None
