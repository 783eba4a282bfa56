"""Who held an office once is no answer to who holds it: the former president, 前任董事长, "was president until 2019"."""

import re

from reflective_rag.programs.rules.leaving import OFFICE, left_another, left_office, stretches
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.words import OFFICES_EN, OFFICES_ZH
from reflective_rag.signatures.patterns import late_pattern

_ONCE_ASKED = late_pattern(
    r"\b(?:former|previous|past|ex|first|last|outgoing|was|were|did|had)\b|(?<![目当])前任?|曾|原任|历任|首任|上[一]?[任届]",
    re.IGNORECASE,
)
_ONCE = late_pattern(
    r"\b(?:former(?:ly)?|previous(?:ly)?|ex-|past|erstwhile|onetime|one-time|the\s+late)\s*(?:[\w'’-]+\s+){0,3}?"
    rf"(?:{OFFICES_EN}|chair|director|manager|captain|coach|owner|minister|senator)\b(?:\s+(?:of|at|for)\s+(?:the\s+)?[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*)?"
    rf"|(?:前任?|原任?|曾任|历任)(?:[^，。；]{{0,8}}?)(?:{OFFICES_ZH}|经理|主任|队长|教练)",
    re.IGNORECASE,
)
_BESIDE = late_pattern(
    r"[\s,，（(]*(?:(?:is|was|who\s+is|who\s+was|the|a|an|her|his|its|their)\s+)*|(?:是|为|，|（|系|[^，。；]{0,10}的)*",
    re.IGNORECASE,
)
_FOLLOWS = late_pattern(
    r"\b(?:succe|replac|follow|took\s+over|tak\w+\s+over|appoint|named|became|becom|elect|promot|install|interim|acting|new)\w*|接替|取代|继任|接任|接手|接棒|任命|出任|当选|成为|升任|新任",
    re.IGNORECASE,
)


def asks_holder(question: Question) -> bool:
    """Whether a question asks who holds an office now."""
    text = question.text
    return question.kind == "person" and OFFICE.search(text) is not None and not _ONCE_ASKED.search(text)


def held_once(question: Question, text: str, start: int, end: int) -> bool:
    """Whether a sentence gives `text[start:end]` as one who held the asked office, where the present holder is asked.

    So it does with everybody where it names the office only as one that somebody held.
    """
    if not asks_holder(question):
        return False
    if left_office(question, text, start, end) or left_another(question, text, start, end):
        return True
    once = [found.span() for found in _ONCE.finditer(text)]
    if any(
        (b <= start and _BESIDE.fullmatch(text, b, start)) or (end <= a and _BESIDE.fullmatch(text, end, a))
        for a, b in once
    ):
        return True
    gone = stretches(question, text)
    if any(a < end and start < b for a, b in gone):
        return not _FOLLOWS.search(text, start)
    once += gone
    offices = [found.start() for found in OFFICE.finditer(text)]
    return bool(once) and not _FOLLOWS.search(text) and all(any(a <= at < b for a, b in once) for at in offices)
