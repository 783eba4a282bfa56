"""Yes/no questions."""

import re

from reflective_rag.programs.rules.denial import denied
from reflective_rag.programs.rules.direction import turned_round
from reflective_rag.programs.rules.evidence import Evidence, Line, Page, merge
from reflective_rag.programs.rules.matching import fold, has_cjk, prepare, stem
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.negation import negated
from reflective_rag.programs.rules.opening import asks_open_day, open_on
from reflective_rag.programs.rules.opposites import opposed
from reflective_rag.programs.rules.page_about import page_about
from reflective_rag.programs.rules.permission import asks_permission, clause_of, permitted
from reflective_rag.programs.rules.than import more_than
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.types import Draft

_SAME = re.compile(r"\b(?:same|both)\b|同一|相同|都是|均为|都", re.IGNORECASE)
_SAME_STRICT = re.compile(r"\bsame\b|同一|相同", re.IGNORECASE)
_ASKING_ZH = late_pattern(r"是否|有没有|是不是|会不会|能不能")

OPPOSITE = 0.3
"""Added for a sentence that holds the opposite of a word of the question: closed to trucks, where open is asked."""


def decide(evidence: Evidence) -> Draft:
    """Answer a yes/no question, or leave it empty when no sentence decides it."""
    return decide_with_coverage(evidence)[0]


def decide_with_coverage(evidence: Evidence) -> tuple[Draft, float]:
    """The answer to a yes/no question, and how much of the question the deciding sentence holds.

    That is 0 when two pages had to be compared.
    """
    question = evidence.question
    yes, no = ("是", "否") if question.language == "zh" else ("yes", "no")
    if (than := more_than(evidence)) is not None:
        return Draft(answer="" if than.holds is None else yes if than.holds else no, cited=than.cited), than.coverage
    if (told := _told(evidence)) is not None:
        return told
    subjects = question.entities[:2]
    if len(subjects) == 2 and _SAME.search(question.text):
        pages = [page_about(evidence, subject) for subject in subjects]
        if pages[0] is None or pages[1] is None:
            return Draft(answer=""), 0.0
        same = (
            _share_value(evidence, pages[0], pages[1])
            if _SAME_STRICT.search(question.text)
            else _both_hold(evidence, pages[0], pages[1])
        )
        return Draft(
            answer=yes if same else no, cited=tuple(dict.fromkeys((pages[0].passage.id, pages[1].passage.id)))
        ), 0.0
    said = [not term.entity for term in question.terms]
    line = max(
        (line for page in evidence.pages for line in page.lines),
        # "It is not open to trucks" decides more than the sentence before it that holds the name.
        key=lambda each: evidence.coverage(each.context) + _of_itself(evidence, each, said),
        default=None,
    )
    if line is None or _unknown(evidence, evidence.pages[line.page]):
        return Draft(answer=""), 0.0
    spoken = clause_of(question.text, line.text) if asks_permission(question) else line.text
    denial = denied(_stated(question.text), spoken)
    # The denied word itself (有毒, where the sentence says 无毒) is a term that the sentence lacks.
    coverage = evidence.coverage(line.context, [term.text not in denial for term in question.terms])
    if coverage < evidence.settings.min_statement:
        return Draft(answer=""), 0.0
    if turned_round(question.text, line.text):
        return Draft(answer=no, cited=(evidence.pages[line.page].passage.id,)), coverage
    unlike = negated(spoken) != negated(question.text)
    flipped = bool(denial) or unlike != bool(opposed(question.text, line.text))
    return Draft(answer=no if flipped else yes, cited=(evidence.pages[line.page].passage.id,)), coverage


def _of_itself(evidence: Evidence, line: Line, said: list[bool]) -> float:
    """What a sentence itself holds of what is asked; the opposite of a word of the question counts as that word."""
    own = evidence.coverage(line.own, said)
    return own + OPPOSITE if own and opposed(evidence.question.text, line.text) else own


def _told(evidence: Evidence) -> tuple[Draft, float] | None:
    """What a clause says of the asked day or permission; empty where it holds for some or sometimes only."""
    question = evidence.question
    yes, no = ("是", "否") if question.language == "zh" else ("yes", "no")
    if asks_open_day(question) and (day := open_on(evidence)) is not None:
        return Draft(answer=yes if day[0] else no, cited=(day[1].passage.id,)), 1.0
    if asks_permission(question) and (said := permitted(evidence)) is not None:
        verdict, page, coverage = said
        if verdict == "unclear":
            return Draft(answer=""), coverage
        return Draft(answer=yes if verdict == "yes" else no, cited=(page.passage.id,)), max(coverage, 0.5)
    return None


def _unknown(evidence: Evidence, page: Page) -> bool:
    """Whether a name or a number of the question stands nowhere in the page and its title: nothing is said about it."""
    seen = merge(page.title, page.own, page.linked)
    return any(term.entity and not h for term, h in zip(evidence.question.terms, seen, strict=True))


def _stated(question: str) -> str:
    """A yes/no question as the statement that it asks about, as far as a denial is concerned."""
    return _ASKING_ZH.sub("", question).rstrip("?？吗")


def _share_value(evidence: Evidence, a: Page, b: Page) -> bool:
    """Whether the two pages name a common thing outside the question: a country, a maker, a trade.

    Words agree by their first four letters, so that Iran and Iranian do.
    """
    asked = prepare(evidence.question.text).stems

    def marks(page: Page) -> set[str]:
        found: set[str] = set()
        for line in page.lines[:3]:
            for span in names(line.text):
                words = [fold(span.text)] if has_cjk(span.text) else fold(span.text).split()
                found |= {
                    word if has_cjk(word) else word[:4] for word in words if stem(word) not in asked and len(word) > 1
                }
        return found - {fold(word)[:4] for word in page.name.split()}

    return not marks(a).isdisjoint(marks(b))


def _both_hold(evidence: Evidence, a: Page, b: Page) -> bool:
    wanted = [not term.entity for term in evidence.question.terms]
    return all(evidence.coverage(page.own, wanted) >= evidence.settings.min_property for page in (a, b))
