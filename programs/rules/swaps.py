"""Two sentences that are the same but for one piece: the piece in each, and whether the two exclude each other."""

import re
from dataclasses import dataclass
from itertools import takewhile

from reflective_rag.programs.rules.matching import fold, has_cjk, segmenter
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
    folded = [fold(piece) for piece in pieces]
    if folded[0] in folded[1] or folded[1] in folded[0] or _SEVERAL.search(found.before[-60:]):
        return False
    if not found.before.strip() and not re.match(r"\s*(?:is|was|are|were)\s+the\b|是|为", found.after):
        return False
    if all(piece[0].isdigit() or piece[0] in "$£€¥" for piece in pieces):
        units = [re.findall(r"[^\d.,\s]+", piece) for piece in folded]
        return units[0] == units[1] and all(len(re.findall(r"\d+(?:[.,]\d+)*", piece)) == 1 for piece in pieces)
    return all(_names_something(piece) for piece in pieces)


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
