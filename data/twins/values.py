"""Values in a text that can be swapped for wrong ones: what kind a value is, where it stands, and what replaces it."""

import random
import re
from typing import Literal

from reflective_rag.signatures.text import normalize

ValueKind = Literal["number", "date", "name"]

_YEAR = re.compile(r"(?<![\d.,])(?:1\d{3}|20\d{2})(?![\d%]|[.,]\d)")
_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d.,]*\d)|(?<![\d.,])\d+(?:\.\d+)?(?![.,]?\d)")
_HAN = re.compile(r"[㐀-䶿一-鿿豈-﫿]")
_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b|[年月日]", re.IGNORECASE)
_NAMES = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_MONTH_BEFORE = re.compile(rf"\b{_NAMES}\s$", re.IGNORECASE)
_MONTH_AFTER = re.compile(rf"\s?[年月日号届]|(?:st|nd|rd|th)\b|\s(?:of\s)?{_NAMES}\b|\s?[–-]\d", re.IGNORECASE)
_DATE_LINE = re.compile(r"^\s*[A-Z][a-z]{2} \d{1,2}, \d{4} \.\.\. ")
_YES_NO = frozenset({"yes", "no", "是", "否", "对", "不是", "true", "false"})

LAST_YEAR = 2025
"""No swapped year is later: a date in the future would give the twin away."""


def is_yes_no(answer: str) -> bool:
    """Whether an answer is a bare yes or no, which stands in no passage."""
    return normalize(answer) in _YES_NO


def kind_of(value: str) -> ValueKind:
    """`date` for a value with a year or a month, `number` for one that begins with or mostly is digits, else `name`."""
    if _YEAR.search(value) and (_MONTH.search(value) or _YEAR.fullmatch(value.strip())):
        return "date"
    digits = sum(c.isdigit() for c in value)
    return "number" if digits and (value.strip()[0].isdigit() or 2 * digits >= len(value)) else "name"


def squeezed(text: str) -> str:
    """`normalize` without white space: the form in which answers are looked for, whatever the spacing."""
    return normalize(text).replace(" ", "")


def occurrences(text: str, value: str) -> list[tuple[int, int]]:
    """Where `value` stands verbatim in `text` (any case), not inside a longer Latin word or a longer number."""
    if not value.strip():
        return []
    left = r"(?<![A-Za-z0-9])(?<!\d[.,])" if value[0].isascii() and value[0].isalnum() else ""
    right = r"(?![A-Za-z0-9])(?![.,]\d)" if value[-1].isascii() and value[-1].isalnum() else ""
    return [found.span() for found in re.finditer(left + re.escape(value) + right, text, re.IGNORECASE)]


def replaced(text: str, value: str, other: str) -> str:
    """`text` with every occurrence of `value` exchanged."""
    for start, end in reversed(occurrences(text, value)):
        text = text[:start] + other + text[end:]
    return text


def swapped_number(value: str, rng: random.Random) -> str | None:
    """`value` with its first number changed by a fifth at least, in the same format; None without a number."""
    found = _NUMBER.search(value)
    if found is None:
        return None
    digits = found.group().replace(",", "")
    decimals = len(digits.partition(".")[2])
    old = float(digits)
    new = old * rng.choice((0.4, 0.55, 0.7, 1.3, 1.6, 2.5))
    new = round(new, decimals) if decimals else float(round(new))
    if abs(new - old) < max(1.0 if not decimals else 10.0**-decimals, 0.2 * old):  # small whole numbers: 2 → 5
        new = old + rng.randint(2, 6)
    text = f"{new:,.{decimals}f}" if "," in found.group() else f"{new:.{decimals}f}"
    return value[: found.start()] + text + value[found.end() :]


def swapped_date(value: str, rng: random.Random) -> str | None:
    """`value` with its year moved by 3 to 19 years, never past `LAST_YEAR`; None without a year."""
    found = _YEAR.search(value)
    if found is None:
        return None
    year = int(found.group())
    moved = year + rng.choice((-1, 1)) * rng.randint(3, 19)
    if moved > LAST_YEAR:
        moved = year - (moved - year)
    return value[: found.start()] + str(moved) + value[found.end() :]


def first_value(text: str, kind: ValueKind) -> str | None:
    """The first year, or the first number of two digits or more that is no part of a date; None for a name.

    The date line of a search snippet ("Oct 31, 2022 ... ") is no statement and is passed over.
    """
    text = _DATE_LINE.sub(" ", text)
    if kind == "date":
        found = _YEAR.search(text)
        return found.group() if found else None
    if kind == "number":
        plain = (found for found in _NUMBER.finditer(text) if not _in_date(text, found))
        return next((found.group() for found in plain if len(found.group()) > 1), None)
    return None


def _in_date(text: str, found: re.Match[str]) -> bool:
    """Whether a number is a year, a day or month beside the name or sign of one (10月31日), or an ordinal (第116届)."""
    if _YEAR.fullmatch(found.group()) or text[: found.start()].endswith("第"):
        return True
    near = (text[max(0, found.start() - 10) : found.start()], text[found.end() : found.end() + 10])
    return bool(_MONTH_BEFORE.search(near[0]) or _MONTH_AFTER.match(near[1]))


def is_name(value: str) -> bool:
    """Whether a value reads as a name: a few capitalised words, or up to eight Chinese characters without marks."""
    if _HAN.search(value):
        return len(value) <= 8 and not re.search(r"[^\w·]", value) and kind_of(value) == "name"
    words = value.split()
    return 0 < len(words) <= 5 and words[0][:1].isupper() and words[-1][:1].isupper() and kind_of(value) == "name"


def alike(a: str, b: str) -> bool:
    """Whether two names could stand for each other: same script, and of about the same length."""
    if bool(_HAN.search(a)) != bool(_HAN.search(b)):
        return False
    return max(len(a), len(b)) <= 2 * min(len(a), len(b)) + 4
