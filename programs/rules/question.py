"""What a question asks: its kind, content terms, entities, options and time."""

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from reflective_rag.programs.rules.matching import Term, fold, forms_of, grams_of, has_cjk, segmenter
from reflective_rag.programs.rules.time import TimeExpression, time_expression
from reflective_rag.programs.rules.values import names, quoted
from reflective_rag.programs.rules.words import (
    LARGER_EN,
    LARGER_ZH,
    PERSON_NOUNS_EN,
    PLACE_NOUNS_EN,
    SMALLER_EN,
    SMALLER_ZH,
    STOP_EN,
    STOP_ZH,
    WEAK_EN,
    WEAK_ZH,
)
from reflective_rag.signatures.text import Language, language_of

Kind = Literal["person", "time", "number", "place", "yes_no", "choice", "reason", "thing"]

WEIGHT_ENTITY, WEIGHT_WORD, WEIGHT_CHARACTER, WEIGHT_WEAK = 2.0, 1.0, 0.5, 0.25
"""Prior weights of a question's terms: names, quotations and numbers; ordinary words; lone Chinese characters; words that only say the kind."""


@dataclass(frozen=True)
class Question:
    """An analysed question. `expected` is the noun the answer should be ("which *company*", 哪个*大学*); `options` are A and B of "A or B"."""

    text: str
    language: Language
    kind: Kind
    terms: tuple[Term, ...]
    entities: tuple[str, ...]
    time: TimeExpression
    expected: str = ""
    options: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """Forms of the content word right before the question word: in 分布在什么地区 the answer stands where 什么地区 stands, after 分布在."""
    right: tuple[str, ...] = ()
    """Forms of the content word right after the question word: "who *directed*", 谁*推荐*."""

    @property
    def attribute(self) -> tuple[Term, ...]:
        """The terms that are not part of an entity: what is asked about it."""
        return tuple(term for term in self.terms if not term.entity)


_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*(?:['’-][^\W\d_]+)*")
_WH = re.compile(r"\b(who|whom|whose|which|what|when|where|why|how)\b", re.IGNORECASE)
_AUX = re.compile(r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b", re.IGNORECASE)
_OPTIONS_EN = re.compile(
    r"(?:[,:;]|\bbetween|\b(?:is|was|are|were|did|does|has|had|longer|first|older|younger))\s+([^,?]{2,90}?),?\s+or\s+([^,?]{2,90}?)\s*\??\s*$"
)
_OPTIONS_ZH = re.compile(
    r"^(?:请问|在)?(.{2,40}?)(?:和|与|跟|还是|或)(?!平)(.{2,40}?)(?:相比)?[，,、]?(?:两者)?(?:之中|中|之间)?(?:哪一?[个部座家位所条支本]|谁|哪)(?:.{0,8})(?:更|最|先|早|晚|较)"
)
_OPEN_WH = re.compile(r"\W*(?:what|how|when|where|why)\b", re.IGNORECASE)
_YES_NO_ZH = re.compile(r"吗[？?！!。\s]*$|是否|是不是|有没有|能否|会不会|可否|对不对")
_HOW_MANY = re.compile(
    r"\bhow\s+(?:many|much|old|long|far|tall|high|large|big|deep|wide|heavy|fast)\b|\bwhat\s+(?:is|was|were|are)?\s*(?:the\s+)?(?:total\s+|average\s+)?(?:percentage|percent|number|population|proportion|price|revenue|height|length|amount|area|age|score)\b",
    re.IGNORECASE,
)
_ZH_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("reason", re.compile(r"为什么|为何|怎么(?!样)|如何|原因是?什么")),
    (
        "time",
        re.compile(
            r"什么时候|什么时间|何时|哪一?年|哪一?天|哪一?月|几月|几号|几几年|哪个(?:世纪|年代|月|朝代)|年份|(?:时间|日期)(?:是(?:什么|多少|哪)|为|[？?]?$)|(?:时间|日期)(?:和|与|及)"
        ),
    ),
    (
        "place",
        re.compile(
            r"哪里|哪儿|何处|何地|什么地[方点]|在哪|哪一?[个座](?:城市|国家|省份?|地[方区点]|州|县|市|镇|岛|区)|哪国|哪(?:省|市|县)|(?:地点|地址|首都|首府)(?:是(?:什么|哪)|[？?]?$)|位于[？?]?$"
        ),
    ),
    (
        "number",
        re.compile(
            r"多少|几(?![乎何])|多[大高长远久重宽深快]|第几|百分之几|(?:率|量|额|人数|人口|数量|收入|票房|价格|营收|面积|高度|长度|成绩|震级)[？?]?$"
        ),
    ),
    (
        "person",
        re.compile(
            r"谁|哪一?位|何人|什么人|哪个人|哪一?名|(?:作者|导演|主演|总统|总理|首相|市长|主席|校长|创始人|发明人|旗手|教练)(?:是|有)?(?:什么|哪些)?[？?]?$"
        ),
    ),
)
_WHICH_ZH = re.compile(r"(?:哪一?[些个家所部种座支位款条本项场次艘届款首]?|什么)(?P<noun>[㐀-䶿一-鿿]{1,6})")
_WHAT_IS_NOUN = re.compile(r"\s+(?:is|was|are|were)\s+the\s+((?:[a-z-]+\s+){1,2}?)(?:of|for|in|that|behind)\b")
_POSSESSED = re.compile(r"['’]s\s+((?:[a-z]+\s+)?[a-z]+)\s*\?*\s*$")
_NOUN_OF_END = re.compile(r"\bthe\s+([a-z]+)\s+of\s*\?*\s*$")
_WH_ZH = re.compile(r"(?:哪一?[些个家所部种座支位款条本项场次届年天里儿]?|什么样?的?|谁|多少|几|何时|何地|何处)")
_ONLY_FUNCTION = re.compile(
    r"[\s了在于是为由被的地从叫作做到过]{0,4}|\s*(?:was|is|were|are|in|at|on|by|for|did|has|had)?\s*"
)
_COMPARED_ZH = frozenset((*SMALLER_ZH, *LARGER_ZH, "更", "最", "较", "早", "晚", "同一", "相同", "哪个更"))
_TIME_NOUNS = frozenset("year date day month decade century time era birthday".split())


@lru_cache(maxsize=1024)
def analyse(question: str, today: date | None = None) -> Question:
    """Take a question apart. Pure; `today` only serves relative time words."""
    language = language_of(question)
    time = time_expression(question, today)
    kind, expected, options = _kind_zh(question) if language == "zh" else _kind_en(question)
    entities = _entities(question, options)
    terms = _terms(question, entities, expected)
    left, right = _anchors(question, language, terms)
    return Question(question, language, kind, terms, entities, time, expected, options, left, right)


def _anchors(question: str, language: Language, terms: tuple[Term, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words next to the question word, where only function words stand between."""
    found = (_WH_ZH if language == "zh" else _WH).search(question)
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
            and fold(word) not in fold(_noun_after(question[found.end() :]))
        ):
            right = term.forms
    return left, right


def _kind_en(question: str) -> tuple[Kind, str, tuple[str, ...]]:
    options = _options_en(question)
    if options:
        return "choice", "", options
    if _AUX.match(question):
        return "yes_no", "", ()
    if _HOW_MANY.search(question):
        return "number", "", ()
    found = list(_WH.finditer(question))
    if not found:
        return "thing", "", ()
    start = next((m for m in found if m.start() == 0 or len(question[: m.start()].split()) == 1), None)
    ask = start or found[-1]
    word, rest = ask.group().lower(), question[ask.end() :]
    noun = _noun_after(rest) or _noun_of(rest) if word in ("which", "what") else ""
    return _kind_of_wh(word, noun), noun, ()


def _kind_of_wh(word: str, noun: str) -> Kind:
    last = noun.split()[-1].lower() if noun else ""
    if word in ("why", "how"):
        return "reason"
    if word == "when" or last in _TIME_NOUNS:
        return "time"
    if word in ("who", "whom", "whose") or last in PERSON_NOUNS_EN:
        return "person"
    if word == "where" or last in PLACE_NOUNS_EN:
        return "place"
    return "thing"


def _noun_of(rest: str) -> str:
    """The noun that "what is the …" asks for: "the *cause* of death of X", "X's *occupation*", "X the *capital* of"."""
    if found := _WHAT_IS_NOUN.match(rest):
        return " ".join(found.group(1).split())
    if (found := _POSSESSED.search(rest)) or (found := _NOUN_OF_END.search(rest)):
        return found.group(1)
    return ""


def _noun_after(rest: str) -> str:
    """The noun phrase right after "which" or "what": up to three words before the next function word."""
    words: list[str] = []
    for found in _WORD.finditer(rest[:80]):
        if (
            found.group().lower() in STOP_EN
            or len(words) == 3
            or rest[: found.start()].rstrip().endswith((",", "?", ":"))
        ):
            break
        words.append(found.group())
    return " ".join(words)


def _options_en(question: str) -> tuple[str, ...]:
    found = _OPTIONS_EN.search(question)
    if not found or (_OPEN_WH.match(question) and found.group()[0] not in ",:"):
        return _named_options(question)
    pair = tuple(
        re.sub(r"^(?:the\s+(?:film|song|book|band)\s+|does\s+|did\s+|either\s+)", "", side.strip(), flags=re.IGNORECASE)
        for side in found.groups()
    )
    return pair if all(pair) else ()


def _named_options(question: str) -> tuple[str, ...]:
    """Two names joined by "or" inside a question that starts with a verb or "which": Is Rutgers or Brown public?"""
    if _OPEN_WH.match(question):
        return ()
    found = names(question)
    for left, right in pairwise(found):
        if re.fullmatch(r",?\s+or\s+(?:the\s+)?", question[left.end : right.start]):
            return left.text, right.text
    return ()


def _kind_zh(question: str) -> tuple[Kind, str, tuple[str, ...]]:
    if found := _OPTIONS_ZH.search(question):
        return "choice", "", tuple(side.strip(" 《》，,") for side in found.groups())
    if _YES_NO_ZH.search(question):
        return "yes_no", "", ()
    for kind, pattern in _ZH_KINDS:
        if pattern.search(question):
            return kind, _which_zh(question) if kind in ("place", "number") else "", ()
    return "thing", _which_zh(question), ()


def _which_zh(question: str) -> str:
    found = _WHICH_ZH.search(question)
    if not found:
        return ""
    first = next(iter(segmenter().cut(found["noun"])), "")
    return "" if first in STOP_ZH or first in WEAK_ZH else first


def _entities(question: str, options: tuple[str, ...]) -> tuple[str, ...]:
    """Quotations and names, longest form once, in order of appearance; the question's own first word is not a name."""
    spans = quoted(question) + [span for span in names(question) if span.kind != "phrase"]
    spans.sort(key=lambda span: (span.start, -span.end))
    kept: list[str] = list(options)
    end = -1
    for span in spans:
        if span.start < end or _is_question_word(span.text):
            continue
        end = span.end
        if not any(fold(span.text) in fold(other) for other in kept):
            kept.append(span.text)
    return tuple(kept)


def _is_question_word(text: str) -> bool:
    return all(word in STOP_EN or word in STOP_ZH or word in WEAK_EN for word in fold(text).split())


def _terms(question: str, entities: tuple[str, ...], expected: str) -> tuple[Term, ...]:
    inside = " ".join(fold(entity) for entity in entities)
    found: dict[str, Term] = {}
    for word in _content_words(question):
        key = fold(word)
        entity = (
            key in inside
            if has_cjk(key)
            else key in inside.split() or key.removesuffix("'s") in re.split(r"[^\w']+", inside)
        )
        literal = entity or key[0].isdigit()
        if key not in found:
            found[key] = Term(
                word, forms_of(word, literal=literal), grams_of(key), _weight(key, literal, expected), entity
            )
    return tuple(found.values())


def _content_words(question: str) -> list[str]:
    pieces = segmenter().cut(question) if has_cjk(question) else _WORD.findall(question)
    words = [match.group() for piece in pieces for match in [_WORD.search(piece)] if match]
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


def _weight(key: str, literal: bool, expected: str) -> float:
    if key in WEAK_EN or key in WEAK_ZH:
        return WEIGHT_WEAK
    if literal:
        return WEIGHT_ENTITY
    if has_cjk(key) and len(key) == 1:
        return WEIGHT_CHARACTER
    return WEIGHT_WORD / 2 if key in fold(expected) else WEIGHT_WORD
