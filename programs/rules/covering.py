"""Whether the passages cover what a question needs."""

import re
from collections.abc import Sequence

from reflective_rag.programs.rules.departure import outlived
from reflective_rag.programs.rules.evidence import Evidence, Line, Page, merge
from reflective_rag.programs.rules.gaps import attribute_need
from reflective_rag.programs.rules.matching import Term, fold, hits
from reflective_rag.programs.rules.question import WEIGHT_WEAK, Question, analyse
from reflective_rag.programs.rules.spans import candidates
from reflective_rag.programs.rules.unsettled import leaves_open, unsettled
from reflective_rag.signatures.types import Requirement

_TYPED = frozenset(("time", "number", "person", "place"))
"""Kinds of question whose value can be told by its form."""

_ADDRESS = re.compile(r"\s+(?:to|for|that)\b")


def fill(evidence: Evidence, requirements: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """The same requirements in the same order, with status and passage ids. What was covered stays covered."""
    filled = []
    gone = outlived(evidence)
    for requirement in requirements:
        ids = [page.passage.id for page in covering(evidence, requirement.need) if page.index not in gone]
        merged = tuple(dict.fromkeys((*requirement.passage_ids, *ids)))
        covered = bool(ids) or requirement.status == "covered"
        filled.append(
            requirement.model_copy(update={"status": "covered" if covered else "missing", "passage_ids": merged})
        )
    return tuple(filled)


def covering(evidence: Evidence, need: str) -> list[Page]:
    """The pages that cover a need."""
    question = evidence.question
    if need == attribute_need(question):
        return [page for page in evidence.pages if any(answers(evidence, page, line) for line in page.lines)]
    terms = analyse(need).terms
    if not terms:
        return [page for page in evidence.pages if need.strip() and fold(need) in fold(f"{page.name} {page.text}")]
    total = sum(term.weight for term in terms)
    asks = _asks_value(question, terms)
    covered = []
    for page in evidence.pages:
        if asks and not any(_gives_value(evidence, line) for line in page.lines):
            continue
        found = hits(terms, f"{page.name}\n{page.text}")
        if sum(term.weight * h for term, h in zip(terms, found, strict=True)) / total >= evidence.settings.covered:
            covered.append(page)
    return covered


def answers(evidence: Evidence, page: Page, line: Line) -> bool:
    """Whether a sentence speaks of the asked attribute of the question's names, and holds a span of the asked kind."""
    question = evidence.question
    attribute = [not term.entity for term in question.terms]
    if any(attribute) and evidence.coverage(line.context, attribute) < evidence.settings.covered:
        return False
    if any(attribute) and not any(h > 0 for h, use in zip(line.own, attribute, strict=True) if use):
        return False
    named = merge(page.title, page.own, page.linked)
    entity = [term.entity for term in question.terms]
    if any(entity) and evidence.coverage(named, entity) < evidence.settings.covered:
        return False
    if question.kind == "yes_no" and leaves_open(question, question.terms, line.text):
        return False
    return question.kind not in _TYPED or _has_value(evidence, line)


def _asks_value(question: Question, terms: Sequence[Term]) -> bool:
    """Whether a need that somebody else worded asks for the question's own value: it holds all of its attribute."""
    held = {form for term in terms for form in term.forms}
    wanted = [term for term in question.attribute if term.weight > WEIGHT_WEAK]
    return question.kind in _TYPED and bool(wanted) and all(held & set(term.forms) for term in wanted)


def _gives_value(evidence: Evidence, line: Line) -> bool:
    """Whether a sentence holds a word of the asked attribute and a value of the asked kind."""
    marks = zip(line.own, evidence.question.terms, strict=True)
    return any(h > 0 and not term.entity for h, term in marks) and _has_value(evidence, line)


def _has_value(evidence: Evidence, line: Line) -> bool:
    """Whether a span of the asked kind stands there; the first word of "Note to …" is a capital, not a name.

    A plan and hearsay give none.
    """
    return any(
        (span.start > line.start or " " in span.text or not _ADDRESS.match(line.text[span.end - line.start :]))
        and not unsettled(evidence.question, line.text, span.start - line.start, span.end - line.start)
        for span in candidates(evidence, line)
    )
