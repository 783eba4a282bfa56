"""What a question needs, and what to search for when the passages do not cover it."""

from collections.abc import Sequence

from reflective_rag.programs.rules.dates import dated
from reflective_rag.programs.rules.evidence import Evidence, Line, Page, merge
from reflective_rag.programs.rules.matching import Term, fold, has_cjk
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.question import WEIGHT_WEAK, Question
from reflective_rag.signatures.text import normalize
from reflective_rag.signatures.types import Contradiction, Gap, GapKind, Requirement

MAX_NEEDS = 5
"""Most requirements that are made of one question."""

IMPORTANCE: dict[GapKind, float] = {
    "missing_entity": 0.8,
    "missing_attribute": 0.9,
    "missing_relation": 1.0,
    "timeline": 0.7,
    "incomplete_answer": 0.7,
    "conflict": 0.6,
}
"""Importance of a gap by kind; 0.3 instead for a requirement that is not important. A bridge comes first: without it
nothing can be found."""

_LABELS = {
    "en": {"time": "date", "number": "number", "place": "place", "person": "person"},
    "zh": {"time": "时间", "number": "数量", "place": "地点", "person": "人物"},
}


def needs(question: Question) -> tuple[Requirement, ...]:
    """The question's parts: its names and quotations, then the asked attribute.

    One to `MAX_NEEDS`, all missing as yet.
    """
    parts = [*question.entities[: MAX_NEEDS - 1]]
    if attribute := attribute_need(question):
        parts.append(attribute)
    parts = list(dict.fromkeys(part for part in parts if part.strip()))
    return tuple(Requirement(need=part) for part in parts) or (Requirement(need=question.text.strip() or "?"),)


def attribute_need(question: Question) -> str:
    """What is asked of the first name, in words of the question: "Ada Lovelace: born (date)".

    Empty when nothing but names stands there.
    """
    words = attribute_words(question, question.attribute)
    label = _LABELS[question.language].get(question.kind, "")
    if not words and not label:
        return ""
    head = f"{question.entities[0]}: " if question.entities else ""
    return head + (f"{words} ({label})" if words and label else words or label)


def attribute_words(question: Question, terms: Sequence[Term]) -> str:
    """The words of some terms in the question's order.

    Words that only say the kind of answer are left out when others remain.
    """
    strong = [term.text for term in terms if term.weight > WEIGHT_WEAK] or [term.text for term in terms]
    if question.language == "en":
        return " ".join(strong)
    joined = ""
    for word in strong:
        joined += word if not joined or joined.split(" ")[-1] + word in question.text else f" {word}"
    return joined


def _asked(question: Question, terms: Sequence[Term]) -> str:
    """Search words for some terms: with "date" or "place" where that is asked, or any label when there are no words."""
    words = attribute_words(question, terms)
    label = _LABELS[question.language].get(question.kind, "")
    return f"{words} {label}".strip() if question.kind in ("time", "place") or not words else words


def find_gaps(
    evidence: Evidence, requirements: Sequence[Requirement], contradictions: Sequence[Contradiction]
) -> tuple[Gap, ...]:
    """What is missing, most important first, each with a query of its own."""
    question = evidence.question
    gaps = [_missing(question, requirement) for requirement in requirements if requirement.status == "missing"]
    if any(gap.kind != "missing_entity" for gap in gaps):
        gaps += _bridges(evidence)
    gaps += _timeline(evidence)
    gaps += [
        _gap("conflict", c.about, _query(question, attribute_words(question, question.attribute)))
        for c in contradictions
        if c.newer is None
    ][:1]
    unique: dict[str, Gap] = {}
    for gap in gaps:
        unique.setdefault(normalize(gap.query), gap)
    return tuple(sorted(unique.values(), key=lambda gap: -gap.importance))


def _gap(kind: GapKind, need: str, query: str, important: bool = True) -> Gap:
    return Gap(kind=kind, need=need, query=query, importance=IMPORTANCE[kind] if important else 0.3)


def _missing(question: Question, requirement: Requirement) -> Gap:
    need = requirement.need
    if need in question.entities:
        return _gap("missing_entity", need, need, requirement.important)
    if need == attribute_need(question):
        return _gap(
            "missing_attribute", need, _query(question, _asked(question, question.attribute)), requirement.important
        )
    known = [entity for entity in question.entities if fold(entity) not in fold(need)][:1]
    return _gap("incomplete_answer", need, " ".join([*known, need]), requirement.important)


def _query(question: Question, words: str) -> str:
    """The question's names with some words; unlike the question itself where that is possible."""
    query = " ".join(dict.fromkeys([*question.entities[:2], *words.split()]))
    return query if query and normalize(query) != normalize(question.text) else question.text


def _bridges(evidence: Evidence) -> list[Gap]:
    """Names that the best passage gives for what the question only describes.

    Each goes with the part of the question that is still open.

    "When was the director of X born?" and "X … directed by NAME" → NAME born date.
    """
    question = evidence.question
    ranked = sorted(evidence.pages, key=lambda page: (-evidence.coverage(merge(page.title, page.own)), page.index))
    for page in ranked[:2]:
        open_terms = [
            t
            for t, h in zip(question.terms, merge(page.title, page.own), strict=True)
            if not h and not t.entity and t.weight > WEIGHT_WEAK
        ]
        if not open_terms or not any(merge(page.title, page.own)):
            continue
        for line in sorted(page.lines, key=lambda each: (-evidence.coverage(each.own), each.start))[:2]:
            if name := _described(evidence, page, line):
                words = _asked(question, open_terms)
                return [_gap("missing_relation", f"{name}: {words}", f"{name} {words}")]
    return []


def _described(evidence: Evidence, page: Page, line: Line) -> str:
    """The name in a sentence that stands nearest to a describing word of the question (director, 导演)."""
    folded = fold(line.text)
    places = [
        folded.find(form[:5])
        for term, h in zip(evidence.question.terms, line.own, strict=True)
        if h and not term.entity
        for form in term.forms
        if form[:5] in folded
    ]
    asked = fold(evidence.question.text + " " + page.name)
    spans = [
        span for span in names(line.text) if fold(span.text) not in asked and (has_cjk(span.text) or " " in span.text)
    ]
    if not places or not spans:
        return ""
    return min(spans, key=lambda span: (min(abs(span.start - place) for place in places), span.start)).text


def _timeline(evidence: Evidence) -> list[Gap]:
    """A gap when the question is bound to a time that has an end, and every dated passage on topic lies after it."""
    time, question = evidence.question.time, evidence.question
    if time.end is None or time.scope in ("timeless", "now"):
        return []
    known = []
    for page in evidence.pages:
        line = max(page.lines, key=lambda each: evidence.coverage(each.context), default=None)
        if (
            line is not None
            and evidence.coverage(line.context) >= evidence.settings.covered
            and (when := dated(page.passage, line.text))
        ):
            known.append(when)
    if not known or any(when <= time.end for when in known):
        return []
    words = attribute_words(question, question.attribute)
    return [_gap("timeline", f"{time.text or time.end.year}", _query(question, f"{words} {time.end.year}".strip()))]
