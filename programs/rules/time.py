"""Dates: what time a question is about, and what time a passage speaks of."""

import re
from dataclasses import dataclass
from datetime import date, timedelta

from reflective_rag.programs.rules.words import OFFICES_EN, OFFICES_ZH
from reflective_rag.signatures.types import Passage, TimeScope

_YEAR = r"(1[0-9]{3}|20[0-9]{2})"
YEAR = re.compile(rf"(?<![\d.,/$£€¥#-]){_YEAR}(?![\d%]|[.,]\d|s\b)(?=年|\b|[^\w])")
"""A year as a text states it: four digits from 1000 to 2099 that are not part of a longer number, an amount or a decade."""

_I = re.IGNORECASE
_BETWEEN = re.compile(
    rf"(?:between|from)\s+{_YEAR}\s+(?:and|to|until)\s+{_YEAR}|{_YEAR}\s*年?\s*(?:到|至|—|–|-|~)\s*{_YEAR}\s*年", _I
)
_BEFORE = re.compile(
    rf"\b(?:before|prior to|until|till)\s+(?:the\s+year\s+)?{_YEAR}|{_YEAR}\s*年?\s*(?:以前|之前|前(?!后))", _I
)
_AFTER = re.compile(
    rf"\b(?:after|since)\s+(?:the\s+year\s+)?{_YEAR}|{_YEAR}\s*年?\s*(?:以后|之后|以来|后(?!期))|自\s*{_YEAR}\s*年?起",
    _I,
)
_AS_OF = re.compile(
    rf"\b(?:as of|in|during|by|by the end of)\s+(?:the\s+year\s+)?{_YEAR}|(?:截至|截止|截止到|到了?)\s*{_YEAR}\s*年?|{_YEAR}\s*年",
    _I,
)
_NOW = re.compile(
    r"\b(?:currently|current|now|nowadays|today|latest|at present|at the moment|these days|as of now|present[- ]day|most recent(?:ly)?)\b"
    r"|目前|现在|当前|如今|现任|最新|眼下|今天|迄今|至今",
    _I,
)
_LAST_YEAR = re.compile(r"\blast year\b|去年", _I)
_THIS_YEAR = re.compile(r"\bthis year\b|今年", _I)
_YEAR_BEFORE_LAST = re.compile(r"\btwo years ago\b|前年", _I)
_HOLDER = re.compile(
    rf"\bwho(?:'s| is)\b.*\b(?:{OFFICES_EN})\b|(?:{OFFICES_ZH})是(?:谁|哪位)|谁是.*(?:{OFFICES_ZH})", _I
)
_ORDINAL = re.compile(
    r"\b(?:first|second|third|last|former|\d+(?:st|nd|rd|th))\b|第.{1,3}[任届位个]|首任|首位|前任|末代|第一", _I
)


@dataclass(frozen=True)
class TimeExpression:
    """The time a question is bound to. `start` and `end` are inclusive and None where open; `text` is the phrase that says so."""

    scope: TimeScope = "timeless"
    start: date | None = None
    end: date | None = None
    text: str = ""


def time_expression(question: str, today: date | None = None) -> TimeExpression:
    """Read the time scope of a question. Relative words ("last year", 去年) need `today`; without it they count as timeless."""
    if found := _BETWEEN.search(question):
        low, high = sorted(int(year) for year in found.groups() if year)
        return TimeExpression("between", date(low, 1, 1), date(high, 12, 31), found.group())
    if found := _BEFORE.search(question):
        return TimeExpression("before", None, date(_year(found), 1, 1) - timedelta(days=1), found.group())
    if found := _AFTER.search(question):
        return TimeExpression("after", date(_year(found), 1, 1), None, found.group())
    if found := _AS_OF.search(question):
        return _in_year(_year(found), found.group())
    for pattern, back in ((_LAST_YEAR, 1), (_THIS_YEAR, 0), (_YEAR_BEFORE_LAST, 2)):
        if (found := pattern.search(question)) and today is not None:
            return _in_year(today.year - back, found.group())
    if found := _NOW.search(question):
        return TimeExpression("now", None, today, found.group())
    if (found := _HOLDER.search(question)) and not _ORDINAL.search(question) and not YEAR.search(question):
        return TimeExpression("now", None, today, "")
    return TimeExpression()


def _year(found: re.Match[str]) -> int:
    return int(next(year for year in found.groups() if year))


def _in_year(year: int, text: str) -> TimeExpression:
    return TimeExpression("as_of", date(year, 1, 1), date(year, 12, 31), text)


def years(text: str) -> tuple[int, ...]:
    """The years a text states, in order, without repeats."""
    return tuple(dict.fromkeys(int(year) for year in YEAR.findall(text)))


def dated(passage: Passage, sentence: str = "") -> date | None:
    """When a passage speaks: its `published` date, else the latest year that `sentence` states (its last day), else None.

    Only the sentence that carries the evidence counts: a year elsewhere in the passage (a birth, a war) does not date the statement.
    """
    if passage.published is not None:
        return passage.published
    stated = years(sentence)
    return date(max(stated), 12, 31) if stated else None
