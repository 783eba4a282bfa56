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
from reflective_rag.programs.rules.values import Span, dates

_YEAR_ONLY = re.compile(r"\b(?:what|which)\s+year\b|哪一?年|年份|几几年", re.IGNORECASE)


def offers(question: Question, text: str) -> list[Span]:
    """The spans of a sentence of the asked form; where a form is asked for, nothing else is offered."""
    if asks_manner(question.text):
        return steps(text)
    if asks_how_often(question.text):
        return list(frequencies(text))
    if question.kind in ("thing", "number", "place", "person") and (code := asked_code(question.text)):
        return list(codes(text, code)) if code != "code" or names_code(question.text, text) else []
    spans = _by_kind(question, text)
    return spans + agents(question, text) if asks_agent(question) else spans


def _by_kind(question: Question, text: str) -> list[Span]:
    match question.kind:
        case "time":
            return _times(question, text)
        case "number":
            often = list(frequencies(text)) if "多久" in question.text else []
            return amounts(question.text, text) + often
        case "person":
            short = [span for span in quoted(text) if len(span.text) <= 6] if has_cjk(text) else []
            return [span for span in names(text) if span.kind in ("person", "name")] + short
        case "place":
            found = [span for span in names(text) if span.kind in ("place", "name") and len(span.text.strip(".")) > 1]
            mail = [*codes(text, "email"), *codes(text, "web")] if asks_where_to_send(question.text) else []
            return found + (list(places(text)) if asks_where(question.text) else []) + mail
        case "reason" if found := causes(text):
            return found
        case _:
            return (
                quoted(text)
                + whole_names(text, names(text), question.expected)
                + phrases(text, question)
                + slots(text, question)
            )


def _times(question: Question, text: str) -> list[Span]:
    """Dates and times of day; for "which year" only the year of a date (with 年 in Chinese)."""
    if asks_clock(question.text):
        return list(clocks(text))
    found = dates(text)
    if not _YEAR_ONLY.search(question.text):
        return [*found, *clocks(text)] if prefers_clock(question.text) or not found else found
    return [
        replace(span, text=year.group(), start=span.start + year.start(), end=span.start + year.end())
        for span in found
        if (year := re.search(r"\d{4}年?|\d{1,4}年", span.text))
    ]
