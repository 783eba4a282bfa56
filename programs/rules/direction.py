"""Who did it to whom: "Alpha was acquired by Beta" and "Beta acquired Alpha" are one, "Alpha acquired Beta" is another.

A sentence is read by the place of its parts: active and passive (was … by, 被, 由, 为…所), with the object in front (把, 将,
"which Beta acquired"), and verbs that say it from the other side (lost to, 输给). Only verbs of the table below have a
direction; what is mutual (marry, 结婚) has none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from reflective_rag.programs.rules.direction_verbs import REPEATED, REPEATED_ZH, forms_en, forms_zh
from reflective_rag.programs.rules.matching import fold, has_cjk, stem
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.values import dates
from reflective_rag.programs.rules.words import MONTH_WORDS, STOP_EN, STOP_ZH
from reflective_rag.signatures.patterns import late_pattern

Side = Literal["doer", "done"]
BE = late_pattern(
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
_BY_ZH = late_pattern(r"(?:被|遭到?|由(?!于)|让)(?P<np>[^，。；：被由]{1,24})$|为(?P<suo>[^，。；：]{1,24})所$")
_BARE_ZH = late_pattern(r"(?:被|遭到?)$")
_HAVE_ZH = late_pattern(r"(?:把|将(?![于在会要以来]))(?P<np>[^，。；：]{1,24})$")
_STOP_ZH_RIGHT = late_pattern(r"[，。；：！？（）()?!]|并(?!购)|而|后(?=，)")
_SKIP_ZH = late_pattern(r"[了过]")
TIME_ZH = late_pattern(r"[的了于在曾已经正式最终成功后来又也都年月日号\s“”\"《》]|最后|随后|当时|宣布|完成|全资")


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


@lru_cache(maxsize=4096)
def relations(text: str) -> tuple[Relation, ...]:
    """The verbs of a sentence that have a direction, with their sides."""
    zh = has_cjk(text)
    pattern, table = (forms_zh if zh else forms_en)()
    found = []
    for verb in pattern.finditer(text):
        group, form = table[verb.group().lower()]
        read = _read_zh if zh else read_en
        if sides := read(text, verb.start(), verb.end(), form):
            found.append(Relation(group, *(sides if form != "turned" else sides[::-1])))
    return tuple(found)


_Places = tuple[tuple[int, int], ...]


def read_en(text: str, start: int, end: int, form: str) -> tuple[_Places, _Places] | None:
    """The two sides of an English verb; None where it is no such verb there."""
    before = text[:start]
    if (form == "base" and not _HELPED.search(before) and not _ASKS.match(text)) or (
        form == "s" and _NOUN.search(before)
    ):
        return None
    be = BE.search(before) if form in ("past", "part", "both") else None
    by = _BY.match(text, end) if form in ("part", "both") or (be and form == "past") else None
    if be or by:
        left = _left_en(text, be.start() if be else start)
        return (((by.end(), right_en(text, by.end())),) if by else ()), (left,)
    if form == "part" and not re.search(r"\b(?:has|have|had|having)\b[^,;]{0,20}$", before, re.IGNORECASE):
        return None
    relative = _RELATIVE.search(before)
    if relative and before[: relative.start()].strip():
        named = set(re.findall(r"\w+", relative["np"].lower()))
        if not named <= _NO_SUBJECT | STOP_EN:
            return (relative.span("np"),), (_left_en(text, relative.start()),)
    return (_left_en(text, start),), ((end, right_en(text, end)),)


def _left_en(text: str, end: int) -> tuple[int, int]:
    """The stretch before a verb that names its subject: what follows the last comma, where that names something."""
    begin = max((found.end() for found in _STARTS.finditer(text, 0, end)), default=0)
    comma = text.rfind(", ", begin, end)
    words = re.findall(r"[^\W\d_]+", text[comma + 1 : end].lower()) if comma >= 0 else []
    told = [word for word in words if word not in _NO_SUBJECT and not word.endswith("ly")]
    return (comma + 1 if told else begin), end


def right_en(text: str, start: int) -> int:
    """Where what an English verb is done to ends."""
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
    return re.sub(r"\d+", "", TIME_ZH.sub("", text)).strip("，、。：； ")


def named(text: str, places: _Places) -> frozenset[str]:
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


def holds(text: str, places: _Places, named: frozenset[str]) -> bool:
    """Whether stretches name the same: all words of it, in Chinese as a part of the stretch."""
    if not named:
        return False
    piece = fold(" ".join(text[a:b] for a, b in places))
    if has_cjk(text):
        return all(name in piece for name in named)
    return named <= {stem(word) for word in re.findall(r"[^\W_]+", piece)}


def turned_round(a: str, b: str) -> bool:
    """Whether one text says of two what the other says the other way round."""
    return any(turned and not same for same, turned in _compared(a, b))


def said_alike(a: str, b: str) -> bool:
    """Whether two texts say it of the same two the same way round, whatever their words: beat, was beaten by, lost to."""
    return any(same for same, _ in _compared(a, b))


def _compared(a: str, b: str) -> Iterator[tuple[bool, bool]]:
    """For each relation of one text whether the other says it the same way round, and whether the other way."""
    for ours in relations(a):
        doer, done = named(a, ours.doer), named(a, ours.done)
        if doer and done and doer != done:
            mine = [theirs for theirs in relations(b) if theirs.group == ours.group]
            yield (
                any(holds(b, t.doer, doer) and holds(b, t.done, done) for t in mine),
                any(holds(b, t.doer, done) and holds(b, t.done, doer) for t in mine),
            )


def tells(text: str) -> bool:
    """Whether a text says who did it to whom."""
    return any(named(text, each.doer) and named(text, each.done) for each in relations(text))


def exclusive(a: str) -> bool:
    """Whether no two can do to each other what a text says: acquire and kill, but not beat or sue."""
    repeated = REPEATED_ZH if has_cjk(a) else REPEATED
    return all(relation.group not in repeated for relation in relations(a))
