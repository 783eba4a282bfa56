"""How an answer came about, small enough to keep with every row: rounds, citations, claims and what was read.

Texts of passages are cut: a row says which passage was meant and how it begins, the corpus has the rest.
"""

from collections.abc import Collection, Sequence, Set
from typing import Any

from reflective_rag.data.records import Record, supporting_keys
from reflective_rag.optimizers.evidence_scores import cited_passages
from reflective_rag.signatures.types import (
    Action,
    Contradiction,
    Frozen,
    Gap,
    Passage,
    Result,
    Round,
    Score,
    StopReason,
    Support,
)

LONGEST_QUOTE = 300
"""Characters of a cited span that are kept."""
LONGEST_START = 160
"""Characters of a passage that are kept: how it begins."""
UNSUPPORTED: tuple[Support, ...] = ("not_supported", "contradicted")
"""Verdicts on a claim that the passages do not carry."""
NOT_FOUND = "not retrieved"
"""Why a supporting passage was not read, where it was not among what was retrieved."""
UNREAD = "unread"
"""Stands for the verdict of a claim that could not be checked or read."""


class RoundTrace(Frozen):
    """One round: what was searched, how the evidence was judged, what was decided. None means not judged."""

    number: int
    queries: tuple[str, ...] = ()
    retrieved: int = 0
    new: int = 0
    relevance: Score | None = None
    consistency: Score | None = None
    coverage: Score | None = None
    freshness: Score | None = None
    evidence_score: Score | None = None
    missing: tuple[str, ...] = ()
    """What the question needs and no passage covers."""
    gaps: tuple[Gap, ...] = ()
    conflicts: tuple[Contradiction, ...] = ()
    action: Action | None = None
    reason: str = ""
    stop: StopReason | None = None
    draft: str | None = None


class CitationTrace(Frozen):
    """A cited span."""

    passage_id: str
    title: str = ""
    quote: str
    supporting: bool | None = None
    """Whether the passage is labelled as supporting; None where the record labels none."""


class ClaimTrace(Frozen):
    """One claim of the answer with the critic's verdict; None where it could not be read."""

    claim: str
    support: Support | None
    problem: str = ""


class PassageTrace(Frozen):
    """A passage by its beginning."""

    id: str
    title: str = ""
    start: str = ""
    supporting: bool | None = None
    lost: str | None = None
    """Of a passage that was not read: `NOT_FOUND`, or why it was dropped; None in rows of earlier versions."""


class Trace(Frozen):
    """What a report shows of one question beside the answer and its scores."""

    rounds: tuple[RoundTrace, ...] = ()
    citations: tuple[CitationTrace, ...] = ()
    claims: tuple[ClaimTrace, ...] = ()
    read: tuple[PassageTrace, ...] = ()
    """The passages that the answer was written from."""
    missed: tuple[PassageTrace, ...] = ()
    """Supporting passages of the record that were not among them."""
    messages: tuple[str, ...] = ()
    """The warnings in words."""


def trace_of(record: Record, result: Result, wanted: Collection[str] | None = None) -> Trace:
    """The trace of one question; `wanted` are the record's `supporting_keys`, where they are at hand."""
    wanted = supporting_keys(record) if wanted is None else wanted
    passages = {passage.id: passage for passage in result.passages}
    read = {passage.key for passage in result.passages}
    lost = {each.passage.key: each.reason for each in result.dropped}
    labelled = [passage.to_passage() for passage in record.passages if passage.supporting]
    return Trace(
        rounds=tuple(map(_round, result.rounds)),
        citations=tuple(
            CitationTrace(
                passage_id=citation.passage_id,
                title=passages[citation.passage_id].title,
                quote=_cut(citation.quote, LONGEST_QUOTE),
                supporting=_label(passages[citation.passage_id], wanted),
            )
            for citation in result.citations
            if citation.passage_id in passages
        ),
        claims=tuple(ClaimTrace(claim=c.claim, support=c.support, problem=c.problem) for c in result.claims),
        read=tuple(_passage(passage, wanted) for passage in result.passages),
        missed=tuple(
            _passage(passage, wanted).model_copy(update={"lost": lost.get(passage.key, NOT_FOUND)})
            for passage in labelled
            if passage.key not in read
        ),
        messages=tuple(warning.message for warning in result.warnings),
    )


def evidence_columns(record: Record, result: Result, wanted: Set[str] | None = None) -> dict[str, Any]:
    """How well the answer stands on its evidence, as columns of a row; None where it does not apply.

    `claims` counts verdicts, `unsupported` is the share of the claims with a verdict that the support critic found not
    supported or contradicted. `citation_precision` is the share of the cited passages that are labelled as supporting
    (None without citations: there is nothing to be precise about), `citation_recall` the share of those that are
    cited. After ALCE (Gao et al. 2023), with the labels as gold. Where no answer was given, or none is labelled, both
    are None.
    """
    counts: dict[str, int] = {}
    for claim in result.claims:
        counts[claim.support or UNREAD] = counts.get(claim.support or UNREAD, 0) + 1
    judged = sum(count for verdict, count in counts.items() if verdict != UNREAD)
    wrong = sum(counts.get(verdict, 0) for verdict in UNSUPPORTED)
    return {
        "claims": counts or None,
        "unsupported": wrong / judged if judged else None,
        **_citations(result, supporting_keys(record) if wanted is None else wanted),
    }


def _citations(result: Result, wanted: Set[str]) -> dict[str, float | None]:
    if not wanted or result.abstained or not result.answer.strip():
        return {"citation_precision": None, "citation_recall": None}
    cited = {passage.key for passage in cited_passages(result)}
    right = len(cited & wanted)
    return {"citation_precision": right / len(cited) if cited else None, "citation_recall": right / len(wanted)}


def _round(turn: Round) -> RoundTrace:
    known: dict[str, Any] = {}
    if (judged := turn.assessment) is not None:
        known = {
            name: getattr(judged, name)
            for name in ("relevance", "consistency", "coverage", "freshness", "evidence_score", "gaps")
        }
        known |= {"missing": tuple(r.need for r in judged.requirements if r.status == "missing")}
        known |= {"conflicts": judged.contradictions}
    if (decided := turn.decision) is not None:
        known |= {"action": decided.action, "reason": decided.reason, "stop": decided.stop}
    about = {name: getattr(turn, name) for name in ("number", "queries", "retrieved", "new", "draft")}
    return RoundTrace(**about, **known)


def _passage(passage: Passage, wanted: Collection[str]) -> PassageTrace:
    start = _cut(passage.text, LONGEST_START)
    return PassageTrace(id=passage.id, title=passage.title, start=start, supporting=_label(passage, wanted))


def _label(passage: Passage, wanted: Collection[str]) -> bool | None:
    return passage.key in wanted if wanted else None


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def counted_claims(rows: Sequence[Any]) -> dict[str, int]:
    """Verdict → claims of that verdict in all rows; empty where nothing was checked."""
    counts: dict[str, int] = {}
    for row in rows:
        for verdict, count in (row.claims or {}).items():
            counts[verdict] = counts.get(verdict, 0) + count
    return counts
