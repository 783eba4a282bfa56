"""Periods that a question names from today: last year, five years ago, 近五年, 明年."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from reflective_rag.programs.rules.dates import numeral
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.types import TimeScope

_I = re.IGNORECASE
_COUNT_EN = "one two three four five six seven eight nine ten".split()
_N_EN = rf"(\d{{1,3}}|an?|{'|'.join(_COUNT_EN)})"
_N_ZH = r"(\d{1,3}|[一二两三四五六七八九十]{1,3})"
_SINCE = late_pattern(r"(?:\b(?:since|after)\s+|自从?\s*|从\s*)$", _I)


@dataclass(frozen=True)
class TimeExpression:
    """The time a question is bound to.

    `start` and `end` are inclusive and None where open; `text` is the phrase that says so.
    """

    scope: TimeScope = "timeless"
    start: date | None = None
    end: date | None = None
    text: str = ""


def _count(text: str) -> int:
    low = text.lower()
    if low in _COUNT_EN:
        return _COUNT_EN.index(low) + 1
    return 1 if low in ("a", "an") else numeral(low.replace("两", "二")) or 1


def _months_back(today: date, months: int) -> tuple[date, date]:
    """First and last day of the month `months` before today's."""
    index = today.year * 12 + today.month - 1 - months
    first, following = date(index // 12, index % 12 + 1, 1), date((index + 1) // 12, (index + 1) % 12 + 1, 1)
    return first, following - timedelta(days=1)


def _week(today: date, back: int) -> tuple[date, date]:
    monday = today - timedelta(days=today.weekday() + 7 * back)
    return monday, monday + timedelta(days=6)


def _span(today: date, years_back: int) -> tuple[date, date]:
    """From the same day `years_back` years ago (28 February for a leap day) up to today."""
    year = max(1, today.year - years_back)
    return date(year, today.month, min(today.day, 28) if today.month == 2 else today.day), today


def _year_back(today: date, back: int) -> tuple[date, date]:
    """The whole year `back` years before today's; a negative count looks ahead."""
    year = max(1, today.year - back)
    return date(year, 1, 1), date(year, 12, 31)


_Bounds = Callable[[date, int], tuple[date, date]]
_RELATIVE: tuple[tuple[re.Pattern[str], TimeScope, _Bounds, int | None], ...] = (
    (late_pattern(r"大前年"), "as_of", _year_back, 3),
    (
        late_pattern(r"\bthe year before last\b|(?<![之以年月日天])前年(?![度轻青少幼代级产])", _I),
        "as_of",
        _year_back,
        2,
    ),
    (
        late_pattern(
            r"(?<!his )(?<!her )(?<!the )(?<!its )(?<!their )\blast year\b|\ba year ago\b|去年|上一年(?![级代])|上一?年度",
            _I,
        ),
        "as_of",
        _year_back,
        1,
    ),
    (late_pattern(r"(?<!the )\bnext year\b|明年", _I), "as_of", _year_back, -1),
    (late_pattern(r"\bthis year\b|今年|本年度", _I), "as_of", _year_back, 0),
    (late_pattern(r"\blast month\b|上个?月", _I), "as_of", _months_back, 1),
    (late_pattern(r"\bthis month\b|这个月|本月", _I), "as_of", _months_back, 0),
    (late_pattern(r"\blast week\b|上个?(?:星期|周)", _I), "as_of", _week, 1),
    (late_pattern(r"\bthis week\b|这个?(?:星期|周)|本周", _I), "as_of", _week, 0),
    (late_pattern(r"\byesterday\b|昨天|昨日", _I), "as_of", lambda today, n: (today - timedelta(days=n),) * 2, 1),
    (late_pattern(rf"\b{_N_EN} years? ago\b|{_N_ZH}年(?:以|之)?前", _I), "as_of", _year_back, None),
    (late_pattern(rf"\b{_N_EN} months? ago\b|{_N_ZH}个月(?:以|之)?前", _I), "as_of", _months_back, None),
    (
        late_pattern(rf"\b(?:past|last|previous) {_N_EN} years\b|(?:最?近|过去)(?:的)?{_N_ZH}年(?!代)", _I),
        "between",
        _span,
        None,
    ),
    (late_pattern(r"\bthe (?:past|last) decade\b|近十年", _I), "between", _span, 10),
    (late_pattern(r"\b(?:in )?recent years\b|近年来?|近些年|近几年", _I), "between", _span, 5),
)
"""Pattern, scope, bounds as a function of today and a count, and the count (None: it stands in the pattern's group)."""


def relative(question: str, today: date | None) -> TimeExpression | None:
    """The period that words like "last year" or 近五年 name, seen from `today`; "since last year" is open at its end."""
    if today is None:
        return None
    for pattern, scope, bounds, fixed in _RELATIVE:
        if found := pattern.search(question):
            count = fixed if fixed is not None else _count(next(group for group in found.groups() if group))
            try:
                start, end = bounds(today, count)
            except (ValueError, OverflowError):  # before the first day a `date` can hold
                return None
            if scope == "as_of" and _SINCE.search(question[: found.start()]):
                return TimeExpression("after", start, None, found.group())
            return TimeExpression(scope, start, end, found.group())
    return None
