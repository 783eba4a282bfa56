"""Yes/no questions that compare two things: is X deeper than Y, X比Y长吗."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reflective_rag.programs.rules.choosing import by_value
from reflective_rag.programs.rules.evidence import Evidence, gather
from reflective_rag.programs.rules.matching import fold, stands_in
from reflective_rag.programs.rules.negation import negated
from reflective_rag.programs.rules.page_about import page_about
from reflective_rag.programs.rules.question import analyse
from reflective_rag.programs.rules.words import LARGER_EN, SMALLER_EN
from reflective_rag.signatures.patterns import late_pattern

_THAN_EN = late_pattern(
    r"^\s*(?:is|are|was|were|does|do|did|has|have)\s+(?P<a>.+?)\s+(?:(?:have|has|much|far|even|any)\s+){0,2}(?P<word>[a-z]+(?:er|ore|ess))\s+(?:\w+\s+){0,2}?"
    r"than\s+(?P<b>.+?)\s*\??\s*$",
    re.IGNORECASE,
)
_THAN_ZH = late_pattern(
    r"^(?P<a>[^，。？?]{1,30}?)比(?P<b>[^，。？?]{1,30}?)(?:更|还要|还)?(?P<word>大|小|长|短|高|低|矮|深|浅|重|轻|早|晚|年长|年轻|多|少|宽|窄|贵|便宜|老)[吗么？?\s]*$"
)


@dataclass(frozen=True)
class Than:
    """Whether the comparison holds (None: nothing says), what it rests on, and how much of the question that is."""

    holds: bool | None
    cited: tuple[str, ...] = ()
    coverage: float = 0.0


def more_than(evidence: Evidence) -> Than | None:
    """The verdict on "is X …er than Y" by the values of both; None for any other question.

    A sentence that says just this decides too. Without either there is no answer: that both are spoken of is no yes.
    """
    question = evidence.question
    zh = question.language == "zh"
    found = (_THAN_ZH if zh else _THAN_EN).match(question.text)
    if found is None or not (zh or fold(found["word"]) in LARGER_EN | SMALLER_EN):
        return None
    a, b, word = found["a"].strip(), found["b"].strip(), found["word"]
    asked = analyse(f"{a}和{b}哪个更{word}？" if zh else f"Which is {word}, {a} or {b}?")
    both = gather(asked, [page.passage for page in evidence.pages], evidence.settings)
    pages = [page for name in (a, b) if (page := page_about(both, name)) is not None]
    if len(pages) == 2 and pages[0] is not pages[1] and (won := by_value(both, pages)) is not None:
        return Than(won == 0, tuple(page.passage.id for page in pages), 1.0)
    return _said(evidence, (a, b), word)


def _said(evidence: Evidence, names: Sequence[str], word: str) -> Than:
    """What a sentence that holds both names and the comparing word says: the one before it is the more so."""
    first, second = (fold(name).removeprefix("the ") for name in names)
    mark = "比" if evidence.question.language == "zh" else fold(word)
    for page in evidence.pages:
        for line in page.lines:
            text = fold(line.text)
            both = stands_in(first, text) and stands_in(second, text)
            if both and mark in text and fold(word) in text and not negated(text):  # not deeper may be as deep
                at = text.index(mark)
                if (text.index(first) < at) != (text.index(second) < at):
                    return Than(text.index(first) < at, (page.passage.id,), 1.0)
    return Than(None)
