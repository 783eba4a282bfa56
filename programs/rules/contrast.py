"""Several values in one sentence: each belongs to the words of its own clause.

"120 euros in capital cities and 90 euros in other cities", 经理每天一百二十元，其他员工八十元.
"""

import re
from collections.abc import Sequence

from reflective_rag.programs.rules.matching import fold, has_cjk, segmenter, stem
from reflective_rag.programs.rules.units import UNITS
from reflective_rag.programs.rules.values import Span
from reflective_rag.programs.rules.words import NUMBER_WORDS, STOP_EN, STOP_ZH
from reflective_rag.signatures.patterns import late_pattern

CONTRAST, FOREIGN = 1.0, 0.4
"""Penalty for a value when all words of the question that its sentence holds stand with a later value; the part of it for a
clause of which no word stands in the question."""

_CUT = late_pattern(
    r"[,;](?!\d)|\b(?:and|but|while|whereas|or)\b|[，；、]|(?<=[元天月年米个次时分])[而和](?=[㐀-鿿])", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_TELLING = frozenset(
    (
        "other",
        "others",
        "not",
        "no",
        "non",
        "without",
        "outside",
        "inside",
        "under",
        "over",
        "above",
        "before",
        "after",
        "up",
        "down",
        "off",
        "out",
    )
)
_TELLING_ZH = frozenset(("其他", "其它", "非", "不", "无", "外", "内", "上", "下", "前", "后", "另"))


def contrasts(question: str, text: str, spans: Sequence[Span]) -> list[float]:
    """For each span a penalty (0 or less) for what the words of its own clause say of something else.

    Only values of one unit are set against each other. A later clause goes on with the words before it, an earlier one
    has none of the words of those after it.
    """
    units: dict[str, list[Span]] = {}
    for span in spans:
        dimension = UNITS.get(span.unit, ("", 1.0))[0]
        units.setdefault(f"{span.kind} {'time' if dimension == 'time' else stem(span.unit)}", []).append(span)
    found = {span: value for group in units.values() for span, value in _against(question, text, group)}
    return [found[span] for span in spans]


def _against(question: str, text: str, spans: Sequence[Span]) -> list[tuple[Span, float]]:
    clauses = _clauses(text, sorted({(span.start, span.end) for span in spans}))
    if len(clauses) < 2:
        return [(span, 0.0) for span in spans]
    zh = has_cjk(text)
    own = [_words_zh(text[a:b]) if zh else _words_en(text[a:b]) for a, b in clauses]
    asked = _words_zh(question) if zh else _words_en(question)
    held = [{word for word in asked if _in(word, clause, zh)} for clause in own]
    said: set[str] = set().union(*held)
    costs = []
    for i, clause in enumerate(own):
        later = said - set[str]().union(*held[: i + 1])
        strange = [word for word in clause if not _in(word, asked, zh)]
        missing = len(later) / len(said) if said else 0.0
        foreign = len(strange) / len(clause) if clause else 0.0
        costs.append(CONTRAST * (missing + FOREIGN * foreign))
    least = min(costs)  # clauses that are all equally strange tell nothing
    return [
        (span, least - next(cost for (a, b), cost in zip(clauses, costs, strict=True) if a <= span.start < b))
        for span in spans
    ]


def _clauses(text: str, places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The stretches that hold a value each; one without a value belongs to the next, the last ones to the one before."""
    cuts = [m.start() for m in _CUT.finditer(text) if not any(a <= m.start() < b for a, b in places)]
    bounds = list(zip([0, *cuts], [*cuts, len(text)], strict=True))
    clauses: list[tuple[int, int]] = []
    first = 0
    for start, end in bounds:
        if any(start <= a < end for a, _ in places):
            clauses.append((first, end))
            first = end
    if clauses:
        clauses[-1] = (clauses[-1][0], len(text))
    return clauses


def _words_en(text: str) -> set[str]:
    words = (word.lower() for word in _WORD.findall(text.replace("-", " ")))
    return {
        stem(word)
        for word in words
        if word in _TELLING or (word not in STOP_EN and word not in NUMBER_WORDS and len(word) > 1)
    }


def _words_zh(text: str) -> set[str]:
    words = set()
    for word, tag in segmenter().tag(fold(text)):
        if word in _TELLING_ZH or (_WORD.fullmatch(word) and tag not in ("m", "q", "x") and word not in STOP_ZH):
            words.add(word)
    return words


def _in(word: str, words: set[str], zh: bool) -> bool:
    """Whether a word is among the others, in Chinese also as a part of one or with one as a part; 非会员 is not 会员."""
    if word in words or not zh or len(word) < 2:
        return word in words
    alike = (other for other in words if (other[0] == "非") == (word[0] == "非"))
    return any(word in other or (len(other) > 1 and other in word) for other in alike)
