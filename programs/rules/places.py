"""Places that are no proper names: on the ground floor of building B, behind the fire station, B楼一层, 301会议室."""

import re
from functools import lru_cache

from reflective_rag.programs.rules.matching import has_cjk, segmenter
from reflective_rag.programs.rules.values import Span
from reflective_rag.signatures.patterns import late_pattern

_WORD = r"[\w][\w'’&.-]*"
_STOP = (
    r"and|or|but|of|in|on|at|to|from|by|for|with|until|till|is|are|was|were|will|can|may|must|before|after|during|next|near|behind|which|that|who"
    r"|where|when|if|as|every|since|opens|closes|starts|ends|begins|costs|takes|holds|has|have|serves|offers|shows|contains|needs|provides|belongs|stands|seats|between|through|under|above|over|into|opposite|beside|inside|outside|\d{4}"
)
_NOUN = rf"(?:(?!(?:{_STOP})\b){_WORD}(?<![.])\s+){{0,4}}(?!(?:{_STOP})\b){_WORD}(?<![.])"
_WHERE_EN = late_pattern(
    r"(?P<side>\b(?:behind|under(?:neath)?|near|opposite|beside|next\s+to|in\s+front\s+of|inside|outside|above|below|between|across\s+from)\s+)?"
    r"(?P<at>(?<![\w-])(?:in|on|at|to|into|from)\s+)?"
    rf"(?P<place>(?P<head>(?:the|an?|our|its|your|his|her|their|each|building|room|hall|floor|gate|level|office|block|wing|platform|counter|desk)\s+{_NOUN})"
    rf"(?:\s+of\s+(?:the\s+)?{_NOUN})?)"
)
_NO_PLACE = late_pattern(
    r"^(?:(?:the|an?|his|her|its|their|each)\s+)?(?:[\w-]+\s+)*?(?:age|time|end|beginning|start|year|years|day|days|week|month|morning|evening|afternoon|night|"
    r"minute|hour|hours|moment|same|case|way|cost|price|request|basis|rate|order|front|addition|family|form|name|help|use|result|reason"
    r"|date|deadline|summer|winter|spring|autumn|weekend|rain|event|meeting)\b(?!\s+(?:room|hall|desk|office|centre|center|gate))",
    re.IGNORECASE,
)
_AREA_OF = late_pattern(
    r"\b(?:city|town|village|county|province|state|region|district|municipality|suburb|republic|kingdom|island|country|area|borough|commune|department)\s+of\b",
    re.IGNORECASE,
)
_PROPER = late_pattern(r"(?<![\w-])[A-Z][a-zéöüäøå]+")
_AT_ZH = late_pattern(
    r"(?:位于|设在|设于|坐落于|放在|存放在|存放于|印在|贴在|写在|安装在|保存在|[在于到至往]|从(?!而|[事未不来小此那这]))(?!于)"
)
_NOMINAL = frozenset("n ns nt nz nr nrt s f m q b a j l eng ng vn k h z i".split())
_SIDES = frozenset(
    "旁 旁边 边 里 里面 内 外 外面 侧 东 西 南 北 正门 大门 后门 侧门 门口 入口 出口 入口处 出口处".split()
)
_TIME_ZH = late_pattern(
    r"^\d+年|[年月日号时点]$|\d[:：]\d|期间|[之以]?[前后时中内间]$|^(?:一(?![楼层号])|其|此|这|那)|阶段|季度|过程|情况|基础|方面|条件|比赛|[岁]"
)


_WHERE = late_pattern(
    r"\bwhere\b|哪里|哪儿|何处|何地|什么地[方点]|在哪(?!一?[个座种年些])|地[点址方](?:是|在|[？?]|$)|位置",
    re.IGNORECASE,
)


def asks_where(question: str) -> bool:
    """Whether any place answers; "which city" asks for a proper name."""
    return _WHERE.search(question) is not None


@lru_cache(maxsize=4096)
def places(text: str) -> tuple[Span, ...]:
    """Places named by common nouns, without "in", "on" and "at", with "behind", "under" and the like."""
    return tuple(_places_zh(text) if has_cjk(text) else _places_en(text))


def _places_en(text: str) -> list[Span]:
    spans = []
    for found in _WHERE_EN.finditer(text):
        place = found["place"]
        if not (found["side"] or found["at"]) or _NO_PLACE.match(place) or _AREA_OF.search(place):
            continue
        if _PROPER.search(place) and not re.match(r"(?:building|room|hall|floor|gate|level|block)\b", place):
            continue
        start = found.start("side") if found["side"] else found.start("place")
        spans.append(Span(text[start : found.end()], start, found.end(), "locative"))
    return spans


def _places_zh(text: str) -> list[Span]:
    """Runs of nominal words after 在, 位于, …; one that is a time, a stage or an occasion is no place."""
    spans = []
    pieces: list[tuple[str, str, int]] = []
    position = 0
    for word, tag in segmenter().tag(text):
        pieces.append((word, tag, position))
        position += len(word)
    for found in _AT_ZH.finditer(text):
        start = end = found.end()
        for word, tag, at in pieces:
            if at + len(word) <= start or at > end:
                continue
            if at < start or (
                at == end
                and (
                    tag in _NOMINAL
                    or (at == start and word[0] in "每各")
                    or word in _SIDES
                    or (word == "的" and end > start)
                )
            ):  # 半在: the segmenter has drawn the preposition to the word before
                end = at + len(word)
            else:
                break
        place = text[start:end].strip().rstrip("的")
        if (
            2 <= len(place) <= 20
            and not _TIME_ZH.search(place)
            and re.search(r"[^\d一二三四五六七八九十百千元]", place)
        ):
            spans.append(Span(place, start, start + len(place), "locative"))
    return spans
