"""Whom a question with a verb of a direction asks for: who acquired X (the doer), whom did X acquire (the done)."""

import re
from dataclasses import dataclass
from functools import lru_cache

from reflective_rag.programs.rules.direction import (
    BE,
    TIME_ZH,
    Relation,
    Side,
    holds,
    named,
    read_en,
    relations,
    right_en,
)
from reflective_rag.programs.rules.direction_verbs import forms_en
from reflective_rag.programs.rules.matching import has_cjk
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.values import Span, dates
from reflective_rag.signatures.patterns import late_pattern

LONGEST_NAME_ZH = 12
"""Characters of a side that is taken as it stands for an answer."""
_OTHER: dict[Side, Side] = {"doer": "done", "done": "doer"}
_AUX = late_pattern(
    r"\b(?:did|does|do|has|have|had|will|would|can|could)\s+(?P<np>\w[^?]*?)\s+(?:\w+ly\s+)?$", re.IGNORECASE
)
_BE_NP = late_pattern(r"\b(?:was|were|is|are)\s+(?P<np>[^?,]{2,60}?)\s+(?:\w+ly\s+)?$", re.IGNORECASE)
_WHO = late_pattern(r"\b(?:who|whom|which|what)\b", re.IGNORECASE)
_LED = late_pattern(r"\b(?:in|on|at|for|from|with|under|to|of|about|during|until|since)\s+$", re.IGNORECASE)
_WHO_ZH = late_pattern(r"谁|哪一?[家个位名些所支队国]|哪(?=国|队)|什么|何人")
_PRONOUN = late_pattern(r"\s*(?:(?:he|she|they)\b|[他她])", re.IGNORECASE)
_AT_ZH = late_pattern(r"[在于从]")


@dataclass(frozen=True)
class Asked:
    """The side that a question asks for, and how it names the other."""

    group: int
    side: Side
    named: frozenset[str]


def asked_side(question: Question) -> Asked | None:
    """The side that a question with such a verb asks for: who acquired X (the doer), whom did X acquire (the done)."""
    return _asked(question.text, question.language == "zh")


@lru_cache(maxsize=512)
def _asked(text: str, zh: bool) -> Asked | None:
    return _asked_zh(text) if zh else _asked_en(text)


def _asked_zh(text: str) -> Asked | None:
    who = _WHO_ZH.search(text)
    for relation in relations(text) if who else ():
        side = relation.side(*who.span()) if who else None
        if side:
            places = relation.done if side == "doer" else relation.doer
            return Asked(relation.group, side, named(text, places))
    return None


def _asked_en(text: str) -> Asked | None:
    who = _WHO.search(text)
    pattern, table = forms_en()
    verb = next((found for found in pattern.finditer(text, who.end())), None) if who else None
    if who is None or verb is None or len(text[: who.start()].split()) > 1:
        return None
    group, form = table[verb.group().lower()]
    before, led, tail = text[: verb.start()], text[: who.start()].strip().lower(), text[verb.end() :]
    if led not in ("", "by", "so", "and"):
        return None
    if (be := _BE_NP.search(before)) and not BE.search(before):
        by = led == "by" or re.search(r"\bby\s*\W*$", tail) is not None
        return Asked(group, "doer", named(text, (be.span("np"),))) if by and form in ("part", "both", "past") else None
    if aux := _AUX.search(before):
        if form not in ("base", "both", "past", "part") or named(text, ((verb.end(), right_en(text, verb.end())),)):
            return None
        return _turn(Asked(group, "done", named(text, (aux.span("np"),))), form)
    sides = read_en(text, verb.start(), verb.end(), form)
    if sides is None or _LED.search(before):
        return None
    relation = Relation(group, *(sides if form != "turned" else sides[::-1]))
    side = relation.side(*who.span())
    return Asked(group, side, named(text, relation.done if side == "doer" else relation.doer)) if side else None


def _turn(asked: Asked, form: str) -> Asked:
    return Asked(asked.group, _OTHER[asked.side], asked.named) if form == "turned" else asked


def wrong_side(question: Question, text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` stands on the other side of the asked verb, or what the question names on its own."""
    return _fits(question, text, start, end) is False


def right_side(question: Question, text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` stands on the side that is asked for, and what the question names on the other."""
    return _fits(question, text, start, end) is True


def _fits(question: Question, text: str, start: int, end: int) -> bool | None:
    asked = asked_side(question)
    if asked is None or not asked.named:
        return None
    if not re.search(r"[^\W\d_年月日]", text[start:end]):  # no date is bought
        return False
    verdict: bool | None = None
    for relation in relations(text):
        side = relation.side(start, end) if relation.group == asked.group else None
        if side is None:
            continue
        mine, theirs = (relation.doer, relation.done) if asked.side == "doer" else (relation.done, relation.doer)
        if side == asked.side and holds(text, theirs, asked.named):
            return True
        turned = holds(text, mine, asked.named) and not holds(text, theirs, asked.named)
        if turned or side != asked.side:
            verdict = False
    return verdict


def pronoun_did(question: Question, text: str) -> bool:
    """Whether a sentence says that he, she or they did what is asked to whom the question names."""
    asked = asked_side(question)
    if asked is None or asked.side != "doer":
        return False
    return any(
        relation.group == asked.group
        and holds(text, relation.done, asked.named)
        and any(_PRONOUN.match(text, a, b) for a, b in relation.doer)
        for relation in relations(text)
    )


def answers_zh(question: Question, text: str) -> list[Span]:
    """Whom a Chinese sentence names on the side that is asked for: 甲公司, which no list of names holds."""
    asked = asked_side(question)
    found = []
    for relation in relations(text) if asked and has_cjk(text) else ():
        if asked and relation.group == asked.group:
            for a, b in relation.doer if asked.side == "doer" else relation.done:
                taken = [(date.start, date.end) for date in dates(text)]
                while a < b and (TIME_ZH.match(text, a) or any(x <= a < y for x, y in taken)):
                    a += 1
                while a < b and (TIME_ZH.match(text[b - 1]) or any(x <= b - 1 < y for x, y in taken)):
                    b -= 1
                if place := _AT_ZH.search(text, a + 2, b):  # 张三|在决赛中
                    b = place.start()
                found += [Span(text[a:b], a, b, "name")] if 1 < b - a <= LONGEST_NAME_ZH else []
    return found
