"""Contradictions between passages, by inference: which pairs of sentences to ask about, and what the scores tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from reflective_rag.programs.rules.dates import years
from reflective_rag.programs.rules.evidence import Evidence, Line, gather, merge
from reflective_rag.programs.rules.matching import fold
from reflective_rag.programs.rules.opposites import scopes
from reflective_rag.programs.rules.question import analyse
from reflective_rag.programs.scorers.base import Nli, Pair
from reflective_rag.programs.scorers.windows import MOST_READ
from reflective_rag.signatures.text import normalize
from reflective_rag.signatures.types import Contradiction, Passage

MOST_PAIRS = 60
"""Most pairs of one round; each two sentences are asked about in both directions."""
MOST_PASSAGES, SENTENCES_EACH = 12, 2
"""Most passages compared with each other, and sentences of each: those that speak most to the question."""
CONTRADICTS = 0.7
"""Least probability of contradiction, in both directions. Set by judgement, not by data."""
_ABOUT = 80


@dataclass(frozen=True)
class Clash:
    """Two sentences of two passages that may contradict each other; the spans are verbatim."""

    passage_a: str
    span_a: str
    passage_b: str
    span_b: str
    about: str
    newer: str | None
    """Id of the passage that was published later; None where a date is unknown or they are the same."""


def contradiction_pairs(
    question: str, passages: Sequence[Passage], *, most: int = MOST_PAIRS
) -> list[tuple[Pair, Clash]]:
    """((premise, hypothesis), where): every two comparable sentences on topic, both ways round, best topic first.

    Comparable are sentences of two different texts that hold the same names of the question, with no explicit
    difference of time ("in 2019", "in 2023") or scope ("city", "metropolitan area") between them. Titles go before the
    sentences; sentences that read as instructions are left out.
    """
    evidence = gather(analyse(question[:MOST_READ]), passages)
    found = []
    for (x, a), (y, b) in combinations(_statements(evidence), 2):
        if _comparable(evidence, a, b):
            found.append((x + y, a, b))
    found.sort(key=lambda item: -item[0])
    asked: list[tuple[Pair, Clash]] = []
    for _, a, b in found[: most // 2]:
        clash = _clash(evidence, a, b)
        first, second = _titled(evidence, a), _titled(evidence, b)
        asked += [((first, second), clash), ((second, first), clash)]
    return asked


def contradictions_from(
    scores: Sequence[Nli], clashes: Sequence[Clash], threshold: float = CONTRADICTS
) -> tuple[Contradiction, ...]:
    """The clashes that the model calls contradictory both ways round; of one pair of passages only the surest."""
    least: dict[Clash, float] = {}
    for score, clash in zip(scores, clashes, strict=True):
        certain = score.contradiction if score.contradiction > score.entailment else 0.0
        least[clash] = min(least.get(clash, 1.0), certain)
    found: dict[frozenset[str], Contradiction] = {}
    for clash, certain in sorted(least.items(), key=lambda item: -item[1]):
        if certain >= threshold:
            found.setdefault(
                frozenset((clash.passage_a, clash.passage_b)),
                Contradiction(
                    passage_a=clash.passage_a,
                    span_a=clash.span_a,
                    passage_b=clash.passage_b,
                    span_b=clash.span_b,
                    about=clash.about,
                    newer=clash.newer,
                ),
            )
    return tuple(found.values())


def _statements(evidence: Evidence) -> list[tuple[float, Line]]:
    """(coverage of the question, sentence): the best of each passage that is on topic; a repeated text once."""
    pages: dict[str, list[tuple[float, Line]]] = {}
    for page in evidence.pages:
        scored = [(evidence.coverage(line.context), line) for line in page.lines]
        on_topic = [item for item in scored if item[0] >= evidence.settings.on_topic]
        if on_topic:
            on_topic.sort(key=lambda item: (-item[0], item[1].start))
            pages.setdefault(page.passage.key, on_topic[:SENTENCES_EACH])
    best = sorted(pages.values(), key=lambda lines: -lines[0][0])[:MOST_PASSAGES]
    return [item for lines in best for item in lines]


def _comparable(evidence: Evidence, a: Line, b: Line) -> bool:
    if a.page == b.page or normalize(a.text) == normalize(b.text) or scopes(a.text) != scopes(b.text):
        return False
    ours, theirs = set(years(a.text)), set(years(b.text))
    if evidence.question.kind != "time" and ours and theirs and not ours & theirs:
        return False
    entity = [term.entity or term.text[0].isdigit() for term in evidence.question.terms]
    named = [_names(merge(line.own, evidence.pages[line.page].title), entity) for line in (a, b)]
    titles = {fold(evidence.pages[line.page].name) for line in (a, b)} - {""}
    # Two pages about two things, neither of whose sentences names what was asked, say nothing of each other.
    own = all(any(_names(line.own, entity)) for line in (a, b))
    return named[0] == named[1] and (not named[0] or any(named[0])) and (len(titles) < 2 or own)


def _names(held: Sequence[float], entity: Sequence[bool]) -> list[bool]:
    return [hit > 0 for hit, use in zip(held, entity, strict=True) if use]


def _titled(evidence: Evidence, line: Line) -> str:
    title = evidence.pages[line.page].name
    return line.text if not title or title in line.text else f"{title}: {line.text}"


def _clash(evidence: Evidence, a: Line, b: Line) -> Clash:
    first, second = (evidence.pages[line.page].passage for line in (a, b))
    newer = None
    if first.published and second.published and first.published != second.published:
        newer = first.id if first.published > second.published else second.id
    topic = " ".join(term.text for term in evidence.question.attribute) or evidence.question.text
    return Clash(
        passage_a=first.id,
        span_a=first.text[a.start : a.end],
        passage_b=second.id,
        span_b=second.text[b.start : b.end],
        about=topic if len(topic) <= _ABOUT else f"{topic[:_ABOUT].rstrip()}…",
        newer=newer,
    )
