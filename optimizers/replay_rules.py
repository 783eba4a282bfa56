"""What a stopping rule gives on a recorded pass, with the loop's own functions; and the rules that are tried."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from reflective_rag.optimizers.replay import MAX_ROUNDS, QuestionRecord, RecordedRound
from reflective_rag.programs.finishing import withholds
from reflective_rag.programs.scoring import confidence, made_progress, weighted_mean
from reflective_rag.programs.settings import LoopControls, Weights
from reflective_rag.programs.state import stop_reason
from reflective_rag.signatures.types import Assessment, StopReason

DIMENSIONS = ("relevance", "consistency", "coverage", "freshness")
VERDICTS = ((False, 0.5), *((True, share) for share in (0.2, 0.35, 0.5, 0.65, 0.8)))
"""The critic's say: none, or from which probability of "sufficient" it counts as yes."""
WEIGHTS = (
    Weights(),
    Weights(relevance=1, consistency=1, coverage=1, freshness=1),
    Weights(relevance=0.7, consistency=0.1, coverage=0.1, freshness=0.1),
    Weights(relevance=0.1, consistency=0.7, coverage=0.1, freshness=0.1),
    Weights(relevance=0.1, consistency=0.1, coverage=0.7, freshness=0.1),
    Weights(relevance=0.1, consistency=0.1, coverage=0.1, freshness=0.7),
    Weights(relevance=0.2, consistency=0.2, coverage=0.5, freshness=0.1),
    Weights(relevance=0.5, consistency=0, coverage=0.5, freshness=0),
    Weights(relevance=0.4, consistency=0.4, coverage=0.1, freshness=0.1),
    Weights(relevance=0.1, consistency=0.4, coverage=0.4, freshness=0.1),
    Weights(relevance=1, consistency=0, coverage=0, freshness=0),
    Weights(relevance=0, consistency=0, coverage=1, freshness=0),
)
"""Sets of weights: the default, all alike, one or two dimensions above the others, one alone."""


@dataclass(frozen=True)
class Stop:
    """Where a rule stops one question."""

    index: int
    """Of the round, from 0; -1 when nothing was retrieved."""
    reason: StopReason
    score: float
    tokens: int
    retrievals: int
    abstained: bool = False


def simulate(record: QuestionRecord, controls: LoopControls) -> Stop:
    """Where the loop would have stopped under `controls`, and what it would have returned and cost.

    In a round whose model call failed, `reason` may name the rule where the loop would say `model_error`.
    """
    before: Assessment | None = None
    misses = 0
    controls = controls.for_question(record.question)
    for index, this in enumerate(record.rounds):
        assessment = rescored(this.assessment, controls.weights)
        misses = 0 if made_progress(before, assessment) else misses + 1
        before = assessment
        reason = stop_reason(assessment, controls, index + 1, misses, has_gap=True)
        if reason is not None:
            silent = _withheld(record, this, assessment, controls, reason)
            return _stop(index, this, reason, this.tokens, this.retrievals, silent=silent)
    if not record.rounds:
        return Stop(-1, record.last_stop, record.empty_score, 0, record.last_retrievals, abstained=True)
    index, last = len(record.rounds) - 1, record.rounds[-1]
    silent = _withheld(record, last, rescored(last.assessment, controls.weights), controls, record.last_stop)
    return _stop(index, last, record.last_stop, last.tokens_after_gaps, record.last_retrievals, silent=silent)


def _stop(index: int, this: RecordedRound, reason: StopReason, tokens: int, retrievals: int, *, silent: bool) -> Stop:
    score = this.refusal_score if silent else this.score
    return Stop(index, reason, score, tokens, retrievals, abstained=silent or this.ending.abstained)


def _withheld(
    record: QuestionRecord, this: RecordedRound, assessment: Assessment, controls: LoopControls, reason: StopReason
) -> bool:
    """Whether the answer of stopping in a round is withheld: the program is told to abstain, and too unsure."""
    if record.min_confidence is None:
        return False
    return withholds(confidence(assessment, controls, this.support), record.min_confidence, reason)


def rescored(assessment: Assessment, weights: Weights) -> Assessment:
    """The assessment under other weights; the dimensions do not depend on them."""
    return assessment.model_copy(update={"evidence_score": score_of(assessment, weights)})


def score_of(assessment: Assessment, weights: Weights) -> float:
    """The evidence score under other weights."""
    return weighted_mean({name: getattr(assessment, name) for name in DIMENSIONS}, weights)


def grid(max_rounds: int = MAX_ROUNDS) -> Iterable[LoopControls]:
    """Every rule that is tried, each once: θ in steps of .05, weights, rounds, patience and the critic's say.

    With 4 rounds 10,584 of them. Patience is varied where it can end a loop before its last round does.
    """
    thetas = [step / 20 for step in range(21)]
    lengths = [(n, p) for n in range(1, max_rounds + 1) for p in _patiences(n)]
    for weights, theta, (rounds, patience), (respect, share) in product(WEIGHTS, thetas, lengths, VERDICTS):
        yield LoopControls(
            weights=weights,
            theta=theta,
            max_rounds=rounds,
            patience=patience,
            respect_verdict=respect,
            sufficient_at=share,
        )


def _patiences(rounds: int) -> range | tuple[int, ...]:
    """Those that differ: the first round counts as progress, and after the last one patience does not matter."""
    return range(1, rounds) if rounds > 2 else (2,)
