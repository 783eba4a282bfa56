"""Two sentences that are one but for a value: versions of one text, or a report that was copied with another value."""

import re
from collections.abc import Sequence

from reflective_rag.programs.rules.comparing import EVENT, Statement, overlap, same_scope
from reflective_rag.programs.rules.dates import years
from reflective_rag.programs.rules.evidence import Evidence
from reflective_rag.programs.rules.matching import fold, has_cjk
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.swaps import Swap, excludes, swap
from reflective_rag.programs.rules.values import dates, numbers
from reflective_rag.signatures.patterns import late_pattern

TWIN, TWIN_PAGES, VERSIONS, COPIES = 0.7, 0.5, 0.7, 0.8
"""Least overlap (Jaccard over content words) of two sentences that are held to be one; of two untitled pages whose
sentences are compared; and of two pages that are versions of one text, with the same title and without titles."""

MIN_WORDS = 3
"""Fewest content words of a sentence that is compared with its twin: a bare date line says nothing by itself."""

COPIED_EN, COPIED_ZH = 6, 14
"""Fewest content words (Chinese: bigrams) that two copies of one report have in common."""

PLAIN = 8
"""How many more where they name nothing else."""

_FRAMED = late_pattern(
    r"^\W*(?:(?:in|as\s+of|during|by|since|until|for|the|year|census|season|at)\s*)*$|(?:截至|截止|至|到)$",
    re.IGNORECASE,
)
_DAY = late_pattern(r"[月日号]")
_LIFE = late_pattern(r"[(（](?:born\s+|c\.\s+)?[^()（）]{0,30}$", re.IGNORECASE)
"""A year in brackets after a name: a birth, a death, a release."""


def twins(
    evidence: Evidence, ours: Sequence[Statement], theirs: Sequence[Statement]
) -> tuple[Statement, Statement, str] | None:
    """The first two sentences of two pages that are one text but for a value, and that value in both.

    Pages of one title only; without titles the pages must be nearly the same, or the sentences share a name. A long
    sentence that is copied word for word but for the asked value counts whatever it says of it.
    """
    if not ours or not theirs or not _one_title(evidence, ours, theirs):
        return None
    shared = _shared(ours, theirs)
    titled = bool(evidence.pages[ours[0].line.page].name)
    alike = titled or shared >= TWIN_PAGES
    version = shared >= (VERSIONS if titled else COPIES) and (titled or _repeats(ours, theirs))
    for a in ours:
        size = len(a.words)
        for b in theirs if size >= MIN_WORDS else ():
            # The sizes alone rule most pairs out, which keeps the comparison of long pages cheap.
            if not _near(size, len(b.words)) or not _alike(a, b) or not same_scope(a, b):
                continue
            found = swap(a.line.text, b.line.text)
            if found is None:
                continue
            copied = version or _copied(evidence, found, a, b)
            told = copied or (overlap(a, b) >= TWIN and (alike or bool(names(found.before + found.after))))
            if told and exclude(evidence, found, version=copied):
                return a, b, f"{found.left} / {found.right}"
    return None


def _repeats(ours: Sequence[Statement], theirs: Sequence[Statement]) -> bool:
    """Whether the pages also share a whole sentence: one sentence alone may be a form that was filled in twice."""
    texts = {statement.line.text for statement in theirs if len(statement.words) >= MIN_WORDS}
    return any(statement.line.text in texts for statement in ours)


def _near(a: int, b: int) -> bool:
    return TWIN * a - 2 <= b <= a / TWIN + 2


def _alike(a: Statement, b: Statement) -> bool:
    """Enough in common to be worth comparing word by word: two long names in a short sentence lower the overlap."""
    return 2 * len(a.words & b.words) >= min(len(a.words), len(b.words))


def _one_title(evidence: Evidence, ours: Sequence[Statement], theirs: Sequence[Statement]) -> bool:
    titles = [fold(evidence.pages[side[0].line.page].name) for side in (ours, theirs)]
    return titles[0] == titles[1]


def _shared(ours: Sequence[Statement], theirs: Sequence[Statement]) -> float:
    words = [frozenset[str]().union(*(statement.words for statement in side)) for side in (ours, theirs)]
    return len(words[0] & words[1]) / max(1, len(words[0] | words[1]))


def _copied(evidence: Evidence, found: Swap, a: Statement, b: Statement) -> bool:
    """Whether a long sentence was copied with another value of the asked kind, and says something that is its own.

    A number or a name in what both have in common tells it from a form that is filled in for many ("X is an actor").
    """
    rest = found.before + found.after
    more = len(a.words & b.words) - (COPIED_ZH if has_cjk(rest) else COPIED_EN)
    if more < 0 or not _asked_kind(evidence, found):
        return False
    if more >= PLAIN:
        return True
    return (
        bool(numbers(rest)) or bool(dates(rest)) or any(" " in span.text or has_cjk(span.text) for span in names(rest))
    )


def _asked_kind(evidence: Evidence, found: Swap) -> bool:
    """Whether both pieces are what the question asks for: dates, numbers, or names."""
    kind, pieces = evidence.question.kind, (found.left, found.right)
    if kind in ("time", "number"):
        return all(any(c.isdigit() for c in piece) for piece in pieces)
    return kind in ("person", "place", "thing") and all(any(c.isalpha() for c in piece) for piece in pieces)


def exclude(evidence: Evidence, found: Swap, *, version: bool = False) -> bool:
    """Whether a swap is a contradiction: pieces that exclude each other, not asked about, and no mere other time."""
    asked = fold(evidence.question.text)
    if any(not piece or fold(piece) in asked for piece in (found.left, found.right)):
        return False
    if not excludes(found, version=version):
        return False
    if years(_whole_number(found.left)) and years(_whole_number(found.right)):
        rest = found.before + found.after
        event = evidence.question.kind == "time" or EVENT.search(rest) is not None or _LIFE.search(found.before)
        return bool(event) and not _FRAMED.search(found.before)
    if _DAY.match(found.after) and all(piece.isdigit() for piece in (found.left, found.right)):
        return evidence.question.kind == "time" or EVENT.search(found.before + found.after) is not None
    return True


def _whole_number(piece: str) -> str:
    return piece if not piece.isdigit() or len(piece) == 4 else ""
