"""What a loop may ask of the world.

A loop is a generator that yields lists of steps and receives their outcomes in the same order. It owns the decisions; a
driver (`drivers.py`) owns threads, time-outs, retries, budgets and the order of the DSPy trace.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from reflective_rag.signatures.types import Assessment, Passage, Phase, Result, Round

T = TypeVar("T")
Limit = Literal["calls", "tokens", "seconds", "retrievals"]


@dataclass(frozen=True, kw_only=True)
class Search:
    """Retrieve `k` passages for each query. A retrieval budget may cut the list of queries from the end."""

    queries: tuple[str, ...]
    k: int
    phase: Phase = "retrieve"


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One model call: `predictor(**inputs)`.

    `demo_inputs` replace inputs of the same name in the DSPy trace, so that a demo bootstrapped from this call is short
    (passages reduced to their best sentence) while the call itself sees everything.
    """

    name: str
    predictor: Callable[..., Any]
    inputs: Mapping[str, Any]
    phase: Phase
    demo_inputs: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Report:
    """Tells the driver where the loop is. Costs nothing; its outcome is None.

    `round` is set when a round is complete. In a rehearsal (`steps(question, rehearse=True)`) there are two more:
    `judged`, the assessment, right after a round's judgement, and `ending`, the result if the loop stopped here.
    """

    round: Round | None = None
    judged: Assessment | None = None
    ending: Result | None = None


Step = Search | Ask | Report


@dataclass(frozen=True, kw_only=True)
class SearchOutcome:
    """Passages per query that ran, best first."""

    ran: tuple[str, ...] = ()
    results: tuple[tuple[Passage, ...], ...] = ()
    refused: Limit | None = None
    error: str = ""

    @property
    def passages(self) -> list[Passage]:
        """All results, interleaved by rank, so that no query crowds out another."""
        longest = max((len(r) for r in self.results), default=0)
        return [result[rank] for rank in range(longest) for result in self.results if rank < len(result)]


@dataclass(frozen=True, kw_only=True)
class AskOutcome:
    """Output fields of a call. `fields` is None when there is no reply at all (`error` or `refused` says why).

    A reply that DSPy could not parse is salvaged field by field: fields that are missing then are named in `unread`.
    """

    fields: Mapping[str, Any] | None = None
    unread: tuple[str, ...] = ()
    refused: Limit | None = None
    error: str = ""


Outcome = SearchOutcome | AskOutcome | None
Substeps = Generator[Sequence[Step], Sequence[Outcome], T]
"""A part of a loop that yields steps of its own and returns a T, for `yield from`."""
Steps = Substeps[Result]


def answered(outcome: Outcome) -> AskOutcome:
    """The outcome of an `Ask`: outcomes come in the order of their steps, so the kind of each is known."""
    assert isinstance(outcome, AskOutcome)
    return outcome


def ask(step: Ask) -> Substeps[AskOutcome]:
    """Yield one call alone and return its outcome, for `yield from`."""
    (outcome,) = yield [step]
    return answered(outcome)
