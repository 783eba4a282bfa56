"""Old and new in one sentence: raised *from* A *to* B, 由十五元调整为十八元, moved from A to B, A succeeded B as mayor."""

import re
from itertools import pairwise

from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.values import Span
from reflective_rag.signatures.patterns import late_pattern

STALE = 0.9
"""Penalty for what a sentence gives as the state before a change, where the state before is not asked for."""

_BEFORE_ASKED = late_pattern(
    r"\b(?:before|formerly|former|previous(?:ly)?|original(?:ly)?|initial(?:ly)?|used\s+to|was|were|did|had|from|until|at\s+first|old|once|predecessor)\b"
    r"|最初|原来|原先|起初|以前|之前|过去|曾|前任|原本|涨前|调整前|从哪|旧",
    re.IGNORECASE,
)
_CHANGED = late_pattern(
    r"\b(?:raised|increased|rais(?:es|ing)|went\s+up|rose|grew|grown|risen|cut|lowered|reduced|dropped|fell|changed|moved|relocated|adjusted|extended|shortened"
    r"|switched|transferred|renamed|expanded|shifted)\b"
    r"|调整|上调|下调|提高|上涨|涨|降|增加|增至|减|改|搬|迁|移|延长|缩短|变更|扩大",
    re.IGNORECASE,
)
_FROM = late_pattern(
    r"\bfrom\s+(?:about\s+|the\s+|a\s+)?(?:[$£€¥]\s?)?$|(?:由|从)(?:每[\u3400-\u9fff]{1,2})?(?:原来的?|此前的?|约)?$",
    re.IGNORECASE,
)
_TO = late_pattern(r"\bto\b|为|到|至", re.IGNORECASE)
_FIRST = late_pattern(
    r"最初|原来|原先|起初|原本|曾|以前|\b(?:originally|initially|at\s+first|formerly|previously|used\s+to)\b",
    re.IGNORECASE,
)
_LATER = late_pattern(
    r"后来|现在|如今|目前|之后|搬|迁|移|改|\b(?:now|later|today|moved|relocated|since)\b", re.IGNORECASE
)
_LEFT = late_pattern(
    r"\b(?:succeed(?:ed|s)|replac(?:ed|es)|took\s+over\s+from|takes\s+over\s+from|follow(?:ed|s))\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_GONE = late_pattern(
    r"\s+(?:was|has\s+been|is)\s+(?:succeeded|replaced|followed)\s+by\b|\s+handed\s+over\s+to\b", re.IGNORECASE
)
_LEFT_ZH, _LEFT_BEHIND = late_pattern(r"(?:接替|取代|继任)$"), late_pattern(r"(?:担任|出任|成为|任|的)")


def gone_by(question: Question, text: str, spans: list[Span]) -> dict[Span, float]:
    """A penalty for each span that was so before a change which the sentence tells; none where the past is asked for."""
    if question.kind not in ("number", "place", "person") or _BEFORE_ASKED.search(question.text):
        return {}
    found: dict[Span, float] = {}
    for span in spans:
        before, behind = text[max(0, span.start - 24) : span.start], text[span.end : span.end + 24]
        if question.kind == "person":
            left = _LEFT.search(before) or _GONE.match(behind)
            if left or (_LEFT_ZH.search(before) and _LEFT_BEHIND.search(behind)):
                found[span] = -STALE
        elif _FROM.search(before) and _TO.search(behind) and _CHANGED.search(text):
            found[span] = -STALE
    if question.kind == "person" or found:
        return found
    places = sorted({(span.start, span.end) for span in spans})
    for one, two in pairwise(places):
        if _FIRST.search(text[max(0, one[0] - 30) : one[0]]) and _LATER.search(text[one[1] : two[0]]):
            found |= {span: -STALE for span in spans if span.start == one[0]}
    return found
