"""Whether the numbers, dates and units of a claim agree with those of a sentence."""

import re

from reflective_rag.programs.rules.dates import located_years, years
from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.units import quantities, same_quantity
from reflective_rag.programs.rules.values import below_zero, dates, minus_before, numbers, worded_amount
from reflective_rag.programs.rules.words import MONTHS
from reflective_rag.signatures.patterns import late_pattern

_DIGITS = late_pattern(r"\d+(?:[.,]\d+)*")
_MONTH_EN = late_pattern(
    rf"\b({'|'.join(month[:3] for month in MONTHS)})(?:[a-z]{{0,6}}\.?)(?=\s+\d|,)|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?({'|'.join(month[:3] for month in MONTHS)})",
    re.IGNORECASE,
)
_MONTH_ZH = late_pattern(r"(?<!\d)(\d{1,2})月")


def digits(text: str) -> set[str]:
    """Numbers as digit strings, thousands separators removed, with a minus where they are negative (零下20 is -20).

    The years of eras and Chinese numerals in digits too.
    """
    folded = fold(text)
    plain = {_signed(folded, found) for found in _DIGITS.finditer(folded)}
    return plain | {str(year) for year, start, end in located_years(text) if not text[start:end].isdigit()}


def _signed(text: str, found: re.Match[str]) -> str:
    negative = minus_before(text, found.start()) < found.start() or below_zero(text, found.end()) > found.end()
    return ("-" if negative else "") + found.group().replace(",", "").rstrip(".")


def months(text: str) -> set[int]:
    """The months named in dates, 1..12."""
    short = [month[:3].lower() for month in MONTHS]
    named = {short.index((found[0] or found[1]).lower()) + 1 for found in _MONTH_EN.findall(text)}
    return named | {int(found) for found in _MONTH_ZH.findall(text) if 1 <= int(found) <= 12}


def unit_conflict(claim: str, text: str) -> str:
    """A number that the text gives in another unit than the claim does ("640 km", "640 metres"); "" when there is none.

    Amounts of one dimension are converted first, so that 1.2 km agrees with 1,200 m.
    """
    for span in quantities(claim):
        theirs = quantities(text)
        if any(same_quantity(span, other) for other in theirs):
            continue
        same = [other for other in theirs if worded_amount(other) == worded_amount(span)]
        if same:
            return f"{same[0].text} {same[0].unit}" if same[0].unit not in fold(same[0].text) else same[0].text
    return ""


def converted(claim: str, text: str) -> bool:
    """Whether every amount of the claim with a known unit stands in the text in some unit.

    A claim without any such amount gives False.
    """
    ours, theirs = quantities(claim), quantities(text)
    return bool(ours) and all(any(same_quantity(span, other) for other in theirs) for span in ours)


def same_date(claim: str, text: str) -> bool:
    """Whether a claim that is nothing but years names years of the text, in whatever calendar: 昭和五十年, 1975."""
    rest = list(claim)
    for _, start, end in located_years(claim):
        rest[start:end] = " " * (end - start)
    bare = not re.search(r"[^\W_]", "".join(rest).replace("年", " "))
    return bare and bool(years(claim)) and set(years(claim)) <= set(years(text))


def values_held(claim: str, text: str) -> bool:
    """Whether every number and month of the claim stands in the text, in no other unit."""
    if unit_conflict(claim, text) or not (digits(claim) <= digits(text) or converted(claim, text)):
        return False
    ours, theirs = months(claim), months(text)
    return not ours or not theirs or ours <= theirs


def comparable(claim: str, text: str) -> bool:
    """Whether the text has another number of a kind the claim has: the same unit, another year or month."""
    ours, theirs = years(claim), years(text)
    if ours and theirs and not set(ours) & set(theirs):
        return True
    if months(claim) and months(text) and not months(claim) & months(text):
        return True
    if unit_conflict(claim, text):
        return True
    if any(same_quantity(a, b) is False for a in quantities(claim) for b in quantities(text)):
        return True
    units = {span.unit for span in numbers(claim)}
    return any(span.unit in units for span in numbers(text) if not digits(span.text) <= digits(claim))


def other_values(claim: str, text: str) -> str:
    """What the text gives instead, in words."""
    if other := unit_conflict(claim, text):
        return other
    for span in quantities(claim):
        if found := next((o for o in quantities(text) if same_quantity(span, o) is False), None):
            return found.text if found.unit in fold(found.text) else f"{found.text} {found.unit}"
    return ", ".join(sorted(digits(text) - digits(claim))) or ", ".join(span.text for span in dates(text))
