"""What two statements disagree on: a number, a year, a negation, an antonym, or one swapped piece."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reflective_rag.programs.rules.dates import spoken_years, years
from reflective_rag.programs.rules.deciding import negated
from reflective_rag.programs.rules.evidence import Evidence, Line, merge
from reflective_rag.programs.rules.matching import fold, stem
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.opposites import opposed, restricted, scopes
from reflective_rag.programs.rules.swaps import Swap, excludes, swap
from reflective_rag.programs.rules.tolerance import Hedge, amounts_agree, hedge, years_agree
from reflective_rag.programs.rules.values import numbers, worded_amount
from reflective_rag.signatures.text import tokenize

TWIN, TWIN_PAGES = 0.7, 0.5
"""Least overlap (Jaccard over content words) of two sentences, and of two untitled pages, that are held to be
versions of
one text."""

MIN_WORDS = 3
"""Fewest content words of a sentence that is compared with its twin: a bare date line says nothing by itself."""

KEY_OF_FRAME = 0.5
"""Least coverage of the question by what two sentences with a swapped piece have in common, with title and
neighbours."""

_PART_OF_YEAR = re.compile(
    r"[一二三四1-4]季度|\bq[1-4]|\d{1,2}月份|[上下]半年|第[一二三四]季|\b(?:first|second|third|fourth)[- ](?:quarter|half)\b"
)
_EVENT = re.compile(
    r"\b(?:born|died|built|won|wed|begun|began|written|sung|\w{3,}ed)\b|生于|出生|去世|逝世|成立|建成|创办|创立|创建|发行|上映|开通|开业|完工|竣工|出版|发布|当选|结婚|毕业|登基|即位|爆发|签订|发现|发明|首播|播出|建立|设立|通车|落成|举行|举办",
    re.IGNORECASE,
)
_FRAMED = re.compile(
    r"^\W*(?:(?:in|as\s+of|during|by|since|until|for|the|year|census|season|at)\s*)*$|(?:截至|截止|至|到)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Statement:
    """A sentence of a page, its content words, and a reader of the value it gives to the question."""

    line: Line
    words: frozenset[str]
    read: Callable[[], str]


def disagreement(evidence: Evidence, a: Statement, b: Statement) -> str:
    """What two statements on topic disagree on, in words; empty when they do not, or when it cannot be told."""
    overlap, settings = _overlap(a, b), evidence.settings
    words = opposed(a.line.text, b.line.text)
    frame = max(overlap, _frame(evidence, a, b, words))
    if frame < settings.alike or not _same_subject(evidence, a.line, b.line) or not _same_scope(a, b):
        return ""
    kind = evidence.question.kind
    if kind in ("time", "number") and not _same_attribute(evidence, a.line, b.line):
        return ""
    if kind == "time":
        return _years_differ(a, b, overlap, settings.nearly_same)
    if not _same_time(a.line.text, b.line.text):
        return ""
    if kind == "number":
        return _numbers_differ(evidence, a, b)
    if (frame if words else overlap) >= settings.nearly_same and not restricted(a.line.text, b.line.text):
        if negated(a.line.text) != negated(b.line.text):
            return "negation"
        if words:
            return words
    return _swapped(evidence, a, b) if frame >= settings.swapped else ""


def twins(
    evidence: Evidence, ours: Sequence[Statement], theirs: Sequence[Statement]
) -> tuple[Statement, Statement, str] | None:
    """The first two sentences of two pages that are one text but for a value, and that value in both.

    Pages of one title only; without titles the pages must be nearly the same, or the sentences share a name.
    """
    if not ours or not theirs:
        return None
    alike = _pages_alike(evidence, ours, theirs)
    if alike is None:
        return None
    for a in ours:
        size = len(a.words)
        for b in theirs if size >= MIN_WORDS else ():
            # The sizes alone rule most pairs out, which keeps the comparison of long pages cheap.
            if not TWIN * size <= len(b.words) <= size / TWIN or _overlap(a, b) < TWIN or not _same_scope(a, b):
                continue
            found = swap(a.line.text, b.line.text)
            shared = found is not None and (alike or bool(names(found.before + found.after)))
            if found and shared and _exclude(evidence, found):
                return a, b, f"{found.left} / {found.right}"
    return None


def _pages_alike(evidence: Evidence, ours: Sequence[Statement], theirs: Sequence[Statement]) -> bool | None:
    """True for two versions of one page, False when it cannot be told, None for pages of two titles."""
    pages = [evidence.pages[side[0].line.page] for side in (ours, theirs)]
    titles = [fold(page.name) for page in pages]
    if titles[0] != titles[1]:
        return None
    if titles[0]:
        return True
    words = [frozenset[str]().union(*(statement.words for statement in side)) for side in (ours, theirs)]
    return len(words[0] & words[1]) >= TWIN_PAGES * max(1, len(words[0] | words[1]))


def _exclude(evidence: Evidence, found: Swap) -> bool:
    """Whether a swap is a contradiction: pieces that exclude each other, not asked about, and no mere other time."""
    asked = fold(evidence.question.text)
    if any(not piece or fold(piece) in asked for piece in (found.left, found.right)) or not excludes(found):
        return False
    if years(_whole_number(found.left)) and years(_whole_number(found.right)):
        event = evidence.question.kind == "time" or _EVENT.search(found.before + found.after) is not None
        return event and not _FRAMED.search(found.before)
    return True


def _whole_number(piece: str) -> str:
    return piece if not piece.isdigit() or len(piece) == 4 else ""


def _overlap(a: Statement, b: Statement) -> float:
    return len(a.words & b.words) / max(1, len(a.words | b.words))


def _frame(evidence: Evidence, a: Statement, b: Statement, opposites: str) -> float:
    """The overlap of what is left when the values compared are taken out: two-word names would outweigh the rest."""
    values = tuple(opposites.split(" / ")) if opposites else ()
    if not values and evidence.question.kind in ("person", "place"):
        values = a.read(), b.read()
    if len(values) != 2:
        return 0.0
    ours, theirs = ({stem(token) for token in tokenize(value)} for value in values)
    left, right = a.words - (ours - theirs), b.words - (theirs - ours)
    return len(left & right) / max(1, len(left | right))


def _same_subject(evidence: Evidence, a: Line, b: Line) -> bool:
    """Both hold the same names of the question, and neither title nor names point to two different things."""
    pages = evidence.pages[a.page], evidence.pages[b.page]
    titles = [fold(page.name) for page in pages]
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
    least = evidence.settings.same_attribute * len(held[0])
    return held[0] == held[1] and (not held[0] or sum(held[0]) >= least)


def _same_scope(a: Statement, b: Statement) -> bool:
    """False when one is about the metropolitan area, the census, the second quarter, … and the other is not."""
    return scopes(a.line.text) == scopes(b.line.text)


def _same_time(a: str, b: str) -> bool:
    """False when both state years and share none, or when only one speaks of a year or a part of the year.

    2019 and 2023 are two scopes, and so are 2019 and an unknown time.
    """
    if set(_PART_OF_YEAR.findall(fold(a))) != set(_PART_OF_YEAR.findall(fold(b))):
        return False
    ours, theirs = set(years(a)), set(years(b))
    if ours and theirs:
        return bool(ours & theirs)
    return not any(spoken_years(text) and not _EVENT.search(text) for text in (a, b))


def _other_names(a: str, b: str) -> bool:
    """Whether each sentence names something that the other does not: they may speak of two namesakes."""
    ours, theirs = ({fold(span.text) for span in names(text)} for text in (a, b))
    return any(name not in fold(b) for name in ours) and any(name not in fold(a) for name in theirs)


def _years_differ(a: Statement, b: Statement, overlap: float, nearly_same: float) -> str:
    values = a.read(), b.read()
    ours, theirs = (set(years(value)) for value in values)
    several = max(len(years(s.line.text)) for s in (a, b)) > 1
    if several and overlap < nearly_same:
        return ""
    if not ours or not theirs or ours & theirs or ours & set(years(b.line.text)) or theirs & set(years(a.line.text)):
        return ""
    if len(ours) == len(theirs) == 1:
        how_a, how_b = _hedged(a, values[0]), _hedged(b, values[1])
        if years_agree(min(ours), how_a, min(theirs), how_b):
            return ""
    return "" if _other_names(a.line.text, b.line.text) else f"{values[0]} / {values[1]}"


def _hedged(statement: Statement, value: str) -> Hedge:
    """How a statement gives its value: as it is, roughly, or as a bound."""
    before, _, behind = statement.line.text.partition(value)
    return hedge(before, behind)


def _numbers_differ(evidence: Evidence, a: Statement, b: Statement) -> str:
    values = a.read(), b.read()
    texts = [fold(evidence.pages[s.line.page].text) for s in (a, b)]
    if fold(values[0]) in texts[1] or fold(values[1]) in texts[0]:
        return ""
    ours, theirs = (
        [span for span in numbers(s.line.text) if span.text == value] for s, value in zip((a, b), values, strict=True)
    )
    if not ours or not theirs or ours[0].unit != theirs[0].unit or _other_names(a.line.text, b.line.text):
        return ""
    x, y = worded_amount(ours[0]), worded_amount(theirs[0])
    if x is None or y is None or abs(x - y) <= evidence.settings.same_amount * max(abs(x), abs(y)):
        return ""
    if amounts_agree(x, _hedged(a, values[0]), y, _hedged(b, values[1])):
        return ""
    return f"{values[0]} / {values[1]}"


def _swapped(evidence: Evidence, a: Statement, b: Statement) -> str:
    """The two pieces when the sentences are the same but for one, and what they share speaks to the question."""
    found = swap(a.line.text, b.line.text)
    if found is None or not _exclude(evidence, found) or not _is_asked(evidence, a, b, found):
        return ""
    shared = tuple(min(x, y) for x, y in zip(a.line.context, b.line.context, strict=True))
    return f"{found.left} / {found.right}" if evidence.coverage(shared) >= KEY_OF_FRAME else ""


def _is_asked(evidence: Evidence, a: Statement, b: Statement, found: Swap) -> bool:
    """Whether the swapped piece is the asked value, or stands where it stands, for kinds whose value can be read."""
    if evidence.question.kind not in ("person", "place"):
        return True
    pairs = ((fold(a.read()), fold(found.left)), (fold(b.read()), fold(found.right)))
    return any(value and (value in piece or piece in value) for value, piece in pairs)
