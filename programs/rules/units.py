"""Amounts with a unit, and when two of them are the same: 1.2 km and 1,200 m, -20 °C and 4 °F below zero."""

from reflective_rag.programs.rules.values import Span, numbers, worded_amount

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
        "temperature": {"°c celsius 摄氏度": 1.0, "°f fahrenheit 华氏度": 1.0, "degree degrees ° 度": 1.0},
        "dollar": {"$ us$ usd dollar dollars 美元 美金": 1.0},
        "euro": {"€ eur euro euros 欧元": 1.0},
        "pound": {"£ gbp pounds 英镑": 1.0},
        "yuan": {"¥ yuan rmb cny 元 人民币": 1.0},
        "yen": {"yen jpy 日元": 1.0},
        "franc": {"chf franc francs 法郎": 1.0},
        "hong kong dollar": {"hkd 港元 港币": 1.0},
    }.items()
    for units, factor in table.items()
    for unit in units.split()
}
"""Unit as written → what it measures, and the factor to that dimension's base unit."""

CONVERTED = 0.01
"""Relative difference up to which two amounts in different units of one dimension agree."""

_MONEY = frozenset(("dollar", "euro", "pound", "yuan", "yen", "franc", "hong kong dollar"))
_DEGREES = frozenset(("degree", "degrees", "°", "度"))
"""Units of temperature that do not say which."""
_FAHRENHEIT = frozenset(("°f", "fahrenheit", "华氏度"))
_EXACT, _NEAR_DEGREES = 1e-6, 0.6


def quantity(span: Span) -> tuple[str, float] | None:
    """Dimension and amount in its base unit; None for a bare number and for units that are not known."""
    value = worded_amount(span)
    known = UNITS.get(span.unit)
    if known is None or value is None:
        return None
    return known[0], (value - 32) / 1.8 if span.unit in _FAHRENHEIT else value * known[1]


def quantities(text: str) -> list[Span]:
    """All amounts of a text that have a known unit."""
    return [span for span in numbers(text) if quantity(span) is not None]


def same_quantity(a: Span, b: Span) -> bool | None:
    """Whether two amounts are the same, converted where their units differ.

    None where that cannot be told: a unit that is not known, another dimension, two currencies (of which only the same
    figure, $20 and €20, is surely another amount).
    """
    ours, theirs = quantity(a), quantity(b)
    if ours is None or theirs is None:
        return None
    x, y = ours[1], theirs[1]
    if ours[0] != theirs[0]:
        return False if ours[0] in _MONEY and theirs[0] in _MONEY and x == y else None
    if ours[0] == "temperature" and not {a.unit, b.unit}.isdisjoint(_DEGREES):
        return worded_amount(a) == worded_amount(b)
    if UNITS[a.unit][1] == UNITS[b.unit][1] and (a.unit in _FAHRENHEIT) == (b.unit in _FAHRENHEIT):
        return abs(x - y) <= _EXACT * max(abs(x), abs(y))
    return abs(x - y) <= max(CONVERTED * max(abs(x), abs(y)), _NEAR_DEGREES if ours[0] == "temperature" else 0.0)
