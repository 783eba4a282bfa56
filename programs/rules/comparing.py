"""When two statements may be compared at all: one subject, one attribute, one scope, one time."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reflective_rag.programs.rules.dates import spoken_years, years
from reflective_rag.programs.rules.evidence import GOES_ON, Evidence, Hits, Line, Page, core_title, merge
from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.opposites import scopes
from reflective_rag.programs.rules.question import WEIGHT_WEAK
from reflective_rag.programs.rules.units import UNITS
from reflective_rag.programs.rules.validity import without_revision
from reflective_rag.signatures.patterns import late_pattern

_PART_OF_YEAR = late_pattern(
    r"[一二三四1-4]季度|\bq[1-4]|\d{1,2}月份|[上下]半年|第[一二三四]季|\b(?:first|second|third|fourth)[- ](?:quarter|half)\b"
)
EVENT = late_pattern(
    r"\b(?:born|died|built|won|wed|begun|began|written|sung|\w{3,}ed)\b|生于|出生|去世|逝世|成立|建成|创办|创立|创建|发行|上映|开通|开业|完工|竣工|出版|发布|当选|结婚|毕业|登基|即位|爆发|签订|发现|发明|首播|播出|建立|设立|通车|落成|举行|举办",
    re.IGNORECASE,
)
"""Words of an event, whose year is a part of it and no time at which a statement holds."""
PUNCTUAL = late_pattern(
    r"\b(?:born|died|dies|buried|built|founded|established|released|premier\w*|published|directed|written|composed|recorded|filmed|starr\w+"
    r"|film|movie|album|song|single|novel|book|series|opened|completed|married)\b|[(（][^()（）]{0,24}\d{4}\s*[-–—)）]"
    r"|出生|生于|去世|逝世|上映|公映|发行|出版|发布|首播|执导|建成|成立|创立|创办|开业|开通|完工|竣工|结婚|毕业|电影|专辑|歌曲|小说",
    re.IGNORECASE,
)
"""Words of what happens once: its year is no time at which the rest of the sentence holds."""


@dataclass(frozen=True)
class Statement:
    """A sentence of a page, its content words, and a reader of the value it gives to the question."""

    line: Line
    words: frozenset[str]
    read: Callable[[], str]


def overlap(a: Statement, b: Statement) -> float:
    """Jaccard similarity of the content words."""
    return len(a.words & b.words) / max(1, len(a.words | b.words))


def same_subject(evidence: Evidence, a: Line, b: Line) -> bool:
    """Both hold the same names of the question, and neither title nor names point to two different things.

    Under two titles (a page about a city, one about its history) the sentences must hold these names themselves, all
    of them; two titles that differ in what stands in brackets are two namesakes.
    """
    pages = evidence.pages[a.page], evidence.pages[b.page]
    entity = [term.entity or term.text[0].isdigit() for term in evidence.question.terms]
    if _others(pages, (a, b)):
        return False
    held = [
        [h > 0 for h, use in zip(merge(_own(line, page), page.title), entity, strict=True) if use]
        for line, page in zip((a, b), pages, strict=True)
    ]
    if held[0] != held[1] or (held[0] and not any(held[0])):
        return False
    titles = [fold(without_revision(page.name)) for page in pages]
    if not all(titles) or titles[0] == titles[1]:
        return True
    if core_title(titles[0]) == core_title(titles[1]):
        return False
    if not held[0]:  # the question names no thing: both titles may be names of files, and both sentences answer it
        asked = [term.weight > WEIGHT_WEAK for term in evidence.question.terms]
        return any(asked) and all(h > 0 for line in (a, b) for h, use in zip(line.own, asked, strict=True) if use)
    return all(h > 0 for line in (a, b) for h, use in zip(line.own, entity, strict=True) if use)


def _before(line: Line, page: Page) -> Line | None:
    """The sentence that a sentence goes on from: it begins with a pronoun."""
    if not GOES_ON.match(line.text):
        return None
    at = next((i for i, each in enumerate(page.lines) if each.start == line.start), 0)
    return page.lines[at - 1] if at else None


def _own(line: Line, page: Page) -> Hits:
    """The terms of a sentence, and of the one that it goes on from."""
    before = _before(line, page)
    return merge(line.own, before.own) if before else line.own


def _others(pages: Sequence[Page], lines: Sequence[Line]) -> bool:
    """Whether the pronouns of two sentences stand for two things: each page begins what it goes on from with another name."""
    firsts = []
    for page, line in zip(pages, lines, strict=True):
        before = _before(line, page)
        named = names(before.text) if before else []
        if not before or not named:
            return False
        firsts.append((fold(named[0].text), fold(before.text)))
    (x, text_x), (y, text_y) = firsts
    return x not in text_y and y not in text_x


def same_attribute(evidence: Evidence, a: Line, b: Line) -> bool:
    """Both hold the same words of what is asked, themselves: a profit is not a contradiction of a turnover."""
    wanted = [not term.entity and term.weight >= 1 for term in evidence.question.terms]
    held = [[h > 0 for h, use in zip(line.own, wanted, strict=True) if use] for line in (a, b)]
    least = evidence.settings.same_attribute * len(held[0])
    return held[0] == held[1] and (not held[0] or sum(held[0]) >= least)


def same_scope(a: Statement, b: Statement) -> bool:
    """False when one is about the metropolitan area, the census, the second quarter, … and the other is not."""
    return scopes(a.line.text) == scopes(b.line.text)


def same_time(a: str, b: str) -> bool:
    """False when both state years and share none, or when only one speaks of a year or a part of the year.

    2019 and 2023 are two scopes, and so are 2019 and an unknown time.
    """
    if set(_PART_OF_YEAR.findall(fold(a))) != set(_PART_OF_YEAR.findall(fold(b))):
        return False
    ours, theirs = set(years(a)), set(years(b))
    if ours and theirs:
        return bool(ours & theirs)
    return not any(spoken_years(text) and not EVENT.search(text) for text in (a, b))


def other_names(a: str, b: str) -> bool:
    """Whether each sentence names something that the other does not: they may speak of two namesakes."""
    ours, theirs = (
        {name for span in names(text) if (name := fold(span.text)).split()[0] not in UNITS} for text in (a, b)
    )
    return any(name not in fold(b) for name in ours) and any(name not in fold(a) for name in theirs)
