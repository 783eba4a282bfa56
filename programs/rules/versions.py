"""Which passages are out of date for the question: too old for now, too new or superseded for a time T."""

from dataclasses import dataclass
from datetime import date

from reflective_rag.programs.rules.evidence import Evidence, Page
from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.spans import candidates
from reflective_rag.programs.rules.time import dated

ON_TOPIC = 0.6
"""Least coverage of the question's terms by a sentence (with its title and neighbours) that counts as a version of the asked fact."""


@dataclass(frozen=True)
class Version:
    """What one page says of the asked fact, and when."""

    page: int
    value: str
    when: date


def outdated_pages(evidence: Evidence) -> frozenset[int]:
    """Indexes of pages out of date; empty for a timeless question. A page of unknown date is never among them."""
    scope = evidence.question.time.scope
    if scope == "timeless":
        return frozenset()
    versions = [version for page in evidence.pages for version in _version(evidence, page)]
    return frozenset(
        version.page for version in versions if any(_supersedes(evidence, other, version) for other in versions)
    )


def _version(evidence: Evidence, page: Page) -> list[Version]:
    """The page's own answer with its date; empty when the page is off topic, undated or gives no value."""
    lines = sorted(page.lines, key=lambda line: (-evidence.coverage(line.context), line.start))
    for line in lines[:1]:
        when = dated(page.passage, line.text)
        spans = candidates(evidence, line)
        if evidence.coverage(line.context) >= ON_TOPIC and when is not None and spans:
            return [Version(page.index, fold(spans[0].text), when)]
    return []


def _supersedes(evidence: Evidence, other: Version, version: Version) -> bool:
    """Whether `other` is the better-dated statement of a *different* value."""
    if _agree(evidence, other, version):
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
    """Same value, or each text holds the other's value (then the difference is only in what was extracted)."""
    text_a, text_b = (fold(evidence.pages[version.page].passage.text) for version in (a, b))
    return a.value in b.value or b.value in a.value or (a.value in text_b and b.value in text_a)
