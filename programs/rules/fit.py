"""How well one span fits the kind of answer asked for, whatever its distance to the question's terms."""

import re

from reflective_rag.programs.rules.beside import OBJECT, beside
from reflective_rag.programs.rules.clock import prefers_clock
from reflective_rag.programs.rules.kinds import noun_after
from reflective_rag.programs.rules.matching import fold, has_cjk, prepare, stem
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.values import Span, amount
from reflective_rag.programs.rules.words import BODIES_EN, COMMON_NOUNS_EN, DEMONYM
from reflective_rag.signatures.patterns import late_pattern

KIND, CUE, EXPECTED, REPEATS, OPENING, LIFE, ANCHOR, SLIGHT = 0.3, 0.12, 0.3, 0.35, 0.25, 0.4, 0.3, 0.05
"""Bonuses and (REPEATS, OPENING) penalties: a span of the kind asked for; one after a telling word; one with the
expected noun or unit; one
that repeats a name of the question; a lone capital word that opens the sentence; the right or wrong end of a life
span; one in the very place of the question word."""

_CUES_EN = {
    "person": r"\bby$",
    "place": r"\b(?:in|at|from|near)$",
    "time": r"\b(?:in|on|since|until|from|by)$",
    "thing": r"\b(?:is|was|are|were|as|an?|the|called|named)$",
}
_CUES_ZH = {
    "person": r"(?:由|是|为|：|:)$",
    "place": r"(?:于|在|往|至|位于|是)$",
    "time": r"(?:于|在|是|为|至)$",
    "thing": r"(?:是|为|叫|称|即|“|《|「|：|一名|一位|一种|一个)$",
    "number": r"(?:达|为|是|共|约|至|有|到)$",
}
_WORD = late_pattern(r"[^\W_]+(?:[.'’&-][^\W_]+)*")
_SKIP_BEFORE = late_pattern(r"[\s了在于是为由被的从叫作做到过：:“「《\"]{1,4}$")
_SKIP_AFTER = late_pattern(r"^[\s了所来”」》\"]{1,3}")
_DEMONYM = late_pattern(DEMONYM)
_DASH = late_pattern(r"^\s*[^\w]{0,2}\s*[-–—－~至]+")
_DASH_BEFORE = late_pattern(r"[-–—－~至]+\s*[^\w]{0,2}\s*(?:\d{1,2}\s)?$")
_PERCENT_ASKED = late_pattern(r"\b(?:percent|percentage|proportion|rate)\b|率|比例|百分|增长|增幅|占比", re.IGNORECASE)
_PERCENT = frozenset(("%", "‰", "percent", "per cent", "个百分点"))
_MONEY_ASKED = late_pattern(
    r"\b(?:revenue|cost|costs|price|money|budget|salary|profit|income|gross|grossed|fees?)\b|钱|收入|营收|票房|金额|价格|售价|利润|资金|经费|费用",
    re.IGNORECASE,
)
_MONEY = late_pattern(
    r"[$£€¥元]|美元|英镑|法郎|港[元币]|\b(?:USD|EUR|GBP|CHF|CNY|RMB|JPY)\b|dollar|euro|pound|yuan", re.IGNORECASE
)
_PEOPLE_ASKED = late_pattern(r"\bpopulation\b|\bhow many people\b|人口|多少人|人数|几个人", re.IGNORECASE)
_OBJECT_ZH = late_pattern(r"什么[？?\s]*$")
_WORKS_ZH = frozenset("小说 电影 歌曲 歌 书 著作 作品 专辑 电视剧 节目 文章 论文 诗 剧本 戏剧 漫画 杂志".split())
"""What Chinese puts in 《》."""
MOST = 0.8
"""Bonus of the upper bound where that is asked for: no more than four, 每天最高四十元."""
_MOST_ASKED = late_pattern(r"\b(?:at\s+most|maximum|max|no\s+more\s+than)\b|最多|最高|至多|上限", re.IGNORECASE)
_MOST = late_pattern(
    r"\b(?:no(?:t)?\s+more\s+than|at\s+most|up\s+to|maximum(?:\s+(?:of|is))?|not\s+exceed)\s*$|(?:不超过|不得超过|最多|最高|至多|上限)为?$",
    re.IGNORECASE,
)
_HOW_MUCH = late_pattern(r"\bhow much\b", re.IGNORECASE)
_HOW_MANY = late_pattern(r"\bhow many\b", re.IGNORECASE)


def fit(question: Question, text: str, span: Span, title: str = "") -> float:
    """Sum of the bonuses and penalties of `span` in sentence `text` of a passage with this title; about −0.6..0.9."""
    before, after = text[max(0, span.start - 16) : span.start], text[span.end : span.end + 24]
    value = _cue(question, before) + _kind(question, span, after) - _repeats(question, span)
    value += (
        _anchored(question, before, after)
        + _form(question, span)
        + beside(question, text[max(0, span.start - 48) : span.start])
    )
    coded = question.kind == "thing" and re.search(r"\d", span.text) is not None  # DX-18, on the page of the DX-18
    if title and (question.kind == "place" or coded) and _same_words(title, span.text):
        value -= REPEATS
    if span.start == 0 and span.kind == "name" and " " not in span.text and not has_cjk(span.text):
        value -= OPENING
    if question.kind == "number":
        value += _unit(question, span, after)
        value += MOST if _MOST_ASKED.search(question.text) and _MOST.search(before) else 0.0
    elif question.kind == "time":
        value += _life(question, before, after) + (CUE if re.search(r"\d{4}.*[a-z月]|[a-z].*\d{4}", span.text) else 0.0)
    elif question.expected:
        value += _expected(question.expected, span, after)
    return value


def _form(question: Question, span: Span) -> float:
    """What the form of a span is worth beside names and dates: the longer place, a role after all names, the time of day."""
    if span.kind == "locative":
        return KIND - 2 * SLIGHT if question.language == "zh" else SLIGHT
    if span.kind == "role":
        return KIND if question.kind == "thing" else KIND / 2
    if span.kind == "step":
        return (
            KIND
            if re.search(
                r"^\W*(?:please\s+)?(?:to|if|press|open|fill)\b|(?<![申邀聘])请(?![假求帖])|必须|按住",
                span.text,
                re.IGNORECASE,
            )
            else 0.0
        )
    return KIND if span.kind == "clock" and prefers_clock(question.text) else 0.0


def _cue(question: Question, before: str) -> float:
    pattern = (_CUES_ZH if question.language == "zh" else _CUES_EN).get(question.kind)
    worth = 2 * CUE if question.kind == "place" else CUE
    return worth if pattern and re.search(pattern, before.rstrip(' "“')) else 0.0


def _anchored(question: Question, before: str, after: str) -> float:
    """Bonus when the word next to the question word stands in the same place next to the span."""
    if question.language == "zh":
        ahead, behind = fold(before), _SKIP_AFTER.sub("", fold(after))
        ahead = _SKIP_BEFORE.sub("", ahead)
        hit = any(ahead.endswith(form) for form in question.left) or any(
            behind.startswith(form) for form in question.right
        )
        return (OBJECT if _OBJECT_ZH.search(question.text) else ANCHOR) if hit else 0.0
    follow = _WORD.search(after)
    return ANCHOR if follow and follow.start() <= 2 and stem(fold(follow.group())) in question.right else 0.0


def _same_words(title: str, text: str) -> bool:
    """Whether a span is the passage's own subject."""
    return bool(text) and (fold(text) in fold(title) or fold(title) in fold(text))


def _kind(question: Question, span: Span, after: str) -> float:
    common = question.expected.split()[-1:] and question.expected.split()[-1] in COMMON_NOUNS_EN
    if question.kind == "thing":
        named = span.kind in ("name", "quoted", "place", "person")
        if "nationality" in question.expected:
            return KIND if _DEMONYM.fullmatch(span.text) else 0.0
        if common and re.search(r"\d", span.text):
            return -KIND
        return KIND if named != bool(common) else 0.0
    if question.kind == "person" and question.language == "en":
        words = _WORD.findall(span.text)
        adjective = _DEMONYM.fullmatch(words[-1]) is not None and (
            len(words) > 1 or re.match(r"[ -][a-z]", after) is not None
        )
        if (adjective and all(_DEMONYM.fullmatch(word) for word in words)) or any(
            word.lower() in BODIES_EN for word in words
        ):
            return -KIND
        return KIND if len(words) > 1 else 0.0
    if question.kind == "place" and _DEMONYM.fullmatch(span.text) and "countr" not in question.text.lower():
        return -KIND
    return KIND if span.kind == question.kind else 0.0


def _repeats(question: Question, span: Span) -> float:
    """Penalty for a span that holds a name of the question: the answer about X is seldom another form of X."""
    folded = fold(span.text)
    if has_cjk(folded):
        return (
            REPEATS
            if any(fold(e) in folded or (len(folded) > 1 and folded in fold(e)) for e in question.entities)
            else 0.0
        )
    stems = {stem(word.removesuffix("'s")) for word in _WORD.findall(folded)}
    asked = {form for term in question.terms if term.entity and not term.text[0].isdigit() for form in term.forms}
    return REPEATS if span.kind != "number" and span.kind != "date" and stems & asked else 0.0


def _unit(question: Question, span: Span, after: str) -> float:
    """Bonus for a number whose unit is the one asked for."""
    text = question.text
    percent = span.unit in _PERCENT or "百分之" in span.text
    if _PERCENT_ASKED.search(text):
        return EXPECTED if percent else 0.0
    if _MONEY_ASKED.search(text):
        return EXPECTED if _MONEY.search(span.text + after[:8]) else 0.0
    if _PEOPLE_ASKED.search(text):
        return (
            EXPECTED
            if not percent and ("人" in span.text or (question.language == "en" and (amount(span) or 0) >= 100))
            else 0.0
        )
    if question.expected and has_cjk(question.expected):
        return EXPECTED if span.unit and span.unit[0] == question.expected[0] else 0.0
    if _HOW_MUCH.search(text):
        return KIND if re.search(r"[^\d.,\s]", span.text) and re.search(r"\d", span.text) else 0.0
    if (found := _HOW_MANY.search(text)) and (noun := noun_after(text[found.end() :])):
        counted = {stem(fold(word)) for word in _WORD.findall(after)[:2]}
        return EXPECTED if {stem(fold(word)) for word in noun.split()} & counted else 0.0
    return -KIND / 2 if percent else 0.0


def _life(question: Question, before: str, after: str) -> float:
    """In "X (1 May 1900 – 2 June 1980)" the first date answers "born", the second "died"."""
    first, second = _DASH.match(after) is not None, _DASH_BEFORE.search(before) is not None
    if first == second:
        return 0.0
    if re.search(r"\b(?:die|died|death|dead)\b|去世|逝世|卒|死", question.text, re.IGNORECASE):
        return LIFE if second else -LIFE
    if re.search(r"\b(?:born|birth|birthday)\b|出生|生于|诞生", question.text, re.IGNORECASE):
        return LIFE if first else -LIFE
    return 0.0


def _expected(noun: str, span: Span, after: str) -> float:
    """Bonus when the span ends with the expected noun, or the noun follows it."""
    folded, head = fold(span.text), fold(noun)
    if span.kind == "quoted" and head in _WORKS_ZH:
        return EXPECTED + SLIGHT
    if has_cjk(head):
        return EXPECTED if folded.endswith((head, head[-1])) or span.unit == head else 0.0
    last = stem(head.split()[-1])
    follow = _WORD.search(after)
    if last in prepare(span.text).stems or (follow and stem(fold(follow.group())) == last):
        return EXPECTED
    return 0.0
