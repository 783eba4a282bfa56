"""What two statements disagree on: a number, a year, a negation, an antonym, or one swapped piece."""

from reflective_rag.programs.rules.agreement import digits
from reflective_rag.programs.rules.comparing import (
    Statement,
    other_names,
    overlap,
    same_attribute,
    same_scope,
    same_subject,
    same_time,
)
from reflective_rag.programs.rules.dates import other_day, years
from reflective_rag.programs.rules.denial import denied
from reflective_rag.programs.rules.direction import exclusive, said_alike, turned_round
from reflective_rag.programs.rules.evidence import Evidence
from reflective_rag.programs.rules.matching import fold, hits, stem
from reflective_rag.programs.rules.negation import negated
from reflective_rag.programs.rules.opposites import opposed, restricted
from reflective_rag.programs.rules.swaps import Swap, swap
from reflective_rag.programs.rules.tolerance import Hedge, amounts_agree, hedge, years_agree
from reflective_rag.programs.rules.twinning import exclude
from reflective_rag.programs.rules.units import quantity, same_quantity
from reflective_rag.programs.rules.values import Span, dates, numbers, worded_amount
from reflective_rag.signatures.text import tokenize

KEY_OF_FRAME = 0.5
"""Least coverage of the question by what two sentences with a swapped piece have in common, with title and
neighbours."""


def disagreement(evidence: Evidence, a: Statement, b: Statement) -> str:
    """What two statements on topic disagree on, in words; empty when they do not, or when it cannot be told."""
    settings = evidence.settings
    if not same_subject(evidence, a.line, b.line) or not same_scope(a, b):
        return ""
    if word := _denied(evidence, a, b):
        return word
    if _turned_round(a.line.text, b.line.text):
        return "who did it to whom"
    words = "" if said_alike(a.line.text, b.line.text) else opposed(a.line.text, b.line.text)
    alike = overlap(a, b)
    frame = max(alike, _frame(evidence, a, b, words))
    if frame < settings.alike:
        return ""
    kind = evidence.question.kind
    if kind in ("time", "number") and not same_attribute(evidence, a.line, b.line):
        return ""
    if kind == "time":
        return _years_differ(a, b, alike, settings.nearly_same)
    if not same_time(a.line.text, b.line.text):
        return ""
    if kind == "number":
        return _numbers_differ(evidence, a, b)
    if (frame if words else alike) >= settings.nearly_same and not restricted(a.line.text, b.line.text):
        if negated(a.line.text) != negated(b.line.text):
            return "negation"
        if words:
            return words
    return _swapped(evidence, a, b) if frame >= settings.swapped else ""


def _turned_round(a: str, b: str) -> bool:
    """Whether two sentences say it the other way round, of one time where both can be true at two."""
    if not turned_round(a, b) or not same_time(a, b):
        return False
    return exclusive(a) or bool(set(years(a)) & set(years(b)))


def denial(evidence: Evidence, a: Statement, b: Statement) -> str:
    """The word that one of two statements about the same denies and the other affirms, as "x / not x"; empty if none."""
    same = same_subject(evidence, a.line, b.line) and same_scope(a, b)
    return _denied(evidence, a, b) if same else ""


def _denied(evidence: Evidence, a: Statement, b: Statement) -> str:
    """The word that one denies and the other affirms, where it is asked about or the sentences are nearly the same."""
    texts = a.line.text, b.line.text
    word = denied(*texts)
    if not word or not same_time(*texts) or restricted(*texts) or other_names(*texts):
        return ""
    asked = any(hits(evidence.question.attribute, word))
    return word if asked or overlap(a, b) >= evidence.settings.nearly_same else ""


def _frame(evidence: Evidence, a: Statement, b: Statement, opposites: str) -> float:
    """The overlap of what is left when the values compared are taken out: two-word names would outweigh the rest."""
    values = tuple(opposites.split(" / ")) if opposites else ()
    if not values and evidence.question.kind in ("person", "place"):
        values = a.read(), b.read()
    if len(values) != 2:
        return 0.0
    ours, theirs = ({stem(token) for token in tokenize(value)} for value in values)
    left, right = a.words - (ours - theirs), b.words - (theirs - ours)
    return len(left & right) / max(1, len(left | right))


def _years_differ(a: Statement, b: Statement, overlap: float, nearly_same: float) -> str:
    values = a.read(), b.read()
    ours, theirs = (set(years(value)) for value in values)
    several = max(len(years(s.line.text)) for s in (a, b)) > 1
    if several and overlap < nearly_same:
        return ""
    if other_day(*values) and not (_given(values[0], b.line.text) or _given(values[1], a.line.text)):
        one_day = max(len(dates(s.line.text)) for s in (a, b)) == 1 or overlap >= nearly_same
        return f"{values[0]} / {values[1]}" if one_day and not other_names(a.line.text, b.line.text) else ""
    if not ours or not theirs or ours & theirs or ours & set(years(b.line.text)) or theirs & set(years(a.line.text)):
        return ""
    if len(ours) == len(theirs) == 1:
        how_a, how_b = _hedged(a, values[0]), _hedged(b, values[1])
        if years_agree(min(ours), how_a, min(theirs), how_b):
            return ""
    return "" if other_names(a.line.text, b.line.text) else f"{values[0]} / {values[1]}"


def _hedged(statement: Statement, value: str) -> Hedge:
    """How a statement gives its value: as it is, roughly, or as a bound."""
    before, _, behind = statement.line.text.partition(value)
    return hedge(before, behind)


def _numbers_differ(evidence: Evidence, a: Statement, b: Statement) -> str:
    values = a.read(), b.read()
    texts = [fold(evidence.pages[s.line.page].text) for s in (a, b)]
    ours, theirs = (
        [span for span in numbers(s.line.text) if s.line.text.startswith(value, span.start)]
        for s, value in zip((a, b), values, strict=True)
    )
    if not ours or not theirs or other_names(a.line.text, b.line.text):
        return ""
    if same_quantity(ours[0], theirs[0]) is not False and any(
        _given(value, text) for value, text in zip(values, texts[::-1], strict=True)
    ):
        return ""
    if ours[0].unit != theirs[0].unit:
        return _converted((a, ours[0]), (b, theirs[0]), values)
    x, y = worded_amount(ours[0]), worded_amount(theirs[0])
    if x is None or y is None or abs(x - y) <= evidence.settings.same_amount * max(abs(x), abs(y)):
        return ""
    if amounts_agree(x, _hedged(a, values[0]), y, _hedged(b, values[1])):
        return ""
    return f"{values[0]} / {values[1]}"


def _given(value: str, text: str) -> bool:
    """Whether a text holds a value, as it stands and with its sign."""
    return fold(value) in text and digits(value) <= digits(text)


def _converted(a: tuple[Statement, Span], b: tuple[Statement, Span], values: tuple[str, str]) -> str:
    """Two amounts in different units, where they are not the same (1000 m, 1000 feet) and cannot both be roughly right."""
    if same_quantity(a[1], b[1]) is not False:
        return ""
    (_, x), (_, y) = quantity(a[1]) or ("", 0.0), quantity(b[1]) or ("", 0.0)
    if amounts_agree(x, _hedged(a[0], values[0]), y, _hedged(b[0], values[1])):
        return ""
    return f"{values[0]} / {values[1]}"


def _swapped(evidence: Evidence, a: Statement, b: Statement) -> str:
    """The two pieces when the sentences are the same but for one, and what they share speaks to the question."""
    found = swap(a.line.text, b.line.text)
    if found is None or not exclude(evidence, found) or not _is_asked(evidence, a, b, found):
        return ""
    shared = tuple(min(x, y) for x, y in zip(a.line.context, b.line.context, strict=True))
    return f"{found.left} / {found.right}" if evidence.coverage(shared) >= KEY_OF_FRAME else ""


def _is_asked(evidence: Evidence, a: Statement, b: Statement, found: Swap) -> bool:
    """Whether the swapped piece is the asked value, or stands where it stands, for kinds whose value can be read."""
    if evidence.question.kind not in ("person", "place"):
        return True
    pairs = ((fold(a.read()), fold(found.left)), (fold(b.read()), fold(found.right)))
    return any(value and (value in piece or piece in value) for value, piece in pairs)
