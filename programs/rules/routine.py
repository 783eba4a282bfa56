"""When something regularly happens or is due: every Monday, on Tuesdays and Fridays, the 3rd of each month, 每月十号, 九月十五日."""

import re

from reflective_rag.programs.rules.frequency import frequencies
from reflective_rag.programs.rules.values import Span
from reflective_rag.signatures.patterns import late_pattern

_DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?"
_NUMERAL = r"[一二三四五六七八九十廿]{1,3}"
_ROUTINE = late_pattern(
    rf"\b{_DAY}(?:,\s+{_DAY})*(?:,?\s+(?:and|or|to)\s+{_DAY})?"
    r"|\b(?:the\s+)?(?:\d{1,2}(?:st|nd|rd|th)|first|last)(?:\s+day)?\s+of\s+(?:each|every|the)\s+(?:month|quarter|year)"
    rf"|每(?:个)?(?:月|季度|年)(?:的)?(?:第?(?:{_NUMERAL}|\d{{1,2}})(?:[日号天]|个工作日)|[月]?[初末底])"
    rf"|(?:{_NUMERAL}月(?:{_NUMERAL}[日号]|[初底末]))|(?:每(?:周|星期))?(?:周|星期|礼拜)[一二三四五六日天](?:[和、](?:周|星期|礼拜)[一二三四五六日天])*",
    re.IGNORECASE,
)
_ASKED = late_pattern(
    r"\b(?:when|what\s+days?|which\s+days?)\b|什么时候|何时|什么时间|几月几[号日]|几号|哪[一]?天", re.IGNORECASE
)
_PAST = late_pattern(r"\b(?:was|were|did|had)\b|年", re.IGNORECASE)


def routines(question: str, text: str) -> list[Span]:
    """The days on which a sentence says that it happens again and again, or that it is due, where "when" is asked."""
    if not _ASKED.search(question) or _PAST.search(question):
        return []
    found = [Span(m.group(), m.start(), m.end(), "date") for m in _ROUTINE.finditer(text)]
    often = [span for span in frequencies(text) if not any(a.start < span.end and span.start < a.end for a in found)]
    longer = [span for span in frequencies(text) if any(span.start < a.start and a.end <= span.end for a in found)]
    return [a for a in found if not any(b.start <= a.start and a.end <= b.end for b in longer)] + longer + often
