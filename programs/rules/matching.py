"""How a word of a question is looked for in a text: English by stem, Chinese by word and by bigram.

Chinese words of the question come from `rjieba` (a Rust port of jieba with wheels); the *text* is not segmented, it
is searched for the
word and, for partial credit, for its bigrams, so that a wrong cut in the text (1936年出|生于) cannot hide a match.
"""

import re
import threading
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from reflective_rag.programs.rules.synonyms import SYNONYMS_EN, SYNONYMS_ZH
from reflective_rag.programs.rules.words import DEMONYM
from reflective_rag.signatures.patterns import late_pattern
from reflective_rag.signatures.text import tokenize

_CJK = late_pattern(r"[㐀-䶿一-鿿豈-﫿]")

_WORDLIKE = late_pattern(r"[^\W_]")

_local = threading.local()

_LIFE_SPAN = late_pattern(
    r"[（(][^（()）]{0,60}\d{4}[^（()）\d]{0,3}(?:\d{1,2}[月日]){0,2}\s?[-–—－~至]{1,2}[^（()）]{0,16}\d{4}"
)
_IS_A = late_pattern(rf"\b(?:is|was|are|were)\s+(?:an?|the)\s+(?:[a-z-]+\s+)?{DEMONYM}\b")
# What a sentence says without the word: "X (1 May 1900 – 2 June 1980)" was born and died, "X is an American actor" has a nationality and a trade.
CHIEF_EXECUTIVE = late_pattern(r"\bchief\s+executive(?:\s+officer)?\b", re.IGNORECASE)
_IMPLIED = (
    (CHIEF_EXECUTIVE, ("ceo",), ""),
    (_LIFE_SPAN, ("born", "die"), " 出生 去世"),
    (_IS_A, ("nation", "citizen", "countri", "occup", "profess"), ""),
)

PARTIAL = 0.8
"""Credit of a long Chinese word of which only bigrams are found, times the share found (at least half must be)."""


@dataclass(frozen=True)
class Term:
    """A content word of a question.

    `forms`: stems (English) or words (Chinese), any of which counts as the word itself.
    """

    text: str
    forms: tuple[str, ...]
    grams: tuple[str, ...] = ()
    weight: float = 1.0
    entity: bool = False


@dataclass(frozen=True)
class Text:
    """A text made ready for matching: folded (NFKC, lower case), and the stems of its words that are not Chinese."""

    folded: str
    stems: frozenset[str]


def has_cjk(text: str) -> bool:
    """Whether any Chinese character occurs."""
    return _CJK.search(text) is not None


def fold(text: str) -> str:
    """NFKC and lower case, with the typographic apostrophe and the middle dots made one."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return folded.replace("’", "'").replace("•", "·").replace("・", "·").replace("‧", "·")


def stem(word: str) -> str:
    """Snowball English stem of one word (library: PyStemmer); Chinese stays as it is."""
    return word if word[:1] >= "\u2e80" else _stem(word)


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    # The library's object is not thread-safe, hence one a thread.
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        import Stemmer

        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    return str(stemmer.stemWord(word))


@cache
def segmenter() -> Any:
    """A segmenter of our own, made at first use (its dictionary costs about 100 ms).

    It knows the relation words of `SYNONYMS_ZH`: without them 乔托出生于 is cut as 乔托出 / 生于.
    """
    import rjieba

    jieba = rjieba.Jieba()
    for word in (word for group in SYNONYMS_ZH for word in group if len(word) > 2):
        jieba.add_word(word, 20_000, "v")
    return jieba


@cache
def _synonyms() -> dict[str, tuple[str, ...]]:
    """Word or stem → all forms of its groups."""
    table: dict[str, tuple[str, ...]] = {}
    groups = [tuple(dict.fromkeys(stem(word) for word in group)) for group in SYNONYMS_EN] + list(SYNONYMS_ZH)
    for group in groups:
        for word in group:
            table[word] = tuple(dict.fromkeys(table.get(word, ()) + group))
    return table


def shortened(text: str) -> str:
    """The text with "CEO" for its long form, so that both are one word."""
    return CHIEF_EXECUTIVE.sub("CEO", text)


def forms_of(word: str, *, literal: bool = False) -> tuple[str, ...]:
    """The stems or words that stand for `word`; with `literal` (names, numbers) no synonyms."""
    base = fold(word)
    if not has_cjk(base):
        base = stem(base)
    return (base,) if literal else tuple(dict.fromkeys((base, *_synonyms().get(base, ()))))


def grams_of(word: str) -> tuple[str, ...]:
    """Bigrams of a Chinese word of three or more characters; empty for others (they match whole or not at all)."""
    return tuple(tokenize(word)) if has_cjk(word) and len(word) > 2 else ()


def prepare(text: str) -> Text:
    """Make a text ready for matching.

    Sentences are remembered (each is matched against several questions); long texts are not.
    """
    return _prepared(text) if len(text) <= 2000 else _prepare(text)


def _prepare(text: str) -> Text:
    folded = fold(text)
    stems = {stem(token) for token in _latin(folded)}
    for pattern, words, words_zh in _IMPLIED:
        if pattern.search(text):
            stems.update(words)
            folded += words_zh
    return Text(folded, frozenset(stems))


def _latin(folded: str) -> list[str]:
    """The words and numbers outside the Chinese characters, of which most Chinese sentences have none."""
    rest = _CJK.sub(" ", folded)
    return [] if rest.isspace() or not _WORDLIKE.search(rest) else tokenize(rest)


_prepared = lru_cache(maxsize=4096)(_prepare)


def match(term: Term, text: Text) -> float:
    """How far a term occurs in a text: 1 whole, 0 not; in between for a long Chinese word found in parts."""
    for form in term.forms:
        if form in text.stems or ((_CJK.match(form) or "-" in form) and form in text.folded):
            return 1.0
    if not term.grams:
        return 0.0
    share = sum(gram in text.folded for gram in term.grams) / len(term.grams)
    return PARTIAL * share if share >= 0.5 else 0.0


def hits(terms: Iterable[Term], text: str) -> tuple[float, ...]:
    """`match` of each term in a text, in the order of the terms."""
    ready = prepare(text)
    return tuple(match(term, ready) for term in terms)


def stands_in(claim: str, text: str) -> bool:
    """Whether a text holds the claim as it is, as whole words (Otto is not in Ottoman, 21人 not in 121人)."""
    wanted, folded = fold(claim).strip(" .。"), fold(text)
    at = folded.find(wanted) if wanted else -1
    while at >= 0:
        before, after = folded[at - 1 : at], folded[at + len(wanted) : at + len(wanted) + 1]
        if not _joined(before, wanted[0]) and not _joined(wanted[-1], after):
            return True
        at = folded.find(wanted, at + 1)
    return False


def _joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one word or number."""
    if not left or not right or has_cjk(left) or has_cjk(right):
        return False
    return left.isalnum() and right.isalnum()
