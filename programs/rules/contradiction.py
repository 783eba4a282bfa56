"""Pairs of passages that cannot both be right: a differing number, a differing year, a flipped negation, a swapped name.

Precision comes before recall: both sentences must be on topic and about the same subject, and an explicit difference of time or of named
things is taken for a difference of scope, not for a contradiction.
"""

import re
from dataclasses import dataclass
from itertools import combinations, takewhile

from reflective_rag.programs.rules.deciding import negated
from reflective_rag.programs.rules.evidence import Evidence, Line, merge
from reflective_rag.programs.rules.matching import fold, has_cjk, stem
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.spans import candidates
from reflective_rag.programs.rules.time import years
from reflective_rag.programs.rules.values import amount, numbers
from reflective_rag.programs.rules.words import STOP_EN
from reflective_rag.signatures.text import tokenize
from reflective_rag.signatures.types import Contradiction

ON_TOPIC = 0.6
"""Least coverage of the question's terms by a sentence with its title and neighbours."""

ALIKE, NEARLY_SAME, SWAPPED = 0.2, 0.6, 0.4
"""Least overlap (Jaccard over content words, numbers left out) of two sentences for a differing value, a negation, a swap."""

SAME_AMOUNT = 0.02
"""Relative difference below which two amounts agree (rounding: 3.03 million, 3,031,000)."""

MAX_PAGES, MAX_SPAN, MAX_SWAP = 12, 240, 24
"""Most pages compared with each other; longest quoted span and longest swapped piece, in characters."""


MOST_WORDS = 0.6
"""Least share of the asked words (names left out) that both sentences hold, the same ones, before their values are compared."""

MIN_WORDS = 4
"""Fewest content words of a sentence that can contradict by a swap (a bare date line cannot)."""

_PART_OF_YEAR = re.compile(
    r"[一二三四1-4]季度|\bq[1-4]|\d{1,2}月份|[上下]半年|第[一二三四]季|\b(?:first|second|third|fourth)[- ](?:quarter|half)\b"
)
_PIECE = re.compile(r"[\w·.\-–'’ %$&]+")


@dataclass(frozen=True)
class _Statement:
    """The sentence of a page that speaks to the question, and the value it gives."""

    line: Line
    words: frozenset[str]
    value: str


def contradictions(evidence: Evidence) -> tuple[Contradiction, ...]:
    """Contradicting pairs, one a pair of passages. `newer` is the id of the later-published one where both dates are known and differ."""
    statements = [_statement(evidence, line) for line in _topic_lines(evidence)[:MAX_PAGES]]
    found = []
    for a, b in combinations(statements, 2):
        about = _disagreement(evidence, a, b)
        if about:
            found.append(_contradiction(evidence, a, b, about))
    return tuple(found)


def _topic_lines(evidence: Evidence) -> list[Line]:
    """The best sentence of each page that is on topic, best page first; a text that repeats under another id is left out."""
    best: dict[str, tuple[float, Line]] = {}
    for page in evidence.pages:
        for line in page.lines:
            score = evidence.coverage(line.context)
            key = page.passage.key
            if score >= ON_TOPIC and (key not in best or score > best[key][0]):
                best[key] = (score, line)
    return [line for _, line in sorted(best.values(), key=lambda item: (-item[0], item[1].page))]


def _statement(evidence: Evidence, line: Line) -> _Statement:
    spans = candidates(evidence, line)
    words = {stem(token) for token in tokenize(line.text) if token not in STOP_EN and not token[0].isdigit()}
    return _Statement(line, frozenset(words), spans[0].text if spans else "")


def _disagreement(evidence: Evidence, a: _Statement, b: _Statement) -> str:
    """What two statements disagree on, in words; empty when they do not, or when it cannot be told."""
    overlap = len(a.words & b.words) / max(1, len(a.words | b.words))
    if overlap < ALIKE or not _same_subject(evidence, a.line, b.line):
        return ""
    kind = evidence.question.kind
    if kind in ("time", "number") and not _same_attribute(evidence, a.line, b.line):
        return ""
    if kind == "time":
        return _years_differ(a, b, overlap)
    if not _same_time(a.line.text, b.line.text):
        return ""
    if kind == "number":
        return _numbers_differ(evidence, a, b)
    if overlap >= NEARLY_SAME and negated(a.line.text) != negated(b.line.text):
        return "negation"
    if overlap < SWAPPED or min(len(a.words), len(b.words)) < MIN_WORDS:
        return ""
    return _swapped(evidence, a.line.text, b.line.text)


def _same_subject(evidence: Evidence, a: Line, b: Line) -> bool:
    """Both hold the same names of the question, and neither title nor names point to two different things."""
    pages = evidence.pages[a.page], evidence.pages[b.page]
    titles = [fold(page.passage.title) for page in pages]
    if all(titles) and titles[0] != titles[1]:
        return False
    entity = [term.entity or term.text[0].isdigit() for term in evidence.question.terms]
    held = [
        [h > 0 for h, use in zip(merge(line.own, page.title), entity, strict=True) if use]
        for line, page in zip((a, b), pages, strict=True)
    ]
    return held[0] == held[1] and (not held[0] or any(held[0]))


def _same_attribute(evidence: Evidence, a: Line, b: Line) -> bool:
    """Both hold the same words of what is asked, themselves: a profit is not a contradiction of a turnover."""
    wanted = [not term.entity and term.weight >= 1 for term in evidence.question.terms]
    held = [[h > 0 for h, use in zip(line.own, wanted, strict=True) if use] for line in (a, b)]
    return held[0] == held[1] and (not held[0] or sum(held[0]) >= MOST_WORDS * len(held[0]))


def _same_time(a: str, b: str) -> bool:
    """False when both state years and share none (2019 and 2023 are two scopes), or when only one speaks of a part of the year."""
    if set(_PART_OF_YEAR.findall(fold(a))) != set(_PART_OF_YEAR.findall(fold(b))):
        return False
    ours, theirs = set(years(a)), set(years(b))
    return not ours or not theirs or bool(ours & theirs)


def _other_names(a: str, b: str) -> bool:
    """Whether each sentence names something that the other does not: they may speak of two namesakes."""
    ours, theirs = ({fold(span.text) for span in names(text)} for text in (a, b))
    return any(name not in fold(b) for name in ours) and any(name not in fold(a) for name in theirs)


def _years_differ(a: _Statement, b: _Statement, overlap: float) -> str:
    ours, theirs = set(years(a.value)), set(years(b.value))
    several = max(len(years(s.line.text)) for s in (a, b)) > 1
    if several and overlap < NEARLY_SAME:
        return ""
    if not ours or not theirs or ours & theirs or ours & set(years(b.line.text)) or theirs & set(years(a.line.text)):
        return ""
    return "" if _other_names(a.line.text, b.line.text) else f"{a.value} / {b.value}"


def _numbers_differ(evidence: Evidence, a: _Statement, b: _Statement) -> str:
    texts = [fold(evidence.pages[s.line.page].passage.text) for s in (a, b)]
    if fold(a.value) in texts[1] or fold(b.value) in texts[0]:
        return ""
    ours, theirs = ([span for span in numbers(s.line.text) if span.text == s.value] for s in (a, b))
    if not ours or not theirs or ours[0].unit != theirs[0].unit or _other_names(a.line.text, b.line.text):
        return ""
    x, y = amount(ours[0]), amount(theirs[0])
    if x is None or y is None or abs(x - y) <= SAME_AMOUNT * max(abs(x), abs(y)):
        return ""
    return f"{a.value} / {b.value}"


def _swapped(evidence: Evidence, a: str, b: str) -> str:
    """The two pieces when the sentences are the same but for one name or number that the question does not hold."""
    if max(len(a), len(b)) > 2 * MAX_SPAN:
        return ""
    left, right = _tokens(a), _tokens(b)
    head = _alike(left, right)
    tail = _alike(left[head:][::-1], right[head:][::-1])
    pieces = "".join(left[head : len(left) - tail]).strip(), "".join(right[head : len(right) - tail]).strip()
    asked = fold(evidence.question.text)
    if any(not _PIECE.fullmatch(piece) or len(piece) > MAX_SWAP or fold(piece) in asked for piece in pieces):
        return ""
    proper = all(has_cjk(piece) or piece[:1].isupper() or piece[:1].isdigit() for piece in pieces)
    proper = proper and pieces[0][0].isdigit() == pieces[1][0].isdigit()
    return f"{pieces[0]} / {pieces[1]}" if proper else ""


def _alike(left: list[str], right: list[str]) -> int:
    """How many tokens two lists have in common from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def _tokens(text: str) -> list[str]:
    """Words with their spaces; single characters in Chinese."""
    return list(text) if has_cjk(text) else re.findall(r"\w+|\W+", text)


def _contradiction(evidence: Evidence, a: _Statement, b: _Statement, about: str) -> Contradiction:
    first, second = (evidence.pages[s.line.page].passage for s in (a, b))
    newer = None
    if first.published and second.published and first.published != second.published:
        newer = first.id if first.published > second.published else second.id
    topic = " ".join(term.text for term in evidence.question.attribute) or evidence.question.text
    return Contradiction(
        passage_a=first.id,
        span_a=_span(a),
        passage_b=second.id,
        span_b=_span(b),
        about=f"{topic}: {about}",
        newer=newer,
    )


def _span(statement: _Statement) -> str:
    """The sentence, or the part of a long one around the value; always a substring of the passage."""
    text = statement.line.text
    if len(text) <= MAX_SPAN:
        return text
    at = max(0, text.find(statement.value) - MAX_SPAN // 2)
    return text[at : at + MAX_SPAN].strip()
