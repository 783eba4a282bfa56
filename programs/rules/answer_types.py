"""Whether a span can be an answer of the asked type: who, where, when, which year, how many, how long, which university.

A span of another type is no candidate at all, so that nothing is answered rather than a wrong thing.
"""

import re

from reflective_rag.programs.rules.matching import has_cjk
from reflective_rag.programs.rules.names import is_person_zh
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.units import UNITS
from reflective_rag.programs.rules.values import Span
from reflective_rag.programs.rules.words import BODIES_EN, MONTH_WORDS
from reflective_rag.signatures.patterns import late_pattern

_SCHOOL = r"universit|college|institute|school|academ|polytechnic|seminary|conservator|coll[eè]ge|[eé]cole|institut|polytechni|universit|\bMIT\b|大学|学院|学校|中学|小学|高中|书院|师范|院校|学堂|私塾"
_SORTS: tuple[tuple[str, str], ...] = (
    (r"universit(?:y|ies)|colleges?|alma mater|大学|院校|母校|高校|学院", _SCHOOL),
    (r"schools?|学校|中学|小学|高中", _SCHOOL),
    (r"河流|河|江", r"[河江川溪水]$|\b(?:river|creek|brook)\b"),
    (r"湖泊|湖", r"[湖泊海池]$|\blake\b|\bloch\b"),
    (r"山|山脉|山峰", r"[山峰岭脉岳]$|\b(?:mount|mountains?|peak)\b"),
    (r"岛屿|岛", r"[岛屿洲群]$|\bisland|\bisle"),
    (r"大桥|桥", r"桥$|\bbridge\b"),
    (r"医院|hospital", r"医院|卫生院|诊所|hospital|clinic|infirmary|medical cent"),
    (r"世纪|century", r"世纪|\d|century"),
    (r"报纸|杂志|期刊", r"[报刊志》]|周刊|weekly|magazine|journal|times"),
)
"""The noun that is asked for → what the answer must hold."""
_ALL_SORTS = tuple(
    (late_pattern(rf"^(?:{noun})$", re.IGNORECASE), late_pattern(form, re.IGNORECASE)) for noun, form in _SORTS
)

_LOWER_EN = frozenset("occupation profession job sport color colour".split())
"""Nouns whose answers English writes in lower case."""
_SCHOOLED = late_pattern(
    r"\b(?:where|what\s+school)\b.*\b(?:educated|stud(?:y|ied)|graduate\w*|attend\w*)\b|(?:毕业于|就读于|求学于)(?:哪|何|什么)"
    r"|在(?:哪里|哪儿|何处)(?:读书|上学|毕业)",
    re.IGNORECASE,
)
_LOCATIVE = late_pattern(
    r"(?:\b(?:in|at|from|near|to|into|of|outside|around|toward|towards|via|on|across|between|where|within|through|over|under|beside|along"
    r"|visited|visits?|entered|reached|left|leaving|including|and|or|moved|called|named|is|was|became|city|town|village|county|province|state)\b"
    r"|[,:;(–—-])\s*(?:(?:the|his|her|their|its|modern|present-day|what\s+is\s+now|nearby|central|northern|southern|eastern|western)\s+)*"
    r"(?:[a-z]+(?:\s+(?:and|of)\s+[a-z]+)?\s+(?:of|in|at|near)\s+)?(?:the\s+)?[\"“(]?$",
    re.IGNORECASE,
)
"""What stands before a place that something is said to be in; a person who opens a sentence has none of it."""
_DONE_BY = late_pattern(r"\b[a-z]{3,}(?:ed|[wv]n|un|ld|ght)\s+by\s+$")
"""What stands before the one who does something, who is no place."""
_LIES_IN = late_pattern(r"\b(?:is|are|was|were|located|based|situated|lies|lie)\s+in\s+(?:the\s+)?$")
_COUNT_ASKED = late_pattern(r"\bhow\s+many\s+([a-z]+)", re.IGNORECASE)
_COUNTS_ELSE = late_pattern(
    r"\s*-?(times|seconds|minutes|hours|days|weeks|months|years|euros|dollars|percent)\b", re.IGNORECASE
)
"""What a number counts that is not what "how many" asks for."""
_BORN_TO = late_pattern(r"\b(?:born|married|engaged|related|given)\s+(?:\w+\s+)?(?:to|of|by)\s+$", re.IGNORECASE)
_EVENT_PLACE = late_pattern(
    r"\b(?:born|birth|birthplace|die[ds]?|death|buried|live[ds]?|grow|grew|raised|located|situated|held|take\s+place|took\s+place|happen\w*|base[ds]?)\b",
    re.IGNORECASE,
)
_NO_PLACE_ZH = late_pattern(r"(?:队|公司|集团|党|奖|赛|杯|会议|大学|学院|银行|协会|俱乐部|乐队|人|语|们|三项|部队)$")
_COUNTRY_ZH = late_pattern(r"哪一?个?国家|哪国|什么国家|国籍")
_CITY_ZH = late_pattern(r"哪一?[个座]?城市|什么城市|首都|首府|省会")
_TEAM_ZH = late_pattern(r"冠军|亚军|季军|得主|获奖|对手|主办|击败|夺冠|敌人|公司|机构|组织|国家|球队|团队|主创|乐队")
_PERCENT_ASKED = late_pattern(
    r"\bpercent(?:age)?\b|百分之(?:多少|几)|百分比|占比|(?:增长|失业|死亡|出生|合格|准确|通过|及格|识字|支持|投票|利)率",
    re.IGNORECASE,
)
_MONEY_ASKED = late_pattern(
    r"\bhow\s+much\s+(?:money|(?:is|are|was|were)\s+(?:the|a|an)\s+(?:[a-z-]+\s+)?(?:course|ticket|tickets|fee|fees|rent|membership|entry|admission|room|meal|fare|subscription|deposit)|did\s+(?:it|the\s+\w+)\s+cost|does\s+\w+\s+cost|is\s+it\s+worth)\b|\bwhat\s+(?:is|was|were)\s+the\s+(?:\w+\s+)?"
    r"(?:price|cost|budget|salary|revenue|box\s+office)\b|多少钱|票房|售价|价格是多少|营收",
    re.IGNORECASE,
)
_MONEY = late_pattern(
    r"[$£€¥元]|美元|英镑|法郎|港[元币]|\b(?:USD|EUR|GBP|CHF|CNY|RMB|JPY)\b|dollar|euro|pound|yuan|yen|crown|franc|rupee|million|billion|[亿万]|\bm\b",
    re.IGNORECASE,
)
_DIMENSIONS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (
        late_pattern(
            r"\bhow\s+(?:tall|high|wide|deep|far)\b|多高|多宽|多深|多远|身高|海拔|轨距|体长|全长|多少(?:米|公里|千米)",
            re.IGNORECASE,
        ),
        ("length",),
    ),
    (
        late_pattern(
            r"\bhow\s+(?:long\s+(?:did|does|do|will|had|can|may|must|should|was\s+he|was\s+she)|old)\b|\bfor\s+how\s+long\b|多大年[纪龄]|几岁|多少岁|年龄|多久|多长时间",
            re.IGNORECASE,
        ),
        ("time",),
    ),
    (late_pattern(r"\bhow\s+heavy\b|多重|重量|体重|多少(?:公斤|千克|吨)", re.IGNORECASE), ("mass",)),
)
_AGES = frozenset(
    "岁 周岁 年 个月 天 小时 分钟 年间 years year 周 个星期 个小时 个工作日 工作日 秒 秒钟 学期 个学期 季度 个季度".split()
)
_COUNTED = late_pattern(
    r"\bhow\s+many\b|几[个名位次种座所家部本条只支]|多少[个名位次种座所家部本条只支人]", re.IGNORECASE
)
_UNIT_ASKED_ZH = late_pattern(
    r"(?:多少|几)(名|位|人|岁|米|公里|千米|吨|公斤|元|年|天|次|座|所|家|部|本|条|种|届|层|分钟|小时|片|粒|颗|杯|瓶|袋|勺|滴|支)"
)
_SAME_UNIT = {"名": "名人位", "位": "名人位", "人": "人名位", "元": "元", "岁": "岁", "年": "年"}


_PARTICIPLE = late_pattern(r"[a-z]{3,}ed$")
"""A lone participle (installed) says what was done to a thing, not what it is."""

_BY_FORM = frozenset(("clock", "code", "frequency", "locative", "role", "step"))
"""Spans that are offered only where their form is asked for."""


def fits_type(question: Question, text: str, span: Span) -> bool:
    """Whether `span` of sentence `text` can be an answer of the asked type."""
    before, after = text[max(0, span.start - 60) : span.start], text[span.end : span.end + 24]
    if _SCHOOLED.search(question.text):
        return re.search(_SCHOOL, span.text, re.IGNORECASE) is not None
    if span.kind in _BY_FORM:
        return True
    match question.kind:
        case "person":
            return _fits_person(question, span) and _LIES_IN.search(before) is None
        case "place":
            return _fits_place(question, span, before)
        case "number":
            return _fits_number(question, span, after)
        case "time":
            return True
        case "reason":
            return span.kind not in ("number", "date") and re.search(r"^[\d\W]+$", span.text) is None
        case _:
            return _fits_noun(question, span)


def _fits_noun(question: Question, span: Span) -> bool:
    """Whether the span holds what a name of the asked sort holds: which *university*, 哪条*河*."""
    if span.kind == "phrase" and _PARTICIPLE.match(span.text):
        return False
    noun = question.expected.split()[-1] if question.expected else ""
    if noun in _LOWER_EN and span.text[:1].isupper() and not has_cjk(span.text):
        return False
    asked, form = next((each for each in _ALL_SORTS if each[0].match(noun)), (None, None))
    if asked is None or form is None:
        return True
    described = asked.match(span.text) is not None or (has_cjk(span.text) and "最" in span.text)
    return form.search(span.text) is not None and not described  # 湖泊 and 最大的湖 say what it is, not which


def _fits_person(question: Question, span: Span) -> bool:
    if has_cjk(span.text):
        if span.kind == "person" or _TEAM_ZH.search(question.text) or is_person_zh(span.text):
            return (
                not (span.kind == "person" and len(span.text) == 3 and not is_person_zh(span.text)) or "·" in span.text
            )
        return False
    words = [word.casefold().strip(".") for word in span.text.split()]
    return not all(word in BODIES_EN or word in MONTH_WORDS for word in words)


def _fits_place(question: Question, span: Span, before: str) -> bool:
    if has_cjk(span.text):
        if _NO_PLACE_ZH.search(span.text) or (is_person_zh(span.text) and span.kind != "place"):
            return False
        if _COUNTRY_ZH.search(question.text):
            return not (len(span.text) > 2 and span.text[-1] in "省市县区镇乡村路街道府")
        return not (_CITY_ZH.search(question.text) and span.text[-1] in "国洲河山路江海" and len(span.text) > 1)
    if _DONE_BY.search(before) and span.kind == "name":
        return False
    if not _EVENT_PLACE.search(question.text):
        return True
    return _LOCATIVE.search(before) is not None and _BORN_TO.search(before) is None


def _fits_number(question: Question, span: Span, after: str) -> bool:
    percent = span.unit in ("%", "‰", "percent", "per cent", "个百分点") or "百分之" in span.text or "%" in after[:2]
    if _PERCENT_ASKED.search(question.text):
        return percent or bool(re.search(r"成$|成以上|倍", span.text + after[:3]))
    if _MONEY_ASKED.search(question.text):
        return _MONEY.search(span.text + after[:10]) is not None and not percent
    if _COUNTED.search(question.text) and percent:
        return False
    if (counted := _COUNT_ASKED.search(question.text)) and (other := _COUNTS_ELSE.match(after)):
        return other.group(1)[:4].lower() == counted.group(1)[:4].lower()
    for asked, dimensions in _DIMENSIONS:
        if asked.search(question.text):
            known = UNITS.get(span.unit)
            return (known is not None and known[0] in dimensions) or (dimensions == ("time",) and _is_age(span, after))
    if found := _UNIT_ASKED_ZH.search(question.text):
        return _unit_zh(found.group(1), span)
    return True


def _is_age(span: Span, after: str) -> bool:
    return span.unit in _AGES or (not span.unit and re.match(r"\s*[,)]|\s*(?:years?|months?)\b", after) is not None)


def _unit_zh(wanted: str, span: Span) -> bool:
    """Whether the unit is the one that was asked for, one that counts the same, or one of the same dimension."""
    if not span.unit or not has_cjk(span.unit):
        return True
    known, ours = UNITS.get(wanted), UNITS.get(span.unit)
    if known and ours:
        return known[0] == ours[0]
    return span.unit[0] in _SAME_UNIT.get(wanted, f"{wanted[0]}个")
