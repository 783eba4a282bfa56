"""The passages of one question, cut into sentences, with what each says of the question's terms."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reflective_rag.programs.rules.matching import fold, has_cjk, hits
from reflective_rag.programs.rules.question import Question
from reflective_rag.signatures.text import sentences
from reflective_rag.signatures.types import Passage

TITLE, NEIGHBOUR, PAGE, LINK = 0.9, 0.5, 0.25, 0.5
"""What a term is worth to a sentence when it stands in the title, the sentence next to it, elsewhere in the passage, or in a sentence of
another passage that names this passage's title (one hop of a chain). In the sentence itself it is worth 1."""

CHAIN = 0.95
"""What a linked term is worth instead of LINK to a sentence that brings a term the linking passage lacks: *director of X* there, *born* here."""

RARE_OVER = 10
"""Passage count that document frequency is taken over at least, so that the weights of a small pool do not swing with every passage."""

MAX_LINE = 600
"""Longest sentence in characters; keeps every rule linear in the length of a passage."""

_PARENTHESES = re.compile(r"\s*[（(][^）)]*[）)]\s*$")

Hits = tuple[float, ...]


@dataclass(frozen=True)
class Line:
    """One sentence: offsets into the passage text, the terms it holds itself, and the terms it holds with its surroundings."""

    page: int
    text: str
    start: int
    end: int
    own: Hits
    context: Hits


@dataclass(frozen=True)
class Page:
    """One passage. `linked` holds the terms of the sentences elsewhere that name its title."""

    index: int
    passage: Passage
    title: Hits
    own: Hits
    linked: Hits
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Evidence:
    """All pages of one question, and the weight of each term (prior × rarity over the pages)."""

    question: Question
    weights: Hits
    pages: tuple[Page, ...]

    def coverage(self, found: Hits, only: Sequence[bool] | None = None) -> float:
        """Weighted share of the question's terms in `found`, 0..1; with `only`, of the marked terms. 0 when there are none."""
        marks = only if only is not None else [True] * len(found)
        total = sum(w for w, use in zip(self.weights, marks, strict=True) if use)
        return sum(w * h for w, h, use in zip(self.weights, found, marks, strict=True) if use) / total if total else 0.0


def merge(*vectors: Hits) -> Hits:
    """Element-wise maximum."""
    return tuple(max(column) for column in zip(*vectors, strict=True))


def scale(vector: Hits, factor: float) -> Hits:
    """Element-wise product with a number."""
    return tuple(value * factor for value in vector)


def gather(question: Question, passages: Sequence[Passage]) -> Evidence:
    """Cut the passages into lines and match the question's terms in them."""
    terms = question.terms
    raw: list[tuple[Passage, Hits, list[tuple[str, int, int, Hits]]]] = []
    for passage in passages:
        cut = [(text, start, end, hits(terms, text)) for text, start, end in _pieces(passage.text)]
        raw.append((passage, hits(terms, passage.title), cut))
    own = [merge(title, *(line[3] for line in cut)) for _, title, cut in raw]
    weights = _weights(question, own)
    links = _links(question, raw)
    pages = tuple(
        Page(i, passage, title, own[i], links[i], _lines(i, title, own[i], links[i], cut))
        for i, (passage, title, cut) in enumerate(raw)
    )
    return Evidence(question, weights, pages)


def _pieces(text: str) -> list[tuple[str, int, int]]:
    """Sentences with offsets; one longer than `MAX_LINE` (tables, text without punctuation) is cut, at a space where there is one near."""
    pieces = []
    for sentence in sentences(text):
        start = sentence.start
        while sentence.end - start > MAX_LINE:
            space = text.rfind(" ", start + MAX_LINE // 2, start + MAX_LINE)
            end = space if space > 0 else start + MAX_LINE
            pieces.append((text[start:end], start, end))
            start = end + (1 if space > 0 else 0)
        pieces.append((text[start : sentence.end], start, sentence.end))
    return pieces


def _weights(question: Question, own: list[Hits]) -> Hits:
    """Prior × rarity. Rarity = 1 − df / (2·max(N, RARE_OVER)): a term of every passage weighs half, a unique one all.

    The usual logarithm has no bound, so unrelated passages could move a grade at will; this form moves each weight by a factor of 2 at most.
    """
    size = max(len(own), RARE_OVER)
    return tuple(term.weight * (1 - sum(h[i] > 0 for h in own) / (2 * size)) for i, term in enumerate(question.terms))


def _lines(
    index: int, title: Hits, page: Hits, linked: Hits, cut: list[tuple[str, int, int, Hits]]
) -> tuple[Line, ...]:
    around = merge(scale(title, TITLE), scale(page, PAGE))
    lines = []
    for i, (text, start, end, own) in enumerate(cut):
        near = [scale(cut[j][3], NEIGHBOUR) for j in (i - 1, i + 1) if 0 <= j < len(cut)]
        gain = any(linked) and any(h > 0 and not before for h, before in zip(own, linked, strict=True))
        lines.append(
            Line(index, text, start, end, own, merge(own, around, scale(linked, CHAIN if gain else LINK), *near))
        )
    return tuple(lines)


def _links(question: Question, raw: list[tuple[Passage, Hits, list[tuple[str, int, int, Hits]]]]) -> list[Hits]:
    """For each passage, the terms of the sentences of *other* passages that name its title; a title the question itself names is no link."""
    none = (0.0,) * len(question.terms)
    asked = fold(question.text)
    folded = [fold(passage.text) for passage, _, _ in raw]
    linked = []
    for i, (passage, _, _) in enumerate(raw):
        title = fold(core_title(passage.title))
        if len(title) < (2 if has_cjk(title) else 4) or title in asked:
            linked.append(none)
            continue
        vectors = [
            merge(scale(other_title, TITLE), own)
            for j, (other, other_title, cut) in enumerate(raw)
            if j != i and title in folded[j] and fold(core_title(other.title)) != title
            for text, _, _, own in cut
            if title in fold(text)
        ]
        linked.append(merge(none, *vectors))
    return linked


def core_title(title: str) -> str:
    """A title without its parenthesis: Stretch (2011 film) → Stretch."""
    return _PARENTHESES.sub("", title).strip()
