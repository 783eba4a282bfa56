"""The person whom a pronoun stands for, as the passage's title names him: "In 1994 she founded …" in a page on her."""

import re

from reflective_rag.programs.rules.asked_side import pronoun_did
from reflective_rag.programs.rules.evidence import Evidence, Line, core_title
from reflective_rag.programs.rules.matching import has_cjk
from reflective_rag.programs.rules.names import is_person_zh, names
from reflective_rag.programs.rules.values import Span
from reflective_rag.programs.rules.words import BODIES_EN
from reflective_rag.signatures.patterns import late_pattern

_PRONOUN = late_pattern(
    r"^(?:[^,;，；]{0,24}[,，]\s*)?(?:in\s+\d{4},?\s+)?(?P<it>he|she|他|她)(?![A-Za-z'’]|们|的)|^(?:in\s+\d{4},?\s+)(?P<then>he|she)\b",
    re.IGNORECASE,
)


def subject(evidence: Evidence, line: Line) -> tuple[Span, Span] | None:
    """The pronoun that a sentence begins with, and the person it stands for, in the page's text.

    None where the sentence has no such pronoun or the page's title is no person that its text names before.
    """
    found = _PRONOUN.search(line.text)
    page = evidence.pages[line.page]
    name = core_title(page.name)
    at = page.text.find(name) if name else -1
    if not found or at < 0 or at >= line.start or not _person(name):
        return None
    group = "it" if found["it"] else "then"
    pronoun = Span(found[group], found.start(group), found.end(group), "person")
    return pronoun, Span(name, at, at + len(name), "person")


def doer_before(evidence: Evidence, line: Line) -> Span | None:
    """Whom the sentence before names first, where this one says that he or she did what is asked ("She succeeded X").

    A place in the page's text; None where this sentence says nothing of the kind.
    """
    if not pronoun_did(evidence.question, line.text):
        return None
    page = evidence.pages[line.page]
    before = next((each for each in reversed(page.lines) if each.end <= line.start), None)
    found = names(before.text) if before else []
    first = next((s for s in found if (is_person_zh(s.text) if has_cjk(s.text) else " " in s.text)), None)
    if before is None or first is None:
        return None
    return Span(first.text, before.start + first.start, before.start + first.end, "person")


def _person(name: str) -> bool:
    if has_cjk(name):
        return is_person_zh(name)
    words = name.split()
    return (
        2 <= len(words) <= 4
        and not any(w.lower() in BODIES_EN for w in words)
        and any(s.text == name for s in names(name))
    )
