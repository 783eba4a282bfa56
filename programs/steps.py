"""What a loop may ask of the world.

A loop is a generator that yields lists of steps and receives their outcomes in the same order. It owns the decisions; a
driver (`drivers.py`) owns threads, time-outs, retries, budgets and the order of the DSPy trace.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from reflective_rag.signatures.types import Assessment, Passage, Phase, Result, Round, Support

if TYPE_CHECKING:
    from reflective_rag.programs.searching import SearchHandle

T = TypeVar("T")
Limit = Literal["calls", "tokens", "seconds", "retrievals"]


@dataclass(frozen=True, kw_only=True)
class Search:
    """Retrieve `k` passages for each query. A retrieval budget may cut the list of queries from the end."""

    queries: tuple[str, ...]
    k: int
    phase: Phase = "retrieve"
    source: "SearchHandle | None" = None
    """Another source than the program's own `search`."""


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
class Score:
    """Pairs of texts for a small model: `predict(pairs)`, one row a pair; it runs beside the calls of its batch."""

    name: str
    predict: Callable[[Sequence[tuple[str, str]]], Any]
    pairs: tuple[tuple[str, str], ...]
    phase: Phase


@dataclass(frozen=True, kw_only=True)
class Write:
    """An answer by the caller's own generator: `write(question, passages)` returns a text, or an awaitable of one.

    It counts as one model call, of which the tokens are not known. Its outcome is that of an `Ask` for `answer`.
    """

    name: str
    write: Callable[[str, Sequence[Passage]], Any]
    question: str
    passages: tuple[Passage, ...]
    phase: Phase = "answer"


@dataclass(frozen=True, kw_only=True)
class Report:
    """Tells the driver where the loop is, and asks whether the time is up. Costs nothing; its outcome is None, or late.

    `round` is set when a round is complete. In a rehearsal (`steps(question, rehearse=True)`) there are two more:
    `judged`, the assessment, right after a round's judgement, and `ending`, the result if the loop stopped here, with
    `refusal`, the same as a program that is too unsure gives it, and `support`, the verdict on its answer.
    """

    round: Round | None = None
    judged: Assessment | None = None
    ending: Result | None = None
    refusal: Result | None = None
    support: Support | None = None


Step = Search | Ask | Score | Write | Report


@dataclass(frozen=True, kw_only=True)
class SearchOutcome:
    """Passages per query that ran, best first."""

    ran: tuple[str, ...] = ()
    results: tuple[tuple[Passage, ...], ...] = ()
    refused: Limit | None = None
    error: str = ""
    partial: str = ""
    """Sources among several that did not answer; the others did."""

    @property
    def passages(self) -> list[Passage]:
        """All results, interleaved by rank, so that no query crowds out another."""
        longest = max((len(r) for r in self.results), default=0)
        return [result[rank] for rank in range(longest) for result in self.results if rank < len(result)]


def as_one(outcomes: Sequence["Outcome"]) -> SearchOutcome:
    """The outcomes of the same queries at several sources as one: all that was found, all that went wrong."""
    found = [outcome for outcome in outcomes if isinstance(outcome, SearchOutcome)]
    return SearchOutcome(
        ran=max((outcome.ran for outcome in found), key=len, default=()),
        results=tuple(result for outcome in found for result in outcome.results),
        refused=next((outcome.refused for outcome in found if outcome.refused), None),
        error="; ".join(dict.fromkeys(outcome.error for outcome in found if outcome.error)),
        partial="; ".join(dict.fromkeys(outcome.partial for outcome in found if outcome.partial)),
    )


@dataclass(frozen=True, kw_only=True)
class AskOutcome:
    """Output fields of a call. `fields` is None when there is no reply at all (`error` or `refused` says why).

    A reply that DSPy could not parse is salvaged field by field: fields that are missing then are named in `unread`.
    """

    fields: Mapping[str, Any] | None = None
    unread: tuple[str, ...] = ()
    refused: Limit | None = None
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class ScoreOutcome:
    """What `predict` returned. `scores` is None when there is nothing (`error` or `refused` says why)."""

    scores: Any = None
    refused: Limit | None = None
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class Late:
    """The outcome of a report once the time is up: what needs no model and no search is no longer begun either."""

    refused: Limit = "seconds"


Outcome = SearchOutcome | AskOutcome | ScoreOutcome | Late | None
Substeps = Generator[Sequence[Step], Sequence[Outcome], T]
"""A part of a loop that yields steps of its own and returns a T, for `yield from`."""
Steps = Substeps[Result]


def answered(outcome: Outcome) -> AskOutcome:
    """The outcome of an `Ask`: outcomes come in the order of their steps, so the kind of each is known."""
    assert isinstance(outcome, AskOutcome)
    return outcome


def ask(step: Ask | Write) -> Substeps[AskOutcome]:
    """Yield one call alone and return its outcome, for `yield from`."""
    (outcome,) = yield [step]
    return answered(outcome)
