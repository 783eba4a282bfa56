"""The gap ledger of one question: what was missing, what was searched for it, and what became of it.

    ledger = GapLedger(question)
    ledger.open(assessment.gaps, 1)                   # named in round 1
    pairs = ledger.queries(assessment.gaps, 3)        # what to search next
    ledger.ran([query for _, query in pairs], 2)      # searched in round 2
    ledger.close_covered(assessment.requirements, 2)  # after round 2 was judged
    ledger.give_up(2, "max_rounds")                   # when the loop ends
    ledger.records()

It lives for one question and one thread. `copy()` is for an ending that is only rehearsed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from reflective_rag.programs.bridges import Bridge, bridge_values, with_bridges
from reflective_rag.programs.repeats import SAME_QUERY, Embed, Meanings, is_repeat, is_same, numbers, same_aspect
from reflective_rag.programs.rules.gaps import IMPORTANCE
from reflective_rag.programs.rules.instructions import is_instruction
from reflective_rag.programs.rules.matching import hits
from reflective_rag.programs.rules.question import analyse
from reflective_rag.signatures.text import normalize
from reflective_rag.signatures.types import Gap, GapKind, GapRecord, Passage, Requirement
from reflective_rag.signatures.wording import phrase

__all__ = ["SAME_QUERY", "Bridge", "Embed", "GapLedger", "Meanings", "bridge_values", "is_repeat", "with_bridges"]

MOST_TRIES = 2
"""Queries after which a gap that is still open is given up."""

COVERS = 0.8
"""Weighted share of a gap's names, and of its other words, that a covered requirement must hold to close it."""

_ABOUT_SOURCES: tuple[GapKind, ...] = ("conflict", "timeline")
"""Kinds that no requirement covers: they end when the critic names no gap of the kind any more."""


@dataclass
class GapLedger:
    """Gaps by need, in the order in which they were named.

    A need that is named again, in other case or order or (with `embed`) in other words, is the same gap: a closed one
    opens again, one that was given up stays so.

    Attributes:
        embed: The query side of an embedder: texts to vectors. Called while the loop decides, so it should be local.
        tried: Every query that was sent, the question included.
        bridges: Names that covered requirements brought, newest first.
        rounds_without_closing: Rounds in a row in which gaps of earlier rounds were open and none of them closed.
    """

    question: str
    embed: Embed | None = None
    tried: list[str] = field(default_factory=list)
    bridges: list[Bridge] = field(default_factory=list)
    rounds_without_closing: int = 0
    _records: list[GapRecord] = field(default_factory=list)
    _chosen: dict[str, Gap] = field(default_factory=dict)
    _read: set[tuple[str, str]] = field(default_factory=set)
    _meanings: Meanings = field(init=False)

    def __post_init__(self) -> None:
        self._meanings = Meanings(self.embed)

    def copy(self) -> "GapLedger":
        """A ledger that goes its own way; the vectors of the texts are shared."""
        other = replace(
            self,
            tried=list(self.tried),
            bridges=list(self.bridges),
            _records=list(self._records),
            _chosen=dict(self._chosen),
            _read=set(self._read),
        )
        other._meanings = self._meanings
        return other

    @property
    def embed_error(self) -> str:
        """Why the embedder is no longer used; empty while it is, or where there is none."""
        return self._meanings.error

    def records(self) -> tuple[GapRecord, ...]:
        """What became of every gap, in the order in which they were named."""
        return tuple(self._records)

    def open_gaps(self) -> list[Gap]:
        """Gaps that are neither closed nor given up, most important first."""
        return self._ranked([record.gap for record in self._records if record.status == "open"])

    def open(self, gaps: Iterable[Gap], number: int) -> None:
        """Enter what the critic of round `number` named; the newest wording, query and importance count."""
        for gap in gaps:
            at = self._find(gap)
            if at is None:
                self._records.append(GapRecord(gap=gap, opened=number))
            elif self._records[at].status != "given_up":
                self._update(at, gap=gap, status="open", ended=None, reason="")

    def queries(self, gaps: Iterable[Gap], limit: int) -> list[tuple[Gap, str]]:
        """At most `limit` gaps with the query to send for each, most important first.

        Bridge values are put in where they belong. Left out: gaps that are closed, given up or tried `MOST_TRIES`
        times, and queries that repeat a tried one or each other. Of equal importance, the gap that was tried less comes
        first, then the order of kinds of the rules (a missing relation before all others).
        """
        chosen: list[tuple[Gap, str]] = []
        for gap in self._ranked(gaps):
            at = self._find(gap)
            if at is not None and (self._records[at].status != "open" or self._tries(gap) >= MOST_TRIES):
                continue
            before = [*self.tried, *(query for _, query in chosen)]
            candidates = (*with_bridges(gap.query, self.bridges, self.question), gap.query.strip())
            query = next((q for q in candidates if q and not is_repeat(q, before, self._meanings)), None)
            if query and len(chosen) < limit:
                chosen.append((gap, query))
        self._chosen |= {normalize(query): gap for gap, query in chosen}
        return chosen

    def is_new(self, query: str) -> bool:
        """Whether a query repeats no tried one."""
        return bool(query.strip()) and not is_repeat(query, self.tried, self._meanings)

    def sent(self, gap: Gap | None, query: str, number: int) -> None:
        """Note a query that was searched in round `number`, and the gap it was for (None: the question itself)."""
        self.tried.append(query)
        if gap is None:
            return
        at = self._find(gap)
        if at is None:
            self.open([gap], number)
            at = len(self._records) - 1
        self._update(at, queries=(*self._records[at].queries, query))

    def ran(self, queries: Iterable[str], number: int) -> None:
        """`sent` for queries of which `queries()` chose some: it still knows their gaps."""
        for query in queries:
            self.sent(self._chosen.get(normalize(query)), query, number)

    def learn(self, requirements: Sequence[Requirement], passages: Sequence[Passage]) -> None:
        """Take the names that covered requirements brought, from their covering passages among `passages`."""
        by_id = {passage.id: passage for passage in passages}
        for requirement in requirements:
            for key in requirement.passage_ids if requirement.status == "covered" else ():
                if key in by_id and (requirement.need, by_id[key].key) not in self._read:
                    self._read.add((requirement.need, by_id[key].key))
                    values = bridge_values(requirement, by_id[key], self.question)
                    # A name that reads like an order would reach the model, and the retriever, outside the passages.
                    new = [Bridge(requirement.need, value) for value in values if not is_instruction(value)]
                    self.bridges[:0] = [bridge for bridge in new if bridge not in self.bridges]

    def close_covered(
        self, requirements: Sequence[Requirement], number: int, *, named: Iterable[Gap] | None = None
    ) -> tuple[Gap, ...]:
        """Close the gaps whose need round `number` found covered; call it once a round, before `open`.

        A requirement closes a gap when it has the same need, or holds the gap's names and other words; never while the
        same need is listed as missing.

        Args:
            requirements: Those of the round's assessment.
            number: The round that was judged.
            named: The gaps that the round's critic named; None when it gave none that could be read. They end gaps of
                the kinds `conflict` and `timeline`, of which no requirement speaks.
        """
        kinds = None if named is None else {gap.kind for gap in named}
        waiting = [i for i, r in enumerate(self._records) if r.status == "open" and r.opened < number]
        closed = []
        for at in waiting:
            if reason := self._closing(self._records[at].gap, requirements, kinds):
                self._update(at, status="closed", ended=number, reason=reason)
                closed.append(self._records[at].gap)
        if waiting:
            self.rounds_without_closing = 0 if closed else self.rounds_without_closing + 1
        return tuple(closed)

    def give_up_exhausted(self, number: int) -> None:
        """Give up the gaps for which `MOST_TRIES` queries or more brought nothing; call it after `close_covered`."""
        for at, record in enumerate(self._records):
            if record.status == "open" and len(record.queries) >= MOST_TRIES:
                reason = phrase("gap_tried", self.question, count=len(record.queries))
                self._update(at, status="given_up", ended=number, reason=reason)

    def give_up(self, number: int, reason: str) -> None:
        """Give up all that is still open, when the loop ends."""
        for at, record in enumerate(self._records):
            if record.status == "open":
                self._update(at, status="given_up", ended=number, reason=reason)

    def _closing(self, gap: Gap, requirements: Sequence[Requirement], named: set[GapKind] | None) -> str:
        """Why a gap is closed; empty when it is not."""
        if gap.kind in _ABOUT_SOURCES:
            return "" if named is None or gap.kind in named else phrase("not_named", self.question)
        if any(r.status == "missing" and is_same(r.need, gap.need, self._meanings) for r in requirements):
            return ""
        for requirement in requirements:
            same = requirement.status == "covered" and (
                is_same(requirement.need, gap.need, self._meanings) or _covers(requirement.need, gap.need)
            )
            if same:
                return phrase("gap_covered", self.question, need=requirement.need)
        return ""

    def _find(self, gap: Gap) -> int | None:
        same = (i for i, record in enumerate(self._records) if is_same(record.gap.need, gap.need, self._meanings))
        return next(same, None)

    def _tries(self, gap: Gap) -> int:
        at = self._find(gap)
        return 0 if at is None else len(self._records[at].queries)

    def _ranked(self, gaps: Iterable[Gap]) -> list[Gap]:
        return sorted(gaps, key=lambda gap: (-gap.importance, self._tries(gap), -IMPORTANCE[gap.kind]))

    def _update(self, at: int, **changes: object) -> None:
        self._records[at] = self._records[at].model_copy(update=changes)


def _covers(need: str, gap: str) -> bool:
    """Whether a requirement's need holds a gap's names, and its other words, each by `COVERS`."""
    if numbers(gap) - numbers(need) or not same_aspect(gap, need):
        return False
    terms = analyse(gap).terms
    found = hits(terms, need)
    for entity in (True, False):
        pairs = [(term.weight, h) for term, h in zip(terms, found, strict=True) if term.entity == entity]
        if pairs and sum(weight * h for weight, h in pairs) < COVERS * sum(weight for weight, _ in pairs):
            return False
    return bool(terms)
