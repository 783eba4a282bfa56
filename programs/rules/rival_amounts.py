"""Two sources that give another amount for the same asked thing, whatever else their sentences hold.

The amounts are bound to the asked word (see `amounts`), count in one unit and differ by more than rounding. Where one is
the newer version of the other (see `updates`) they do not contradict each other.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from reflective_rag.programs.rules.agreement import digits
from reflective_rag.programs.rules.amounts import Amount, asked_amount, asks_amount, same_unit
from reflective_rag.programs.rules.clauses import without_events
from reflective_rag.programs.rules.comparing import EVENT, Statement, same_scope, same_time
from reflective_rag.programs.rules.evidence import Evidence
from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.namesakes import differing_bearers
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.tolerance import Hedge, amounts_agree, hedge, place
from reflective_rag.programs.rules.units import same_quantity
from reflective_rag.programs.rules.updates import comparable
from reflective_rag.signatures.patterns import late_pattern

ROUND_FROM = 1000.0
"""Amount from which the zeros at its end are taken for rounding: 5 million is 4.8 million."""

_ONCE = late_pattern(
    r"\b(?:did|was|were)\b|\b(?:construction|building|total)\s+costs?\b|\b(?:total|overall)\s+investment\b"
    r"|总投资|总造价|造价|耗资|投资额|花费了?|花了|用了|投入了?|工程费|建设(?:成本|费用)",
    re.IGNORECASE,
)
"""Questions about an amount that was so once: what a bridge cost."""


def once(question: Question) -> bool:
    """Whether an amount of the past is asked for, of which a newer source knows no more than an older one."""
    return question.kind == "number" and question.time.scope == "timeless" and _ONCE.search(question.text) is not None


def rival_amounts(evidence: Evidence, statements: Sequence[Statement]) -> Iterator[tuple[Statement, Statement, str]]:
    """Pairs of pages whose bound amounts exclude each other, and both amounts as "x / y"."""
    if not asks_amount(evidence.question) or not evidence.question.entities:
        return
    of_line = {(s.line.page, s.line.start): s for s in statements}
    pages = dict.fromkeys(s.line.page for s in statements)
    found = [amount for i in pages if (amount := asked_amount(evidence, evidence.pages[i], evidence.settings.rival))]
    for a, b in combinations(found, 2):
        ours, theirs = (of_line.get((x.line.page, x.line.start)) for x in (a, b))
        if ours is None or theirs is None:
            continue
        if same_scope(ours, theirs) and comparable(evidence, a, b) and _one_time(a, b) and _exclude(evidence, a, b):
            if {a.line.page, b.line.page} <= {bearer.page.index for bearer in differing_bearers(evidence)}:
                continue
            yield ours, theirs, f"{_text(evidence, a)} / {_text(evidence, b)}"


def _one_time(a: Amount, b: Amount) -> bool:
    return same_time(*(without_events(x.line.text, x.span.start, x.span.end, EVENT) for x in (a, b)))


def _exclude(evidence: Evidence, a: Amount, b: Amount) -> bool:
    """Whether two amounts cannot both be right, and neither page knows the other's."""
    if not same_unit(a.span, b.span) or same_quantity(a.span, b.span):
        return False
    slack = evidence.settings.same_amount * max(abs(a.value), abs(b.value))
    rounded = [place(x.value) / 2 for x in (a, b) if abs(x.value) >= ROUND_FROM]
    if abs(a.value - b.value) <= max(slack, *rounded, 0.0) or amounts_agree(a.value, _how(a), b.value, _how(b)):
        return False
    return not any(_given(x.span.text, evidence.pages[y.line.page].text) for x, y in ((a, b), (b, a)))


def _how(amount: Amount) -> Hedge:
    text, span = amount.line.text, amount.span
    return hedge(text[: span.start], text[span.end :])


def _given(value: str, text: str) -> bool:
    return fold(value) in fold(text) and digits(value) <= digits(text)


def _text(evidence: Evidence, amount: Amount) -> str:
    """The amount with its unit, as the sentence writes it."""
    text, span = amount.line.text, amount.span
    unit = text[span.end :].lstrip()[: len(amount.span.unit)]
    return text[span.start : text.find(unit, span.end) + len(unit)] if unit and fold(unit) == span.unit else span.text
