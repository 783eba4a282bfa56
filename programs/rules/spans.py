"""Which span of a sentence fits the question: candidates by kind, ranked by nearness to the question's terms."""

import re
from dataclasses import dataclass, replace

from reflective_rag.programs.rules.answer_types import fits_type
from reflective_rag.programs.rules.evidence import Evidence, Line, core_title
from reflective_rag.programs.rules.fit import fit
from reflective_rag.programs.rules.matching import fold, has_cjk, prepare, segmenter, stem
from reflective_rag.programs.rules.names import names, quoted
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.values import Span, dates, numbers
from reflective_rag.programs.rules.words import DEMONYM, MONTH_WORDS, STOP_EN, STOP_ZH, WEAK_ZH
from reflective_rag.signatures.patterns import late_pattern

NEAR_EN, NEAR_ZH = 30.0, 18.0
"""Distance in characters at which a term's pull on a span is halved (English, Chinese)."""

CLAUSE = 10.0
"""Characters that the end of a clause counts for in that distance."""

ENTITY_PULL = 0.35
"""Factor for the pull of names: the answer stands by the attribute ("born", 导演) rather than by the name it is about."""

MAX_PHRASE = 6
"""Longest plain phrase in words; longer runs are cut off there."""

_WORDS = re.compile(r"[^\W_]+(?:[.'’&-][^\W_]+|,\d{3}(?!\d))*")
_YEAR_ONLY = re.compile(r"\b(?:what|which)\s+year\b|哪一?年|年份|几几年", re.IGNORECASE)
_NOUN_TAGS = frozenset("n nr nrt ns nt nz ng nrfg vn an a b j l i eng m q g s t f z k h".split())
_IS_A = re.compile(
    rf"\b(?:is|was|are|were)\s+(?:an?|the)\s+(?:(?:former|retired|late|professional|{DEMONYM})\s+)*([a-z][a-z-]+(?:\s+(?!(?:who|that|which|and|or|in|of|by|from|for|with|at|on|to|best|known|born|based|directed|written|produced|released|set|was|is)\b)[a-z][a-z-]+){{0,3}})"
)
_SLOT = r"[了在于是为由被的从叫作做到过：:“「《]{0,3}([^，。；！？,;（）()“”「」《》…\n]{2,16})"
_CAUSE = late_pattern(
    r"\b(?:because(?:\s+of)?|due\s+to|owing\s+to|as\s+a\s+result\s+of|in\s+order\s+to|so\s+that|thanks\s+to|died\s+(?:of|from)|by\s+(?=\w+ing\b))\s*"
    r"([^,;.!?()]{3,120})|(?:因为|由于|为了|以便|死于(?!\d))([^，。；！？（）]{2,60})",
    re.IGNORECASE,
)
_LIST = re.compile(r"\s*(?:、|和|与|及|以及|,\s*and|,|and|&|；|;)\s*")
PLURAL = re.compile(
    r"哪些|哪几|哪两|分别|两种|几种|例子|有谁|都是?有|\bwhat are\b|\bwhich two\b|\bwho (?:are|were)\b", re.IGNORECASE
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
    spans = [_trim(question, span) for span in _spans(question, line.text)]
    for span in dict.fromkeys(spans):
        if _from_question(question, span.text) or not fits_type(question, line.text, span):
            continue
        score = _nearness(span, positions, question, line.text) + fit(question, line.text, span, title)
        found.append(Candidate(span.text, line.page, line.start + span.start, line.start + span.end, score))
    found.sort(key=lambda c: (-c.score, c.start))
    if found and PLURAL.search(question.text):
        found[0] = _with_list(found[0], line, spans)
    return found


def _spans(question: Question, text: str) -> list[Span]:
    match question.kind:
        case "time":
            return _dates_for(question, text)
        case "number":
            return numbers(text)
        case "person":
            short = [span for span in quoted(text) if len(span.text) <= 6] if has_cjk(text) else []
            return [span for span in names(text) if span.kind in ("person", "name")] + short
        case "place":
            return [span for span in names(text) if span.kind in ("place", "name")]
        case "reason" if causes := _causes(text):
            return causes
        case _:
            return quoted(text) + names(text) + phrases(text, question) + _slots(text, question)


def _causes(text: str) -> list[Span]:
    """What a sentence gives as cause, purpose or means: after "because of", "by …ing", 因为, 为了."""
    found = ((m, 1 if m.group(1) else 2) for m in _CAUSE.finditer(text))
    return [Span(m.group(i), m.start(i), m.end(i), "phrase") for m, i in found]


def _slots(text: str, question: Question) -> list[Span]:
    """Spans by their place in the sentence.

    In English what follows "is a", in Chinese what stands where the question word stands. The Chinese ones reach from the word before the question word to the next comma.
    """
    matches = list(_IS_A.finditer(text))
    for form in question.left if has_cjk(text) else ():
        matches += re.finditer(re.escape(form) + _SLOT, text)
    return [Span(found.group(1), found.start(1), found.end(1), "phrase") for found in matches]


def _dates_for(question: Question, text: str) -> list[Span]:
    """Dates; for "which year" only their year (with 年 in Chinese)."""
    found = dates(text)
    if not _YEAR_ONLY.search(question.text):
        return found
    return [
        replace(span, text=year.group(), start=span.start + year.start(), end=span.start + year.end())
        for span in found
        if (year := re.search(r"\d{4}年?|\d{1,4}年", span.text))
    ]


def phrases(text: str, question: Question) -> list[Span]:
    """Runs of content words that hold none of the question's terms.

    A stand-in for noun phrases where there is no parser. Chinese runs hold only words that the segmenter tags as nominal.
    """
    asked = {form for term in question.terms for form in term.forms}
    spans: list[Span] = []
    run: list[tuple[str, int, int]] = []
    for word, start, end, content in [*_pieces(text), ("", len(text), len(text), False)]:
        content = content and stem(fold(word)) not in asked and fold(word) not in asked
        if run and (not content or text[run[-1][2] : start].strip(" -") != ""):
            run = run[:MAX_PHRASE]
            spans.append(Span(text[run[0][1] : run[-1][2]], run[0][1], run[-1][2], "phrase"))
            run = []
        if content:
            run.append((word, start, end))
    return spans


def _pieces(text: str) -> list[tuple[str, int, int, bool]]:
    """Words with offsets, and whether each can be part of a phrase."""
    if not has_cjk(text):
        return [(m.group(), m.start(), m.end(), m.group().lower() not in STOP_EN) for m in _WORDS.finditer(text)]
    pieces: list[tuple[str, int, int, bool]] = []
    position = 0
    for word, tag in segmenter().tag(text):
        start, position = position, position + len(word)
        if _WORDS.fullmatch(word):
            pieces.append((word, start, position, tag in _NOUN_TAGS and word not in STOP_ZH))
    return pieces


def _trim(question: Question, span: Span) -> Span:
    """Drop the question's words at the front of an English name: Nintendo's CEO Doug Bowser.

    Only where the last of them is a title or a possessive.
    """
    if span.kind != "name" or has_cjk(span.text):
        return span
    words = [(m.group(), m.start()) for m in _WORDS.finditer(span.text)]
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
    if has_cjk(folded):
        return folded in fold(question.text) or folded in STOP_ZH or folded in WEAK_ZH
    asked = prepare(question.text).stems
    words = [word for word in _WORDS.findall(folded) if word not in STOP_EN]
    return all(stem(word.removesuffix("'s")) in asked or stem(word) in asked for word in words) or folded in MONTH_WORDS


def _positions(evidence: Evidence, text: str) -> list[tuple[float, list[int]]]:
    """For each term that stands in the sentence: its weight and where (character positions of the middles)."""
    folded = fold(text)
    words = [
        (stem(m.group()), stem(m.group().split("'")[0]), (m.start() + m.end()) // 2) for m in _WORDS.finditer(folded)
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
    for span in sorted(spans, key=lambda each: -each.end):
        if span.end <= start and _LIST.fullmatch(line.text[span.end : start]):
            start = span.start
    return Candidate(line.text[start:end], best.page, line.start + start, line.start + end, best.score)
