"""Cutting a passage into sentences with offsets, in linear time whatever the text is made of."""

import re
from collections.abc import Iterator

from reflective_rag.programs.rules.instructions import is_instruction
from reflective_rag.signatures.text import sentences

MAX_LINE = 600
"""Longest sentence in characters; keeps every rule linear in the length of a passage."""

BLOCK = 4_000
"""Longest stretch in characters that is given to the sentence splitter at once."""


def stretches(text: str) -> list[tuple[str, int, int]]:
    """The pieces of a text; one that holds an instruction is cut at its line ends, so that only that line is lost."""
    found = []
    for piece, start, end in _pieces(text):
        if "\n" not in piece or not is_instruction(piece):
            found.append((piece, start, end))
            continue
        lines = re.finditer(r"[^\n]*\S[^\n]*", piece)
        found += [(line.group(), start + line.start(), start + line.end()) for line in lines]
    return found


def _pieces(text: str) -> list[tuple[str, int, int]]:
    """Sentences with offsets.

    One longer than `MAX_LINE` (tables, text without punctuation) is cut, at a space where there is one near.
    """
    pieces = []
    for first, last in _sentences(text):
        start = first
        while last - start > MAX_LINE:
            space = text.rfind(" ", start + MAX_LINE // 2, start + MAX_LINE)
            end = space if space > 0 else start + MAX_LINE
            pieces.append((text[start:end], start, end))
            start = end + (1 if space > 0 else 0)
        pieces.append((text[start:last], start, last))
    return pieces


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Offsets of the sentences.

    A long text is split in blocks that end with a sentence or a line: on some binary texts the splitter takes quadratic
    time.
    """
    start = 0
    while start < len(text):
        end = len(text)
        if end - start > BLOCK:
            half = start + BLOCK // 2
            end = max(text.rfind(mark, half, start + BLOCK) + len(mark) for mark in ("\n", ". ", "? ", "! ", "。"))
            end = end if end > half else start + BLOCK
        for sentence in sentences(text[start:end]):
            yield start + sentence.start, start + sentence.end
        start = end
