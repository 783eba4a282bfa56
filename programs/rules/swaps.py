"""Two sentences that are the same but for one piece: the piece in each, and whether the two exclude each other."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile

from reflective_rag.programs.rules.dates import years
from reflective_rag.programs.rules.matching import fold, has_cjk, segmenter
from reflective_rag.programs.rules.names import LINKS, is_person_zh
from reflective_rag.programs.rules.tolerance import amounts_agree, hedge
from reflective_rag.programs.rules.values import dates
from reflective_rag.programs.rules.variants import simplified
from reflective_rag.programs.rules.words import NEGATION_ZH, STOP_EN, STOP_ZH
from reflective_rag.signatures.patterns import late_pattern

MAX_PIECE = 40
"""Longest swapped piece in characters."""

MAX_SENTENCE = 480
"""Longest sentence that is compared word by word."""

LEAST_REPEAT = 8
"""Characters from which a differing piece may hold a smaller one several times."""

_START = late_pattern(r"^[\W_]*(?:(?:The|An?)\s+(?=[A-Za-z]))?(?:\[[^\]]{1,20}\]\s*)*", re.IGNORECASE)

_PIECE = late_pattern(r"[\w·.,:/\-–'’ %$£€¥&]+")
_SEVERAL = late_pattern(
    r"\b(?:includ\w+|such\s+as|among|one\s+of|star(?:s|red|ring)|appear(?:s|ed)?|feature[sd]?|featuring|member|won|wins|winner\s+of\s+the|award(?:s|ed)?|nominated|played|plays|visit(?:s|ed)|performed|wrote|writes|published|recorded|released|co-\w+|also|another|sells?|sold|makes?|offers?|serves?|contains?|has|have|had|likes?|speaks?|studied|worked|collaborated|works?)\b|\ban?\s*$"
    r"|之一|包括|例如|主演|出演|参演|饰演|成员|获得|荣获|获奖|提名|代表作|著有|作品有|拥有|还有|另有|也|以及|演唱|发行|发表|出版|访问|参加|合作|曾在|曾任|等",
    re.IGNORECASE,
)
"""Predicates that hold of several things at once: two different objects are then no contradiction."""


_DIGITS = late_pattern(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")
_SAYS_EN = STOP_EN - LINKS - frozenset("the a an no us i my in on by to as out up down s t".split())
_SAYS_ZH = "的了是在会把被和与及"
"""What no name holds: such a piece is part of a sentence."""
_LABEL = late_pattern(
    r"\b(?:number|no\.?|nr\.?|issue|volume|vol\.?|page|p\.|chapter|section|part|paper|doc|document|source|article|figure|table|note|edition)\s*#?$|#$",
    re.IGNORECASE,
)
_LABEL_ZH = late_pattern(r"第?\d+(?:[期版页号卷章册篇集]|$)")
_SOURCE = late_pattern(
    r"\b(?:says?|said|according\s+to|reports?|reported\s+(?:by|in)|sources?:?|via|cited\s+by)\s+[^.,;]{0,24}$|(?:根?据|来自|引自|来源[:：]?)[^，。；,;]{0,12}$",
    re.IGNORECASE,
)
_SOURCE_AFTER = late_pattern(
    r"\s*(?:reports?|reported|says|said|writes|wrote)\b|[^，。；,;]{0,4}(?:报道|报导|消息|获悉|称[，,：:])"
)
"""What numbers or names a source, and not the thing itself: two papers may say the same."""


@dataclass(frozen=True)
class Swap:
    """The differing pieces of two sentences, and what both have in common before and after."""

    left: str
    right: str
    before: str
    after: str


def swap(a: str, b: str) -> Swap | None:
    """The one piece in which two sentences differ, cut at word borders; it may occur several times.

    An article or bracket at the start, and marks at the end, make no difference. None when the sentences are equal,
    differ in several pieces, or are too long to compare.
    """
    if max(len(a), len(b)) > MAX_SENTENCE or a == b:
        return None
    left, right = _tokens(_bare(a)), _tokens(_bare(b))
    head = _alike(left, right)
    tail = _alike(left[head:][::-1], right[head:][::-1])
    pieces = "".join(left[head : len(left) - tail]), "".join(right[head : len(right) - tail])
    if len(pieces[0]) > LEAST_REPEAT and len(pieces[1]) > LEAST_REPEAT and (found := _everywhere(left, right)):
        return found
    if any(len(piece) > MAX_PIECE for piece in pieces):
        return None
    before, after = "".join(left[:head]), "".join(left[len(left) - tail :])
    if has_cjk(pieces[0]) and has_cjk(pieces[1]):
        return _whole_names(*pieces, before, after)
    return Swap(pieces[0].strip(), pieces[1].strip(), before, after)


def _bare(text: str) -> str:
    return _START.sub("", text).rstrip(" .。…!！")


def _everywhere(left: list[str], right: list[str]) -> Swap | None:
    """The piece that is another one wherever it occurs, and nothing else is: Alexa, also known as Alexa."""
    edits = [op for op in SequenceMatcher(None, left, right, autojunk=False).get_opcodes() if op[0] != "equal"]
    pairs = {("".join(left[a:b]).strip(), "".join(right[c:d]).strip()) for _, a, b, c, d in edits}
    if len(pairs) != 1 or len(edits) < 2:
        return None
    (pair,) = pairs
    return Swap(*pair, "".join(left[: edits[0][1]]), "".join(left[edits[-1][2] :])) if all(pair) else None


def _whole_names(left: str, right: str, before: str, after: str) -> Swap:
    """Chinese pieces without what both end with, where that leaves two names: the segmenter cuts 柯文哲僅 as one word."""
    end = _alike(list(left[::-1]), list(right[::-1]))
    for cut in range(end, 0, -1):
        if is_person_zh(left[:-cut]) and is_person_zh(right[:-cut]):
            return Swap(left[:-cut], right[:-cut], before, left[-cut:] + after)
    return Swap(left.strip(), right.strip(), before, after)


def excludes(found: Swap, *, version: bool = False) -> bool:
    """Whether the two pieces cannot both be right: names or values of one sort, in a predicate that takes one only.

    In two versions of one text (`version`) the predicate does not matter: the one text does not mean two things.
    """
    pieces = found.left, found.right
    if not all(_PIECE.fullmatch(piece) for piece in pieces):
        return False
    if all(_is_date(piece) for piece in pieces):
        return _date_of(pieces[0]) != _date_of(pieces[1])
    if _of_a_source(found) or _same_name(*pieces) or _roughly_same(found):
        return False
    folded = [fold(piece) for piece in pieces]
    if folded[0] in folded[1] or folded[1] in folded[0]:
        return False
    if not version and (_SEVERAL.search(found.before[-60:]) or _opens(found)):
        return False
    if all(piece[0].isdigit() or piece[0] in "$£€¥" for piece in pieces):
        units = [re.findall(r"[^\d.,\s]+", piece) for piece in folded]
        counts = [len(re.findall(r"\d+(?:[.,]\d+)*", piece)) for piece in pieces]
        return units[0] == units[1] and (counts == [1, 1] or (counts[0] == counts[1] and "年" in folded[0]))
    return all(_names_something(piece) for piece in pieces)


def _is_date(piece: str) -> bool:
    """Whether a piece is one whole date with its year and nothing else, in whatever order."""
    found = dates(piece)
    return len(found) == 1 and found[0].text == piece.strip(" ,") and bool(years(piece)) and not piece.isdigit()


def _date_of(piece: str) -> tuple[tuple[int, ...], frozenset[str], frozenset[str]]:
    """A date as year, month name and other numbers, so that "5 May 2012" and "May 5, 2012" are one."""
    words = frozenset(word[:3] for word in re.findall(r"[a-z]+", fold(piece)) if len(word) > 2)
    return years(piece), words, frozenset(number.lstrip("0") for number in re.findall(r"\d{1,2}(?!\d)", piece))


def _opens(found: Swap) -> bool:
    """Whether the pieces open their sentences, and what follows may be said of several."""
    return not found.before.strip() and not re.match(r"\s*(?:is|was|are|were)\s+the\b|是|为", found.after)


def _of_a_source(found: Swap) -> bool:
    """Whether the pieces only number or name who says it (says paper number 1, 据第1期日报)."""
    pieces = found.left, found.right
    if all(piece.isdigit() for piece in pieces) and _LABEL.search(found.before):
        return True
    labels = all(_LABEL_ZH.match(piece + found.after[:1]) for piece in pieces)
    if labels and (found.before.endswith("第") or all(piece.startswith("第") for piece in pieces)):
        return found.after[:1] in tuple("期版页号卷章册篇集") or all(
            piece[-1] in "期版页号卷章册篇集" for piece in pieces
        )
    return _SOURCE.search(found.before) is not None or _SOURCE_AFTER.match(found.after) is not None


def _roughly_same(found: Swap) -> bool:
    """Whether each piece holds one number, and the two agree as rough amounts or bounds (约300, 330)."""
    held = [list(_DIGITS.finditer(piece)) for piece in (found.left, found.right)]
    if any(len(each) != 1 for each in held):
        return False
    (x, how_x), (y, how_y) = (
        (
            float(number.group().replace(",", "")),
            hedge(found.before + piece[: number.start()], piece[number.end() :] + found.after),
        )
        for piece, (number,) in zip((found.left, found.right), held, strict=True)
    )
    return amounts_agree(x, how_x, y, how_y)


def _same_name(left: str, right: str) -> bool:
    """Whether two pieces are one name: with an initial in one of them (A. Bell, Ann Bell), or in traditional characters."""
    if has_cjk(left) and simplified(left) == simplified(right):
        return True
    ours, theirs = (re.findall(r"[A-Z][\w'’-]*", piece) for piece in (left, right))
    if not ours or len(ours) != len(theirs):
        return False
    pairs = list(zip(ours, theirs, strict=True))
    return all(x == y or (min(len(x), len(y)) == 1 and x[0] == y[0]) for x, y in pairs)


def _names_something(piece: str) -> bool:
    """An English name or a Chinese nominal: not a negation, a function word, an adverb or a number."""
    if piece[0].isdigit() or fold(piece) in STOP_EN or piece in STOP_ZH:
        return False
    if not has_cjk(piece):
        return piece[0].isupper() and _SAYS_EN.isdisjoint(re.findall(r"[a-z]+", fold(piece)))
    if len(piece) < 2 or any(word in piece for word in NEGATION_ZH) or any(c in _SAYS_ZH for c in piece):
        return False
    if is_person_zh(piece):
        return True
    return all(tag[0] in "njirxlghbksmz" or tag == "eng" or len(word) == 1 for word, tag in segmenter().tag(piece))


def _alike(left: list[str], right: list[str]) -> int:
    """How many tokens two lists have in common from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def _tokens(text: str) -> list[str]:
    """Numbers with their points and commas, words, and what stands between; in Chinese the segmenter's words."""
    if not has_cjk(text):
        return re.findall(r"\d+(?:[.,]\d+)*|\w+(?:['’-]\w+)*|\W", text)
    return [word for word, _ in segmenter().tag(text)]
