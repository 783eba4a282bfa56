"""What kind of answer a question asks for."""

import re
from itertools import pairwise
from typing import Literal

from reflective_rag.programs.rules.clock import asks_clock
from reflective_rag.programs.rules.matching import segmenter
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.words import (
    NUMBER_NOUNS_EN,
    PERSON_NOUNS_EN,
    PLACE_NOUNS_EN,
    STOP_EN,
    STOP_ZH,
    VERBS_EN,
    WEAK_ZH,
)
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.text import Language

Kind = Literal["person", "time", "number", "place", "yes_no", "choice", "reason", "thing"]

WORD = late_pattern(r"[^\W_]+(?:[.,]\d+)*(?:['’-][^\W\d_]+)*")
WH = late_pattern(r"\b(who|whom|whose|which|what|when|where|why|how)\b", re.IGNORECASE)
_AUX = late_pattern(
    r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|must|shall|may(?=\s+(?!\d)))\b",
    re.IGNORECASE,
)
_OPTIONS_EN = late_pattern(
    r"(?:[,:;]|\bbetween|\b(?:is|was|are|were|did|does|has|had|longer|first|older|younger))\s+([^,?]{2,90}?),?\s+or\s+([^,?]{2,90}?)\s*\??\s*$"
)
_OPTIONS_ZH = late_pattern(
    r"^(?:请问|在)?(.{2,40}?)(?:和|与|跟|还是|或)(?!平)(.{2,40}?)(?:相比)?[，,、]?(?:两者)?(?:之中|中|之间)?(?:哪一?[个部座家位所条支本]|谁|哪)(?:.{0,8})(?:更|最|先|早|晚|较)"
)
_OPEN_WH = late_pattern(r"\W*(?:what|how|when|where|why)\b", re.IGNORECASE)
_YES_NO_ZH = late_pattern(r"吗[？?！!。\s]*$|是否|是不是|有没有|能否|会不会|可否|对不对")
_HOW_MANY = late_pattern(
    r"\bhow\s+(?:many|much|old|long|far|tall|high|large|big|deep|wide|heavy|fast)\b|\bwhat\s+(?:is|was|were|are)?\s*(?:the\s+)?(?:total\s+|average\s+)?(?:percentage|percent|number|population|proportion|price|revenue|height|length|amount|area|age|score)\b",
    re.IGNORECASE,
)
_WHAT_AMOUNT = late_pattern(
    r"\bwhat(?:['’]s|\s+(?:is|was|are|were))\s+(?:the|its|their)\s+(?:[a-z-]+\s+){0,3}?(?:pressure|power|range|voltage|current\s+draw|capacity|volume|fees?|limit"
    r"|allowance|budget|cost|costs|salary|rent|deposit|discount|charge|fine|weight|width|depth|speed|temperature|noise\s+level|frequency\s+range|consumption"
    r"|output|size|duration|warranty|notice\s+period|minimum|maximum|load|distance|rate|tolerance|diameter|thickness|interest|tax|surcharge|wage|fare)\b",
    re.IGNORECASE,
)
_WHAT_DATE = late_pattern(
    r"\bwhat(?:['’]s|\s+(?:is|was))\s+(?:the|its)\s+(?:[a-z-]+\s+){0,3}?(?:deadline|due\s+date|closing\s+date|expiry\s+date|birthday|date)\b",
    re.IGNORECASE,
)
_ZH_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("reason", late_pattern(r"为什么|为何|怎么(?!样)|如何|原因是?什么")),
    (
        "time",
        late_pattern(
            r"什么时候|什么时间|何时|哪一?年|哪一?天|哪一?月|几月|几号|几几年|哪个(?:世纪|年代|月|朝代)|年份|(?<!多长)(?:时间|日期)(?:是(?:什么|多少|哪)|为|[？?]?$)|(?:时间|日期)(?:和|与|及)"
        ),
    ),
    (
        "place",
        late_pattern(
            r"哪里|哪儿|何处|何地|什么地[方点]|在哪|哪一?[个座](?:城市|国家|省份?|地[方区点]|州|县|市|镇|岛|区)|哪国|哪(?:省|市|县)|(?:地点|地址|首都|首府)(?:是(?:什么|哪)|[？?]?$)|位于[？?]?$"
        ),
    ),
    (
        "number",
        late_pattern(
            r"多少|几(?![乎何])|多[大高长远久重宽深快]|第几|百分之几|(?:率|量|额|人数|人口|数量|收入|票房|价格|营收|面积|高度|长度)[？?]?$"
        ),
    ),
    (
        "person",
        late_pattern(
            r"谁|哪一?位|何人|什么人|哪个人|哪一?名|(?:作者|导演|主演|总统|总理|首相|市长|主席|校长|创始人|发明人|教练)(?:是|有)?(?:什么|哪些)?[？?]?$"
        ),
    ),
)
_MEASURE_ZH = "[些个家所部种座支位款条本项场次艘届首只张颗台辆名片块枚幅栋]"
_WHICH_ZH = late_pattern(rf"(?:哪一?{_MEASURE_ZH}?|什么)(?P<noun>[㐀-䶿一-鿿]{{1,6}})")
_IS_WHICH_ZH = late_pattern(
    rf"(?:^|的)(?!第)(?P<noun>(?:(?!的)[㐀-䶿一-鿿]){{1,6}})(?<![又也还曾原])(?:是哪一?{_MEASURE_ZH}?|(?:叫做?|名为)什么(?:名字)?)[？?\s]*$"
)
"""世界上最深的*湖*是哪个, 中国最大的*湖*叫什么: the noun stands before."""
_WHAT_IS_NOUN = late_pattern(r"\s+(?:is|was|are|were)\s+the\s+((?:[a-z-]+\s+){1,2}?)(?:of|for|in|that|behind)\b")
_POSSESSED = late_pattern(r"['’]s\s+((?:[a-z]+\s+)?[a-z]+)\s*\?*\s*$")
_NOUN_OF_END = late_pattern(r"\bthe\s+([a-z]+)\s+of\s*\?*\s*$")
_TIME_NOUNS = frozenset("year date day month decade century time era birthday".split())


def kind_of(question: str, language: Language) -> tuple[Kind, str, tuple[str, ...]]:
    """The kind of answer asked for, the noun it should be, and the two options of an "A or B" question.

    The noun is "" when none is named.
    """
    return _kind_zh(question) if language == "zh" else _kind_en(question)


def _kind_en(question: str) -> tuple[Kind, str, tuple[str, ...]]:
    options = _options_en(question)
    if options:
        return "choice", "", options
    if _AUX.match(question):
        return "yes_no", "", ()
    if asks_clock(question) or _WHAT_DATE.search(question):
        return "time", "", ()
    if _HOW_MANY.search(question) or _WHAT_AMOUNT.search(question):
        return "number", "", ()
    found = list(WH.finditer(question))
    if not found:
        return "thing", "", ()
    start = next((m for m in found if m.start() == 0 or len(question[: m.start()].split()) == 1), None)
    ask = start or found[-1]
    word, rest = ask.group().lower(), question[ask.end() :]
    noun = noun_after(rest) or _noun_of(rest) if word in ("which", "what") else ""
    return _kind_of_wh(word, noun), noun, ()


def _kind_of_wh(word: str, noun: str) -> Kind:
    last = noun.split()[-1].lower() if noun else ""
    if word in ("why", "how"):
        return "reason"
    if word == "when" or last in _TIME_NOUNS:
        return "time"
    if last in NUMBER_NOUNS_EN:
        return "number"
    if word in ("who", "whom", "whose") or last in PERSON_NOUNS_EN:
        return "person"
    if word == "where" or last in PLACE_NOUNS_EN:
        return "place"
    return "thing"


def _noun_of(rest: str) -> str:
    """The noun that "what is the …" asks for: "the *cause* of death of X", "X's *occupation*", "X the *capital* of"."""
    if found := _WHAT_IS_NOUN.match(rest):
        return " ".join(found.group(1).split())
    if (found := _POSSESSED.search(rest)) or (found := _NOUN_OF_END.search(rest)):
        return found.group(1)
    return ""


def noun_after(rest: str) -> str:
    """The noun phrase right after "which" or "what": up to three words before the next function word or verb."""
    words: list[str] = []
    for found in WORD.finditer(rest[:80]):
        word = found.group().lower()
        verb = word in VERBS_EN or (word.endswith("ed") and words)
        if word in STOP_EN or verb or len(words) == 3 or rest[: found.start()].rstrip().endswith((",", "?", ":")):
            break
        words.append(found.group())
    return " ".join(words)


def _options_en(question: str) -> tuple[str, ...]:
    found = _OPTIONS_EN.search(question)
    if not found or (_OPEN_WH.match(question) and found.group()[0] not in ",:"):
        return _named_options(question)
    pair = tuple(
        re.sub(r"^(?:the\s+(?:film|song|book|band)\s+|does\s+|did\s+|either\s+)", "", side.strip(), flags=re.IGNORECASE)
        for side in found.groups()
    )
    return pair if all(pair) else ()


def _named_options(question: str) -> tuple[str, ...]:
    """Two names joined by "or" inside a question that starts with a verb or "which" ("Is Rutgers or Brown public")."""
    if _OPEN_WH.match(question):
        return ()
    found = names(question)
    for left, right in pairwise(found):
        if re.fullmatch(r",?\s+or\s+(?:the\s+)?", question[left.end : right.start]):
            return left.text, right.text
    return ()


def _kind_zh(question: str) -> tuple[Kind, str, tuple[str, ...]]:
    if found := _OPTIONS_ZH.search(question):
        return "choice", "", tuple(side.strip(" 《》，,") for side in found.groups())
    if _YES_NO_ZH.search(question):
        return "yes_no", "", ()
    if asks_clock(question):
        return "time", "", ()
    for kind, pattern in _ZH_KINDS:
        if pattern.search(question):
            return kind, _which_zh(question) if kind in ("place", "number") else "", ()
    return "thing", _which_zh(question), ()


def _which_zh(question: str) -> str:
    if found := _IS_WHICH_ZH.search(question):
        return str(list(segmenter().cut(found["noun"]))[-1])
    found = _WHICH_ZH.search(question)
    if not found:
        return ""
    first = next(iter(segmenter().cut(found["noun"])), "")
    return "" if first in STOP_ZH or first in WEAK_ZH else first
