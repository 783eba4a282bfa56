"""Which page gives an amount that a newer one has replaced in other words: 24 days from 2023, 28 days since 2025.

Two pages that bind another amount of one unit to the same asked word of the same thing. The later one replaces the
earlier where now is asked for; where no time is asked for, only where one of them says that the amount changes (raised
to, amended, 调整为) or from when it holds. Two plain statements contradict each other instead.
"""

import re
from dataclasses import dataclass
from datetime import date
from itertools import permutations

from reflective_rag.programs.rules.amounts import Amount, asked_amount, asks_amount, namesakes, rates, same_unit
from reflective_rag.programs.rules.evidence import Evidence, core_title, merge
from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.opposites import restricted, scopes
from reflective_rag.programs.rules.units import same_quantity
from reflective_rag.programs.rules.validity import day_from, without_revision
from reflective_rag.signatures.patterns import late_pattern

CHANGED = late_pattern(
    r"\b(?:raised|increased|reduced|lowered|cut|adjusted|amended|amendment|revised|changed|went\s+up|went\s+down|rises?|rose|risen|fell|falls|fallen"
    r"|dropped|goes\s+(?:up|down))\b"
    r"|调整[为至到]|上调|下调|提高[到至]|提升[到至]|提高为|降[至为到]|降低[到至为]|增加[到至]|增至|减[至少为到]+|改为|变更为|修改为|涨[到至]|补充协议",
    re.IGNORECASE,
)
"""Words of a sentence that gives an amount as changed."""
_BEFORE_ASKED = late_pattern(
    r"\b(?:before|formerly|former|previous(?:ly)?|original(?:ly)?|initial(?:ly)?|used\s+to|until|at\s+first|old|once)\b"
    r"|最初|原来|原先|起初|以前|之前|过去|曾|原本|调整前|旧",
    re.IGNORECASE,
)
_VERSION = frozenset(("revised", "original", "former", "formerly", "修订"))
"""Scopes that tell an old and a new value of one thing apart."""
_OLD = frozenset(("original", "former", "formerly"))


MOST_PAGES = 30
"""Most pages whose amounts are compared."""


@dataclass(frozen=True)
class Dated:
    """The amount of a page, since when it is so at the latest, and whether the sentence says so itself."""

    page: int
    amount: Amount
    when: date
    told: bool


def replacements(evidence: Evidence) -> dict[tuple[int, int], bool]:
    """Pairs of pages (old, new) of which the newer replaces the amount of the other, each with whether it is told.

    Told is what a sentence itself says, by a word of change or a day from which it holds; else only the dates say so.
    None where a time of its own is asked for.
    """
    question = evidence.question
    of_now = question.time.scope in ("now", "timeless") and not _BEFORE_ASKED.search(question.text)
    if not of_now or not asks_amount(question):
        return {}
    found = [dated for page in evidence.pages[:MOST_PAGES] if (dated := _dated(evidence, page.index))]
    pairs = [(old, new) for old, new in permutations(found, 2) if _replaces(evidence, old, new)]
    return {(old.page, new.page): old.told or new.told for old, new in pairs}


def replaced_pages(evidence: Evidence) -> frozenset[int]:
    """Indexes of the pages whose amount a newer one has replaced."""
    return frozenset(old for old, _ in replacements(evidence))


def _dated(evidence: Evidence, index: int) -> Dated | None:
    page = evidence.pages[index]
    amount = asked_amount(evidence, page, evidence.settings.on_topic)
    if amount is None:
        return None
    start = day_from(amount.line.text)
    told = start is not None or CHANGED.search(amount.line.text) is not None
    when = start or page.passage.published
    return Dated(index, amount, when or date.min, told)


def _replaces(evidence: Evidence, old: Dated, new: Dated) -> bool:
    a, b = old.amount, new.amount
    if (
        not same_unit(a.span, b.span)
        or a.value == b.value
        or same_quantity(a.span, b.span)
        or not comparable(evidence, a, b)
    ):
        return False
    if b.former == a.value and a.former != b.value:
        return _is_in_force(evidence, new)
    if date.min in (old.when, new.when) or not _later(old, new) or not _is_in_force(evidence, new):
        return False
    return new.told or old.told or evidence.question.time.scope == "now"


def _later(old: Dated, new: Dated) -> bool:
    """Whether the new one holds from a later day on; where it says no day, it was published after all days of the old."""
    days = [day for day in (old.when, old.amount.published) if day] if not new.told else [old.when]
    if new.when == old.when and new.told and old.amount.published and new.amount.published:
        return new.amount.published > old.amount.published
    return all(new.when > day for day in days)


def _is_in_force(evidence: Evidence, new: Dated) -> bool:
    """Whether the day from which a value holds is not still to come."""
    today = evidence.question.today
    return today is None or new.when <= today


def comparable(evidence: Evidence, a: Amount, b: Amount) -> bool:
    """Whether two amounts are of one thing, one asked word, one rate and one scope."""
    texts = a.line.text, b.line.text
    narrow = [scopes(text) - _VERSION - scopes(evidence.question.text) for text in texts]
    if narrow[0] != narrow[1] or scopes(texts[1]) & _OLD or restricted(*texts) or rates(texts[0]) != rates(texts[1]):
        return False
    titles = [fold(without_revision(evidence.pages[x.line.page].name)) for x in (a, b)]
    if titles[0] != titles[1] and core_title(titles[0]) == core_title(titles[1]):
        return False
    if not _same_words(evidence, a, b) or namesakes(evidence.question, *texts):
        return False
    return bool(evidence.question.entities) or _one_document(evidence, a, b)


def _same_words(evidence: Evidence, a: Amount, b: Amount) -> bool:
    """Whether no asked word stands in one sentence and neither in the other nor in its title; enough stand in each."""
    wanted = [not term.entity and term.weight >= 1 for term in evidence.question.terms]
    own, held = (
        [[h > 0 for h, use in zip(hits, wanted, strict=True) if use] for hits in side]
        for side in (
            [x.line.own for x in (a, b)],
            [merge(x.line.own, evidence.pages[x.line.page].title) for x in (a, b)],
        )
    )
    least = evidence.settings.same_attribute * sum(wanted)
    lacking = any(
        mine and not theirs for x, y in ((0, 1), (1, 0)) for mine, theirs in zip(own[x], held[y], strict=True)
    )
    return not lacking and all(sum(side) >= least for side in held)


def _one_document(evidence: Evidence, a: Amount, b: Amount) -> bool:
    """Whether, with nothing named in the question, two pages are of one title, or one names nothing that the other lacks."""
    pages = [evidence.pages[amount.line.page] for amount in (a, b)]
    if pages[0].name and fold(pages[0].name) == fold(pages[1].name):
        return True
    if CHANGED.search(b.line.text) is None and pages[0].name != pages[1].name:
        return False
    return not any(fold(name.text) not in fold(pages[0].text) for name in names(pages[1].text))
