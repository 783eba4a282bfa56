"""Which passages are out of date for the question: too old for now, too new, too early, or superseded.

Two rules, both for passages that would answer: on topic, about the question's names, with a value of the asked kind. A
passage is *superseded* when another one about the same, whose date fits the question's time better, contradicts it or
gives a different value. A passage is *out of bounds* by itself when its own date rules it out: older than a fact of that
kind stays true (for "now"), or stating years that all lie outside the time asked for. A passage of unknown date is never
out of date, nor is one that a passage within bounds agrees with; a date after today is as good as unknown for "now".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from reflective_rag.programs.rules.comparing import PUNCTUAL, same_subject
from reflective_rag.programs.rules.contradiction import contradictions
from reflective_rag.programs.rules.dates import spoken_years
from reflective_rag.programs.rules.evidence import Evidence, Line, Page, merge
from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.settings import RuleSettings
from reflective_rag.programs.rules.spans import candidates
from reflective_rag.programs.rules.updates import replaced_pages
from reflective_rag.programs.rules.validity import edition_years, valid_from
from reflective_rag.programs.rules.values import numbers, worded_amount
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.types import Contradiction

_FAST = late_pattern(
    r"\b(?:price|cost|costs|rate|rates|stock|share price|exchange|weather|temperature|score|ranking|rank(?:ed|s)?|standings|record|version|release|model|champions?|holder|followers|subscribers|worth|richest|fastest|latest|newest|most recent)\b"
    r"|价格|售价|股价|汇率|利率|房价|油价|天气|气温|比分|排名|榜首|纪录|记录|版本|型号|冠军|粉丝|身家|首富|最新|行情|票价",
    re.IGNORECASE,
)
_SLOW = late_pattern(
    r"\b(?:population|inhabitants|residents|area|census|largest|tallest|longest)\b|人口|面积|居民|最大|最高|最长",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Version:
    """What one page says of the asked fact ("" where no value can be read), when, and the years its sentence states."""

    page: int
    value: str
    when: date
    said: tuple[int, ...]
    published: bool
    line: Line
    start: date | None = None
    """From when it says to hold; it is never too old by its age."""


def stale_after(question: Question, settings: RuleSettings) -> int:
    """Age in years above which a statement about "now" is out of date, by the kind of fact that is asked."""
    if _FAST.search(question.text):
        return settings.stale_fast_years
    return settings.stale_slow_years if _SLOW.search(question.text) else settings.stale_years


def outdated_pages(evidence: Evidence, conflicts: Sequence[Contradiction] | None = None) -> frozenset[int]:
    """Indexes of pages out of date; for a timeless question only what a later rule replaces. Unknown dates never are.

    `conflicts` are the contradictions of the same evidence, where they were looked for already.
    """
    if evidence.question.time.scope == "timeless":
        return superseded_pages(evidence, conflicts)
    versions = _versions(evidence)
    outside = {version.page for version in versions if _out_of_bounds(evidence, version)}
    inside = [version for version in versions if version.page not in outside]
    alone = {
        version.page
        for version in versions
        if version.page in outside and not any(_agree(evidence, other, version) for other in inside)
    }
    return frozenset(alone) | superseded_pages(evidence, conflicts)


def superseded_pages(evidence: Evidence, conflicts: Sequence[Contradiction] | None = None) -> frozenset[int]:
    """Indexes of the pages that another, better dated one contradicts, or of which one gives a different value."""
    versions = _versions(evidence)
    if evidence.question.time.scope == "timeless":
        old = frozenset(v.page for v in versions if any(_replaces(evidence, other, v) for other in versions))
        return old | replaced_pages(evidence)
    gone = {v.page for v in versions if any(_supersedes(evidence, other, v) for other in versions)}
    return frozenset(gone) | _contradicted(evidence, conflicts) | replaced_pages(evidence)


def _contradicted(evidence: Evidence, conflicts: Sequence[Contradiction] | None) -> frozenset[int]:
    """Of each two pages that contradict each other, the one that the asked time leaves behind; by their date fields."""
    dated_pages = [page for page in evidence.pages if page.passage.published is not None]
    if len(dated_pages) < 2:
        return frozenset()
    found = contradictions(evidence) if conflicts is None else conflicts
    pages = {page.passage.id: page for page in dated_pages}
    gone: set[int] = set()
    for a, b in ((pages.get(c.passage_a), pages.get(c.passage_b)) for c in found):
        one, two = (page.passage.published if page else None for page in (a, b))
        if a is None or b is None or one is None or two is None:
            continue
        if not _is_future(evidence, one) and not _is_future(evidence, two):
            gone |= {
                page.index for page, when, other in ((a, one, two), (b, two, one)) if _better(evidence, other, when)
            }
    return frozenset(gone)


def _versions(evidence: Evidence) -> list[Version]:
    return [version for page in evidence.pages for version in _version(evidence, page)]


def _best_line(evidence: Evidence, page: Page) -> Line | None:
    best = max(page.lines, key=lambda line: (evidence.coverage(line.context), -line.start), default=None)
    on_topic = best is not None and evidence.coverage(best.context) >= evidence.settings.on_topic
    return best if on_topic else None


def _version(evidence: Evidence, page: Page) -> list[Version]:
    """The page's own answer with its date; empty when the page does not answer or its date is not known."""
    line = _best_line(evidence, page)
    if line is None or not _about_it(evidence, page, line):
        return []
    start = valid_from(line.text)
    said = () if start else _said(evidence, line.text) or edition_years(page)
    when = start or page.passage.published or (date(max(said), 12, 31) if said else None)
    if when is None or _is_future(evidence, when):
        return []
    spans = candidates(evidence, line)
    if not spans and evidence.question.kind in ("person", "place", "time", "number"):
        return []
    value = fold(spans[0].text) if spans else ""
    return [Version(page.index, value, when, said, page.passage.published is not None, line, start)]


def _about_it(evidence: Evidence, page: Page, line: Line) -> bool:
    """Whether the sentence with its page names most of what the question names."""
    entity = [term.entity for term in evidence.question.terms]
    named = merge(page.title, line.context, page.linked)
    return not any(entity) or evidence.coverage(named, entity) >= evidence.settings.covered


def _said(evidence: Evidence, text: str) -> tuple[int, ...]:
    """The years a sentence says it holds for.

    The year of an event (a birth, a film) does not say when the sentence holds, nor does, for "now", one still to come.
    """
    today = evidence.question.time.end if evidence.question.time.scope == "now" else None
    if PUNCTUAL.search(text):
        return ()
    return tuple(year for year in spoken_years(text) if today is None or year <= today.year)


def _is_future(evidence: Evidence, when: date) -> bool:
    """Whether a day lies after today where the present is asked for; the last day of this year stands for the year."""
    time = evidence.question.time
    if time.scope != "now" or time.end is None:
        return False
    return when > max(time.end, date(time.end.year, 12, 31) if (when.month, when.day) == (12, 31) else time.end)


def _out_of_bounds(evidence: Evidence, version: Version) -> bool:
    """Whether the date of a statement alone rules it out.

    A publication date after the time asked for does not: an article of 2024 may tell of 2010. Years that the sentence
    itself states do, when every one lies outside. A text from before the time asked for cannot tell of it.
    """
    time, settings = evidence.question.time, evidence.settings
    bound = stale_after(evidence.question, settings)
    if version.start is not None:
        return time.scope != "now" and time.end is not None and version.start > time.end
    if time.scope == "now":
        return time.end is not None and _years_between(version.when, time.end) >= bound
    start, end = time.start, time.end
    if version.said:
        late = end is not None and min(version.said) > end.year
        early = start is not None and max(version.said) < start.year - (bound if time.scope == "as_of" else 0)
        return late or early
    if start is None or not version.published:
        return False
    return version.when < start and (time.scope != "as_of" or _years_between(version.when, start) >= bound)


def _years_between(early: date, late: date) -> int:
    """Whole years from one day to another; negative when the second comes first."""
    return late.year - early.year - ((late.month, late.day) < (early.month, early.day))


def _supersedes(evidence: Evidence, other: Version, version: Version) -> bool:
    """Whether `other` is the better-dated statement of a *different* value."""
    if not other.value or not version.value or _agree(evidence, other, version):
        return False
    return same_subject(evidence, other.line, version.line) and _better(evidence, other.when, version.when)


def _replaces(evidence: Evidence, other: Version, version: Version) -> bool:
    """Whether, with no time asked for, a rule says of itself that it holds from a day on which the other is older than.

    One that holds only from a day still to come replaces nothing.
    """
    start, today = other.start, evidence.question.today
    if start is None or today is None or not version.when < start <= today:
        return False
    return not _agree(evidence, other, version) and same_subject(evidence, other.line, version.line)


def _better(evidence: Evidence, other: date, when: date) -> bool:
    """Whether `other` fits the time asked for better than `when` does."""
    time = evidence.question.time
    if time.scope == "now":
        return when < other
    if time.end is not None and when > time.end:
        return _inside(other, time.start if time.scope == "between" else None, time.end)
    if time.scope == "as_of":
        return when < other and (time.end is None or other <= time.end)
    if time.start is not None and when < time.start:
        return _inside(other, time.start, time.end)
    return False


def _inside(when: date, start: date | None, end: date | None) -> bool:
    return (start is None or when >= start) and (end is None or when <= end)


def _agree(evidence: Evidence, a: Version, b: Version) -> bool:
    """Same value, or each text holds the other's value (then the difference is only in what was extracted).

    A page from which no value can be read disagrees with none. Amounts are compared as amounts: 2.1 million, 2,100,000.
    """
    if fold(a.line.text) == fold(b.line.text):
        return True
    if not a.value or not b.value:
        return False
    text_a, text_b = (fold(evidence.pages[version.page].text) for version in (a, b))
    if a.value in b.value or b.value in a.value or (a.value in text_b and b.value in text_a):
        return True
    x, y = (_amount(version.value) if evidence.question.kind == "number" else None for version in (a, b))
    return x is not None and y is not None and abs(x - y) <= evidence.settings.same_amount * max(abs(x), abs(y))


def _amount(value: str) -> float | None:
    found = numbers(value)
    return worded_amount(found[0]) if found else None
