"""Yes/no questions, and questions that offer two options."""

import re
from datetime import date

from reflective_rag.programs.rules.evidence import Evidence, Line, Page, core_title
from reflective_rag.programs.rules.matching import fold, has_cjk, prepare, stem
from reflective_rag.programs.rules.values import Span, amount, dates, names, numbers
from reflective_rag.programs.rules.words import (
    AGE_EN,
    AGE_ZH,
    LARGER_EN,
    LARGER_ZH,
    MONTHS,
    NEGATION_EN,
    NEGATION_ZH,
    SMALLER_EN,
    SMALLER_ZH,
)
from reflective_rag.signatures.types import Draft

MIN_STATEMENT = 0.6
"""Least coverage of a yes/no question's terms by one sentence (with title and neighbours) that decides it."""

MIN_PROPERTY = 0.5
"""Least coverage of the asked property by the passage about an entity that counts as "it is so"."""

_SAME = re.compile(r"\b(?:same|both)\b|同一|相同|都是|均为|都", re.IGNORECASE)
_SAME_STRICT = re.compile(r"\bsame\b|同一|相同", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_LIFE = re.compile(r"\blived?\s+longer\b|\blonger\s+(?:life|lived)\b|寿命|活得", re.IGNORECASE)


def decide(evidence: Evidence) -> Draft:
    """Answer a yes/no question, or leave it empty when no sentence decides it."""
    return decide_with_coverage(evidence)[0]


def decide_with_coverage(evidence: Evidence) -> tuple[Draft, float]:
    """The answer to a yes/no question, and how much of the question the deciding sentence holds (0 when two pages had to be compared)."""
    question = evidence.question
    yes, no = ("是", "否") if question.language == "zh" else ("yes", "no")
    subjects = question.entities[:2]
    if len(subjects) == 2 and _SAME.search(question.text):
        pages = [_page_about(evidence, subject) for subject in subjects]
        if pages[0] is None or pages[1] is None:
            return Draft(answer=""), 0.0
        same = (
            _share_value(evidence, pages[0], pages[1])
            if _SAME_STRICT.search(question.text)
            else _both_hold(evidence, pages[0], pages[1])
        )
        return Draft(
            answer=yes if same else no, cited=tuple(dict.fromkeys((pages[0].passage.id, pages[1].passage.id)))
        ), 0.0
    line = max(
        (line for page in evidence.pages for line in page.lines),
        key=lambda each: evidence.coverage(each.context),
        default=None,
    )
    coverage = evidence.coverage(line.context) if line else 0.0
    if line is None or coverage < MIN_STATEMENT:
        return Draft(answer=""), 0.0
    flipped = negated(line.text) != negated(question.text)
    return Draft(answer=no if flipped else yes, cited=(evidence.pages[line.page].passage.id,)), coverage


def negated(text: str) -> bool:
    """Whether a sentence holds an odd number of negation words (two cancel out)."""
    folded = fold(text)
    count = sum(word in NEGATION_EN or word.endswith("n't") for word in _WORD.findall(folded))
    return (count + sum(folded.count(phrase) for phrase in NEGATION_ZH)) % 2 == 1


def _page_about(evidence: Evidence, subject: str) -> Page | None:
    """The page whose title is the subject, else the one that names it earliest in its text."""
    name = fold(core_title(subject)).removeprefix("the ")
    best: tuple[int, int, Page] | None = None
    for page in evidence.pages:
        title = fold(core_title(page.passage.title)).removeprefix("the ")
        at = fold(page.passage.text).find(name)
        rank = 0 if title == name else 1 if title and (name in title or title in name) else 2
        if rank < 2 or at >= 0:
            key = (rank, at if at >= 0 else 10**6, page)
            if best is None or key[:2] < best[:2]:
                best = key
    return best[2] if best else None


def _share_value(evidence: Evidence, a: Page, b: Page) -> bool:
    """Whether the two pages name a common thing outside the question: a country, a maker, a trade. Words agree by their first four letters,
    so that Iran and Iranian do.
    """
    asked = prepare(evidence.question.text).stems

    def marks(page: Page) -> set[str]:
        found: set[str] = set()
        for line in page.lines[:3]:
            for span in names(line.text):
                words = [fold(span.text)] if has_cjk(span.text) else fold(span.text).split()
                found |= {
                    word if has_cjk(word) else word[:4] for word in words if stem(word) not in asked and len(word) > 1
                }
        return found - {fold(word)[:4] for word in page.passage.title.split()}

    return bool(marks(a) & marks(b))


def _both_hold(evidence: Evidence, a: Page, b: Page) -> bool:
    wanted = [not term.entity for term in evidence.question.terms]
    return all(evidence.coverage(page.own, wanted) >= MIN_PROPERTY for page in (a, b))


def choose(evidence: Evidence) -> Draft:
    """Answer "A or B": by the dates or numbers found for each where the question compares, else by which page fits the question better."""
    question = evidence.question
    pages = [_page_about(evidence, option) for option in question.options]
    if pages[0] is None or pages[1] is None or pages[0] is pages[1]:
        return Draft(answer="")
    cited = (pages[0].passage.id, pages[1].passage.id)
    direction = _direction(question.text, question.language)
    if direction:
        values = [_value(evidence, page) for page in pages if page]
        if values[0] is not None and values[1] is not None and values[0] != values[1]:
            first = (values[0] < values[1]) == (direction < 0)
            return Draft(answer=question.options[0 if first else 1], cited=cited)
    wanted = [not term.entity for term in question.terms]
    scores = [
        max((evidence.coverage(line.own, wanted) for line in page.lines), default=0.0)
        + evidence.coverage(page.own, wanted)
        for page in pages
        if page
    ]
    if scores[0] == scores[1]:
        return Draft(answer="")
    return Draft(answer=question.options[scores.index(max(scores))], cited=cited)


def _direction(text: str, language: str) -> int:
    """−1 when the smaller (earlier) value wins, 1 for the larger (later), 0 when nothing is compared."""
    if language == "zh":
        tail = text[len(text) // 3 :]
        if any(word in tail for word in SMALLER_ZH):
            return -1
        return 1 if any(word in tail for word in LARGER_ZH) else 0
    words = [word for word in _WORD.findall(fold(text))]
    return next((-1 if word in SMALLER_EN else 1 for word in words if word in SMALLER_EN or word in LARGER_EN), 0)


def _value(evidence: Evidence, page: Page) -> float | None:
    """The number that the question compares, for one option: days for dates and life spans, else an amount."""
    question = evidence.question
    page = _hop(evidence, page)
    by_time = (
        any(word in question.text for word in AGE_ZH)
        if question.language == "zh"
        else any(word in AGE_EN for word in _WORD.findall(fold(question.text)))
    )
    wanted = [not term.entity for term in question.terms]
    lines = sorted(page.lines, key=lambda line: (-evidence.coverage(line.own, wanted), line.start))
    if by_time:
        return _time_value(question.text, page, lines)
    for line in lines:
        found = [value for span in numbers(line.text) if (value := amount(span)) is not None]
        if found:
            return found[0]
    return None


def _time_value(question: str, page: Page, lines: list[Line]) -> float | None:
    opening = [day for span in dates(page.lines[0].text) if (day := _ordinal(span)) is not None] if page.lines else []
    if _LIFE.search(question):
        return float(opening[1] - opening[0]) if len(opening) > 1 else None
    if re.search(r"\b(?:die|died|death)\b|去世|逝世", question, re.IGNORECASE) and len(opening) > 1:
        return float(opening[1])
    if re.search(r"\b(?:born|older|younger|birth)\b|出生|年长|年轻", question, re.IGNORECASE) and opening:
        return float(opening[0])
    for line in lines:
        found = [day for span in dates(line.text) if (day := _ordinal(span)) is not None]
        if found:
            return float(found[0])
    return None


def _hop(evidence: Evidence, page: Page) -> Page:
    """The page that stands one step further where the question goes through a person ("whose director", 的导演): the page whose title this
    page names. Without one, the page itself.
    """
    if not re.search(
        r"\b(?:director|composer|author|performer|founder|singer|writer)\b|导演|作者|作曲|创始人",
        evidence.question.text,
    ):
        return page
    text = fold(page.passage.text)
    for other in evidence.pages:
        title = fold(core_title(other.passage.title))
        if other is not page and len(title) > 3 and title in text and title not in fold(evidence.question.text):
            return other
    return page


def _ordinal(span: Span) -> int | None:
    """A day number for a date span; a bare year counts as its middle. None without a year."""
    year = re.search(r"(?<!\d)\d{4}(?!\d)", span.text)
    if not year:
        return None
    zh = re.search(r"(\d{1,2})月(?:\s*(\d{1,2}))?", span.text)
    month_name = next((i for i, name in enumerate(MONTHS, 1) if name[:3].lower() in span.text.lower()), None)
    month = int(zh.group(1)) if zh else month_name or 7
    day_text = zh.group(2) if zh else next(iter(re.findall(r"(?<!\d)\d{1,2}(?!\d)", span.text)), None)
    try:
        return date(int(year.group()), month, int(day_text or 1)).toordinal()
    except ValueError:
        return date(int(year.group()), 7, 1).toordinal()
