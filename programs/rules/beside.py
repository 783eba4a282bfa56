"""What stands beside a verb or an attribute of the question: "studied *physics*", "maximum pressure is *16 bar*"."""

import re

from reflective_rag.programs.rules.matching import fold, has_cjk, stem
from reflective_rag.programs.rules.question import Question
from reflective_rag.signatures.patterns import late_pattern

OBJECT, VALUE = 0.55, 0.3
"""Bonus of the object of the asked verb; of what follows "attribute is"."""

_DOES = late_pattern(r"\b(?:what|which)\b[^?]*\b(?:did|does|do|will|has|have|had|must|should|can)\b", re.IGNORECASE)
_IS = late_pattern(r"\bwhat(?:['’]s|\s+(?:is|was|are|were))\s", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SKIPPED = frozenset("a an the his her its their our your my new this these those some about around up".split())
_COPULA = frozenset("is was are were of at to about exactly".split())


def beside(question: Question, before: str) -> float:
    """Bonus of a span that stands right after `before`, the piece of the sentence in front of it."""
    if has_cjk(before) or question.language == "zh":
        return 0.0
    words = [word.lower() for word in _WORD.findall(before[before.rfind(",") + 1 :])]
    while words and words[-1] in _SKIPPED:
        words.pop()
    if not words:
        return 0.0
    asked = {form for term in question.attribute for form in term.forms}
    if question.kind == "thing" and _DOES.search(question.text):
        return OBJECT if stem(fold(words[-1])) in asked else 0.0
    if _IS.search(question.text) and (words[-1] in _COPULA or before.rstrip().endswith(":")):
        return VALUE if any(stem(fold(word)) in asked for word in words[-4:-1]) else 0.0
    return 0.0
