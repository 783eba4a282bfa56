"""Passages that lead away from the question, found by contrast with the better ones (ReflectiveRAG's noise removal)."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from reflective_rag.programs.rules.evidence import core_title
from reflective_rag.programs.rules.matching import fold, has_cjk, stem
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.words import STOP_EN
from reflective_rag.signatures.text import tokenize
from reflective_rag.signatures.types import Passage

MARGIN = 0.2
"""Relevance, relative to that of the better passages, below which a passage may be tangential.

Chosen on the train parts of twelve QA sets (991 questions, 3,192 supporting and 9,629 other passages; question terms
only, no grades). With .1 / .2 / .3 / .5, 5.3 / 8.2 / 15.0 / 27.9 % of the other passages went, and .7 / .8 / 1.3 / 3.1
% of the supporting ones; 5 / 5 / 8 / 18 questions lost the last passage with (a part of) their answer. Without links by
name .2 cost 4.2 % of the supporting passages and 17 questions. On dev (497 questions, .2): 8.0 %, .7 %, 4 questions.
"""
KEEP = 3
"""Passages that are kept whatever they are worth; their mean relevance is what the others are measured by."""

NAMED = 20_000
"""Characters of a passage that are searched for names; the segmenter takes half a second for a megabyte."""


def tangential(
    question_terms: Iterable[str],
    passages: Sequence[Passage],
    grades: Mapping[str, float],
    covering_ids: Collection[str] = (),
    margin: float = MARGIN,
    keep: int = KEEP,
) -> dict[str, str]:
    """Ids of the passages that add nothing, with the reason.

    A passage is tangential when all of this holds: its relevance is below `margin` × the mean relevance of the best
    `keep` passages; it holds no term of the question that the better passages lack; it is not linked to a better one.
    Two passages are linked when one names the other's title, or both name something that the question does not: the
    second hop of a chain shares little with the question. The better passages are those at or above the bound.

    Args:
        question_terms: Tokens of the question, its requirements, and the queries that were sent for them.
        passages: The pool, in any order.
        grades: Relevance 0..1 by id, of a critic; where one is missing, the share of the question's terms that title
            and text hold, each weighted by its rarity among the passages.
        covering_ids: Passages that cover a requirement; they are never tangential.
        margin: 0 turns the filter off; at 1 everything below the mean of the best may go.
        keep: Fewest passages to keep.
    """
    question_terms = frozenset(question_terms)
    held = _held(question_terms, passages)
    relevance = _relevance(passages, grades, held)
    ranked = sorted(passages, key=lambda p: -relevance[p.id])
    best = [relevance[p.id] for p in ranked[:keep]]
    if len(ranked) <= keep or not best or not sum(best):
        return {}
    bound = margin * sum(best) / len(best)
    better = [p for i, p in enumerate(ranked) if i < keep or relevance[p.id] >= bound or p.id in covering_ids]
    ids = {p.id for p in better}
    known = frozenset[str]().union(*(held[p.id] for p in better))
    doubtful = [p for p in ranked if p.id not in ids and held[p.id] <= known]
    if not doubtful:
        return {}
    links = _Links(better, question_terms)
    return {p.id: "tangential" for p in doubtful if not links.to(p)}


def _held(question_terms: Iterable[str], passages: Sequence[Passage]) -> dict[str, frozenset[str]]:
    """Which of the terms, by stem and without stop words, title and text of each passage hold."""
    wanted = {stem(term) for term in question_terms if term not in STOP_EN}
    return {p.id: frozenset(wanted & {stem(t) for t in set(tokenize(f"{p.title} {p.text}"))}) for p in passages}


def _relevance(
    passages: Sequence[Passage], grades: Mapping[str, float], held: Mapping[str, frozenset[str]]
) -> dict[str, float]:
    count = Counter(term for terms in held.values() for term in terms)
    worth = {term: math.log1p(len(passages) / n) for term, n in count.items()}
    total = sum(worth.values()) or 1.0
    return {p.id: grades.get(p.id, sum(worth[t] for t in held[p.id]) / total) for p in passages}


class _Links:
    """What the better passages name: titles, persons, places, works."""

    def __init__(self, better: Sequence[Passage], asked: frozenset[str]) -> None:
        self._asked = asked
        self._text = "\n".join(fold(p.text) for p in better)
        self._titles = [title for p in better if (title := _title(p))]
        self._names = frozenset[str]().union(*(self._new_names(p) for p in better))

    def to(self, passage: Passage) -> bool:
        """Whether a better passage names this one's title, this one a better one's, or both a third thing."""
        title = _title(passage)
        text = fold(passage.text)
        if (title and title in self._text) or any(other in text for other in self._titles):
            return True
        return not self._names.isdisjoint(self._new_names(passage))

    def _new_names(self, passage: Passage) -> set[str]:
        """Names in title and text, without those all of whose words the question holds."""
        text = passage.text[:NAMED]
        found = {fold(span.text) for source in (passage.title, text) for span in names(source)}
        return {name for name in found if len(name) > 1 and not set(tokenize(name)) <= self._asked}


def _title(passage: Passage) -> str:
    """The title as it is looked for; empty when it is too short to be a link."""
    title = fold(core_title(passage.title))
    return title if len(title) >= (2 if has_cjk(title) else 4) else ""
