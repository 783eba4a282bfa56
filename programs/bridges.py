"""Bridge values: names that a covered requirement brought, put into the queries that only describe them.

"Where was the director of Stretch born?" needs the director first. Once a passage has covered "director of Stretch",
the query "birthplace of the director of Stretch" becomes "birthplace of Joe Carnahan". Rules of spelling and nearness,
without a model, English and Chinese.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reflective_rag.programs.rules.cutting import MAX_LINE
from reflective_rag.programs.rules.kinds import WORD
from reflective_rag.programs.rules.matching import Term, fold, has_cjk, hits, stem
from reflective_rag.programs.rules.names import names, quoted
from reflective_rag.programs.rules.question import WEIGHT_WEAK, analyse
from reflective_rag.programs.rules.values import Span
from reflective_rag.programs.rules.words import DEMONYM, NUMBER_NOUNS_EN, STOP_EN, SURNAMES_ZH
from reflective_rag.signatures.text import sentences
from reflective_rag.signatures.types import Passage, Requirement

MOST_VALUES = 2
"""Most names taken from one passage."""

OPENING = 15
"""Characters added to the distance of a lone capital word that opens a sentence: it may be no name."""

SPEAKS_OF = 0.5
"""Least weighted share of a requirement's describing words that the sentence of its value must hold."""

_AMOUNT = re.compile(
    r"人口|面积|数量|人数|时间|日期|年份|高度|长度|票房|多少|何时|几年|\b(?:dates?|years?|when|how many)\b"
)
_DEMONYM = re.compile(DEMONYM)
_NO_NAME = re.compile(r"[A-Z]\w*(?:ed|ing|ly)|[A-Z]\w{0,2}")
_KINDS = re.compile(r"\b(?:films?|movie|book|novel|song|album|band|company|series)\b|电影|影片|小说|歌曲|专辑|公司")
"""Nouns that may stand between a description's words without a meaning of their own: director of the *film* X."""
_OPEN, _CLOSE = '《“「『"', '》”」』"'


class Bridge(NamedTuple):
    """A requirement's need, and a name that its covering passage gives for it."""

    need: str
    value: str


def bridge_values(requirement: Requirement, passage: Passage, question: str) -> tuple[str, ...]:
    """Names that a passage gives for what a requirement describes and the question does not name, likeliest first.

    Looked for in the sentence that holds most of the requirement's describing words ("director", 导演; synonyms count),
    nearest to them first; at most `MOST_VALUES`. None for a requirement that is only a name, or asks for a time or an
    amount.
    """
    terms = analyse(requirement.need).terms
    describing = _describing(terms)
    if not describing or _asks_amount(requirement.need):
        return ()
    ranked = []
    for start, text in _lines(passage.text):
        share = _share(describing, text)
        if share >= SPEAKS_OF:
            entity = _share([t for t in terms if t.entity], f"{passage.title} {text}")
            ranked.append((-share - entity / 2, start, text))
    known = f"{question} {requirement.need}"
    for _, _, text in sorted(ranked)[:2]:
        if found := _nearest(text, describing, known, passage.title):
            return found
    return ()


def with_bridges(query: str, bridges: Sequence[Bridge], question: str) -> tuple[str, ...]:
    """The query with found names in it, likeliest first; empty where none belongs there.

    A name belongs there when the query speaks of its requirement's describing words, asks for something more than that
    requirement, and names nobody yet that the question does not. It takes the place of the description where that
    stands in one piece, else it is put in front.
    """
    if _names_someone_new(query, question) or any(_holds(query, bridge.value) for bridge in bridges):
        return ()
    found = []
    for bridge in bridges:
        describing = _describing(analyse(bridge.need).terms)
        asked = [term for term in analyse(query).terms if term.weight > WEIGHT_WEAK]
        further = [
            term
            for term, h in zip(asked, hits(asked, bridge.need), strict=True)
            if not h and not (term.entity and _holds(question, term.text))
        ]
        if further and any(hits(describing, query)):
            found.append(_put_in(query, bridge, question))
    return tuple(dict.fromkeys(found))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Sentences with their starts; a long one (a table, text without punctuation) in pieces, so that time is linear."""
    for sentence in sentences(text):
        for start in range(0, len(sentence.text), MAX_LINE):
            yield sentence.start + start, sentence.text[start : start + MAX_LINE]


def _describing(terms: Sequence[Term]) -> list[Term]:
    return [term for term in terms if not term.entity and term.weight > WEIGHT_WEAK]


def _asks_amount(need: str) -> bool:
    words = {word.lower() for word in WORD.findall(need)}
    return bool(words & NUMBER_NOUNS_EN) or _AMOUNT.search(need.casefold()) is not None


def _share(terms: Sequence[Term], text: str) -> float:
    total = sum(term.weight for term in terms)
    return sum(t.weight * h for t, h in zip(terms, hits(terms, text), strict=True)) / total if total else 0.0


def _nearest(text: str, describing: Sequence[Term], known: str, title: str) -> tuple[str, ...]:
    """Names of a sentence that are new, by their distance to the describing words."""
    places = _places(text, describing)
    spans = [span for span in names(text) + quoted(text) if _is_new(span, known, title)]

    def distance(span: Span) -> int:
        nearest = min((max(span.start - end, start - span.end, 0) for start, end in places), default=len(text))
        return nearest + (OPENING if _opens(span) else 0)

    spans.sort(key=lambda span: (distance(span), span.start))
    return tuple(dict.fromkeys(span.text for span in spans))[:MOST_VALUES]


def _is_new(span: Span, known: str, title: str) -> bool:
    """Not named already, alone or inside a longer name, no nationality, and no word that only opens the sentence."""
    if _holds(known, span.text) or _DEMONYM.fullmatch(span.text) or (has_cjk(span.text) and not _is_chinese_name(span)):
        return False
    if any(_holds(span.text, entity) for entity in analyse(known).entities):
        return False
    return not _opens(span) or not _NO_NAME.fullmatch(span.text) or fold(span.text) == fold(title)


def _opens(span: Span) -> bool:
    return span.start == 0 and span.kind == "name" and " " not in span.text and not has_cjk(span.text)


def _holds(text: str, name: str) -> bool:
    """Whether a text names someone: all words of the name, or a long one that tells (Carnahan for Joe Carnahan)."""
    if has_cjk(name):
        return fold(name) in fold(text)
    words = [word for word in WORD.findall(fold(name)) if word not in STOP_EN]
    there = set(WORD.findall(fold(text))) | {word.removesuffix("'s") for word in WORD.findall(fold(text))}
    return bool(words) and (all(word in there for word in words) or (len(words[-1]) > 3 and words[-1] in there))


def _names_someone_new(query: str, question: str) -> bool:
    """Whether a query holds a full name that the question does not."""
    full = (s for s in names(query) if (_is_chinese_name(s) if has_cjk(s.text) else " " in s.text))
    return any(not _holds(question, span.text) for span in full)


def _is_chinese_name(span: Span) -> bool:
    """The segmenter takes some words for persons (籍贯); those of two characters must begin with a family name."""
    return span.kind != "person" or len(span.text) > 2 or span.text[0] in SURNAMES_ZH


def _places(text: str, terms: Sequence[Term]) -> list[tuple[int, int]]:
    """Where the terms stand in a text."""
    forms = {form for term in terms for form in term.forms}
    folded = fold(text)
    if has_cjk(text):
        return [(m.start(), m.end()) for form in forms for m in re.finditer(re.escape(form), folded)]
    found = []
    for word in WORD.finditer(folded):
        bare = word[0].removesuffix("'s")
        if stem(word[0]) in forms or stem(bare) in forms:
            found.append((word.start(), word.start() + len(bare)))
    return found


def _put_in(query: str, bridge: Bridge, question: str) -> str:
    """The query with the value in place of what describes it, or before it when other words stand between."""
    terms = analyse(bridge.need).terms
    named = [term for term in analyse(question).terms if term.entity]
    for described in ([*terms, *named], terms):
        if window := _window(query, described):
            before = re.sub(r"\bthe\s+$", "", query[: window[0]], flags=re.IGNORECASE)
            return f"{before}{bridge.value}{query[window[1] :]}".strip()
    return f"{bridge.value} {query}"


def _window(query: str, terms: Sequence[Term]) -> tuple[int, int] | None:
    """The piece of a query from the first to the last matching word, quotation marks included.

    None without one, or where words of another content stand between.
    """
    places = sorted(_places(query, terms))
    if not places:
        return None
    first = last = places[0][0]
    for start, end in places:
        if start > last and analyse(_KINDS.sub(" ", query[last:start])).terms:
            return None
        last = max(last, end)
    first -= first > 0 and query[first - 1] in _OPEN
    last += last < len(query) and query[last] in _CLOSE
    return first, last
