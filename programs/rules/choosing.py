"""Questions that offer two options: which of A and B."""

import re
from collections.abc import Sequence
from datetime import date

from reflective_rag.programs.rules.evidence import Evidence, Line, Page, core_title
from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.measured import amount_of, measure_of
from reflective_rag.programs.rules.page_about import page_about
from reflective_rag.programs.rules.units import UNITS
from reflective_rag.programs.rules.values import Span, dates, numbers, worded_amount
from reflective_rag.programs.rules.words import (
    AGE_EN,
    AGE_ZH,
    LARGER_EN,
    LARGER_ZH,
    MONTHS,
    SMALLER_EN,
    SMALLER_ZH,
    YOUNGER_ZH,
)
from reflective_rag.signatures.types import Draft

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_ORIGIN = re.compile(
    r"\b(?:born|birth|b\.|built|founded|established|opened|created|completed|launched|formed|dates?\s+(?:from|back))\b"
    r"|[(（][^()（）]*\d{3,4}|出生|生于|诞生|建于|建成|成立|创立|创办|创建|始建|竣工",
    re.IGNORECASE,
)
_LIFE = re.compile(r"\blived?\s+longer\b|\blonger\s+(?:life|lived)\b|寿命|活得", re.IGNORECASE)


def choose(evidence: Evidence) -> Draft:
    """Answer "A or B": by dates or numbers where the question compares.

    Otherwise by which page fits the rest of the question better.

    Empty when a page for either option is missing, or when the two come out even.
    """
    question = evidence.question
    pages = [page for option in question.options if (page := page_about(evidence, option)) is not None]
    if len(pages) != 2:
        return Draft(answer="")
    if pages[0] is pages[1]:
        return _in_one_page(evidence, pages[0])
    cited = (pages[0].passage.id, pages[1].passage.id)
    if (won := by_value(evidence, pages)) is not None:
        return Draft(answer=question.options[won], cited=cited)
    if measure_of(question.text) or _direction(question.text, question.language):
        return Draft(answer="")  # a value is missing, or both are the same: what else the pages say is no comparison
    wanted = [not term.entity for term in question.terms]
    scores = [
        evidence.coverage(page.own, wanted)
        + max((evidence.coverage(line.own, wanted) for line in page.lines), default=0.0)
        for page in pages
    ]
    if scores[0] == scores[1]:
        return Draft(answer="")
    return Draft(answer=question.options[scores.index(max(scores))], cited=cited)


def by_value(evidence: Evidence, pages: Sequence[Page]) -> int | None:
    """Which of the two options wins by the dates or amounts on its page; None where these cannot be compared."""
    if (measure := measure_of(evidence.question.text)) is not None and not _LIFE.search(evidence.question.text):
        first, second = (amount_of(measure, _by_property(evidence, page)) for page in pages)
        if first is None or second is None or first == second:
            return None
        return int((first < second) != (measure.direction < 0))
    direction = _direction(evidence.question.text, evidence.question.language)
    values = _values(evidence, pages) if direction else None
    if not values or values[0] == values[1]:
        return None
    return int((values[0] < values[1]) != (direction < 0))


def _in_one_page(evidence: Evidence, page: Page) -> Draft:
    """The option named by the sentence that holds most of the asked property and names just one."""
    first, second = (fold(option) for option in evidence.question.options)
    for line in _by_property(evidence, page):
        named = [option in fold(line.text) for option in (first, second)]
        if named[0] != named[1]:
            return Draft(answer=evidence.question.options[named.index(True)], cited=(page.passage.id,))
    return Draft(answer="")


def _direction(text: str, language: str) -> int:
    """−1 when the smaller (earlier) value wins, 1 for the larger (later), 0 when nothing is compared."""
    if language == "zh":
        tail = text[len(text) // 3 :]
        if any(word in tail for word in YOUNGER_ZH):
            return 1
        if any(word in tail for word in SMALLER_ZH):
            return -1
        return 1 if any(word in tail for word in LARGER_ZH) else 0
    words = _WORD.findall(fold(text))
    return next((-1 if word in SMALLER_EN else 1 for word in words if word in SMALLER_EN or word in LARGER_EN), 0)


def _values(evidence: Evidence, pages: Sequence[Page]) -> tuple[float, float] | None:
    """The two values that the question compares.

    These are days for dates and life spans, else amounts of one unit that both pages give.
    """
    question = evidence.question
    stepped = [_hop(evidence, page) for page in pages]
    lines = [_by_property(evidence, page) for page in stepped]
    if _by_time(question.text, question.language):
        first, second = (_day(question.text, page, ranked) for page, ranked in zip(stepped, lines, strict=True))
        return (first, second) if first is not None and second is not None else None
    amounts = [_amounts(ranked) for ranked in lines]
    unit = next((unit for unit in amounts[0] if unit in amounts[1]), None)
    return (amounts[0][unit], amounts[1][unit]) if unit is not None else None


def _by_property(evidence: Evidence, page: Page) -> list[Line]:
    """The page's sentences, those that hold most of the compared property first."""
    wanted = [not term.entity for term in evidence.question.terms]
    return sorted(page.lines, key=lambda line: (-evidence.coverage(line.own, wanted), line.start))


def _by_time(text: str, language: str) -> bool:
    if _LIFE.search(text):
        return True
    if language == "zh":
        return any(word in text for word in AGE_ZH)
    return any(word in AGE_EN for word in _WORD.findall(fold(text)))


def _amounts(lines: Sequence[Line]) -> dict[object, float]:
    """Unit → amount, the first of each unit in the order given; behind them dimension → amount in its base unit.

    So metres are compared with metres where both pages give them, and with kilometres only where they do not.
    """
    units: dict[object, float] = {}
    dimensions: dict[object, float] = {}
    for line in lines:
        for span in numbers(line.text):
            if (value := worded_amount(span)) is not None:
                dimension, factor = unit = UNITS.get(span.unit, (span.unit, 1.0))
                units.setdefault(unit, value)
                dimensions.setdefault(dimension, value * factor)
    return units | dimensions


def _day(question: str, page: Page, lines: list[Line]) -> float | None:
    opening = [day for span in dates(page.lines[0].text) if (day := _ordinal(span)) is not None] if page.lines else []
    if _LIFE.search(question):
        return float(opening[1] - opening[0]) if len(opening) > 1 else None
    if re.search(r"\b(?:die|died|death)\b|去世|逝世", question, re.IGNORECASE) and len(opening) > 1:
        return float(opening[1])
    if re.search(r"\b(?:born|older|younger|birth)\b|出生|年长|年轻", question, re.IGNORECASE):
        if opening and _ORIGIN.search(page.lines[0].text):
            return float(opening[0])
        lines = [line for line in lines if _ORIGIN.search(line.text)]  # "mayor since 2021" tells no age
    for line in lines:
        found = [day for span in dates(line.text) if (day := _ordinal(span)) is not None]
        if found:
            return float(found[0])
    return None


def _hop(evidence: Evidence, page: Page) -> Page:
    """The page one step further where the question goes through a person ("whose director", 的导演), else the page itself.

    It is the page whose title this page names.
    """
    if not re.search(
        r"\b(?:director|composer|author|performer|founder|singer|writer)\b|导演|作者|作曲|创始人",
        evidence.question.text,
    ):
        return page
    text = fold(page.text)
    for other in evidence.pages:
        title = fold(core_title(other.name))
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
