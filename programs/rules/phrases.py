"""Plain phrases of a sentence: runs of content words, what stands in the place of the question word, causes."""

import re
from dataclasses import replace

from reflective_rag.programs.rules.matching import fold, has_cjk, segmenter, stem
from reflective_rag.programs.rules.question import Question
from reflective_rag.programs.rules.values import Span
from reflective_rag.programs.rules.words import DEMONYM, STOP_EN, STOP_ZH
from reflective_rag.signatures.patterns import late_pattern

MAX_PHRASE = 6
"""Longest plain phrase in words; longer runs are cut off there."""

WORDS = late_pattern(r"[^\W_]+(?:[.'’&-][^\W_]+|,\d{3}(?!\d))*")
_NOUN_TAGS = frozenset("n nr nrt ns nt nz ng nrfg vn an a b j l i eng m q g s t f z k h".split())
_IS_A = late_pattern(
    rf"\b(?:is|was|are|were)\s+(?:an?|the)\s+(?:(?:former|retired|late|professional|{DEMONYM})\s+)*([a-z][a-z-]+(?:\s+(?!(?:who|that|which|and|or|in|of|by|from|for|with|at|on|to|best|known|born|based|directed|written|produced|released|set|was|is)\b)[a-z][a-z-]+){{0,3}})"
)
_SLOT = r"[了在于是为由被的从叫作做到过：:“「《]{0,3}([^，。；！？,;（）()“”「」《》…\n]{2,16})"
_CAUSE = late_pattern(
    r"\b(?:because(?:\s+of)?|due\s+to|owing\s+to|as\s+a\s+result\s+of|in\s+order\s+to|so\s+that|thanks\s+to|died\s+(?:of|from)|by\s+(?=\w+ing\b))\s*"
    r"([^,;.!?()]{3,120})|(?:因为|由于|为了|以便|死于(?!\d))([^，。；！？（）]{2,60})",
    re.IGNORECASE,
)


_WHOLE = late_pattern(
    r"(?:室|馆|厂|店|公司|事务所|研究所|研究院|学院|社|奖|奖学金|基金会?|画廊|乐队|协会|学会|局|部|中心|银行|软件|系统|案|项目|计划|协议|广场|大厦|医院|法|定律|理论)$"
)
"""Nouns that are the last part of a name: 星海|实验室."""


def causes(text: str) -> list[Span]:
    """What a sentence gives as cause, purpose or means: after "because of", "by …ing", 因为, 为了."""
    found = ((m, 1 if m.group(1) else 2) for m in _CAUSE.finditer(text))
    return [Span(m.group(i), m.start(i), m.end(i), "phrase") for m, i in found]


def whole_names(text: str, found: list[Span], expected: str) -> list[Span]:
    """Chinese names with the common nouns that belong to them: 星海|实验室, 明澈|水务|公司.

    One that already ends with the noun asked for stays as it is: 清华大学, not 清华大学物理系.
    """
    if not has_cjk(text):
        return found
    pieces: dict[int, tuple[int, str]] = {}
    position = 0
    for word, tag in segmenter().tag(text):
        pieces[position] = (position + len(word), tag)
        position += len(word)
    widened = []
    for span in found:
        end = span.end
        while (
            span.kind in ("name", "place", "person")
            and end in pieces
            and pieces[end][1] in ("n", "nt", "nz", "ng", "vn")
        ):
            if expected and text[span.start : end].endswith((expected, expected[-1])):
                break
            end = pieces[end][0]
        if not _WHOLE.search(text[span.end : end]):
            end = span.end
        widened.append(replace(span, text=text[span.start : end], end=end) if end > span.end else span)
    return widened


def slots(text: str, question: Question) -> list[Span]:
    """Spans by their place in the sentence.

    In English what follows "is a", in Chinese what stands where the question word stands. The Chinese ones reach from the word before the question word to the next comma.
    """
    matches = list(_IS_A.finditer(text))
    for form in question.left if has_cjk(text) else ():
        matches += re.finditer(re.escape(form) + _SLOT, text)
    return [Span(found.group(1), found.start(1), found.end(1), "phrase") for found in matches]


def phrases(text: str, question: Question) -> list[Span]:
    """Runs of content words that hold none of the question's terms.

    A stand-in for noun phrases where there is no parser. Chinese runs hold only words that the segmenter tags as nominal.
    """
    asked = {form for term in question.terms for form in term.forms}
    spans: list[Span] = []
    run: list[tuple[str, int, int]] = []
    for word, start, end, content in [*_pieces(text), ("", len(text), len(text), False)]:
        content = content and stem(fold(word)) not in asked and fold(word) not in asked
        if run and (not content or text[run[-1][2] : start].strip(" -") != ""):
            run = run[:MAX_PHRASE]
            spans.append(Span(text[run[0][1] : run[-1][2]], run[0][1], run[-1][2], "phrase"))
            run = []
        if content:
            run.append((word, start, end))
    return spans


def _pieces(text: str) -> list[tuple[str, int, int, bool]]:
    """Words with offsets, and whether each can be part of a phrase."""
    if not has_cjk(text):
        return [(m.group(), m.start(), m.end(), m.group().lower() not in STOP_EN) for m in WORDS.finditer(text)]
    pieces: list[tuple[str, int, int, bool]] = []
    position = 0
    for word, tag in segmenter().tag(text):
        start, position = position, position + len(word)
        if WORDS.fullmatch(word):
            pieces.append((word, start, position, tag in _NOUN_TAGS and word not in STOP_ZH))
    return pieces
