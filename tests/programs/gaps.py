"""Gaps, requirements and ledgers that the tests of the gap ledger, of repeats and of bridges share."""

from typing import Any

from reflective_rag.programs.gap_ledger import GapLedger
from reflective_rag.signatures.types import Gap, GapKind, Passage, Requirement

QUESTION = "Where was the director of Stretch born?"
DIRECTOR = Requirement(need="director of Stretch", status="covered", passage_ids=("film",))
FILM = Passage(
    id="film",
    title="Stretch (2014 film)",
    text="Stretch is a 2014 American film written and directed by Joe Carnahan and starring Patrick Wilson.",
)


def gap(need: str, query: str = "", *, importance: float = 0.5, kind: GapKind = "missing_attribute") -> Gap:
    """A gap; its query is its need unless another is given."""
    return Gap(kind=kind, need=need, query=query or need, importance=importance)


def need(text: str, *, covered: bool) -> Requirement:
    """A requirement that is covered or missing."""
    return Requirement(need=text, status="covered" if covered else "missing", passage_ids=("p",) if covered else ())


def opened(*gaps: Gap, question: str = QUESTION, **settings: Any) -> GapLedger:
    """A ledger in whose round 1 these gaps were named."""
    ledger = GapLedger(question, **settings)
    ledger.sent(None, question, 1)
    ledger.open(gaps, 1)
    return ledger
