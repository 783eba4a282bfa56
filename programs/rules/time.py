"""What time a question is about."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from reflective_rag.programs.rules.dates import YEAR, located_years, numeral
from reflective_rag.programs.rules.words import OFFICES_EN, OFFICES_ZH
from reflective_rag.signatures.types import TimeScope

_YEAR = r"(1[0-9]{3}|20[0-9]{2})"
_I = re.IGNORECASE
_BETWEEN = re.compile(
    rf"(?:between|from)\s+{_YEAR}\s+(?:and|to|until)\s+{_YEAR}|{_YEAR}\s*年?\s*(?:到|至|—|–|-|~)\s*{_YEAR}\s*年(?!代)",
    _I,
)
_BEFORE = re.compile(
    rf"\b(?:before|prior to|until|till)\s+(?:the\s+year\s+)?{_YEAR}|{_YEAR}\s*年?\s*(?:以前|之前|前(?!后))", _I
)
_AFTER = re.compile(
    rf"\b(?:after|since)\s+(?:the\s+year\s+)?{_YEAR}|{_YEAR}\s*年?\s*(?:以后|之后|以来|后(?!期))|自\s*{_YEAR}\s*年?起",
    _I,
)
_AS_OF = re.compile(
    rf"\b(?:as of|in|during|by|by the end of)\s+(?:the\s+year\s+)?{_YEAR}|(?:截至|截止|截止到|到了?)\s*{_YEAR}\s*年?|{_YEAR}\s*年(?!代)",
    _I,
)
_NOW = re.compile(
    r"\b(?:currently|(?<!electric )(?<!alternating )(?<!direct )(?<!ocean )current|(?<!what is )(?<!which is )(?<!that is )(?<!what are )now(?!\s+(?:known|called|part|in)\b)"
    r"|nowadays|today(?!['’]s\s+[A-Z])|latest|newest|at present|at the moment|these days|as of now|(?-i:[Pp]resent[- ]day(?!\s+[A-Z]))|most recent(?:ly)?)\b"
    r"|目前|现在|当前|如今|现任|最新|眼下|今天|迄今|至今|时下|现时|当下|现阶段",
    _I,
)
_HOLDER = re.compile(
    rf"\bwho(?:'s| is)\b.*\b(?:{OFFICES_EN})\b|(?:{OFFICES_ZH})是(?:谁|哪位)|谁是.*(?:{OFFICES_ZH})", _I
)
_ORDINAL = re.compile(
    r"\b(?:first|second|third|last|former|\d+(?:st|nd|rd|th))\b|第.{1,3}[任届位个]|首任|首位|前任|末代|第一", _I
)
_COUNT_EN = "one two three four five six seven eight nine ten".split()
_N_EN = rf"(\d{{1,3}}|an?|{'|'.join(_COUNT_EN)})"
_N_ZH = r"(\d{1,3}|[一二两三四五六七八九十]{1,3})"


@dataclass(frozen=True)
class TimeExpression:
    """The time a question is bound to.

    `start` and `end` are inclusive and None where open; `text` is the phrase that says so.
    """

    scope: TimeScope = "timeless"
    start: date | None = None
    end: date | None = None
    text: str = ""


def time_expression(question: str, today: date | None = None) -> TimeExpression:
    """Read the time scope of a question.

    Relative words ("last year", 去年, "five years ago", 近五年) need `today`; without it they count as timeless.
    """
    if found := _BETWEEN.search(question):
        low, high = sorted(int(year) for year in found.groups() if year)
        return TimeExpression("between", date(low, 1, 1), date(high, 12, 31), found.group())
    if found := _BEFORE.search(question):
        return TimeExpression("before", None, date(_year(found), 1, 1) - timedelta(days=1), found.group())
    if found := _AFTER.search(question):
        return TimeExpression("after", date(_year(found), 1, 1), None, found.group())
    if found := _AS_OF.search(question):
        return _in_year(_year(found), found.group())
    if relative := _relative(question, today):
        return relative
    if written := _written_year(question):
        return written
    if found := _NOW.search(question):
        return TimeExpression("now", None, today, found.group())
    if (found := _HOLDER.search(question)) and not _ORDINAL.search(question) and not YEAR.search(question):
        return TimeExpression("now", None, today, "")
    return TimeExpression()


def _year(found: re.Match[str]) -> int:
    return int(next(year for year in found.groups() if year))


def _in_year(year: int, text: str) -> TimeExpression:
    return TimeExpression("as_of", date(year, 1, 1), date(year, 12, 31), text)


def _written_year(question: str) -> TimeExpression | None:
    """A year in Chinese numerals or of an era: 二〇一九年, 昭和五十年."""
    for year, start, end in located_years(question):
        if not question[start:end].isdigit():
            return _in_year(year, question[start:end] + question[end : end + 1].strip("的，,"))
    return None


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
    year = max(1, today.year - back)
    return date(year, 1, 1), date(year, 12, 31)


_Bounds = Callable[[date, int], tuple[date, date]]
_RELATIVE: tuple[tuple[re.Pattern[str], TimeScope, _Bounds, int | None], ...] = (
    (re.compile(r"大前年"), "as_of", _year_back, 3),
    (re.compile(r"\bthe year before last\b|前年(?!度)", _I), "as_of", _year_back, 2),
    (
        re.compile(r"(?<!his )(?<!her )(?<!the )(?<!its )(?<!their )\blast year\b|\ba year ago\b|去年", _I),
        "as_of",
        _year_back,
        1,
    ),
    (re.compile(r"\bthis year\b|今年|本年度", _I), "as_of", _year_back, 0),
    (re.compile(r"\blast month\b|上个?月", _I), "as_of", _months_back, 1),
    (re.compile(r"\bthis month\b|这个月|本月", _I), "as_of", _months_back, 0),
    (re.compile(r"\blast week\b|上个?(?:星期|周)", _I), "as_of", _week, 1),
    (re.compile(r"\bthis week\b|这个?(?:星期|周)|本周", _I), "as_of", _week, 0),
    (re.compile(r"\byesterday\b|昨天|昨日", _I), "as_of", lambda today, n: (today - timedelta(days=n),) * 2, 1),
    (re.compile(rf"\b{_N_EN} years? ago\b|{_N_ZH}年(?:以|之)?前", _I), "as_of", _year_back, None),
    (re.compile(rf"\b{_N_EN} months? ago\b|{_N_ZH}个月(?:以|之)?前", _I), "as_of", _months_back, None),
    (
        re.compile(rf"\b(?:past|last|previous) {_N_EN} years\b|(?:最?近|过去)(?:的)?{_N_ZH}年(?!代)", _I),
        "between",
        _span,
        None,
    ),
    (re.compile(r"\bthe (?:past|last) decade\b|近十年", _I), "between", _span, 10),
    (re.compile(r"\b(?:in )?recent years\b|近年来?|近些年|近几年", _I), "between", _span, 5),
)
"""Pattern, scope, bounds as a function of today and a count, and the count (None: it stands in the pattern's group)."""


def _relative(question: str, today: date | None) -> TimeExpression | None:
    if today is None:
        return None
    for pattern, scope, bounds, fixed in _RELATIVE:
        if found := pattern.search(question):
            count = fixed if fixed is not None else _count(next(group for group in found.groups() if group))
            try:
                start, end = bounds(today, count)
            except (ValueError, OverflowError):  # before the first day a `date` can hold
                return None
            return TimeExpression(scope, start, end, found.group())
    return None
