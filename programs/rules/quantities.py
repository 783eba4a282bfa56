"""Amounts with the unit they are read with: 16 bar, five working days; and which numbers are no amounts at all."""

import re
from dataclasses import replace

from reflective_rag.programs.rules.clock import clocks
from reflective_rag.programs.rules.codes import part_of_code
from reflective_rag.programs.rules.matching import fold, has_cjk
from reflective_rag.programs.rules.values import Span, numbers
from reflective_rag.signatures.patterns import late_pattern

_UNIT = late_pattern(
    r"[\s-]?(?:(?:(?:square|cubic|working|business|calendar|operating|nautical)\s+)?(?:euros?|dollars?|pounds|cents?|crowns?|francs?|yuan|yen|rupees"
    r"|seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|kilomet(?:re|er)s?|centimet(?:re|er)s?|millimet(?:re|er)s?|met(?:re|er)s?"
    r"|inch(?:es)?|feet|foot|miles?|yards?|lit(?:re|er)s?|millilit(?:re|er)s?|gallons?|grams?|kilograms?|kilos?|tons?|tonnes?|pounds|degrees?(?:\s+(?:celsius|fahrenheit))?"
    r"|bar|psi|watts?|kilowatts?|volts?|amps?|amperes?|hertz|decibels?|rpm|percent|per\s+cent|points?|pixels|bytes)\b"
    r"|(?:km/h|kWh|kW|MW|kHz|MHz|GHz|Hz|dB|kPa|MPa|Pa|mAh|Ah|kV|mV|kB|KB|MB|GB|TB|Mbit/s|Gbit/s|km|cm|mm|ml|kg|mg|ft|lbs?|oz|mph|kcal|USD|m²|m³|m2|m3|EUR|USD|GBP|CHF)(?![A-Za-z])|(?:V|W|A|m|l|L|g|t)(?![A-Za-z'’])"
    r"|°\s?[CF]\b|°|€|元)",
)
_RANGE = late_pattern(r"\s?[-–—~～至到]\s?")
"""What joins the two ends of a range: 5-10 bar, 5至10天."""
_HOW_MANY = late_pattern(r"\bhow\s+many\b|\bwithin\s+how\s+many\b", re.IGNORECASE)


def amounts(question: str, text: str) -> list[Span]:
    """The numbers of a text that can be amounts, each with its unit unless "how many" of something is asked.

    Times of day and pieces of identifiers are left out.
    """
    times = clocks(text)
    counted = _HOW_MANY.search(question) is not None
    found: list[Span] = []
    for span in numbers(text):
        goes_on = bool(found) and _RANGE.fullmatch(text, found[-1].end, span.start) is not None
        goes_on = goes_on and (has_cjk(span.unit) or _UNIT.match(text, span.end) is not None)
        if any(time.start <= span.start < time.end for time in times) or (part_of_code(text, span) and not goes_on):
            continue
        if text[: span.start].endswith("第"):
            span = replace(span, text="第" + span.text, start=span.start - 1)
        unit = None if counted else _UNIT.match(text, span.end)
        if unit:
            word = fold(unit.group().split()[-1].strip("-")) or span.unit
            span = replace(span, text=text[span.start : unit.end()], end=unit.end(), unit=word)
        if goes_on and found[-1].unit in ("", span.unit):
            span = replace(span, text=text[found[-1].start : span.end], start=found.pop().start)
        found.append(span)
    return found
