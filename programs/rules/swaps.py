"""Two sentences that are the same but for one piece: the piece in each, and whether the two exclude each other."""

import re
from dataclasses import dataclass
from itertools import takewhile

from reflective_rag.programs.rules.matching import fold, has_cjk, segmenter
from reflective_rag.programs.rules.tolerance import amounts_agree, hedge
from reflective_rag.programs.rules.words import NEGATION_ZH, STOP_EN, STOP_ZH

MAX_PIECE = 40
"""Longest swapped piece in characters."""

MAX_SENTENCE = 480
"""Longest sentence that is compared word by word."""

_PIECE = re.compile(r"[\w·.,:/\-–'’ %$£€¥&]+")
_SEVERAL = re.compile(
    r"\b(?:includ\w+|such\s+as|among|one\s+of|star(?:s|red|ring)|appear(?:s|ed)?|feature[sd]?|featuring|member|won|wins|winner\s+of\s+the|award(?:s|ed)?|nominated|played|plays|visit(?:s|ed)|performed|wrote|writes|published|recorded|released|co-\w+|also|another|sells?|sold|makes?|offers?|serves?|contains?|has|have|had|likes?|speaks?|studied|worked|collaborated|works?)\b|\ban?\s*$"
    r"|之一|包括|例如|主演|出演|参演|饰演|成员|获得|荣获|获奖|提名|代表作|著有|作品有|拥有|还有|另有|也|以及|演唱|发行|发表|出版|访问|参加|合作|曾在|曾任|等",
    re.IGNORECASE,
)
"""Predicates that hold of several things at once: two different objects are then no contradiction."""


_DIGITS = re.compile(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")
_LABEL = re.compile(
    r"\b(?:number|no\.?|nr\.?|issue|volume|vol\.?|page|p\.|chapter|section|part|paper|document|source|article|figure|table|note|edition)\s*#?$|#$",
    re.IGNORECASE,
)
_LABEL_ZH = re.compile(r"第?\d+(?:[期版页号卷章册篇集]|$)")
_SOURCE = re.compile(
    r"\b(?:says?|said|according\s+to|reports?|reported\s+(?:by|in)|sources?:?|via|cited\s+by)\s+[^.,;]{0,24}$|(?:根?据|来自|引自|来源[:：]?)[^，。；,;]{0,12}$",
    re.IGNORECASE,
)
_SOURCE_AFTER = re.compile(
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
    """The one place where two sentences differ, cut at word borders.

    None when they are equal or too long to compare.
    """
    if max(len(a), len(b)) > MAX_SENTENCE or a == b:
        return None
    left, right = _tokens(a), _tokens(b)
    head = _alike(left, right)
    tail = _alike(left[head:][::-1], right[head:][::-1])
    pieces = "".join(left[head : len(left) - tail]), "".join(right[head : len(right) - tail])
    before, after = "".join(left[:head]), "".join(left[len(left) - tail :])
    if any(len(piece) > MAX_PIECE for piece in pieces):
        return None
    return Swap(pieces[0].strip(), pieces[1].strip(), before, after)


def excludes(found: Swap) -> bool:
    """Whether the two pieces cannot both be right: names or values of one sort, in a predicate that takes one only."""
    pieces = found.left, found.right
    if not all(_PIECE.fullmatch(piece) for piece in pieces):
        return False
    if _of_a_source(found) or _same_name(*pieces) or _roughly_same(found):
        return False
    folded = [fold(piece) for piece in pieces]
    if folded[0] in folded[1] or folded[1] in folded[0] or _SEVERAL.search(found.before[-60:]):
        return False
    if not found.before.strip() and not re.match(r"\s*(?:is|was|are|were)\s+the\b|是|为", found.after):
        return False
    if all(piece[0].isdigit() or piece[0] in "$£€¥" for piece in pieces):
        units = [re.findall(r"[^\d.,\s]+", piece) for piece in folded]
        return units[0] == units[1] and all(len(re.findall(r"\d+(?:[.,]\d+)*", piece)) == 1 for piece in pieces)
    return all(_names_something(piece) for piece in pieces)


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
    """Whether two pieces are one name, written with an initial in one of them: A. Bell, Ann Bell."""
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
        return piece[0].isupper()
    if len(piece) < 2 or any(word in piece for word in NEGATION_ZH):
        return False
    return all(tag[0] in "njirxlghbksmz" or tag == "eng" or len(word) == 1 for word, tag in segmenter().tag(piece))


def _alike(left: list[str], right: list[str]) -> int:
    """How many tokens two lists have in common from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def _tokens(text: str) -> list[str]:
    """Numbers with their points and commas, words, and what stands between; in Chinese the segmenter's words."""
    if not has_cjk(text):
        return re.findall(r"\d+(?:[.,]\d+)*|\w+(?:['’-]\w+)*|\W", text)
    return [word for word, _ in segmenter().tag(text)]
