"""Sentences that hold only in a case that the question does not name: if it rains, on Saturdays, 如遇下雨, 节假日."""

import re

from reflective_rag.signatures.patterns import late_pattern

UNASKED = 0.25
"""Penalty for a value of a sentence whose condition the question does not name."""

_CASES = tuple(
    late_pattern(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:if|unless|in\s+case|in\s+the\s+event|otherwise|except(?:ionally)?)\b|如遇|如果|如有|若是?|一旦|除非|否则|遇(?=[雨雪台节])",
        r"\b(?:saturdays?|sundays?|weekends?|(?:public\s+)?holidays?)\b|周[六日末]|星期[六日天]|节假日|假期",
    )
)
_NAMED = late_pattern(
    r"\b(?:if|when|unless|case|during|on|rain\w*|weather)\b|如|若|遇|时|下雨|雨天|情况|周|星期|节|假|后|前",
    re.IGNORECASE,
)


def unasked(question: str, text: str) -> float:
    """0, or a negative value for each sort of condition that only the sentence has."""
    found = [case for case in _CASES if case.search(text) and not case.search(question)]
    if found and found[0] is _CASES[0] and _NAMED.search(question):
        found = found[1:]
    return -UNASKED * len(found)
