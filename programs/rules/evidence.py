"""The passages of one question, cut into sentences, with what each says of the question's terms."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache

from reflective_rag.programs.rules.cutting import stretches
from reflective_rag.programs.rules.deadline import check
from reflective_rag.programs.rules.instructions import is_instruction
from reflective_rag.programs.rules.matching import Term, fold, has_cjk, hits, stands_in
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.settings import DEFAULTS, RuleSettings
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.types import Passage

TITLE, NEIGHBOUR, PAGE, LINK = 0.9, 0.5, 0.25, 0.5
"""What a term is worth to a sentence when it stands in the title, the sentence next to it, elsewhere in the passage, or
in a sentence of another passage that names this passage's title (one hop of a chain). In the sentence itself it is
worth 1."""

GOES_ON = late_pattern(r"(?:it|its|they|their|he|his|she|her|this|these)\b|[它他她其该]", re.IGNORECASE)
"""The beginning of a sentence that goes on with what the one before it is about, whose terms it holds like a title's."""

CHAIN = 0.95
"""What a linked term is worth instead of LINK to a sentence that brings a term the linking passage lacks: *director of
X* there, *born* here."""

RARE_OVER = 10
"""Passage count that document frequency is taken over at least, so that the weights of a small pool do not swing with
every passage."""

_WORDS = re.compile(r"[^\W_]")

Hits = tuple[float, ...]


@dataclass(frozen=True)
class Line:
    """One sentence: offsets into the passage text, and terms.

    `own` are the terms it holds itself, `context` those it holds with its surroundings.
    """

    page: int
    text: str
    start: int
    end: int
    own: Hits
    context: Hits


@dataclass(frozen=True)
class Page:
    """One passage. `linked` holds the terms of the sentences elsewhere that name its title, `named_by` those pages.

    `text` is the passage's text with every instruction replaced by as many spaces, so that offsets hold in both; `name`
    is its title, or empty where that is an instruction. Rules read these two, never `passage.text`.
    """

    index: int
    passage: Passage
    text: str
    name: str
    title: Hits
    own: Hits
    linked: Hits
    lines: tuple[Line, ...]
    named_by: tuple[int, ...] = ()
    asked: bool = False
    """Whether the question names its title."""


@dataclass(frozen=True)
class Evidence:
    """All pages of one question, the weight of each term (prior × rarity over the pages), and the thresholds."""

    question: Question
    weights: Hits
    pages: tuple[Page, ...]
    settings: RuleSettings = DEFAULTS

    def coverage(self, found: Hits, only: Sequence[bool] | None = None) -> float:
        """Weighted share of the question's terms in `found`, 0..1; with `only`, of the marked terms.

        0 when there are none.
        """
        marks = only if only is not None else [True] * len(found)
        check()
        total = sum(w for w, use in zip(self.weights, marks, strict=True) if use)
        return sum(w * h for w, h, use in zip(self.weights, found, marks, strict=True) if use) / total if total else 0.0


def merge(*vectors: Hits) -> Hits:
    """Element-wise maximum."""
    return tuple(max(column) for column in zip(*vectors, strict=True))


def scale(vector: Hits, factor: float) -> Hits:
    """Element-wise product with a number."""
    return tuple(value * factor for value in vector)


_Piece = tuple[str, int, int, Hits]
"""A sentence, its start and end in the text, and the terms that it holds."""


@dataclass(frozen=True)
class _Cut:
    """A passage cut into sentences, each with its offsets, its terms and its folded text.

    Title and text as in `Page`.
    """

    passage: Passage
    text: str
    name: str
    title: Hits
    pieces: tuple[_Piece, ...]
    folded: tuple[str, ...]


@dataclass(frozen=True)
class _Known:
    """A passage by what the rules read of it."""

    id: str
    title: str
    text: str
    published: date | None
    passage: Passage = field(compare=False)


def gather(question: Question, passages: Sequence[Passage], settings: RuleSettings | None = None) -> Evidence:
    """Cut the passages into lines and match the question's terms in them."""
    known = tuple(_Known(p.id, p.title, p.text, p.published, p) for p in passages)
    return _gathered(question, known, settings or DEFAULTS)


# One question gathers the same passages to judge, to answer, to check and to cite.
@lru_cache(maxsize=4)
def _gathered(question: Question, known: tuple[_Known, ...], settings: RuleSettings) -> Evidence:
    passages = [each.passage for each in known]
    cuts = [_cut(question, passage) for passage in passages]
    own = [merge(cut.title, *(piece[3] for piece in cut.pieces)) for cut in cuts]
    weights = _weights(question, own)
    pages = []
    for i, (cut, link) in enumerate(zip(cuts, _links(question, cuts), strict=True)):
        lines = _lines(i, cut.title, own[i], link.terms, cut.pieces)
        pages.append(
            Page(i, cut.passage, cut.text, cut.name, cut.title, own[i], link.terms, lines, link.pages, link.asked)
        )
    return Evidence(question, weights, tuple(pages), settings)


def _cut(question: Question, passage: Passage) -> _Cut:
    # One question reads each passage several times: to judge, to check the claims, to cite. Few books are kept: they are large.
    read = _kept_reading if len(passage.text) <= 20_000 else _kept_book
    clean, pieces, folded = read(question.terms, passage.text)
    name, title = _kept_title(question.terms, passage.title)
    return _Cut(passage, clean, name, title, pieces, folded)


def _reading(terms: tuple[Term, ...], text: str) -> tuple[str, tuple[_Piece, ...], tuple[str, ...]]:
    """The text with spaces for its instructions, and the other sentences with the terms that each holds, and folded."""
    pieces: list[_Piece] = []
    kept: list[str] = []
    before, position = "", 0
    for piece, start, end in stretches(text):
        check()
        if not _WORDS.search(piece):
            continue
        if is_instruction(piece, before):
            kept += [text[position:start], " " * (end - start)]
            position = end
        else:
            pieces.append((piece, start, end, hits(terms, piece)))
        before = piece
    return "".join([*kept, text[position:]]), tuple(pieces), tuple(fold(piece[0]) for piece in pieces)


def _title(terms: tuple[Term, ...], title: str) -> tuple[str, Hits]:
    """The title and the terms that it holds; an instruction is none."""
    name = "" if is_instruction(title) else title
    return name, hits(terms, name)


_kept_reading = lru_cache(maxsize=512)(_reading)
_kept_book = lru_cache(maxsize=2)(_reading)
_kept_title = lru_cache(maxsize=512)(_title)


def _weights(question: Question, own: list[Hits]) -> Hits:
    """Prior × rarity. Rarity = 1 − df / (2·max(N, RARE_OVER)): a term of every passage weighs half, a unique one all.

    The usual logarithm has no bound, so unrelated passages could move a grade at will; this form moves each weight by
    a factor of 2 at most.
    """
    size = max(len(own), RARE_OVER)
    return tuple(term.weight * (1 - sum(h[i] > 0 for h in own) / (2 * size)) for i, term in enumerate(question.terms))


def _lines(index: int, title: Hits, page: Hits, linked: Hits, cut: tuple[_Piece, ...]) -> tuple[Line, ...]:
    around = merge(scale(title, TITLE), scale(page, PAGE))
    lines = []
    for i, (text, start, end, own) in enumerate(cut):
        check()
        goes_on = GOES_ON.match(text) is not None
        near = [
            scale(cut[j][3], TITLE if goes_on and j < i else NEIGHBOUR) for j in (i - 1, i + 1) if 0 <= j < len(cut)
        ]
        gain = any(linked) and any(h > 0 and not before for h, before in zip(own, linked, strict=True))
        lines.append(
            Line(index, text, start, end, own, merge(own, around, scale(linked, CHAIN if gain else LINK), *near))
        )
    return tuple(lines)


@dataclass(frozen=True)
class _Link:
    """Who names the title of a page: the question (`asked`), or sentences of other pages, with their terms."""

    terms: Hits
    pages: tuple[int, ...] = ()
    asked: bool = False


def _links(question: Question, cuts: Sequence[_Cut]) -> list[_Link]:
    """For each passage, the terms of the sentences of *other* passages that name its title.

    A title that the question itself names is no link.
    """
    none = (0.0,) * len(question.terms)
    titles = [fold(core_title(cut.name)) for cut in cuts]
    linked = []
    for i, title in enumerate(titles):
        if len(title) < (2 if has_cjk(title) else 4):
            linked.append(_Link(none))
            continue
        vectors: list[Hits] = []
        pages: list[int] = []
        for j, other in enumerate(cuts):
            if j == i or titles[j] == title:
                continue
            found = [p[3] for p, folded in zip(other.pieces, other.folded, strict=True) if title in folded]
            vectors += [merge(scale(other.title, TITLE), own) for own in found]
            pages += [j] if found else []
        asked = stands_in(title, question.text)
        linked.append(_Link(none if title in fold(question.text) else merge(none, *vectors), tuple(pages), asked))
    return linked


def core_title(title: str) -> str:
    """A title without its parenthesis: Stretch (2011 film) → Stretch.

    By position and not by pattern: a pattern tries every bracket and every run of spaces of a hostile title.
    """
    bare = title.strip()
    if not bare.endswith((")", "）")):
        return bare
    inside = max(bare.rfind(mark, 0, len(bare) - 1) for mark in ")）") + 1
    opened = [at for mark in "(（" if (at := bare.find(mark, inside)) >= 0]
    return bare[: min(opened)].strip() if opened else bare
