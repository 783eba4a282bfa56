"""Which passages are out of date for the question: too old for now, too new, too early, or superseded.

Two rules, both for sentences on topic only. A passage is *superseded* when another one, whose date fits the question's
time better, gives a different value. A passage is *out of bounds* by itself when its own date rules it out: older than
a fact of that kind stays true (for "now"), or stating years that all lie outside the time asked for. A passage of
unknown date is never out of date, and neither is one that a passage within bounds agrees with.
"""

import re
from dataclasses import dataclass
from datetime import date

from reflective_rag.programs.rules.dates import dated, spoken_years
from reflective_rag.programs.rules.evidence import Evidence, Line, Page
from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.settings import RuleSettings
from reflective_rag.programs.rules.spans import candidates
from reflective_rag.programs.rules.values import numbers, worded_amount

_FAST = re.compile(
    r"\b(?:price|cost|costs|rate|rates|stock|share price|exchange|weather|temperature|score|ranking|rank(?:ed|s)?|standings|record|version|release|model|champions?|holder|followers|subscribers|worth|richest|fastest|latest|newest|most recent)\b"
    r"|价格|售价|股价|汇率|利率|房价|油价|天气|气温|比分|排名|榜首|纪录|记录|版本|型号|冠军|粉丝|身家|首富|最新|行情|票价",
    re.IGNORECASE,
)
_SLOW = re.compile(
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


def stale_after(question: Question, settings: RuleSettings) -> int:
    """Age in years above which a statement about "now" is out of date, by the kind of fact that is asked."""
    if _FAST.search(question.text):
        return settings.stale_fast_years
    return settings.stale_slow_years if _SLOW.search(question.text) else settings.stale_years


def outdated_pages(evidence: Evidence) -> frozenset[int]:
    """Indexes of pages out of date; empty for a timeless question. A page of unknown date is never among them."""
    versions = _versions(evidence)
    outside = {version.page for version in versions if _out_of_bounds(evidence, version)}
    inside = [version for version in versions if version.page not in outside]
    alone = {
        version.page
        for version in versions
        if version.page in outside and not any(_agree(evidence, other, version) for other in inside)
    }
    return frozenset(alone) | superseded_pages(evidence)


def superseded_pages(evidence: Evidence) -> frozenset[int]:
    """Indexes of the pages of which another, better dated one gives a different value."""
    versions = _versions(evidence)
    return frozenset(v.page for v in versions if any(_supersedes(evidence, other, v) for other in versions))


def _versions(evidence: Evidence) -> list[Version]:
    if evidence.question.time.scope == "timeless":
        return []
    return [version for page in evidence.pages for version in _version(evidence, page)]


def _best_line(evidence: Evidence, page: Page) -> Line | None:
    best = max(page.lines, key=lambda line: (evidence.coverage(line.context), -line.start), default=None)
    on_topic = best is not None and evidence.coverage(best.context) >= evidence.settings.on_topic
    return best if on_topic else None


def _version(evidence: Evidence, page: Page) -> list[Version]:
    """The page's own answer with its date; empty when the page is off topic or undated."""
    line = _best_line(evidence, page)
    when = dated(page.passage, line.text) if line else None
    if line is None or when is None:
        return []
    spans = candidates(evidence, line)
    value = fold(spans[0].text) if spans else ""
    return [Version(page.index, value, when, spoken_years(line.text), page.passage.published is not None)]


def _out_of_bounds(evidence: Evidence, version: Version) -> bool:
    """Whether the date of a statement alone rules it out.

    A publication date after the time asked for does not: an article of 2024 may tell of 2010. Years that the sentence
    itself states do, when every one lies outside. A text from before the time asked for cannot tell of it.
    """
    time, settings = evidence.question.time, evidence.settings
    bound = stale_after(evidence.question, settings)
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
    time = evidence.question.time
    if time.end is not None and version.when > time.end:
        return _inside(other.when, time.start if time.scope == "between" else None, time.end)
    if time.scope in ("now", "as_of"):
        return version.when < other.when and (time.end is None or other.when <= time.end)
    if time.start is not None and version.when < time.start:
        return _inside(other.when, time.start, time.end)
    return False


def _inside(when: date, start: date | None, end: date | None) -> bool:
    return (start is None or when >= start) and (end is None or when <= end)


def _agree(evidence: Evidence, a: Version, b: Version) -> bool:
    """Same value, or each text holds the other's value (then the difference is only in what was extracted).

    A page from which no value can be read disagrees with none. Amounts are compared as amounts: 2.1 million, 2,100,000.
    """
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
