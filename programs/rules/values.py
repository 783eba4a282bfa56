"""Typed spans in a text: numbers with their unit, dates, names. Offsets are into the text given."""

import re
from dataclasses import dataclass
from typing import Literal

from reflective_rag.programs.rules.matching import fold, has_cjk, segmenter
from reflective_rag.programs.rules.words import (
    MONTH_WORDS,
    MONTHS,
    NUMBER_WORDS,
    PLACE_ENDINGS_ZH,
    STOP_EN,
    STOP_ZH,
    SURNAMES_ZH,
    TRANSLITERATION_ZH,
    WEEKDAYS,
)

SpanKind = Literal["number", "date", "person", "place", "name", "quoted", "phrase"]


@dataclass(frozen=True)
class Span:
    """A piece of a text: `text == source[start:end]`. `unit` is the folded unit of a number ("" where there is none)."""

    text: str
    start: int
    end: int
    kind: SpanKind
    unit: str = ""


_MONTH = rf"(?:{'|'.join(MONTHS)}|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?)"
_DATE = re.compile(
    rf"{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:\s*,?\s*\d{{4}})?(?!\d)"
    rf"|(?<!\d)\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+\d{{4}})?"
    rf"|{_MONTH},?\s+(?:of\s+)?\d{{4}}"
    r"|(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)"
    r"|(?:公元前|前)?(?<!\d)\d{1,4}年(?:代|(?:\s*\d{1,2}月(?:\s*\d{1,2}[日号])?)?)(?:[初末]|中期|上旬|下旬)?"
    r"|(?<!\d)\d{1,2}月(?:\s*\d{1,2}[日号])?"
    r"|\d{1,2}世纪(?:\d{2}年代)?(?:[初末]|中期|中叶)?"
    r"|(?:early|mid|late)?[- ]?(?<!\d)\d{3}0s\b|\b\d{1,2}(?:st|nd|rd|th)\s+century"
    r"|(?<![\d.,/$£€¥#])(?:1\d{3}|20\d{2})(?![\d%]|[.,]\d)(?:\s+(?:BC|AD|BCE|CE)\b)?",
    re.IGNORECASE,
)
_SCALE = r"(?:hundred|thousand|million|billion|trillion|bn|m|k)\b"
_NUMBER = re.compile(
    rf"(?P<currency>[$£€¥]|US\$)?\s?(?<![\d.])(?P<digits>\d+(?:[ ,]\d{{3}}(?!\d))*(?:\.\d+)?)"
    rf"(?:[\s-]?(?P<scale>{_SCALE})|(?P<zh>[十百千万亿兆]+)(?P<rest>\d+[万千百])?)?(?:\s?(?P<percent>%|‰|percent\b|per cent\b))?",
    re.IGNORECASE,
)
_POWERS_ZH = {"十": 1e1, "百": 1e2, "千": 1e3, "万": 1e4, "亿": 1e8, "兆": 1e12}
_WORD_NUMBER = re.compile(
    rf"\b(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})(?:[\s-](?:{'|'.join(NUMBER_WORDS)}))*\b",
    re.IGNORECASE,
)
_ZH_NUMBER = re.compile(
    r"(?:百分之)?[零〇一二两三四五六七八九十百千万亿]+(?=[个人名位次种座所家部本条岁年天月只支队届级号米公里吨元]|多)"
)
_UNIT_EN = re.compile(r"[\s-]{0,2}([A-Za-z²³°]+)")
_UNIT_ZH = re.compile(
    r"\s?(分钟|小时|公分|人次|华里|光年|平方公里|平方千米|平方米|立方米|公里|千米|厘米|毫米|公斤|千克|公顷|英里|英尺|个百分点|美元|人民币|欧元|英镑|日元|[㐀-䶿一-鿿])"
)
_QUOTED = re.compile(r"《([^》]{1,60})》|“([^”]{1,60})”|「([^」]{1,60})」|『([^』]{1,60})』|\"([^\"]{1,60})\"")
_WORD = re.compile(r"\w+(?:[.'’&–-]\w+)*(?:(?<=\b\w)\.)?")
_LINKS = frozenset("of the de von van der den di da la le du del bin al el y & for at ibn st".split())
_ZH_NAME_TAGS: dict[str, SpanKind] = {
    "nr": "person",
    "nrt": "person",
    "nrfg": "person",
    "ns": "place",
    "nt": "name",
    "nz": "name",
    "eng": "name",
}
_DOTTED = re.compile(rf"[{TRANSLITERATION_ZH}A-Z]{{1,7}}(?:[·•・‧∙][{TRANSLITERATION_ZH}A-Z]{{1,8}})+")


def dates(text: str) -> list[Span]:
    """Days, months, years, decades and centuries, longest form first."""
    return [
        Span(
            found.group().strip(), found.start() + len(found.group()) - len(found.group().lstrip()), found.end(), "date"
        )
        for found in _DATE.finditer(text)
        if found.group().strip()
    ]


def numbers(text: str) -> list[Span]:
    """Amounts with their unit; years and days of dates are left out. A Chinese unit is part of the span (21人), an English one is not."""
    taken = [(span.start, span.end) for span in dates(text)]
    spans = [
        span
        for found in _NUMBER.finditer(text)
        if not any(start < found.end() and found.start() < end for start, end in taken)
        for span in [_number(text, found)]
    ]
    spans += [
        Span(f.group(), f.start(), f.end(), "number", _unit_after(text, f.end())[0])
        for f in _WORD_NUMBER.finditer(text)
    ]
    for found in _ZH_NUMBER.finditer(text):
        unit, end = _unit_after(text, found.end())
        spans.append(Span(text[found.start() : end], found.start(), end, "number", unit))
    return sorted(spans, key=lambda span: span.start)


def _number(text: str, found: re.Match[str]) -> Span:
    start = found.start() + len(found.group()) - len(found.group().lstrip())
    percent, currency = found["percent"], found["currency"]
    if percent or currency:
        return Span(
            text[start : found.end()].rstrip(),
            start,
            start + len(text[start : found.end()].rstrip()),
            "number",
            fold(percent or currency),
        )
    unit, end = _unit_after(text, found.end())
    return Span(text[start:end].rstrip(), start, start + len(text[start:end].rstrip()), "number", unit)


def _unit_after(text: str, end: int) -> tuple[str, int]:
    """The unit that follows position `end`, and where the span ends with it (unchanged for English)."""
    if found := _UNIT_ZH.match(text, end):
        return found.group(1), found.end()
    found = _UNIT_EN.match(text, end)
    unit = fold(found.group(1)) if found else ""
    return ("" if unit in STOP_EN else unit), end


def amount(span: Span) -> float | None:
    """The value of a digit number, with its scale (3 million, 1.2亿); None for number words."""
    found = _NUMBER.search(span.text)
    if not found:
        return None
    scale = (found["scale"] or "").lower()
    factor = {
        "hundred": 1e2,
        "thousand": 1e3,
        "k": 1e3,
        "million": 1e6,
        "m": 1e6,
        "billion": 1e9,
        "bn": 1e9,
        "trillion": 1e12,
    }.get(scale, 1.0)
    for char in found["zh"] or "":
        factor *= _POWERS_ZH[char]
    rest = float(found["rest"][:-1]) * _POWERS_ZH[found["rest"][-1]] if found["rest"] else 0.0
    return float(re.sub(r"[ ,]", "", found["digits"])) * factor + rest


def quoted(text: str) -> list[Span]:
    """What stands in quotation marks or 《》, without them."""
    spans = []
    for found in _QUOTED.finditer(text):
        group = next(i for i in range(1, 6) if found.group(i) is not None)
        spans.append(Span(found.group(group), found.start(group), found.end(group), "quoted"))
    return spans


def names(text: str) -> list[Span]:
    """Names of persons, places, organisations and works, as far as spelling (English) or the segmenter's tags (Chinese) show them."""
    return _names_zh(text) if has_cjk(text) else _names_en(text)


def _names_en(text: str) -> list[Span]:
    words = [(found.group(), found.start(), found.end()) for found in _WORD.finditer(text)]
    spans: list[Span] = []
    i = 0
    while i < len(words):
        if not _is_name_word(words[i][0]):
            i += 1
            continue
        last = j = i
        while j + 1 < len(words) and text[words[j][2] : words[j + 1][1]] in (" ", "  ") and j + 1 - last <= 3:
            j += 1
            word = words[j][0]
            if _is_name_word(word) or (word.isdigit() and len(word) < 4 and j - last == 1):
                last = j
            elif word.lower() not in _LINKS and not word[0].isupper():
                break
        start, end = words[i][1], words[last][2]
        spans.append(
            Span(
                text[start:end].removesuffix("'s").removesuffix("’s"),
                start,
                start + len(text[start:end].removesuffix("'s").removesuffix("’s")),
                "name",
            )
        )
        i = last + 1
    return spans


def _is_name_word(word: str) -> bool:
    low = word.lower().rstrip(".")
    return (
        word[0].isupper() and low not in STOP_EN and low not in MONTH_WORDS - {"may", "march"} and low not in WEEKDAYS
    )


def _names_zh(text: str) -> list[Span]:
    dotted = [Span(m.group(), m.start(), m.end(), "person") for m in _DOTTED.finditer(text)]
    pieces: list[tuple[str, str, int, int]] = []
    position = 0
    for word, tag in segmenter().tag(text):
        pieces.append((word, tag, position, position + len(word)))
        position += len(word)
    spans: list[Span] = []
    i = 0
    while i < len(pieces):
        kind = _zh_kind(pieces[i][0], pieces[i][1])
        if kind is None:
            i += 1
            continue
        j = i
        while j + 1 < len(pieces) and _zh_joins(pieces, i, j + 1, kind):
            j += 1
        while pieces[j][0] == " ":
            j -= 1
        spans.append(Span(text[pieces[i][2] : pieces[j][3]], pieces[i][2], pieces[j][3], kind))
        i = j + 1
    kept = [span for span in spans if not any(d.start < span.end and span.start < d.end for d in dotted)]
    return sorted(kept + dotted, key=lambda span: span.start)


def _zh_kind(word: str, tag: str) -> SpanKind | None:
    if len(word) > 2 and word[-1] in PLACE_ENDINGS_ZH and tag in ("nr", "nz", "ns"):
        return "place"
    kind = _ZH_NAME_TAGS.get(tag)
    return None if kind == "person" and len(word) < 2 else kind


def _zh_joins(pieces: list[tuple[str, str, int, int]], first: int, j: int, kind: SpanKind) -> bool:
    """Whether piece `j` goes on with the name that starts at `first`: 泰恩|威尔, 柯文|哲, Sky| |Digital, 泰国|曼谷."""
    word, tag = pieces[j][:2]
    so_far = pieces[j - 1][3] - pieces[first][2]
    if kind == "name":
        return (
            tag in ("eng", "nz", "nt")
            or (word == " " and j + 1 < len(pieces) and pieces[j + 1][1] == "eng")
            or (tag == "m" and word.isascii())
        )
    if kind == "place":
        return tag == "ns" or (tag == "nt" and so_far < 5)
    if pieces[first][1] == "nr" and so_far == 2 and pieces[first][0][0] in SURNAMES_ZH:
        return len(word) == 1 and tag not in ("x", "uj", "p", "c", "v", "d", "r", "f", "ul") and word not in STOP_ZH
    return tag == "nrt" and pieces[j - 1][1] == "nrt"
