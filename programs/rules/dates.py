"""Years and dates as texts write them: Gregorian, Chinese numerals, Chinese and Japanese era names.

What cannot be read (0000-00-00, 2023-13-45, 光绪一百年) is unknown, never guessed and never an error.
"""

import re
from datetime import date

from reflective_rag.programs.rules.words import MONTHS
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.types import Passage

ERAS: dict[str, tuple[int, int]] = {
    "康熙": (1662, 61),
    "雍正": (1723, 13),
    "乾隆": (1736, 60),
    "嘉庆": (1796, 25),
    "道光": (1821, 30),
    "咸丰": (1851, 11),
    "同治": (1862, 13),
    "光绪": (1875, 34),
    "宣统": (1909, 3),
    "民国": (1912, 199),
    "民國": (1912, 199),
    "顺治": (1644, 18),
    "崇祯": (1628, 17),
    "万历": (1573, 48),
    "嘉靖": (1522, 45),
    "洪武": (1368, 31),
    "永乐": (1403, 22),
    "庆历": (1041, 8),
    "明治": (1868, 45),
    "大正": (1912, 15),
    "昭和": (1926, 64),
    "平成": (1989, 31),
    "令和": (2019, 99),
}
"""Era name → its first year and how many years it counted (an era still open: a generous bound)."""

_ZH_DIGITS = {
    char: value
    for value, chars in enumerate(("〇零○", "一元", "二", "三", "四", "五", "六", "七", "八", "九"))
    for char in chars
}
_NOT_YEAR_BEFORE = r"(?<![\d.,/$£€¥#-])(?<!公元前)(?<!西元前)(?<![^\W\d_]-)"
_FOUR = r"(1[0-9]{3}|20[0-9]{2})"
MEASURED = (
    r"m|km|cm|mm|ft|feet|foot|mi|miles?|(?:kilo|centi|milli)?met(?:re|er)s?|yards?|kg|lbs?|tons?|tonnes|kilograms?|grams?|acres|hectares|km²|m²|sq"
    r"|square|cubic|lit(?:re|er)s?|ml|dollars|pounds|euros|yuan|yen|francs|crowns|USD|EUR|GBP|CHF|CNY|RMB|JPY|bar|psi|rpm|volts?|watts?|kW|hours|minutes"
    r"|seconds|degrees|calories|kcal|MB|GB|kB|mAh|Hz"
)
"""English units, as a pattern: a number before one of them is no year."""
YEAR = late_pattern(
    rf"{_NOT_YEAR_BEFORE}(?<!前){_FOUR}(?![\d%]|[.,]\d|s\b|\s*(?:BCE?\b|B\.C\.)|年代|-\d{{1,2}}-\d|\s(?:{MEASURED})\b)(?=年|\b|[^\w])"
    rf"|{_NOT_YEAR_BEFORE}{_FOUR}(?=-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12]\d|3[01])(?!\d))"
)
"""A year as a text states it: four digits from 1000 to 2099 that are no part of a longer number, an amount or a
decade."""

_ERA = late_pattern(rf"({'|'.join(ERAS)})\s?(\d{{1,3}}|[元一二三四五六七八九十百]{{1,5}})\s?年")
_ZH_YEAR = late_pattern(r"(?<![〇零○一二三四五六七八九十百千万])([一二][〇零○一二三四五六七八九]{3})(?=年)")
_SINCE = late_pattern(
    r"(?:\bsince|\bever\s+since|\bfrom)\s+(?:\w+\s+){0,2}$|自从?\s*$|从\s*$|\b(?:born|founded|established|built|created|opened|incorporated|formed|constructed|settled|chartered|begun|started|constructed|dating|dates)\b[^.;]{0,30}$"
    r"|\b(?:founding|establishment|creation|foundation|birth)\s+(?:of\s+\w+\s+)?in\s+$|(?:始建于|创办于|创建于|成立于|建于|生于|创立于|设立于|建成于|出生于|[（(])\s*$",
    re.IGNORECASE,
)
_SINCE_AFTER = late_pattern(
    r"^年?(?:\d{1,2}月)?(?:\d{1,2}日)?(?:以来|起|至今|[^，。；]{0,6}(?:出生|成立|创办|创建|创立|建成|始建|设立|建立|诞生))|^\s*(?:[–—－~]|-(?!\d{1,2}-\d))"
)


def numeral(text: str) -> int | None:
    """A number below a thousand in Arabic digits or Chinese numerals (五十, 三十八, 元 as 1); None for anything else."""
    if text.isascii():
        return int(text) if text.isdigit() else None
    total, digit = 0, 0
    for char in text:
        if char in "十百":
            total += max(1, digit) * (10 if char == "十" else 100)
            digit = 0
        elif char in _ZH_DIGITS and not digit:
            digit = _ZH_DIGITS[char]
        else:
            return None
    return total + digit or None


def located_years(text: str) -> list[tuple[int, int, int]]:
    """The years a text states as (year, start, end), in order: 1936, 二〇一九年, 昭和五十年 (1975), 民国三十八年 (1949)."""
    found = [(int(m.group(1) or m.group(2)), m.start(), m.end()) for m in YEAR.finditer(text)]
    found += [
        (int("".join(str(_ZH_DIGITS[char]) for char in m.group(1))), m.start(), m.end())
        for m in _ZH_YEAR.finditer(text)
    ]
    for m in _ERA.finditer(text):
        first, length = ERAS[m.group(1)]
        count = numeral(m.group(2))
        if count is not None and 1 <= count <= length:
            found.append((first + count - 1, m.start(), m.end()))
    return sorted(found, key=lambda item: item[1])


def years(text: str) -> tuple[int, ...]:
    """The years a text states, in order, without repeats."""
    return tuple(dict.fromkeys(year for year, _, _ in located_years(text)))


_DAY_EN = late_pattern(
    rf"(?:(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?\b(?P<m>{'|'.join(month[:3] for month in MONTHS)})[a-z]{{0,6}}\.?"
    r"(?:\s+(?P<d2>\d{1,2})(?:st|nd|rd|th)?(?!\d))?(?:,?\s+(?:of\s+)?(?P<y>\d{4}))?",
    re.IGNORECASE,
)
_DAY_ISO = late_pattern(
    r"(?P<y>\d{4})(?:-(?P<m>\d{1,2})-(?P<d>\d{1,2})|\s*年\s*(?:(?P<m2>\d{1,2})\s*月\s*(?:(?P<d2>\d{1,2})\s*[日号])?)?)"
)


def day_of(text: str) -> tuple[int | None, int | None, int | None]:
    """Year, month and day of the one date that a text is, each None where it is not given."""
    if found := _DAY_ISO.search(text):
        part = {key: int(value) for key, value in found.groupdict().items() if value}
        return part.get("y"), part.get("m", part.get("m2")), part.get("d", part.get("d2"))
    if found := _DAY_EN.search(text):
        month = [name[:3].lower() for name in MONTHS].index(found["m"].lower()) + 1
        day = found["d"] or found["d2"]
        return int(found["y"]) if found["y"] else None, month, int(day) if day else None
    stated = years(text)
    return (stated[0] if len(stated) == 1 else None), None, None


def other_day(a: str, b: str) -> bool:
    """Whether two dates of one year cannot be the same: 5 May and 8 May 1945, April and 8 May; May 1945 may be 5 May."""
    (year, *ours), (other, *theirs) = day_of(a), day_of(b)
    if year is None or year != other:
        return False
    for x, y in zip(ours, theirs, strict=True):
        if x is None or y is None:
            return False
        if x != y:
            return True
    return False


def spoken_years(sentence: str) -> tuple[int, ...]:
    """The years a sentence speaks *of*, in order.

    Years of its background are left out: "since 2015", "founded in 1850", a life span, 自1990年起. They do not say when
    the statement held.
    """
    kept = []
    for year, start, end in located_years(sentence):
        before, after = sentence[max(0, start - 48) : start], sentence[end : end + 24]
        if not _SINCE.search(before) and not _SINCE_AFTER.match(after):
            kept.append(year)
    return tuple(dict.fromkeys(kept))


def stated(sentence: str) -> date | None:
    """The last day of the latest year a sentence speaks of; None when it states none."""
    found = spoken_years(sentence)
    return date(max(found), 12, 31) if found else None


def dated(passage: Passage, sentence: str = "") -> date | None:
    """When a passage speaks: its `published` date, else what `sentence` states (see `stated`), else None.

    Only the sentence that carries the evidence counts: a year elsewhere in the passage (a birth, a war) does not date
    the statement.
    """
    return passage.published if passage.published is not None else stated(sentence)
