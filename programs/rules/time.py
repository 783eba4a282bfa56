"""What time a question is about."""

import re
from datetime import date, timedelta

from reflective_rag.programs.rules.dates import YEAR, located_years
from reflective_rag.programs.rules.relative import TimeExpression, relative
from reflective_rag.programs.rules.words import OFFICES_EN, OFFICES_ZH
from reflective_rag.signatures.patterns import late_pattern

__all__ = ["TimeExpression", "time_expression"]

_I = re.IGNORECASE
_MEASURES = (
    r"dollars?|euros?|pounds?|yen|yuan|crowns?|francs?|met(?:re|er)s?|kilomet(?:re|er)s?|km|feet|foot|miles?|kg|kilograms?"
    r"|grams?|tons?|tonnes?|days?|hours?|minutes?|seconds?|words?|pages?|steps?|points?|votes?|degrees?|calories|volts?|watts?"
)
_COUNTED = (
    r"people|persons?|inhabitants|residents|men|women|students|employees|workers|members|soldiers|seats|copies|visitors"
)
_END = r"(?![\d%]|[.,]\d|s\b)"
_YEAR = rf"(1[0-9]{{3}}|20[0-9]{{2}}){_END}(?!\s+(?:{_MEASURES})\b)"
_NO_COUNT = rf"(?!\s+(?:{_COUNTED})\b)"
_MONTH = r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
_DAY = rf"(?:\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+)"
_PART = r"(?:(?:early|mid|late|(?:the\s+)?(?:start|beginning|middle|end)\s+of)[\s-]+)"
_DATE = rf"(?:the\s+)?{_PART}?(?:{_DAY}|{_MONTH},?\s+(?:of\s+)?)?(?:the\s+year\s+)?{_YEAR}"
_DATE_ZH = r"(1[0-9]{3}|20[0-9]{2})(?!\d)\s*年?(?:\s*\d{1,2}\s*月份?(?:\s*\d{1,2}\s*[日号])?)?"
_SPAN_ZH = r"(?:到|至|—|–|-|~)"
_BETWEEN = late_pattern(
    rf"(?:between|from)\s+{_DATE}\s+(?:and|to|until|till|through)\s+{_DATE}{_NO_COUNT}"
    rf"|{_DATE_ZH}\s*{_SPAN_ZH}\s*(1[0-9]{{3}}|20[0-9]{{2}})\s*年(?!代)",
    _I,
)
_TO_NOW = late_pattern(
    rf"\bfrom\s+{_DATE}\s+(?:up\s+)?(?:to|until|till|through)\s+(?:now|today|the\s+present|present)\b"
    rf"|{_DATE_ZH}\s*{_SPAN_ZH}\s*(?:现在|如今|今天|目前|今)",
    _I,
)
_BEFORE = late_pattern(
    rf"\b(?:before|prior\s+to|until|till)\s+{_DATE}{_NO_COUNT}|{_DATE_ZH}\s*(?:以前|之前|前(?![后任]))", _I
)
_UP_TO = late_pattern(rf"\b(?:up\s+(?:to|until)|through|no\s+later\s+than)\s+{_DATE}{_NO_COUNT}", _I)
_AFTER = late_pattern(
    rf"\b(?:after|since)\s+{_DATE}{_NO_COUNT}|{_DATE_ZH}\s*(?:以后|之后|以来|后(?!期))|自\s*{_DATE_ZH}\s*起", _I
)
_AS_OF = late_pattern(
    rf"\b(?:as\s+of|in|during|by|by\s+the\s+end\s+of)\s+{_DATE}|\bon\s+(?:the\s+)?{_DAY}{_YEAR}"
    rf"|(?:截至|截止|截止到|到了?)\s*{_DATE_ZH}|(1[0-9]{{3}}|20[0-9]{{2}})\s*年(?!代)",
    _I,
)
_DECADE = late_pattern(
    r"\b(?:(?:in|during|of|from|since|before|after|by)\s+)?the\s+(?:(?:early|mid|late)[\s-]+)?(?P<en>(?:1[0-9]|20)[0-9]0)['’]?s\b"
    r"|(?P<full>(?:1[0-9]|20)[0-9]0)年代"
    r"|(?:(?P<last>上(?:个)?世纪)|(?<!\d)(?P<century>\d{2})世纪)?(?<![\d年])(?P<short>[1-9]0|[二三四五六七八九]十)年代"
)
_ZH_TENS = "一二三四五六七八九"
_NOW = late_pattern(
    r"\b(?:currently|(?<!electric )(?<!alternating )(?<!direct )(?<!ocean )current|(?<!what is )(?<!which is )(?<!that is )(?<!what are )now(?!\s+(?:known|called|part|in)\b)"
    r"|nowadays|today(?!['’]s\s+[A-Z])|latest|newest|at present|at the moment|these days|as of now|(?-i:[Pp]resent[- ]day(?!\s+[A-Z]))|most recent(?:ly)?)\b"
    r"|目前|现在|当前|如今|现任|最新|眼下|今天|迄今|至今|时下|现时|当下|现阶段|仍(?:然)?(?:是|任|在任|担任)",
    _I,
)
_STILL = late_pattern(
    r"^(?:(?:who|what|which\s+\w+)\s+)?(?:is|are|does|do|has|have)\b.*?(?P<word>\b(?-i:still)\b)(?!\s+(?:life|lifes|image|images|water)\b)",
    _I,
)
_HOLDER = late_pattern(
    rf"\bwho(?:'s| is)\b.*\b(?:{OFFICES_EN})\b|(?:{OFFICES_ZH})是(?:谁|哪位)|谁是.*(?:{OFFICES_ZH})", _I
)
_ORDINAL = late_pattern(
    r"\b(?:first|second|third|last|former|previous|outgoing|\d+(?:st|nd|rd|th))\b|第.{1,3}[任届位个]|首任|首位|前任|末代|第一|上[一]?[届任]",
    _I,
)


def time_expression(question: str, today: date | None = None) -> TimeExpression:
    """Read the time scope of a question.

    Relative words ("last year", 去年, "five years ago", 近五年) need `today`; without it they count as timeless. A day
    or month bounds "before" and "after"; "as of" and "between" take whole years, for most texts state no more.
    """
    if found := _BETWEEN.search(question):
        low, high = sorted(int(year) for year in found.groups() if year)
        return TimeExpression("between", date(low, 1, 1), date(high, 12, 31), found.group())
    if found := _TO_NOW.search(question):
        return TimeExpression("between" if today else "after", date(_year(found), 1, 1), today, found.group())
    if decade := _decade(question):
        return decade
    if found := _BEFORE.search(question):
        return TimeExpression("before", None, _first_day(found) - timedelta(days=1), found.group())
    if found := _UP_TO.search(question):
        return TimeExpression("before", None, date(_year(found), 12, 31), found.group())
    if found := _AFTER.search(question):
        return TimeExpression("after", _first_day(found), None, found.group())
    if found := _AS_OF.search(question):
        return _in_year(_year(found), found.group())
    if seen_from_today := relative(question, today):
        return seen_from_today
    if written := _written_year(question):
        return written
    return _now(question, today)


def _now(question: str, today: date | None) -> TimeExpression:
    """The present, where the question says so or asks for the holder of an office; else no time at all."""
    if found := _NOW.search(question):
        return TimeExpression("now", None, today, found.group())
    if found := _STILL.search(question):
        return TimeExpression("now", None, today, found["word"])
    if (found := _HOLDER.search(question)) and not _ORDINAL.search(question) and not YEAR.search(question):
        return TimeExpression("now", None, today, "")
    return TimeExpression()


def _year(found: re.Match[str]) -> int:
    return int(next(year for year in found.groups() if year))


def _first_day(found: re.Match[str]) -> date:
    """The day that a phrase names, or the first of its month or year; an impossible one counts as the year's first."""
    text, year = found.group(), _year(found)
    if named := re.search(rf"\b{_MONTH}", text, _I):
        months = "jan feb mar apr may jun jul aug sep oct nov dec".split()
        month = months.index(named.group()[:3].lower()) + 1
        day = re.search(r"(?<!\d)\d{1,2}(?!\d)", text)
    else:
        zh = re.search(r"(\d{1,2})\s*月", text)
        month, day = int(zh.group(1)) if zh else 1, re.search(r"\d{1,2}(?=\s*[日号])", text)
    try:
        return date(year, month, int(day.group()) if day else 1)
    except ValueError:
        return date(year, 1, 1)


def _decade(question: str) -> TimeExpression | None:
    """The ten years of "the 1990s", 1990年代, 上世纪90年代 and 90年代; "the 1800s" are a hundred.

    "since the 1990s" is open at its end, "before the 1990s" at its start.
    """
    found = _DECADE.search(question)
    if not found:
        return None
    if written := found["en"] or found["full"]:
        first = int(written)
    else:
        short = found["short"]
        tens = int(short) if short.isdigit() else (_ZH_TENS.index(short[0]) + 1) * 10
        first = (int(found["century"] or 20) - 1) * 100 + tens
    length = 100 if found["en"] and first % 100 == 0 and first != 2000 else 10
    start, end, word = date(first, 1, 1), date(first + length - 1, 12, 31), found.group().split()[0].lower()
    behind = question[found.end() : found.end() + 2]
    if word in ("since", "after") or behind in ("以来", "以后", "之后"):
        return TimeExpression("after", start, None, found.group())
    if word == "before" or behind in ("以前", "之前"):
        return TimeExpression("before", None, start - timedelta(days=1), found.group())
    return TimeExpression("between", start, end, found.group())


def _in_year(year: int, text: str) -> TimeExpression:
    return TimeExpression("as_of", date(year, 1, 1), date(year, 12, 31), text)


def _written_year(question: str) -> TimeExpression | None:
    """A year in Chinese numerals or of an era: 二〇一九年, 昭和五十年."""
    for year, start, end in located_years(question):
        if not question[start:end].isdigit():
            return _in_year(year, question[start:end] + question[end : end + 1].strip("的，,"))
    return None
