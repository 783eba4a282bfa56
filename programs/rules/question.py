"""What a question asks: its kind, content terms, entities, options and time."""

import re
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

from reflective_rag.programs.rules.kinds import WH, WORD, Kind, kind_of, noun_after
from reflective_rag.programs.rules.matching import Term, fold, forms_of, grams_of, has_cjk, segmenter, shortened
from reflective_rag.programs.rules.names import names, quoted
from reflective_rag.programs.rules.time import TimeExpression, time_expression
from reflective_rag.programs.rules.values import Span
from reflective_rag.programs.rules.words import (
    LARGER_EN,
    LARGER_ZH,
    SMALLER_EN,
    SMALLER_ZH,
    STOP_EN,
    STOP_ZH,
    WEAK_EN,
    WEAK_ZH,
)
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.text import Language, language_of, well_formed

WEIGHT_ENTITY, WEIGHT_WORD, WEIGHT_CHARACTER, WEIGHT_WEAK = 2.0, 1.0, 0.5, 0.25
"""Prior weights of a question's terms: names, quotations and numbers; ordinary words; lone Chinese characters; words
that only say the kind."""


@dataclass(frozen=True)
class Question:
    """An analysed question.

    `expected` is the noun the answer should be ("which *company*", 哪个*大学*); `options` are A and B of "A or B".
    """

    text: str
    language: Language
    kind: Kind
    terms: tuple[Term, ...]
    entities: tuple[str, ...]
    time: TimeExpression
    expected: str = ""
    options: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """Forms of the content word right before the question word: in 分布在什么地区 the answer stands where 什么地区 stands, after
    分布在."""
    right: tuple[str, ...] = ()
    """Forms of the content word right after the question word: "who *directed*", 谁*推荐*."""
    today: date | None = None
    """The day on which it is asked, where that is known."""

    @property
    def attribute(self) -> tuple[Term, ...]:
        """The terms that are not part of an entity: what is asked about it."""
        return tuple(term for term in self.terms if not term.entity)


_WH_ZH = late_pattern(r"(?:哪一?[些个家所部种座支位款条本项场次届年天里儿]?|什么样?的?|谁|多少|几|何时|何地|何处)")
_AT_ASKED = late_pattern(r"在(?=哪|什么|何[处地])")
_CHIEF = late_pattern(r"C[A-Z]O")
_OFFICE = late_pattern(r"C[A-Z]O\s+(?:of|at)\s+(?:the\s+)?")
_MEASURED = late_pattern(
    r"\bhow\s+(long|heavy|old|tall|high|far|deep|wide|big|large|fast|often|soon)\b(?:[^?]*\b(take|last)s?\b)?"
)
"""Words that only say which sort of amount is asked: "how *long* does it *take*"."""
_LITERAL_YEAR = late_pattern(r"^(?:in|during)\b|^\d{4}", re.IGNORECASE)
_ONLY_FUNCTION = late_pattern(
    r"[\s了在于是为由被的地从叫作做到过]{0,4}|\s*(?:was|is|were|are|in|at|on|by|for|did|has|had)?\s*"
)
_COMPARED_ZH = frozenset((*SMALLER_ZH, *LARGER_ZH, "更", "最", "较", "早", "晚", "同一", "相同", "哪个更"))


@lru_cache(maxsize=1024)
def analyse(question: str, today: date | None = None) -> Question:
    """Take a question apart. Pure; `today` only serves relative time words."""
    question = well_formed(question)
    language = language_of(question)
    time = time_expression(question, today)
    kind, expected, options = kind_of(question, language)
    entities = _entities(question, options, expected)
    terms = _terms(question, entities, expected, time)
    left, right = _anchors(question, language, terms)
    return Question(question, language, kind, terms, entities, time, expected, options, left, right, today)


def _anchors(question: str, language: Language, terms: tuple[Term, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words next to the question word, where only function words stand between."""
    found = (_WH_ZH if language == "zh" else WH).search(question)
    if not found:
        return (), ()
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    before, after = fold(question[: found.start()]), fold(question[found.end() :])
    for term in terms:
        word = fold(term.text)
        gap_left, gap_right = before[before.rfind(word) + len(word) :], after[: after.find(word)]
        if term.entity or (not term.weight > WEIGHT_WEAK):
            continue
        if word in before and _ONLY_FUNCTION.fullmatch(gap_left):
            left = term.forms
        if (
            word in after
            and _ONLY_FUNCTION.fullmatch(gap_right)
            and (found.group() == "谁" or fold(word) not in fold(noun_after(question[found.end() :])))
        ):
            right = term.forms
    return left, right


def _entities(question: str, options: tuple[str, ...], expected: str) -> tuple[str, ...]:
    """Quotations and names, longest form once, in order of appearance.

    The question's own first word is no name, nor is the noun it asks for: 哪个*城市* looks like a place by its last character.
    """
    spans = quoted(question) + [span for span in names(question) if span.kind != "phrase"]
    spans.sort(key=lambda span: (span.start, -span.end))
    kept: list[str] = list(options)
    end = -1
    for span in (_without_office(span) for span in spans):
        if (
            span.start < end
            or _is_question_word(span.text)
            or _CHIEF.fullmatch(span.text)
            or fold(span.text) == fold(expected)
        ):
            continue
        end = span.end
        if not any(fold(span.text) in fold(other) for other in kept):
            kept.append(span.text)
    return tuple(kept)


def _without_office(span: Span) -> Span:
    """CEO of Acme: the office is what is asked about Acme."""
    found = _OFFICE.match(span.text)
    return replace(span, text=span.text[found.end() :], start=span.start + found.end()) if found else span


def _is_question_word(text: str) -> bool:
    return all(word in STOP_EN or word in STOP_ZH or word in WEAK_EN for word in fold(text).split())


def _terms(question: str, entities: tuple[str, ...], expected: str, time: TimeExpression) -> tuple[Term, ...]:
    inside = " ".join(fold(entity) for entity in entities)
    found: dict[str, Term] = {}
    measured = {word for match in _MEASURED.finditer(fold(question)) for word in match.groups() if word}
    measured |= {"钱"} if "多少钱" in question else set()
    for word in _content_words(shortened(question)):
        key = fold(word)
        entity = (
            key in inside
            if has_cjk(key)
            else key in inside.split() or key.removesuffix("'s") in re.split(r"[^\w']+", inside)
        )
        literal = entity or key[0].isdigit()
        timed = _time_weight(key, time)
        weight = _weight(key, literal, expected) if timed is None else timed
        weight = min(weight, WEIGHT_WEAK) if key in measured else weight
        if key not in found and weight > 0:
            found[key] = Term(word, forms_of(word, literal=literal), grams_of(key), weight, entity)
    return tuple(found.values())


def _content_words(question: str) -> list[str]:
    # 抽血处在哪里: without the space the segmenter finds 处在.
    pieces = segmenter().cut(_AT_ASKED.sub(" 在", question)) if has_cjk(question) else WORD.findall(question)
    words = [match.group() for piece in pieces for match in [WORD.search(piece)] if match]
    return [word for word in words if _has_content(word)]


def _has_content(word: str) -> bool:
    """Not a function word, a comparative (no passage says who is *older*) or a lone letter."""
    bare = fold(word).removesuffix("'s")
    if (
        bare in STOP_EN
        or bare in SMALLER_EN - {"first"}
        or bare in LARGER_EN - {"last"}
        or bare == "same"
        or word in STOP_ZH
        or word in _COMPARED_ZH
    ):
        return False
    return len(word) > 1 or has_cjk(word) or word.isdigit()


def _time_weight(key: str, time: TimeExpression) -> float | None:
    """Weight of a word of the question's time expression, None for other words.

    "Currently" is not a word that passages hold, and "as of 2019" may be answered from a passage of 2018; "in 2019"
    is most often repeated.
    """
    if not time.text or key not in fold(time.text):
        return None
    if time.scope == "as_of" and key[0].isdigit() and _LITERAL_YEAR.search(time.text):
        return WEIGHT_WORD
    return WEIGHT_WEAK if key[0].isdigit() else 0.0


def _weight(key: str, literal: bool, expected: str) -> float:
    if key in WEAK_EN or key in WEAK_ZH:
        return WEIGHT_WEAK
    if literal:
        return WEIGHT_ENTITY
    if has_cjk(key) and len(key) == 1:
        return WEIGHT_CHARACTER
    return WEIGHT_WORD / 2 if key in fold(expected) else WEIGHT_WORD
