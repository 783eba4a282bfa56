"""Statements ("The bridge was completed in 1931."), judged by their own terms against each sentence."""

import re

from reflective_rag.programs.rules.agreement import comparable, digits, other_values, unit_conflict, values_held
from reflective_rag.programs.rules.denial import denied
from reflective_rag.programs.rules.direction import said_alike, turned_round
from reflective_rag.programs.rules.evidence import Evidence, Hits, Line, Page, gather, merge, scale
from reflective_rag.programs.rules.matching import fold, hits
from reflective_rag.programs.rules.negation import negated
from reflective_rag.programs.rules.opposites import opposed
from reflective_rag.programs.rules.question import Question, analyse
from reflective_rag.programs.rules.swaps import excludes, swap
from reflective_rag.programs.rules.units import UNITS, quantities, same_quantity
from reflective_rag.programs.rules.unsettled import hedged, leaves_open
from reflective_rag.programs.rules.verdicts import verdict
from reflective_rag.signatures.types import ClaimSupport

NEAR = 0.9
"""What a term of the claim is worth in the title or in a neighbouring sentence."""

WORTH_READING = 0.3
"""Least coverage of the claim by a sentence that is compared with it further."""

MOST_LINES = 50
"""Most sentences of a page that are compared with the claim word by word: those that hold most of its terms."""

_Ranked = tuple[int, float, ClaimSupport]


def judge_statement(evidence: Evidence, claim: str) -> ClaimSupport:
    """The best verdict of any sentence with its neighbours; passages that give the same verdict are named together."""
    question = evidence.question
    own = gather(analyse(claim), [page.passage for page in evidence.pages], evidence.settings)
    news = _news(own, question)
    judged = (_judge_line(own, question, claim, news, page, i) for page in own.pages for i in _nearest(own, page))
    ranked = [found for found in judged if found is not None]
    if not ranked:
        return verdict(question, claim, "not_supported", (), "none")
    rank, _, best = max(ranked, key=lambda item: item[:2])
    ids = [passage_id for other, _, found in ranked if other == rank for passage_id in found.passage_ids]
    return best.model_copy(update={"passage_ids": tuple(dict.fromkeys((*best.passage_ids, *ids)))})


def _nearest(own: Evidence, page: Page) -> list[int]:
    """The sentences of a page that hold most of the claim, in the order of the text."""
    order = sorted(range(len(page.lines)), key=lambda i: (-own.coverage(page.lines[i].context), i))
    return sorted(order[:MOST_LINES])


def _news(own: Evidence, question: Question) -> list[bool]:
    """Which terms of the claim the question does not hold: what it adds, and what a passage must therefore say."""
    return [hit == 0 for hit in hits(own.question.terms, question.text)]


def _judge_line(own: Evidence, question: Question, claim: str, news: list[bool], page: Page, at: int) -> _Ranked | None:
    """Rank, coverage and verdict of one sentence: support beats contradiction beats part; None for nothing."""
    line, settings = page.lines[at], own.settings
    near = (scale(page.lines[i].own, NEAR) for i in (at - 1, at + 1) if 0 <= i < len(page.lines))
    held = merge(line.own, scale(page.title, NEAR), *near, _amounts(own, claim, line.text))
    coverage, ids = own.coverage(held), (page.passage.id,)
    if max(coverage, own.coverage(held, _worded(own))) < WORTH_READING:
        return None
    agrees = not _missing(claim, line, page)
    if agrees and turned_round(claim, line.text):
        return 2, coverage, verdict(question, claim, "contradicted", ids, "reversed")
    denial = denied(claim, line.text)
    flipped = bool(denial) or negated(claim) != negated(line.text)
    opposite = "" if said_alike(claim, line.text) else opposed(claim, line.text)
    added = not any(news) or own.coverage(held, news) > 0
    if coverage >= settings.full_support and agrees and not flipped and not opposite and added:
        if open_ := "" if hedged(claim) else leaves_open(question, own.question.terms, line.text):
            return 1, coverage, verdict(question, claim, "partially", ids, open_)
        return 3, coverage, verdict(question, claim, "supported", ids)
    # The denied word itself (有毒, where the sentence says 无毒) is a term that the sentence lacks.
    if denial and agrees and own.coverage(held, [t.text not in denial for t in own.question.terms]) >= NEAR:
        return 2, coverage, verdict(question, claim, "contradicted", ids, "negation")
    if problem := _contradicts(own, claim, line, held, agrees, flipped, opposite):
        return 2, coverage, verdict(question, claim, "contradicted", ids, *problem)
    said = [not term.text[0].isdigit() and not term.entity for term in own.question.terms]
    about = (not any(said) or own.coverage(held, said) > 0) and not opposite
    if coverage >= settings.part_support and about and added:
        return 1, coverage, verdict(question, claim, "partially", ids, "part")
    return None


def _worded(own: Evidence) -> list[bool]:
    """The terms of a claim that are neither numbers nor units."""
    return [not term.text[0].isdigit() and fold(term.text) not in UNITS for term in own.question.terms]


def _amounts(own: Evidence, claim: str, text: str) -> Hits:
    """1 for the terms of those amounts of the claim that the text gives too, in whatever unit (20 below zero, -20)."""
    held = [span for span in quantities(claim) if any(same_quantity(span, other) for other in quantities(text))]
    words = {word for span in held for word in re.findall(r"[^\W_]+", f"{fold(span.text)} {span.unit}")}
    return tuple(float(fold(term.text) in words) for term in own.question.terms)


def _missing(claim: str, line: Line, page: Page) -> bool:
    """Whether a number, month or unit of the claim is not what the sentence (or its title) gives."""
    if values_held(claim, line.text):
        return False
    return bool(unit_conflict(claim, line.text)) or not values_held(claim, f"{line.text} {page.name}")


def _contradicts(
    own: Evidence, claim: str, line: Line, held: tuple[float, ...], agrees: bool, flipped: bool, opposite: str
) -> tuple[str, str] | None:
    """The problem and the other value, when the sentence says the same but for one thing.

    That is a number, a negation, an antonym or a name.
    """
    worded = own.coverage(held, _worded(own))
    if worded >= own.settings.contradicts:
        if not agrees and comparable(claim, line.text):
            return "value", other_values(claim, line.text)
        if flipped and agrees and not opposite:
            return "negation", ""
    # The antonym itself is a term that the sentence lacks, which costs one term of coverage.
    if opposite and not flipped and worded >= own.settings.part_support and digits(claim) <= digits(line.text):
        return "opposite", opposite
    found = swap(claim.strip(" .。"), line.text.strip(" .。"))
    if found and found.left and found.right and excludes(found):
        return "value", found.right
    return None
