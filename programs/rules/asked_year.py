"""Of which year a value is: where one sentence tells of the asked year, those of other years stand behind it."""

import re

from reflective_rag.programs.rules.clauses import clause
from reflective_rag.programs.rules.dates import years
from reflective_rag.signatures.patterns import late_pattern

_GOES_ON = late_pattern(
    r"\b(?:since|from|as\s+of|until|till|up\s+to|before|after|by\s+(?:\d{4}|the\s+end))\b|自|从|至今|以来|截至|直到|之前|之后|起",
    re.IGNORECASE,
)
_CLAUSE = late_pattern(r"[。；;！？]|[.!?](?=\s)|\b(?:but|while|whereas)\b", re.IGNORECASE)


def in_asked_year(question: str, text: str, start: int, end: int) -> bool | None:
    """Whether the clause around `text[start:end]` is of a year that is asked for.

    None where either names no year, or the clause tells from or until when something holds.
    """
    asked = years(question)
    if not asked or not 0 <= start < end <= len(text):
        return None
    first, last = clause(text, start, end, _CLAUSE)
    told = years(text[first:last])
    if not told or _GOES_ON.search(text, first, last):
        return None
    return any(min(told) <= year <= max(told) for year in asked)
