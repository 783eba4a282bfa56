"""Typed spans in a text: numbers with their unit, and dates. Offsets are into the text given."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from reflective_rag.programs.rules.dates import MEASURED, located_years, numeral
from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.words import MONTHS, NUMBER_WORDS, STOP_EN
from reflective_rag.signatures.patterns import late_pattern

SpanKind = Literal[
    "number",
    "date",
    "person",
    "place",
    "name",
    "quoted",
    "phrase",
    "clock",
    "code",
    "frequency",
    "locative",
    "role",
    "step",
]


@dataclass(frozen=True)
class Span:
    """A piece of a text: `text == source[start:end]`.

    `unit` is the folded unit of a number ("" where there is none).
    """

    text: str
    start: int
    end: int
    kind: SpanKind
    unit: str = ""


_MONTH = rf"(?:{'|'.join(MONTHS)}|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?)"
_COUNTED = (
    r"\s?(?:[个名人位座所家部本条只支次种台辆架艘间层件张枚颗头匹棵米元吨亩克]|余[个名人位]|多[个名人位]|公里|千米|公斤|千克|平方|英里|英尺|美元|日元|欧元|英镑|港[元币]|小时|分钟|毫[升克米]|厘米|摄氏度|度|℃)"
    rf"|\s(?:people|persons|inhabitants|residents|workers|employees|students|soldiers|seats|copies|words|pages|votes|members|men|women|visitors|{MEASURED})\b"
)
"""What a number counts, so that it is no year: 1200名, 1500 people."""
_DATE = late_pattern(
    rf"{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:\s*,?\s*\d{{4}})?(?!\d)"
    rf"|(?<!\d)\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+\d{{4}})?"
    rf"|{_MONTH},?\s+(?:of\s+)?\d{{4}}"
    r"|(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)"
    r"|(?:公元前|前)?(?<!\d)\d{1,4}年(?:代|(?:\s*\d{1,2}月(?:\s*\d{1,2}[日号])?)?)(?:[初末]|中期|上旬|下旬)?"
    r"|(?<!\d)\d{1,2}月(?:\s*\d{1,2}[日号])?"
    r"|\d{1,2}世纪(?:\d{2}年代)?(?:[初末]|中期|中叶)?"
    r"|(?:early|mid|late)?[- ]?(?<!\d)\d{3}0s\b|\b\d{1,2}(?:st|nd|rd|th)\s+century"
    r"|(?<![\d.,/$£€¥#])(?:1\d{3}|20\d{2})(?![\d%万亿千百]|[.,]\d|"
    rf"{_COUNTED})(?:\s+(?:BC|AD|BCE|CE)\b)?",
    re.IGNORECASE,
)
_SCALE = (
    r"(?:(?:hundred|thousand|million|billion|trillion|bn)\b"
    # "m" and "k" are a scale in €30 m and 5m, a unit in 410 m deep.
    r"|(?:(?(currency)[mk]|(?<=\d)[mk])\b)(?!\s*-?(?:deep|tall|high|long|wide|thick|above|below|apart|away|race|sprint)))"
)
_NUMBER = late_pattern(
    rf"(?P<currency>[$£€¥]|US\$|\b(?:USD|EUR|GBP|CHF|CNY|RMB|JPY)(?=\s?\d))?\s?(?<![\d.])(?P<digits>\d+(?:[ ,]\d{{3}}(?!\d))*(?:\.\d+)?)"
    rf"(?:[\s-]?(?P<scale>{_SCALE})|(?P<zh>[十百千万亿兆]+)(?P<rest>\d+[万千百])?)?(?:\s?(?P<percent>%|‰|percent\b|per cent\b))?",
    re.IGNORECASE,
)
_POWERS_EN = {
    "hundred": 1e2,
    "thousand": 1e3,
    "k": 1e3,
    "million": 1e6,
    "m": 1e6,
    "billion": 1e9,
    "bn": 1e9,
    "trillion": 1e12,
}
_POWERS_ZH = {"十": 1e1, "百": 1e2, "千": 1e3, "万": 1e4, "亿": 1e8, "兆": 1e12}
_WORD_NUMBER = late_pattern(
    rf"\b(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})(?:[\s-](?:{'|'.join(NUMBER_WORDS)}))*\b",
    re.IGNORECASE,
)
_ZH_NUMBER = late_pattern(
    r"(?:百分之)?[零〇一二两三四五六七八九十百千万亿]+(?=[个人名位次种座所家部本条岁年天月只支队届级号米公里吨元]|多|分[钟贝]|小时|工作日|秒|摄氏度|度(?!假)|毫?[升克]|千?瓦|伏|巴|倍"
    r"|[册台辆架艘间层件张枚颗根套箱瓶页篇門门亩粒]|(?<!一)片|周(?![一二三四五六日年边围末])|等[座舱奖级])"
)
_UNIT_EN = late_pattern(r"[\s-]{0,2}(°\s?[CF]\b|[A-Za-z²³°℃]+)")
_MINUS = late_pattern(
    r"(?:(?:^|(?<=[\s(（\[:：,，、是为达到至约低于$£€¥]))[-−–]\s?(?:US)?[$£€¥]?|\b(?:minus|negative)\s+[$£€¥]?|零下\s?|(?<![\u4e00-\u9fff])负|(?<=[是为达到至约])负)$",
    re.IGNORECASE,
)
_BELOW_ZERO = late_pattern(
    r"\s?(?:°(?:\s?[CF]\b)?|℃|degrees?(?:\s+(?:celsius|fahrenheit|centigrade))?)?\s*below\s+(?:zero|freezing)\b",
    re.IGNORECASE,
)
_NEGATIVE = late_pattern(r"^(?:[-−–]|minus\b|negative\b|零下|负)|below\s+(?:zero|freezing)$", re.IGNORECASE)
_UNIT_ZH = late_pattern(
    r"\s?(分钟|秒钟|小时|个?工作日|个(?:小时|月|星期|学期|季度)|摄氏度|千瓦时?|兆瓦|毫升|毫克|分贝|[千兆]帕|千?赫兹|港[元币]|公分|人次|华里|光年|℃|°\s?[CF]|平方公里|平方千米|平方米|立方米|公里|千米|厘米|毫米|公斤|千克|公顷|英里|英尺|个百分点|美元|人民币|欧元|英镑|日元|[㐀-䶿一-鿿])"
)


def dates(text: str) -> list[Span]:
    """Days, months, years (also of eras: 昭和五十年), decades and centuries, longest form first."""
    return list(_dates(text))


@lru_cache(maxsize=4096)
def _dates(text: str) -> tuple[Span, ...]:
    spans = []
    for found in _DATE.finditer(text):
        piece = found.group().lstrip(" -")
        spans.append(Span(piece, found.end() - len(piece), found.end(), "date"))
    taken = _taken(text, spans)
    for _, start, stop in located_years(text):
        end = stop + (text[stop : stop + 1] == "年")
        if taken.find(1, start, end) < 0:
            spans.append(Span(text[start:end], start, end, "date"))
            taken[start:end] = b"\1" * (end - start)
    return tuple(sorted(spans, key=lambda span: span.start))


def numbers(text: str) -> list[Span]:
    """Amounts with their unit; years and days of dates are left out.

    A Chinese unit is part of the span (21人), an English one is not.
    """
    return list(_numbers(text))


@lru_cache(maxsize=4096)
def _numbers(text: str) -> tuple[Span, ...]:
    taken = _taken(text, dates(text))
    spans = [_number(text, found) for found in _NUMBER.finditer(text) if _free(found, taken)]
    taken = _taken(text, [*dates(text), *spans])
    for found in (*_WORD_NUMBER.finditer(text), *_ZH_NUMBER.finditer(text)):
        if _free(found, taken):
            unit, end = _unit_after(text, found.end())
            spans.append(Span(text[found.start() : end], found.start(), end, "number", unit))
    return tuple(sorted((_signed(text, span) for span in spans), key=lambda span: span.start))


def minus_before(text: str, start: int) -> int:
    """Where the minus that belongs to a number at `start` begins: -20, minus 20, 零下20, 负20; `start` without one."""
    found = _MINUS.search(text, max(0, start - 12), start)
    return found.start() if found else start


def below_zero(text: str, end: int) -> int:
    """Where "20 degrees *below zero*" ends, of a number that ends at `end`; `end` where nothing of the kind follows."""
    found = _BELOW_ZERO.match(text, end)
    return found.end() if found else end


def _signed(text: str, span: Span) -> Span:
    """The number with the words that make it negative: a loss of sign is another value."""
    start, end = minus_before(text, span.start), below_zero(text, span.end)
    return replace(span, text=text[start:end], start=start, end=end) if (start, end) != (span.start, span.end) else span


def _taken(text: str, spans: list[Span]) -> bytearray:
    """One byte a character, 1 where a span stands: looking there is cheap however many spans there are."""
    marks = bytearray(len(text))
    for span in spans:
        marks[span.start : span.end] = b"\1" * (span.end - span.start)
    return marks


def _free(found: re.Match[str], taken: bytearray) -> bool:
    """Whether a match overlaps none of the taken stretches."""
    return taken.find(1, found.start(), found.end()) < 0


def _number(text: str, found: re.Match[str]) -> Span:
    start = found.start() + len(found.group()) - len(found.group().lstrip())
    sign = found["percent"] or found["currency"]
    unit, end = (fold(sign), found.end()) if sign else _unit_after(text, found.end())
    piece = text[start:end].rstrip()
    return Span(piece, start, start + len(piece), "number", unit)


def _unit_after(text: str, end: int) -> tuple[str, int]:
    """The unit that follows position `end`, and where the span ends with it (unchanged for English)."""
    if found := _UNIT_ZH.match(text, end):
        return fold(found.group(1)).replace(" ", ""), found.end()
    found = _UNIT_EN.match(text, end)
    unit = fold(found.group(1)).replace(" ", "") if found else ""
    return ("" if unit in STOP_EN else unit), end


def amount(span: Span) -> float | None:
    """The value of a digit number, with its scale (3 million, 1.2亿); None for number words."""
    found = _NUMBER.search(span.text)
    if not found:
        return None
    scale = (found["scale"] or "").lower()
    factor = _POWERS_EN.get(scale, 1.0)
    for char in found["zh"] or "":
        factor *= _POWERS_ZH[char]
    rest = float(found["rest"][:-1]) * _POWERS_ZH[found["rest"][-1]] if found["rest"] else 0.0
    return (float(re.sub(r"[ ,]", "", found["digits"])) * factor + rest) * sign(span.text)


def sign(text: str) -> int:
    """-1 for an amount that is written as negative, else 1."""
    return -1 if _NEGATIVE.search(text) else 1


def worded_amount(span: Span) -> float | None:
    """The same, and of number words too: twenty-one, 十二座; None for what is no plain number (half, twice)."""
    value = amount(span)
    if value is None and (words := _in_words(_NEGATIVE.sub("", span.text).strip())) is not None:
        return words * sign(span.text)
    return value


_WORDS_EN = {
    word: value
    for value, word in enumerate(
        """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen""".split(),
        1,
    )
} | {word: 10 * value for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}


def _in_words(text: str) -> float | None:
    """Number words, Chinese ones below a thousand."""
    if found := re.match(r"[一二三四五六七八九十百]+(?![千万亿零〇两])", text):
        value = numeral(found.group())
        return float(value) if value is not None else None
    total, part = 0.0, 0.0
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in _WORDS_EN:
            part += _WORDS_EN[word]
        elif word == "hundred":
            part = max(1.0, part) * 100
        elif word in _POWERS_EN:
            total, part = total + max(1.0, part) * _POWERS_EN[word], 0.0
        else:
            return None
    return total + part or None
