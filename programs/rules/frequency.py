"""How often something is done: every 500 hours, twice a week, 每周一次, 每2000小时."""

import re
from functools import lru_cache

from reflective_rag.programs.rules.values import Span
from reflective_rag.programs.rules.words import NUMBER_WORDS
from reflective_rag.signatures.patterns import late_pattern

_COUNT = rf"(?:\d[\d,.]*|{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))}|few|other|second)"
_UNIT = (
    r"(?:(?:working|business|operating|calendar)\s+)?(?:seconds?|minutes?|hours?|days?|nights?|weeks?|weekends?|fortnight|months?|quarters?"
    r"|years?|mornings?|evenings?|afternoons?|mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|kilomet(?:re|er)s?|km|miles?"
    r"|cycles?|shifts?|seasons?|terms?|semesters?)\b"
)
_OFTEN = late_pattern(
    rf"\b(?:every|each)\s+(?:{_COUNT}\s+)?{_UNIT}(?:\s+(?:and|or)\s+{_UNIT})?"
    rf"|\b(?:once|twice|{_COUNT}\s+times)\s+(?:an?|per|each|every|in)\s+(?:{_COUNT}\s+)?{_UNIT}"
    r"|\b(?:hourly|daily|weekly|fortnightly|monthly|quarterly|yearly|annually|half-yearly|biannually)\b"
    r"|每隔?(?:半|\d[\d,]*|[一二两三四五六七八九十百千]+)?个?(?:分钟|小时|工作日|天|日|晚|周[一二三四五六日]?|星期[一二三四五六日]?|月|季度|季|年|学期|公里)"
    r"(?:[㐀-䶿一-鿿]{0,5}?[一两二三四五六七八九十\d]+[次遍回])?"
    r"|[一二两三四五六七八九十\d]+个?(?:分钟|小时|天|周|月|季度|年)[一两二三四五六七八九十]次",
    re.IGNORECASE,
)
_ASKED = late_pattern(
    r"\bhow\s+(?:often|frequently|regularly)\b|(?:多久|多长时间|几[天周年小个][^？?]{0,3}|隔多久)[^，。？?]{0,8}一[次遍回]|每隔?多[久少长]|频率(?:是|为|如何)"
    r"|每(?:天|周|月|年|季度)[^，。？?]{0,8}(?:几|多少)[次遍回]",
    re.IGNORECASE,
)


def asks_how_often(question: str) -> bool:
    """Whether nothing but a frequency answers."""
    return _ASKED.search(question) is not None


@lru_cache(maxsize=4096)
def frequencies(text: str) -> tuple[Span, ...]:
    """The frequencies that a text states."""
    return tuple(Span(found.group(), found.start(), found.end(), "frequency") for found in _OFTEN.finditer(text))
