"""Who did it to whom: "Alpha was acquired by Beta" and "Beta acquired Alpha" are one, "Alpha acquired Beta" is another.

A sentence is read by the place of its parts: active and passive (was … by, 被, 由, 为…所), with the object in front (把, 将,
"which Beta acquired"), and verbs that say it from the other side (lost to, 输给). Only verbs of the table below have a
direction; what is mutual (marry, 结婚) has none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from reflective_rag.programs.rules.matching import fold, has_cjk, stem
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.values import Span, dates
from reflective_rag.programs.rules.words import MONTH_WORDS, STOP_EN, STOP_ZH
from reflective_rag.signatures.patterns import late_pattern

Side = Literal["doer", "done"]
LONGEST_NAME_ZH = 12
"""Characters of a side that is taken as it stands for an answer."""
_OTHER: dict[Side, Side] = {"doer": "done", "done": "doer"}

_VERBS_EN = (
    "acquire buy:bought:bought purchase",
    "beat:beat:beaten defeat outplay",
    "succeed",
    "replace",
    "teach:taught:taught mentor",
    "kill murder assassinate shoot:shot:shot",
    "employ hire",
    "sue",
    "invade conquer",
    "influence inspire",
    "invent",
    "write:wrote:written",
    "found",
    "discover",
    "compose",
    "arrest",
    "capture",
    "rescue",
    "adopt",
    "appoint",
    "nominate",
    "criticise criticize",
    "betray",
    "own",
)
"""Groups of verbs of one meaning: base form, and past and participle where they are irregular."""
_VERBS_ZH = (
    "收购 并购 买下",
    "击败 打败 战胜 力克",
    "取代 替代 顶替 接替",
    "杀害 杀死 刺杀 谋杀 枪杀 暗杀",
    "雇用 雇佣 聘用 聘请",
    "教导 教过",
    "起诉 控告",
    "入侵 侵略 吞并 征服",
    "影响 启发",
    "发明",
    "创办 创立 创建",
    "逮捕 抓获",
    "收养",
    "任命",
    "提名",
    "批评",
)
_TURNED = {"lost to": 1, "loses to": 1, "lose to": 1, "studied under": 4, "learned from": 4}
_TURNED_ZH = {"输给": 1, "败给": 1, "不敌": 1, "负于": 1, "师从": 5}
"""Words that say it from the other side, and the group (of the language) that they turn round."""
_REPEATED = frozenset((1, 7, 8, 9, 15, 16, 17, 20, 21))
"""English groups of what the two sides may do to each other at another time: to beat, to sue, to criticise, …"""
_REPEATED_ZH = frozenset((1, 6, 7, 8, 14, 15))

_BE = late_pattern(
    r"(?:\b(?:be|is|are|was|were|been|being|get|gets|got)|['’](?:s|re))"
    r"(?:\s+(?:\w+ly|not|also|then|later|first|soon|once|never|ever|still|both|been|being)){0,3}\s*$",
    re.IGNORECASE,
)
_BY = late_pattern(
    r"(?:\s+(?:and\s+)?\w+(?:ed|ly)|\s+(?:in|on)\s+[\w ,]{4,20}?)?\s+by\s+(?!\w+ing\b|\d)", re.IGNORECASE
)
_HELPED = late_pattern(
    r"\b(?:to|will|would|did|does|do|can|could|may|might|must|shall|should|not|\w+n['’]t)\s+(?:\w+ly\s+)?$",
    re.IGNORECASE,
)
_ASKS = late_pattern(r"\W*(?:did|does|do|will|would|can|could)\b", re.IGNORECASE)
_NOUN = late_pattern(r"\b(?:the|of|his|her|their|its|these|those|several|many|all|two|three|\d+)\s+$", re.IGNORECASE)
_RELATIVE = late_pattern(
    r"\b(?:which|that|whom|who)\s+(?P<np>[^,;]{2,50}?)\s+(?:had\s+|has\s+|have\s+)?$", re.IGNORECASE
)
_STARTS = late_pattern(
    r"[;.!?](?=\s|$)|\b(?:but|while|whereas|because|although|though)\b|\band\s+(?=[a-z])(?!(?:the|an?|his|her|its|their)\b)"
)
_ENDS = late_pattern(
    r"[,;:!?()]|\.(?=\s|$)|\b(?:in|on|at|for|after|before|when|while|during|as|to|from|with|who|which|that|because|by|but|until|since|against|through|via"
    r"|into|using|again|twice)\b|\band\s+(?=[a-z])(?!(?:the|an?|his|her|its|their)\b)|\b\d{4}\b"
)
_NO_SUBJECT = frozenset(
    "who which that also then later had has have was were is are be been it he she they and first finally soon once not never".split()
)
_AUX = late_pattern(
    r"\b(?:did|does|do|has|have|had|will|would|can|could)\s+(?P<np>\w[^?]*?)\s+(?:\w+ly\s+)?$", re.IGNORECASE
)
_BE_NP = late_pattern(r"\b(?:was|were|is|are)\s+(?P<np>[^?,]{2,60}?)\s+(?:\w+ly\s+)?$", re.IGNORECASE)
_WHO = late_pattern(r"\b(?:who|whom|which|what)\b", re.IGNORECASE)
_LED = late_pattern(r"\b(?:in|on|at|for|from|with|under|to|of|about|during|until|since)\s+$", re.IGNORECASE)
_BY_ZH = late_pattern(r"(?:被|遭到?|由(?!于)|让)(?P<np>[^，。；：被由]{1,24})$|为(?P<suo>[^，。；：]{1,24})所$")
_BARE_ZH = late_pattern(r"(?:被|遭到?)$")
_HAVE_ZH = late_pattern(r"(?:把|将(?![于在会要以来]))(?P<np>[^，。；：]{1,24})$")
_STOP_ZH_RIGHT = late_pattern(r"[，。；：！？（）()?!]|并(?!购)|而|后(?=，)")
_SKIP_ZH = late_pattern(r"[了过]")
_WHO_ZH = late_pattern(r"谁|哪一?[家个位名些所支队国]|哪(?=国|队)|什么|何人")
_PRONOUN = late_pattern(r"\s*(?:(?:he|she|they)\b|[他她])", re.IGNORECASE)
_AT_ZH = late_pattern(r"[在于从]")
_TIME_ZH = late_pattern(r"[的了于在曾已经正式最终成功后来又也都年月日号\s“”\"《》]|最后|随后|当时|宣布|完成|全资")


@dataclass(frozen=True)
class Relation:
    """One verb with a direction: its group, and the stretches of the text in which each side is named."""

    group: int
    doer: tuple[tuple[int, int], ...]
    done: tuple[tuple[int, int], ...]

    def side(self, start: int, end: int) -> Side | None:
        """On which side a stretch of the text stands."""
        for side, places in (("doer", self.doer), ("done", self.done)):
            if any(a <= start < b or (start <= a < end) for a, b in places):
                return "doer" if side == "doer" else "done"
        return None


@dataclass(frozen=True)
class Asked:
    """The side that a question asks for, and how it names the other."""

    group: int
    side: Side
    named: frozenset[str]


@cache
def _forms_en() -> tuple[re.Pattern[str], dict[str, tuple[int, str]]]:
    """All forms, each with its group and what it can be: base, s, past, part, ing."""
    table: dict[str, tuple[int, str]] = {}
    for group, words in enumerate(_VERBS_EN):
        for word in words.split():
            base, _, irregular = word.partition(":")
            cut = base.removesuffix("e")
            past, _, part = irregular.partition(":")
            table |= {
                f"{cut}ing": (group, "ing"),
                base + ("es" if base.endswith(("ch", "sh", "s")) else "s"): (group, "s"),
                base: (group, "base"),
            }
            table |= {past or f"{cut}ed": (group, "past"), part or f"{cut}ed": (group, "part")}
            if not irregular or past == part:
                table[past or f"{cut}ed"] = (group, "both")
    table |= {words: (group, "turned") for words, group in _TURNED.items()}
    table["beat"] = (1, "past")
    every = "|".join(sorted((re.escape(form) for form in table), key=len, reverse=True))
    return re.compile(rf"\b(?:{every})\b", re.IGNORECASE), table


@cache
def _forms_zh() -> tuple[re.Pattern[str], dict[str, tuple[int, str]]]:
    table = {word: (group, "both") for group, words in enumerate(_VERBS_ZH) for word in words.split()}
    table |= {word: (group, "turned") for word, group in _TURNED_ZH.items()}
    return re.compile("|".join(sorted(table, key=len, reverse=True))), table


@lru_cache(maxsize=4096)
def relations(text: str) -> tuple[Relation, ...]:
    """The verbs of a sentence that have a direction, with their sides."""
    zh = has_cjk(text)
    pattern, table = (_forms_zh if zh else _forms_en)()
    found = []
    for verb in pattern.finditer(text):
        group, form = table[verb.group().lower()]
        read = _read_zh if zh else _read_en
        if sides := read(text, verb.start(), verb.end(), form):
            found.append(Relation(group, *(sides if form != "turned" else sides[::-1])))
    return tuple(found)


_Places = tuple[tuple[int, int], ...]


def _read_en(text: str, start: int, end: int, form: str) -> tuple[_Places, _Places] | None:
    before = text[:start]
    if (form == "base" and not _HELPED.search(before) and not _ASKS.match(text)) or (
        form == "s" and _NOUN.search(before)
    ):
        return None
    be = _BE.search(before) if form in ("past", "part", "both") else None
    by = _BY.match(text, end) if form in ("part", "both") or (be and form == "past") else None
    if be or by:
        left = _left_en(text, be.start() if be else start)
        return (((by.end(), _right_en(text, by.end())),) if by else ()), (left,)
    if form == "part" and not re.search(r"\b(?:has|have|had|having)\b[^,;]{0,20}$", before, re.IGNORECASE):
        return None
    relative = _RELATIVE.search(before)
    if relative and before[: relative.start()].strip():
        named = set(re.findall(r"\w+", relative["np"].lower()))
        if not named <= _NO_SUBJECT | STOP_EN:
            return (relative.span("np"),), (_left_en(text, relative.start()),)
    return (_left_en(text, start),), ((end, _right_en(text, end)),)


def _left_en(text: str, end: int) -> tuple[int, int]:
    """The stretch before a verb that names its subject: what follows the last comma, where that names something."""
    begin = max((found.end() for found in _STARTS.finditer(text, 0, end)), default=0)
    comma = text.rfind(", ", begin, end)
    words = re.findall(r"[^\W\d_]+", text[comma + 1 : end].lower()) if comma >= 0 else []
    told = [word for word in words if word not in _NO_SUBJECT and not word.endswith("ly")]
    return (comma + 1 if told else begin), end


def _right_en(text: str, start: int) -> int:
    found = _ENDS.search(text, start)
    return found.start() if found else len(text)


def _read_zh(text: str, start: int, end: int, form: str) -> tuple[_Places, _Places] | None:
    del form
    begin = max(text.rfind(mark, 0, start) for mark in "。；！？\n") + 1
    before = text[begin:start]
    stop = _STOP_ZH_RIGHT.search(text, end)
    last = stop.start() if stop else len(text)
    skip = end + (1 if _SKIP_ZH.match(text, end) else 0)
    if by := _BY_ZH.search(before) or _BARE_ZH.search(before):
        groups = by.groupdict()
        name = next((key for key in ("np", "suo") if groups.get(key)), "")
        doer = ((begin + by.start(name), begin + by.end(name)),) if name else ()
        behind = ((end + 1, last),) if text[end : end + 1] == "的" and last > end + 1 else ()
        return doer, (_left_zh(text, begin, begin + by.start()), *behind)
    if have := _HAVE_ZH.search(before):
        return (_left_zh(text, begin, begin + have.start()),), ((begin + have.start("np"), begin + have.end("np")),)
    of = text.find("的", end, last)
    is_ = next((at for mark in "是为" if (at := text.find(mark, max(of, end), last)) >= 0), -1)
    left = _left_zh(text, begin, start)
    if of == end and is_ > of:
        return (left,), ((is_ + 1, last),)
    if of > end and is_ > of and not _told_zh(before):
        return ((is_ + 1, last),), ((skip, of),)
    return (left,), ((skip, last),)


def _left_zh(text: str, begin: int, end: int) -> tuple[int, int]:
    comma = max(text.rfind(mark, begin, end) for mark in "，：")
    return (comma + 1 if comma >= 0 and _told_zh(text[comma + 1 : end]) else begin), end


def _told_zh(text: str) -> str:
    """What is left of a stretch without times and particles: whom it names."""
    for date in reversed(dates(text)):
        text = text[: date.start] + text[date.end :]
    return re.sub(r"\d+", "", _TIME_ZH.sub("", text)).strip("，、。：； ")


def _named(text: str, places: _Places) -> frozenset[str]:
    """Whom stretches name: the words of their names, else all their content words; in Chinese each name as it is."""
    piece = " ".join(text[a:b] for a, b in places)
    if has_cjk(text):
        found = [fold(span.text) for span in names(piece)] or [fold(_told_zh(piece))]
        return frozenset(word for word in found if word and word not in STOP_ZH)
    spans = [span.text for span in names(piece)]
    words = re.findall(r"[^\W_]+", fold(" ".join(spans) if spans else piece))
    return frozenset(
        stem(word) for word in words if word not in STOP_EN and word not in MONTH_WORDS and not word.isdigit()
    )


def _holds(text: str, places: _Places, named: frozenset[str]) -> bool:
    """Whether stretches name the same: all words of it, in Chinese as a part of the stretch."""
    if not named:
        return False
    piece = fold(" ".join(text[a:b] for a, b in places))
    if has_cjk(text):
        return all(name in piece for name in named)
    return named <= {stem(word) for word in re.findall(r"[^\W_]+", piece)}


def asked_side(question: Question) -> Asked | None:
    """The side that a question with such a verb asks for: who acquired X (the doer), whom did X acquire (the done)."""
    return _asked(question.text, question.language == "zh")


@lru_cache(maxsize=512)
def _asked(text: str, zh: bool) -> Asked | None:
    return _asked_zh(text) if zh else _asked_en(text)


def _asked_zh(text: str) -> Asked | None:
    who = _WHO_ZH.search(text)
    for relation in relations(text) if who else ():
        side = relation.side(*who.span()) if who else None
        if side:
            places = relation.done if side == "doer" else relation.doer
            return Asked(relation.group, side, _named(text, places))
    return None


def _asked_en(text: str) -> Asked | None:
    who = _WHO.search(text)
    pattern, table = _forms_en()
    verb = next((found for found in pattern.finditer(text, who.end())), None) if who else None
    if who is None or verb is None or len(text[: who.start()].split()) > 1:
        return None
    group, form = table[verb.group().lower()]
    before, led, tail = text[: verb.start()], text[: who.start()].strip().lower(), text[verb.end() :]
    if led not in ("", "by", "so", "and"):
        return None
    if (be := _BE_NP.search(before)) and not _BE.search(before):
        by = led == "by" or re.search(r"\bby\s*\W*$", tail) is not None
        return Asked(group, "doer", _named(text, (be.span("np"),))) if by and form in ("part", "both", "past") else None
    if aux := _AUX.search(before):
        if form not in ("base", "both", "past", "part") or _named(text, ((verb.end(), _right_en(text, verb.end())),)):
            return None
        return _turn(Asked(group, "done", _named(text, (aux.span("np"),))), form)
    sides = _read_en(text, verb.start(), verb.end(), form)
    if sides is None or _LED.search(before):
        return None
    relation = Relation(group, *(sides if form != "turned" else sides[::-1]))
    side = relation.side(*who.span())
    return Asked(group, side, _named(text, relation.done if side == "doer" else relation.doer)) if side else None


def _turn(asked: Asked, form: str) -> Asked:
    return Asked(asked.group, _OTHER[asked.side], asked.named) if form == "turned" else asked


def wrong_side(question: Question, text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` stands on the other side of the asked verb, or what the question names on its own."""
    return _fits(question, text, start, end) is False


def right_side(question: Question, text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` stands on the side that is asked for, and what the question names on the other."""
    return _fits(question, text, start, end) is True


def _fits(question: Question, text: str, start: int, end: int) -> bool | None:
    asked = asked_side(question)
    if asked is None or not asked.named:
        return None
    if not re.search(r"[^\W\d_年月日]", text[start:end]):  # no date is bought
        return False
    verdict: bool | None = None
    for relation in relations(text):
        side = relation.side(start, end) if relation.group == asked.group else None
        if side is None:
            continue
        mine, theirs = (relation.doer, relation.done) if asked.side == "doer" else (relation.done, relation.doer)
        if side == asked.side and _holds(text, theirs, asked.named):
            return True
        turned = _holds(text, mine, asked.named) and not _holds(text, theirs, asked.named)
        if turned or side != asked.side:
            verdict = False
    return verdict


def pronoun_did(question: Question, text: str) -> bool:
    """Whether a sentence says that he, she or they did what is asked to whom the question names."""
    asked = asked_side(question)
    if asked is None or asked.side != "doer":
        return False
    return any(
        relation.group == asked.group
        and _holds(text, relation.done, asked.named)
        and any(_PRONOUN.match(text, a, b) for a, b in relation.doer)
        for relation in relations(text)
    )


def answers_zh(question: Question, text: str) -> list[Span]:
    """Whom a Chinese sentence names on the side that is asked for: 甲公司, which no list of names holds."""
    asked = asked_side(question)
    found = []
    for relation in relations(text) if asked and has_cjk(text) else ():
        if asked and relation.group == asked.group:
            for a, b in relation.doer if asked.side == "doer" else relation.done:
                taken = [(date.start, date.end) for date in dates(text)]
                while a < b and (_TIME_ZH.match(text, a) or any(x <= a < y for x, y in taken)):
                    a += 1
                while a < b and (_TIME_ZH.match(text[b - 1]) or any(x <= b - 1 < y for x, y in taken)):
                    b -= 1
                if place := _AT_ZH.search(text, a + 2, b):  # 张三|在决赛中
                    b = place.start()
                found += [Span(text[a:b], a, b, "name")] if 1 < b - a <= LONGEST_NAME_ZH else []
    return found


def turned_round(a: str, b: str) -> bool:
    """Whether one text says of two what the other says the other way round."""
    return any(turned and not same for same, turned in _compared(a, b))


def said_alike(a: str, b: str) -> bool:
    """Whether two texts say it of the same two the same way round, whatever their words: beat, was beaten by, lost to."""
    return any(same for same, _ in _compared(a, b))


def _compared(a: str, b: str) -> Iterator[tuple[bool, bool]]:
    """For each relation of one text whether the other says it the same way round, and whether the other way."""
    for ours in relations(a):
        doer, done = _named(a, ours.doer), _named(a, ours.done)
        if doer and done and doer != done:
            mine = [theirs for theirs in relations(b) if theirs.group == ours.group]
            yield (
                any(_holds(b, t.doer, doer) and _holds(b, t.done, done) for t in mine),
                any(_holds(b, t.doer, done) and _holds(b, t.done, doer) for t in mine),
            )


def tells(text: str) -> bool:
    """Whether a text says who did it to whom."""
    return any(_named(text, each.doer) and _named(text, each.done) for each in relations(text))


def exclusive(a: str) -> bool:
    """Whether no two can do to each other what a text says: acquire and kill, but not beat or sue."""
    repeated = _REPEATED_ZH if has_cjk(a) else _REPEATED
    return all(relation.group not in repeated for relation in relations(a))
