"""Values that are given roughly or as a bound: about 1890, more than 300 m, 超过300米, up to 40.

Two such values exclude each other only where no number satisfies both.
"""

import re
from typing import Literal

from reflective_rag.signatures.patterns import late_pattern

Hedge = Literal["", "about", "least", "most"]

ROUNDING, YEARS_NEAR = 0.05, 5
"""Least relative slack of a rough amount, and the most years that "about 1890" may be off."""

_BEFORE: tuple[tuple[Hedge, re.Pattern[str]], ...] = (
    (
        "most",
        late_pattern(
            r"(?:\bup\s+to|\bat\s+most|\b(?:less|fewer|lower|earlier|no\s+more|not\s+more)\s+than|\bunder|\bbelow|\bbefore|\bby|\buntil|不足|不到|最多|至多|不超过|不多于|少于|低于)\s*[$£€¥]?$",
            re.IGNORECASE,
        ),
    ),
    (
        "least",
        late_pattern(
            r"(?:\b(?:more|higher|larger|longer|greater|later|no\s+less|no\s+fewer|not\s+less)\s+than|\bat\s+least|\bover|\babove|\bexceed(?:s|ed|ing)?|\bafter|\bsince|超过|超|逾|多于|高于|大于|至少|不少于|不低于)\s*[$£€¥]?$",
            re.IGNORECASE,
        ),
    ),
    (
        "about",
        late_pattern(
            r"(?:\b(?:about|around|approximately|approx\.?|roughly|circa|ca?\.|some|nearly|almost|close\s+to|an?\s+estimated)|约|大约|大概|近|将近|接近|几乎)\s*[$£€¥]?$",
            re.IGNORECASE,
        ),
    ),
)
_BEHIND: tuple[tuple[Hedge, re.Pattern[str]], ...] = (
    ("about", late_pattern(r"[^，。；,;]{0,3}(?:左右|上下|前后)|\s*(?:or\s+so)\b")),
    ("least", late_pattern(r"\s*(?:or\s+more\b|\+)|[余多]|[^，。；,;]{0,2}(?:以上|之后|以后)")),
    ("most", late_pattern(r"\s*or\s+(?:less|fewer)\b|[^，。；,;]{0,2}(?:以下|以内|之前|以前)")),
)


def hedge(before: str, behind: str) -> Hedge:
    """How a value is given, from what stands directly before and behind it: roughly, as a bound, or as it is ("")."""
    for kind, pattern in _BEFORE:
        if pattern.search(before[-24:]):
            return kind
    return next((kind for kind, pattern in _BEHIND if pattern.match(behind[:12])), "")


def amounts_agree(x: float, how_x: Hedge, y: float, how_y: Hedge) -> bool:
    """Whether two amounts can both be right; exact ones are not judged here and never agree."""
    return _agree(x, how_x, y, how_y, max(_slack(x, how_x), _slack(y, how_y)))


def years_agree(x: int, how_x: Hedge, y: int, how_y: Hedge) -> bool:
    """The same for years; rough ones may be off by half their last digit that is not zero, at most `YEARS_NEAR`."""
    slack = max(min(place(year) / 2, YEARS_NEAR) if how == "about" else 0 for year, how in ((x, how_x), (y, how_y)))
    return _agree(x, how_x, y, how_y, slack)


def _agree(x: float, how_x: Hedge, y: float, how_y: Hedge, slack: float) -> bool:
    if not how_x and not how_y:
        return False
    if abs(x - y) <= slack:
        return True
    fits = {"least": lambda bound, other: other >= bound, "most": lambda bound, other: other <= bound}
    bounds = [(x, how_x, y, how_y), (y, how_y, x, how_x)]
    judged = [fits[how](bound, other) or how == how_other for bound, how, other, how_other in bounds if how in fits]
    return bool(judged) and all(judged)


def _slack(value: float, how: Hedge) -> float:
    return max(place(value) / 2, ROUNDING * abs(value)) if how == "about" else 0.0


def place(value: float) -> float:
    """The place of the last digit that is not zero: 100 of 300, 10 of 1890, 0.1 of 2.5."""
    digits = f"{abs(value):.6f}".rstrip("0").rstrip(".")
    if "." in digits:
        return float(10.0 ** -len(digits.split(".")[1]))
    return float(10.0 ** (len(digits) - len(digits.rstrip("0")))) if digits != "0" else 1.0
