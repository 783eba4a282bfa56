"""The amount that a page binds to the asked word: "cost *41 million euros*", "the rent is raised to *8,350 euros*".

Bound means that nothing but verbs of amounts and of change, function words and the question's own words stand between,
and that the sentence says it of what the question names: the deck of a bridge is not the bridge.
"""

import re
from dataclasses import dataclass
from datetime import date
from heapq import nlargest

from reflective_rag.programs.rules.changes import gone_by
from reflective_rag.programs.rules.clauses import clause, content, lead_zh
from reflective_rag.programs.rules.evidence import Evidence, Line, Page, merge
from reflective_rag.programs.rules.matching import fold, has_cjk, stem
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.question import WEIGHT_WEAK, Question
from reflective_rag.programs.rules.rivals import places_of
from reflective_rag.programs.rules.spans import PLURAL, candidates
from reflective_rag.programs.rules.units import UNITS
from reflective_rag.programs.rules.unsettled import unsettled
from reflective_rag.programs.rules.values import Span, numbers, worded_amount
from reflective_rag.programs.rules.words import MONTH_WORDS
from reflective_rag.signatures.patterns import late_pattern

MOST_LINES, LONGEST_LINE = 4, 600
"""Most sentences of a page that are read for an amount, the best ones, and the most characters of one."""
LONGEST_GAP = 80
"""Most characters between the asked word and its amount."""
_BETWEEN = frozenset(
    """amount amounts amounted amounting stand stands stood come comes came total totals totalled totaled set fixed raise raised rais
    increase increased reduce reduced cut lower lowered adjust adjusted amend amended change changed rise rises rose risen go goes went
    gone fall falls fell fallen drop dropped up down get gets got receive receives received entitle entitled grant granted give given
    allow allowed allowance enjoy enjoys charge charged pay pays paid now currently new then only just exactly officially about around
    roughly approximately nearly almost over under eur euro euros usd dollar dollars pound pounds day days""".split()
)
_PRONOUN = late_pattern(r"(?:it|its|they|their|this|these|he|she|his|her)\b", re.IGNORECASE)
_PART_OF = r"\b([^\W\d_]{1,40})\s(?:of|to|for|on|in|at|near|beside|behind|under)\s(?:the\s)?"
_PREPOSITION = late_pattern(r"\b(?:in|near|at|of|by|from|over|across|outside|to|with|between|and)\s+(?:the\s+)?$")
_WHERE = late_pattern(r",?\s+(?:in|near|at|of|from)\s+(?:the\s+)?([A-Z][\w'’-]+)")
_RATE = late_pattern(
    r"每[日天周月季年人晚次]|\bper\s+\w+|\b(?:an?|each|every)\s+(?:hour|day|week|month|quarter|year|night|person)\b"
)
_GAP_ZH = late_pattern(
    r"(?:[\s了在于是为由从被的共约近达至到有仅现已将增减降改：:]|人民币|合计|总计|调整|上调|下调|提高|提升|上涨|涨|下降|降低|减少|增加|延长|缩短|变更|修改|定为|规定|标准|金额|每[月年天人日]|\d[\d,.]*[万亿]?元)*"
)


@dataclass(frozen=True)
class Amount:
    """The amount of a sentence: its place in the sentence, its value, and the amount that it takes the place of."""

    line: Line
    span: Span
    value: float
    former: float | None = None
    published: date | None = None


def asked_amount(evidence: Evidence, page: Page, least: float) -> Amount | None:
    """The one amount that a page gives to the question; None where it gives none, or several.

    `least` is the coverage of the question from which a sentence is read.
    """
    if not asks_amount(evidence.question):
        return None
    scored = [(score, line) for line in page.lines if (score := evidence.coverage(line.context)) >= least]
    lines = [
        line for _, line in nlargest(MOST_LINES, scored, key=lambda item: item[0]) if len(line.text) <= LONGEST_LINE
    ]
    found = [amount for line in lines if (amount := _amount(evidence, page, line))]
    return found[0] if len({amount.value for amount in found}) == 1 else None


def asks_amount(question: Question) -> bool:
    """Whether a question asks for one amount of something that it names."""
    return question.kind == "number" and bool(question.attribute) and not PLURAL.search(question.text)


def _amount(evidence: Evidence, page: Page, line: Line) -> Amount | None:
    question, text = evidence.question, line.text
    best = next(iter(candidates(evidence, line)), None)
    spans = numbers(text)
    span = next((s for s in spans if best and s.start <= best.start - line.start < s.end), None)
    if span is None or (value := worded_amount(span)) is None or unsettled(question, text, span.start, span.end):
        return None
    like = [other for other in spans if same_unit(other, span)]
    gone = gone_by(question, text, like)
    others = {worded_amount(other) for other in like if other not in gone} - {value}
    if others or span in gone or not of_the_thing(evidence, page, line, span) or not _bound(question, text, span):
        return None
    former = next((worded_amount(other) for other in gone), None)
    return Amount(line, span, value, former, page.passage.published)


def same_unit(a: Span, b: Span) -> bool:
    """Whether two numbers count in one unit, or in two of one dimension that are written with the same factor."""
    return UNITS.get(a.unit, a.unit) == UNITS.get(b.unit, b.unit)


def rates(text: str) -> frozenset[str]:
    """What an amount is for: per night, 每月."""
    return frozenset(found.group() for found in _RATE.finditer(fold(text)))


def _bound(question: Question, text: str, span: Span) -> bool:
    """Whether the asked word and the amount stand in one clause with nothing of another matter between."""
    start, end = clause(text, span.start, span.end)
    unit = stem(span.unit)
    asked = [t for t in question.attribute if t.weight > WEIGHT_WEAK and not t.text[0].isdigit()]
    for term in asked:
        for at in places_of(term.forms, text) if unit not in term.forms else ():
            left, right = sorted([at, (span.start, span.end)])
            if (
                start <= left[0]
                and right[1] <= end
                and left[1] <= right[0]
                and _is_gap(question, text[left[1] : right[0]])
            ):
                return not has_cjk(text) or lead_zh(question, text[start : left[0]])
    return False


def _is_gap(question: Question, gap: str) -> bool:
    if len(gap) > LONGEST_GAP:
        return False
    if has_cjk(gap) or question.language == "zh":
        for term in question.terms:
            gap = gap.replace(term.text, "")
        return _GAP_ZH.fullmatch(gap) is not None
    own = {form for term in question.terms for form in term.forms}
    return all(word in _BETWEEN or stem(word) in own or word[0].isdigit() for word in content(gap))


def of_the_thing(evidence: Evidence, page: Page, line: Line, span: Span) -> bool:
    """Whether a sentence speaks of what the question names: it names it, or goes on from a title or sentence that does."""
    question, text = evidence.question, line.text
    entity = [term.entity or term.text[0].isdigit() for term in question.terms]
    if not question.entities:
        return True
    at = fold(text).find(fold(question.entities[0]))
    if at < 0:
        before = [each.own for each in page.lines if each.start < line.start]
        named = merge(line.own, page.title, *before)
        held = all(h > 0 for h, use in zip(named, entity, strict=True) if use)
        return held and not _foreign(question, text[: span.start]) and (has_cjk(text) or _goes_on(question, text))
    if not all(h > 0 for h, use in zip(merge(line.own, page.title), entity, strict=True) if use):
        return False
    part = re.search(_PART_OF + re.escape(question.entities[0]), text, re.IGNORECASE)
    own = {form for term in question.terms for form in term.forms}
    if part and content(part[1]) and stem(part[1].lower()) not in own:
        return False
    behind = at + len(question.entities[0])
    between = text[behind : span.start] if behind < span.start else ""
    return has_cjk(text) or not (_foreign(question, text[:at]) or _foreign(question, between))


def _foreign(question: Question, text: str) -> bool:
    """Whether a text names something that the question does not, other than as a place or a source."""
    asked = fold(question.text)
    return any(
        fold(name.text) not in asked and not _PREPOSITION.search(text[: name.start].lower())
        for name in names(text)
        if not any(char.isdigit() for char in name.text) and set(content(name.text)) - MONTH_WORDS
    )


def _goes_on(question: Question, text: str) -> bool:
    """Whether a sentence begins with a pronoun or with a word of the question."""
    own = {form for term in question.terms for form in term.forms}
    first = next(iter(content(text)), "")
    return _PRONOUN.match(text) is not None or stem(first) in own


def namesakes(question: Question, a: str, b: str) -> bool:
    """Whether two sentences put the named thing in two places: the Orne Bridge in Halm, the Orne Bridge in Vey."""
    if not question.entities:
        return False
    found = []
    for text in (a, b):
        at = fold(text).find(fold(question.entities[0]))
        place = _WHERE.match(text, at + len(question.entities[0])) if at >= 0 else None
        found.append(place[1] if place else "")
    return all(found) and found[0] != found[1]
