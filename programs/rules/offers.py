"""Which spans of a sentence can answer a question at all, by what it asks for."""

import re
from dataclasses import replace

from reflective_rag.programs.rules.agents import agents, asks_agent
from reflective_rag.programs.rules.clock import asks_clock, clocks, prefers_clock
from reflective_rag.programs.rules.codes import asked_code, asks_where_to_send, codes, names_code
from reflective_rag.programs.rules.frequency import asks_how_often, frequencies
from reflective_rag.programs.rules.manner import asks_manner, steps
from reflective_rag.programs.rules.matching import has_cjk
from reflective_rag.programs.rules.names import names, quoted
from reflective_rag.programs.rules.phrases import causes, phrases, slots, whole_names
from reflective_rag.programs.rules.places import asks_where, places
from reflective_rag.programs.rules.quantities import amounts
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.routine import routines
from reflective_rag.programs.rules.values import Span, dates
from reflective_rag.signatures.patterns import late_pattern

_YEAR_ONLY = re.compile(r"\b(?:what|which)\s+year\b|哪一?年|年份|几几年", re.IGNORECASE)

_DISCOUNT_ASKED = late_pattern(r"(?:几|多少)折")
_DISCOUNT = late_pattern(r"(?:[一二三四五六七八九]{1,2}|\d(?:\.\d)?)折")
_WITH_WHAT = late_pattern(
    r"^\W*what\b.*\bwith\s*\?*\s*$|用什么(?:来|进行)?(?P<verb>[㐀-鿿]{2,4})[？?]?$", re.IGNORECASE
)
_NEAR = re.compile(r"附近|周边|周围|一带|境内|郊外|郊区|市区|市内|[东西南北]+[部边]")
"""What follows a name without being part of it: 佛罗伦萨附近."""


def offers(question: Question, text: str) -> list[Span]:
    """The spans of a sentence of the asked form; where a form is asked for, nothing else is offered."""
    if asks_manner(question.text):
        return steps(text)
    if asks_how_often(question.text):
        return list(frequencies(text))
    if question.kind in ("thing", "number", "place", "person") and (code := asked_code(question.text)):
        return list(codes(text, code)) if code != "code" or names_code(question.text, text) else []
    if used := instruments(question, text):
        return used
    spans = _by_kind(question, text)
    return spans + agents(question, text) if asks_agent(question) else spans


def instruments(question: Question, text: str) -> list[Span]:
    """What a sentence says something is done with, where that is asked: descaled *with vinegar*, 用*白醋*除垢."""
    asked = _WITH_WHAT.search(question.text)
    if not asked:
        return []
    verb = re.escape(asked["verb"]) if asked["verb"] else ""
    pattern = (
        rf"用(?P<it>[㐀-鿿]{{1,8}}?)(?:来|进行)?{verb}"
        if verb
        else r"\bwith\s+(?:an?\s+|the\s+)?(?P<it>[a-z][\w -]*?\w)(?=\s*(?:[,.;]|$|\band\b))"
    )
    return [Span(m["it"], m.start("it"), m.end("it"), "phrase") for m in re.finditer(pattern, text)]


def _by_kind(question: Question, text: str) -> list[Span]:
    match question.kind:
        case "time":
            return _times(question, text)
        case "number":
            if _DISCOUNT_ASKED.search(question.text):
                return [Span(m.group(), m.start(), m.end(), "number", "折") for m in _DISCOUNT.finditer(text)]
            often = list(frequencies(text)) if "多久" in question.text else []
            return amounts(question.text, text) + often
        case "person":
            short = [span for span in quoted(text) if len(span.text) <= 6] if has_cjk(text) else []
            named = [span for span in names(text) if span.kind in ("person", "name")]
            return whole_names(text, named, question.expected) + short
        case "place":
            return _wheres(question, text)
        case "reason" if found := causes(text):
            return found
        case _:
            return (
                quoted(text)
                + whole_names(text, names(text), question.expected)
                + phrases(text, question)
                + slots(text, question)
            )


def _wheres(question: Question, text: str) -> list[Span]:
    """Names; where any place answers also common nouns, which swallow the name that they begin with, and addresses."""
    found = [span for span in names(text) if span.kind in ("place", "name") and len(span.text.strip(".")) > 1]
    mail = [*codes(text, "email"), *codes(text, "web")]
    found = [span for span in found if not any(m.start <= span.start < m.end for m in mail)]
    if asks_where(question.text):
        longer = [p for p in places(text) if not any(m.start < p.end and p.start < m.end for m in mail)]
        near = [p for p in longer if any(s.start == p.start and _NEAR.fullmatch(text, s.end, p.end) for s in found)]
        longer = [place for place in longer if place not in near]
        found = [s for s in found if not any(p.start == s.start and p.end > s.end for p in longer)] + longer
    return found + (mail if asks_where_to_send(question.text) else [])


def _times(question: Question, text: str) -> list[Span]:
    """Dates and times of day; for "which year" only the year of a date (with 年 in Chinese)."""
    if asks_clock(question.text):
        return list(clocks(text))
    found = dates(text) or routines(question.text, text)
    if not _YEAR_ONLY.search(question.text):
        return [*found, *clocks(text)] if prefers_clock(question.text) or not found else found
    return [
        replace(span, text=year.group(), start=span.start + year.start(), end=span.start + year.end())
        for span in found
        if (year := re.search(r"\d{4}年?|\d{1,4}年", span.text))
    ]
