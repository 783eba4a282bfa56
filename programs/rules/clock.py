"""Times of day and opening hours: 11:30, 9 a.m. to 5 p.m., 上午九点, 10:00至16:00."""

import re
from functools import lru_cache

from reflective_rag.programs.rules.values import Span
from reflective_rag.signatures.patterns import late_pattern

_I = re.IGNORECASE
_HALF_DAY_ZH = r"(?:凌晨|清晨|早上|早晨|上午|中午|正午|下午|傍晚|晚上|夜里|夜间|当晚|每晚|早|晚)"
_HOUR_ZH = r"(?:\d{1,2}|[一二两三四五六七八九十]{1,3})"
_MINUTE_ZH = rf"(?:[一三]刻钟?|半|整|{_HOUR_ZH}分?)"
_TIME = (
    rf"(?:{_HALF_DAY_ZH}\s?)?(?<![\d.:：])(?:[01]?\d|2[0-4])[:：][0-5]\d(?![\d:：])(?:\s?[ap]\.?\s?m\b\.?)?"
    r"|(?<![\d.:])(?:1[0-2]|[1-9])(?:[.:][0-5]\d)?\s?(?:[ap]\.?\s?m\b\.?|o['’]clock\b)"
    r"|\b(?:noon|midnight)\b|\b(?:half|quarter)\s+past\s+\w+|\bquarter\s+to\s+\w+"
    rf"|{_HALF_DAY_ZH}\s?{_HOUR_ZH}[点时](?:钟|{_MINUTE_ZH})?"
    rf"|(?<![\d一二三四五六七八九十以下这那有几列])(?:\d{{1,2}}|[一二两三四五六七八九十]{{1,3}})点"
    rf"(?:钟|{_MINUTE_ZH}(?![个条种项类]))?(?![\d%一个意建要内原理方希])"
    r"|(?<!\d)\d{1,2}时(?:\d{1,2}分|半|整)?(?!间|期|代|候|报)"
)
_TO = r"\s?(?:to|until|till|and|[-–—~～]+|至|到)\s?"
_CLOCK = late_pattern(_TIME, _I)
_RANGE = late_pattern(
    rf"(?P<first>{_TIME}|(?<![\d.:])\d{{1,2}}(?=\s?(?:to|and|[-–—])\s?\d{{1,2}}(?:[.:]\d\d)?\s?[ap]\.?m)){_TO}(?P<last>{_TIME})",
    _I,
)

TIME_OF_DAY = late_pattern(
    r"\b(?:what|which)\s+(?:exact\s+)?(?:time|hour)\b(?!\s+(?:period|zone|limit|frame))"
    r"|几点(?![建意要原理])|几时|什么钟点",
    _I,
)
"""Questions whose answer is a time of day and no date."""

HOURS = late_pattern(
    r"\b(?:hours|opening\s+times?)\b|\bwhen\s+(?:is|are)\b.*\bopen\b"
    r"|(?:开放|营业|服务|工作|办公|上班|开馆|开门|接待|受理)(?:的)?(?:时间|时段)|几点到几点|几点至几点",
    _I,
)
"""Questions whose answer is two times of day: opening hours."""

_DAILY = late_pattern(r"\bwhen\s+(?:do|does|can|must|should|will)\b.*\b(?:open|close|shut|leave|arrive)s?\b", _I)
_FIRST = late_pattern(r"\b(?:open|start|begin)s?\b|开门|开馆|开放|开始|上班|营业|起", _I)
_LAST = late_pattern(r"\b(?:close|shut|end|finish|stop)s?\b|关门|闭馆|关闭|结束|下班|打烊|截止|为止|几点(?:之)?前", _I)

UNFIT = 0.3
"""Penalty of the other end of "from 6 a.m. to 9:30 p.m.", or of one end where the hours are asked."""


def asks_clock(question: str) -> bool:
    """Whether nothing but a time of day, or two of them, answers."""
    return TIME_OF_DAY.search(question) is not None or HOURS.search(question) is not None


def prefers_clock(question: str) -> bool:
    """Whether a time of day answers better than a date does: "when does it open"."""
    return asks_clock(question) or _DAILY.search(question) is not None


@lru_cache(maxsize=4096)
def clocks(text: str) -> tuple[Span, ...]:
    """Times of day, and stretches between two of them with each of their ends."""
    spans: dict[tuple[int, int], Span] = {}
    for found in _RANGE.finditer(text):
        for group in ("first", "last", 0):
            _add(spans, found.group(group), found.start(group))
    for found in _CLOCK.finditer(text):
        if not any(start <= found.start() < end for start, end in spans):
            _add(spans, found.group(), found.start())
    return tuple(sorted(spans.values(), key=lambda span: (span.start, span.end)))


def _add(spans: dict[tuple[int, int], Span], text: str, start: int) -> None:
    piece = text.strip()
    start += len(text) - len(text.lstrip())
    spans[start, start + len(piece)] = Span(piece, start, start + len(piece), "clock")


def clock_fit(question: str, text: str, span: Span) -> float:
    """Penalty unless it is the end of a stretch that is asked for, or the stretch itself where hours are asked."""
    stretch = next((r for r in _RANGE.finditer(text) if r.start() <= span.start and span.end <= r.end()), None)
    if stretch is None:
        return 0.0
    whole = span.end - span.start >= len(stretch.group().strip())
    if HOURS.search(question):
        fits = whole
    elif _LAST.search(question):
        fits = not whole and span.end == stretch.end()
    elif _FIRST.search(question):
        fits = not whole and span.start == stretch.start()
    else:
        fits = whole
    return 0.0 if fits else -UNFIT
