"""Which span of a sentence fits the question: candidates by kind, ranked by nearness to the question's terms."""

import re
from dataclasses import dataclass, replace

from reflective_rag.programs.rules.answer_types import fits_type
from reflective_rag.programs.rules.asked_side import answers_zh, right_side, wrong_side
from reflective_rag.programs.rules.changes import gone_by
from reflective_rag.programs.rules.clock import clock_fit
from reflective_rag.programs.rules.conditions import unasked
from reflective_rag.programs.rules.contrast import contrasts
from reflective_rag.programs.rules.evidence import Evidence, Line, core_title
from reflective_rag.programs.rules.fit import KIND, fit
from reflective_rag.programs.rules.matching import fold, has_cjk, prepare, stands_in, stem
from reflective_rag.programs.rules.offers import offers
from reflective_rag.programs.rules.phrases import WORDS
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.refuting import refuted
from reflective_rag.programs.rules.selling import sale
from reflective_rag.programs.rules.sorts import of_another_sort
from reflective_rag.programs.rules.subjects import doer_before, subject
from reflective_rag.programs.rules.tenure import held_once
from reflective_rag.programs.rules.unsettled import hedge_alone, unsettled, without_hedge
from reflective_rag.programs.rules.values import Span
from reflective_rag.programs.rules.words import MONTH_WORDS, STOP_EN, STOP_ZH, WEAK_ZH
from reflective_rag.signatures.patterns import late_pattern

NEAR_EN, NEAR_ZH = 30.0, 18.0
"""Distance in characters at which a term's pull on a span is halved (English, Chinese)."""

CLAUSE = 10.0
"""Characters that the end of a clause counts for in that distance."""

ENTITY_PULL = 0.35
"""Factor for the pull of names: the answer stands by the attribute ("born", 导演) rather than by the name it is about."""

OPEN = 0.5
"""Penalty for what a sentence gives only as a plan or as hearsay."""

_VALUES = frozenset(("number", "clock"))
"""Kinds of span of which one sentence often holds several, each for another case."""

_PARTED = late_pattern(r"[;；]")
"""What parts a sentence in statements about different things, each with its date."""
_TYPED = frozenset(("number", "time", "place"))
_TAIL = late_pattern(r"[㐀-䶿一-鿿]{1,3}(?=[，。；！？\s]|$)")
"""The last word of a list, cut in two by the segmenter: 收据、订单号和原|包装."""

_LIST = late_pattern(
    r"\s*(?:、|和|与|及|以及|,\s*and|,|and|&|；|;)\s*(?:(?:the|an?|your|his|her|its|their)\s+(?:(?:\w+\s+)?(?:brother|sister|wife|husband|son|daughter|father|mother|cousin|friend|partner|colleague)\s+)?)?"
)
_FOUNDERS = late_pattern(
    r"\bwho\s+(?:co-?)?(?:founded|established|started|set\s+up)\b|谁[^，。]{0,4}(?:创办|创立|创建)|(?:创办|创立)[^，。]{0,4}谁",
    re.IGNORECASE,
)
"""Questions that two names often answer, although they ask for one."""
PLURAL = late_pattern(
    r"哪些|哪几|哪两|分别|两种|几种|例子|有谁|都是?有|(?:需要?|包括|包含|提供|携带|提交|准备)[^，。]{0,4}什么|\bwhat are\b|\bwhich two\b|\bwho (?:are|were)\b"
    r"|\b(?:which|what)\s+(?:[a-z]+\s+)?[a-z]{2,}[^\Ws]s\s+(?:are|do|can|must|should|have|were|did)\b|\b(?:which|what)\s+colou?rs\b"
    r"|\bwhat\s+(?:do|does|must|should)\b.*\b(?:need|bring|include|contain|provide|submit|consist)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Candidate:
    """A possible answer: its text, its place in the passage text, and its score.

    The score is 0..1 and a little over, for ranking only.
    """

    text: str
    page: int
    start: int
    end: int
    score: float


def candidates(evidence: Evidence, line: Line) -> list[Candidate]:
    """All spans of a sentence that could answer, best first; the question's own words are never an answer."""
    question = evidence.question
    positions = _positions(evidence, line.text)
    title = core_title(evidence.pages[line.page].name)
    found = []
    spans = list(
        dict.fromkeys(
            _trim(question, span) for span in (*offers(question, line.text), *answers_zh(question, line.text))
        )
    )
    fitting = [s for s in spans if not _from_question(question, s.text) and fits_type(question, line.text, s)]
    fitting = [s for s in fitting if not hedge_alone(s.text)]
    fitting = [s for s in fitting if not refuted(question, line.text, s.start, s.end)]
    fitting = [s for s in fitting if not wrong_side(question, line.text, s.start, s.end)]
    fitting = [s for s in fitting if not held_once(question, line.text, s.start, s.end)]
    fitting = [s for s in fitting if not of_another_sort(question, line.text, s.start, s.end)]
    parted = question.kind == "time" and _PARTED.search(line.text) is not None
    values = [span for span in fitting if span.kind in _VALUES or (parted and span.kind == "date")]
    against = dict(zip(values, contrasts(question.text, line.text, values), strict=True))
    gone = gone_by(question, line.text, fitting)
    apart = unasked(question.text, line.text) if question.kind in _TYPED else 0.0
    for span in fitting:
        score = apart + _nearness(span, positions, question, line.text) + fit(question, line.text, span, title)
        score += (
            gone.get(span, 0.0)
            + against.get(span, 0.0)
            + (clock_fit(question.text, line.text, span) if span.kind == "clock" else 0.0)
        )
        score += sale(question, line.text, span)
        score -= OPEN if unsettled(question, line.text, span.start, span.end) else 0.0
        score += KIND if right_side(question, line.text, span.start, span.end) else 0.0
        found.append(Candidate(span.text, line.page, line.start + span.start, line.start + span.end, score))
    if question.kind == "person" and (who := subject(evidence, line)) and not _from_question(question, who[1].text):
        pronoun, person = who
        score = _nearness(pronoun, positions, question, line.text) + KIND
        found.append(Candidate(person.text, line.page, person.start, person.end, score))
    if question.kind == "person" and (doer := doer_before(evidence, line)):
        found.append(Candidate(doer.text, line.page, doer.start, doer.end, 1 + KIND))
    found.sort(key=lambda c: (-c.score, c.start))
    if found and PLURAL.search(question.text):
        found[0] = _with_list(found[0], line, spans)
    elif found and question.kind == "person" and found[0].start >= line.start and _FOUNDERS.search(question.text):
        found[0] = _with_list(found[0], line, [span for span in fitting if span.kind in ("person", "name")])
    return found


def _trim(question: Question, span: Span) -> Span:
    """Drop the question's words at the front of an English name: Nintendo's CEO Doug Bowser.

    Only where the last of them is a title or a possessive.
    """
    if span.kind not in ("name", "person") or has_cjk(span.text):
        return span
    sure = without_hedge(span.text)
    span = replace(span, text=sure, start=span.end - len(sure))
    if span.kind != "name":
        return span
    words = [(m.group(), m.start()) for m in WORDS.finditer(span.text)]
    asked = {stem(word) for word in fold(question.expected).split()}  # which *university*: University of Halden
    attribute = {form for term in question.attribute for form in term.forms} - asked
    cut = 0
    for i, (word, _) in enumerate(words[:-1]):
        if word.endswith(("'s", "’s")) or stem(fold(word)) in attribute:
            cut = next((start for later, start in words[i + 1 :] if later.lower() not in STOP_EN), cut)
    return replace(span, text=span.text[cut:], start=span.start + cut) if cut else span


def _from_question(question: Question, text: str) -> bool:
    """Whether a span only repeats the question (all its content words stand there), or has no content."""
    folded = fold(text)
    if re.search(r"\d", text) and stands_in(text, question.text):  # an identifier: P-200
        return True
    if has_cjk(folded):
        return folded in fold(question.text) or folded in STOP_ZH or folded in WEAK_ZH
    asked = prepare(question.text).stems
    words = [word for word in WORDS.findall(folded) if word not in STOP_EN]
    return all(stem(word.removesuffix("'s")) in asked or stem(word) in asked for word in words) or folded in MONTH_WORDS


def _positions(evidence: Evidence, text: str) -> list[tuple[float, list[int]]]:
    """For each term that stands in the sentence: its weight and where (character positions of the middles)."""
    folded = fold(text)
    words = [
        (stem(m.group()), stem(m.group().split("'")[0]), (m.start() + m.end()) // 2) for m in WORDS.finditer(folded)
    ]
    found = []
    for weight, term in zip(evidence.weights, evidence.question.terms, strict=True):
        places = [middle for whole, bare, middle in words if whole in term.forms or bare in term.forms]
        for form in term.forms:
            if has_cjk(form):
                places += [m.start() + len(form) // 2 for m in re.finditer(re.escape(form), folded)]
        if not places:
            places = [m.start() + 1 for gram in term.grams for m in re.finditer(re.escape(gram), folded)]
        if places:
            found.append((weight * (ENTITY_PULL if term.entity else 1.0), places))
    return found


def _nearness(span: Span, positions: list[tuple[float, list[int]]], question: Question, text: str) -> float:
    """0..1: weighted mean of half-life pulls of the question's terms that stand in the sentence."""
    half = NEAR_ZH if question.language == "zh" else NEAR_EN
    total = sum(weight for weight, _ in positions)
    if not total:
        return 0.0
    pull = 0.0
    for weight, places in positions:
        # A date belongs to the verb of its own clause: 于2016年发射，2017年返回.
        distance = min(_distance(span, place, text if question.kind == "time" else "") for place in places)
        pull += weight * half / (half + distance)
    return pull / total


def _distance(span: Span, place: int, text: str) -> float:
    """Characters between a span and a place; a clause that ends between them counts as `CLAUSE` more."""
    between = text[span.end : place] or text[place : span.start]
    return max(span.start - place, place - span.end, 0) + CLAUSE * sum(between.count(mark) for mark in "，；。;")


def _with_list(best: Candidate, line: Line, spans: list[Span]) -> Candidate:
    """Widen the best span over the list it stands in (A、B和C), when the question asks for several."""
    start, end = best.start - line.start, best.end - line.start
    for span in sorted(spans, key=lambda each: each.start):
        if span.start >= end and _LIST.fullmatch(line.text[end : span.start]):
            end = span.end
    if end > best.end - line.start and (tail := _TAIL.match(line.text, end)):
        end = tail.end()
    for span in sorted(spans, key=lambda each: -each.end):
        if span.end <= start and _LIST.fullmatch(line.text[span.end : start]):
            start = span.start
    return Candidate(line.text[start:end], best.page, line.start + start, line.start + end, best.score)
