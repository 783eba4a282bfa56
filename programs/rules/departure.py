"""Who has left the asked office, as one passage or sentence says it of the holder that another gives."""

import re
from collections.abc import Iterator, Sequence
from itertools import product

from reflective_rag.programs.rules.comparing import Statement
from reflective_rag.programs.rules.evidence import GOES_ON, Evidence, Line, Page
from reflective_rag.programs.rules.leaving import called, comes_back, left_office, tells_of_leaving
from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.question import WEIGHT_WEAK
from reflective_rag.programs.rules.spans import candidates
from reflective_rag.programs.rules.tenure import asks_holder

_NEXT = 160
"""Characters after a sentence that are read for a return to office."""


def departures(evidence: Evidence, statements: Sequence[Statement]) -> Iterator[tuple[Statement, Statement, str]]:
    """A sentence that gives somebody as the holder of the asked office, and one that says that he or she left it."""
    if not _asked(evidence):
        return
    held = [(s, who) for s in statements if (who := _holder(evidence, s.line))]
    for (statement, who), other in product(held, statements):
        line, page = other.line, evidence.pages[other.line.page]
        later = line.page != statement.line.page or line.start >= statement.line.start
        if later and (said := leaves(evidence, page, line, who)):
            yield statement, other, f"{who} / {said}"


def departed(evidence: Evidence) -> frozenset[str]:
    """Those, folded, of whom some page says that they left the asked office, as the passages give them as its holders."""
    if not _asked(evidence):
        return frozenset()
    lines = [line for page in evidence.pages for line in page.lines]
    held: dict[str, list[Line]] = {}
    for line in lines:
        if who := _holder(evidence, line):
            held.setdefault(who, []).append(line)
    left = {who: [line for line in lines if leaves(evidence, evidence.pages[line.page], line, who)] for who in held}
    return frozenset(
        fold(who) for who, own in held.items() if any(not any(_since(evidence, h, g) for h in own) for g in left[who])
    )


def outlived(evidence: Evidence) -> frozenset[int]:
    """Indexes of the pages that give none but those who left as the holder of the asked office."""
    gone = departed(evidence)
    if not gone:
        return frozenset()
    held: dict[int, set[str]] = {}
    for line in (line for page in evidence.pages for line in page.lines):
        if who := _holder(evidence, line):
            held.setdefault(line.page, set()).add(fold(who))
    return frozenset(page for page, who in held.items() if who <= gone)


def leaves(evidence: Evidence, page: Page, line: Line, who: str) -> str:
    """What a sentence says of somebody's leaving the asked office; "" where it left another one, or came back."""
    said = next(
        (
            said
            for name in called(who)
            for found in re.finditer(re.escape(name), line.text)
            if (said := left_office(evidence.question, line.text, *found.span()))
        ),
        "",
    ) or _pronoun_left(evidence, page, line, who)
    back = said and comes_back(page.text[line.start : line.end + _NEXT])
    return said if said and not back and _about(evidence, page, line) else ""


def _pronoun_left(evidence: Evidence, page: Page, line: Line, who: str) -> str:
    """The same of the pronoun that goes on from a sentence which names somebody."""
    pronoun = GOES_ON.match(line.text)
    before = next((each for each in reversed(page.lines) if each.end <= line.start), None)
    if not pronoun or before is None or not any(name in before.text for name in called(who)):
        return ""
    return left_office(evidence.question, line.text, *pronoun.span())


def _asked(evidence: Evidence) -> bool:
    now = asks_holder(evidence.question) and evidence.question.time.scope in ("now", "timeless")
    return now and any(tells_of_leaving(page.text) for page in evidence.pages)


def _holder(evidence: Evidence, line: Line) -> str:
    """Whom a sentence that speaks of the asked office gives as its holder."""
    attribute = [not term.entity and term.weight > WEIGHT_WEAK for term in evidence.question.terms]
    if not any(h > 0 for h, use in zip(line.own, attribute, strict=True) if use):
        return ""
    spans = candidates(evidence, line) if evidence.coverage(line.context) >= evidence.settings.on_topic else []
    return spans[0].text if spans else ""


def _since(evidence: Evidence, holds: Line, gone: Line) -> bool:
    """Whether somebody is given as the holder after having left: later in one page, or on a page of a later date."""
    if holds.page == gone.page:
        return holds.start > gone.start
    one, two = (evidence.pages[line.page].passage.published for line in (holds, gone))
    return one is not None and two is not None and one > two


def _about(evidence: Evidence, page: Page, line: Line) -> bool:
    """Whether the sentence, its title or the sentences beside it name what the question names."""
    entity = [term.entity for term in evidence.question.terms]
    near = [h > 0 or t > 0 for h, t in zip(line.context, page.title, strict=True)]
    return not any(entity) or any(h for h, use in zip(near, entity, strict=True) if use)
