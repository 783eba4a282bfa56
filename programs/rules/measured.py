"""What a comparative measures: "deeper" a length beside the word depth, 更贵 a price, "faster" the shorter time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from reflective_rag.programs.rules.evidence import Line
from reflective_rag.programs.rules.units import quantities, quantity

_MONEY = ("dollar", "euro", "pound", "yuan", "yen", "franc", "hong kong dollar")
_LENGTH = ("length",)


@dataclass(frozen=True)
class Measure:
    """A comparative, the dimensions it measures, the words beside which its amount stands; 1 where the larger wins."""

    asked: str
    dimensions: tuple[str, ...]
    beside: str
    direction: int


MEASURES = (
    Measure(r"heavier|heaviest|[更较最]重", ("mass",), r"weigh|heavy|mass|重", 1),
    Measure(r"lighter|lightest|[更较最]轻", ("mass",), r"weigh|light|mass|重|轻", -1),
    Measure(r"deeper|deepest|[更较最]深", _LENGTH, r"deep|depth|深", 1),
    Measure(r"shallower|shallowest|[更较最]浅", _LENGTH, r"deep|depth|shallow|深|浅", -1),
    Measure(r"wider|widest|[更较最]宽", _LENGTH, r"wide|width|宽", 1),
    Measure(r"narrower|narrowest|[更较最]窄", _LENGTH, r"wide|width|narrow|宽|窄", -1),
    Measure(r"higher|highest|taller|tallest|[更较最]高", _LENGTH, r"high|tall|height|elevat|altitude|summit|peak|above sea|drop|plunge|rise|stand|reach|tower|高|海拔|峰|落差", 1),
    Measure(r"[更较最]矮", _LENGTH, r"高|矮|海拔", -1),
    Measure(r"longer|longest|[更较最]长", (*_LENGTH, "time"), r"long|length|stretch|span|tak|last|run|长|历时|持续", 1),
    Measure(r"shorter|shortest|[更较最]短", (*_LENGTH, "time"), r"long|length|short|stretch|span|tak|last|tall|长|短|历时", -1),
    Measure(r"cheaper|cheapest|less expensive|便宜", _MONEY, r"cost|price|pay|sell|sold|charge|fee|rent|fare|价|售|费|元", -1),
    Measure(r"more expensive|costlier|dearer|pricier|[更较最]贵", _MONEY, r"cost|price|pay|sell|sold|charge|fee|rent|fare|价|售|费|元", 1),
    Measure(r"faster|quicker|fastest|quickest|[更较最]快", ("time",), r"tak|hour|minute|journey|ride|trip|需|用时|历时|耗时|分钟|小时", -1),
    Measure(r"slower|slowest|[更较最]慢", ("time",), r"tak|hour|minute|journey|ride|trip|需|用时|历时|耗时|分钟|小时", 1),
    Measure(r"hotter|warmer|hottest|warmest|[更较最][热暖]", ("temperature",), r"temperature|°|degree|温|度", 1),
    Measure(r"colder|cooler|coldest|coolest|[更较最]冷", ("temperature",), r"temperature|°|degree|温|度", -1),
    Measure(r"(?:larger|bigger|largest|biggest) (?:in )?area|(?:面积|占地)[^，。？?]{0,4}大", ("area",), r"area|cover|面积|占地", 1),
)  # fmt: skip


@cache
def measure_of(question: str) -> Measure | None:
    """The measure that a question compares by; None where its words name none, or leave open which ("larger")."""
    found = [each for each in MEASURES if re.search(rf"(?<![a-z])(?:{each.asked})(?![a-z])", question, re.IGNORECASE)]
    return found[0] if len(found) == 1 else None


def amount_of(measure: Measure, lines: Sequence[Line]) -> float | None:
    """The amount in its base unit that sentences give for a measure; the one nearest to a telling word.

    None without any, and where several could be meant and no word tells.
    """
    near: list[tuple[int, int, float]] = []
    others: set[float] = set()
    for number, line in enumerate(lines):
        marks = [found.span() for found in re.finditer(measure.beside, line.text, re.IGNORECASE)]
        for span in quantities(line.text):
            dimension, value = quantity(span) or ("", 0.0)
            if dimension not in measure.dimensions:
                continue
            others.add(value)
            if marks:
                # "85 m deep" and "a depth of 85 m": the word may stand on either side, and is not the unit itself.
                near.append((min(max(a - span.end, span.start - b, 0) for a, b in marks), number, value))
    if near:
        return min(near)[2]
    return others.pop() if len(others) == 1 else None
