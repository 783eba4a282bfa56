"""Whether the numbers, dates and units of a claim agree with those of a sentence."""

import re

from reflective_rag.programs.rules.dates import located_years, years
from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.values import Span, amount, dates, numbers
from reflective_rag.programs.rules.words import MONTHS
from reflective_rag.signatures.patterns import late_pattern

_DIGITS = late_pattern(r"\d+(?:[.,]\d+)*")
_MONTH_EN = late_pattern(
    rf"\b({'|'.join(month[:3] for month in MONTHS)})(?:[a-z]{{0,6}}\.?)(?=\s+\d|,)|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?({'|'.join(month[:3] for month in MONTHS)})",
    re.IGNORECASE,
)
_MONTH_ZH = late_pattern(r"(?<!\d)(\d{1,2})月")

UNITS: dict[str, tuple[str, float]] = {
    unit: (dimension, factor)
    for dimension, table in {
        "length": {
            "m metre metres meter meters 米": 1.0,
            "km kilometre kilometres kilometer kilometers 公里 千米": 1000.0,
            "cm centimetre centimetres centimeter centimeters 厘米 公分": 0.01,
            "mm millimetre millimetres millimeter millimeters 毫米": 0.001,
            "ft foot feet 英尺": 0.3048,
            "mi mile miles 英里": 1609.344,
            "华里": 500.0,
        },
        "mass": {
            "kg kilogram kilograms kilo kilos 公斤 千克": 1.0,
            "g gram grams 克": 0.001,
            "t ton tons tonne tonnes 吨": 1000.0,
            "lb lbs pound_mass 磅": 0.4536,
        },
        "area": {
            "平方公里 平方千米": 1e6,
            "平方米": 1.0,
            "hectare hectares 公顷": 1e4,
            "acre acres 英亩": 4046.86,
        },
        "time": {
            "second seconds 秒": 1.0,
            "minute minutes 分钟": 60.0,
            "hour hours 小时": 3600.0,
            "day days 天": 86400.0,
            "week weeks 周": 604800.0,
            "month months 个月": 2629800.0,
            "year years 年": 31557600.0,
        },
        "share": {"% percent 个百分点": 1.0, "‰": 0.1},
        "dollar": {"$ us$ dollar dollars 美元": 1.0},
        "euro": {"€ euro euros 欧元": 1.0},
        "pound": {"£ pounds 英镑": 1.0},
        "yuan": {"¥ yuan rmb 元 人民币": 1.0},
        "yen": {"yen 日元": 1.0},
    }.items()
    for units, factor in table.items()
    for unit in units.split()
}
"""Unit as written → what it measures, and the factor to that dimension's base unit."""

CONVERTED = 0.01
"""Relative difference up to which two amounts in different units of one dimension agree."""


def digits(text: str) -> set[str]:
    """Numbers as digit strings, thousands separators removed; the years of eras and Chinese numerals in digits too."""
    plain = {found.replace(",", "").rstrip(".") for found in _DIGITS.findall(fold(text))}
    return plain | {str(year) for year, start, end in located_years(text) if not text[start:end].isdigit()}


def months(text: str) -> set[int]:
    """The months named in dates, 1..12."""
    short = [month[:3].lower() for month in MONTHS]
    named = {short.index((found[0] or found[1]).lower()) + 1 for found in _MONTH_EN.findall(text)}
    return named | {int(found) for found in _MONTH_ZH.findall(text) if 1 <= int(found) <= 12}


def quantity(span: Span) -> tuple[str, float] | None:
    """Dimension and amount in its base unit; None for a bare number and for units that are not known."""
    value = amount(span)
    known = UNITS.get(span.unit)
    return (known[0], value * known[1]) if known and value is not None else None


def quantities(text: str) -> list[tuple[str, float]]:
    """All amounts of a text that have a known unit."""
    return [found for span in numbers(text) if (found := quantity(span)) is not None]


def unit_conflict(claim: str, text: str) -> str:
    """A number that the text gives in another unit than the claim does ("640 km", "640 metres"); "" when there is none.

    Amounts of one dimension are converted first, so that 1.2 km agrees with 1,200 m.
    """
    for span in numbers(claim):
        ours = quantity(span)
        if ours is None:
            continue
        theirs = [(quantity(other), other) for other in numbers(text)]
        if any(q and q[0] == ours[0] and abs(q[1] - ours[1]) <= CONVERTED * abs(ours[1]) for q, _ in theirs):
            continue
        same = [other for q, other in theirs if q and amount(other) == amount(span)]
        if same:
            return f"{same[0].text} {same[0].unit}" if same[0].unit not in same[0].text else same[0].text
    return ""


def converted(claim: str, text: str) -> bool:
    """Whether every amount of the claim with a known unit stands in the text in some unit.

    A claim without any such amount gives False.
    """
    ours, theirs = quantities(claim), quantities(text)
    return bool(ours) and all(
        any(d == dimension and abs(v - value) <= CONVERTED * abs(value) for d, v in theirs) for dimension, value in ours
    )


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
    units = {span.unit for span in numbers(claim)}
    return any(span.unit in units for span in numbers(text) if not digits(span.text) <= digits(claim))


def other_values(claim: str, text: str) -> str:
    """What the text gives instead, in words."""
    if other := unit_conflict(claim, text):
        return other
    return ", ".join(sorted(digits(text) - digits(claim))) or ", ".join(span.text for span in dates(text))
