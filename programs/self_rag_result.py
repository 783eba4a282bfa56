"""The end of a SelfRAG run: the result, and everything its reader should know."""

from collections.abc import Sequence

from reflective_rag.programs.checking import WORST_FIRST
from reflective_rag.programs.citing import union
from reflective_rag.programs.disputes import open_conflicts, warn_of_conflicts, warn_of_namesakes
from reflective_rag.programs.finishing import NOISY
from reflective_rag.programs.messages import abstention, claims_detail, warning
from reflective_rag.programs.noise import redundancy
from reflective_rag.programs.scoring import CONFLICT_FACTOR, SUPPORT_FACTOR
from reflective_rag.programs.self_rag_candidates import Candidate, text_of, useless
from reflective_rag.programs.self_rag_rules import needs_retrieval
from reflective_rag.programs.self_rag_state import SelfRagState
from reflective_rag.signatures.types import Candidate as CandidateRecord
from reflective_rag.signatures.types import Contradiction, Passage, Result, StopReason, WarningCode

_GOOD: frozenset[StopReason] = frozenset({"sufficient", "no_retrieval"})
_DEGRADING: frozenset[WarningCode] = frozenset(
    {"model_degraded", "retriever_degraded", "budget_exhausted", "conflicting_evidence", "ambiguous_question"}
)
"""Warnings that make a result degraded even where the answer is good enough."""


def conclusion(state: SelfRagState, parts: Sequence[Candidate]) -> Result:
    """The result whose answer is made of `parts`: one candidate, the sentences of a long answer, or nothing.

    `passages` are all that were judged relevant, since each had its candidate; `evidence_score` is None where nothing
    was searched, and 0 where the search brought no answer.
    """
    passages = tuple(state.relevant(state.seen.values()))
    answer = text_of(state.question, parts)
    from_memory = bool(parts) and all(part.passage is None for part in parts)
    claims = tuple(claim for part in parts for claim in part.checked.claims)
    score, sure = state.worth(parts)
    if from_memory and state.need_retrieval:  # evidence was wanted, and there is none
        score, sure = 0.0, round(score * SUPPORT_FACTOR["not_supported"], 6)
    # Each answer saw one passage only, so nobody compared them.
    conflicts = open_conflicts(state.question, passages, state.today)
    sure = round(sure * CONFLICT_FACTOR ** len(conflicts), 6)
    _warn(state, parts, passages, conflicts)
    lacking = bool(parts) and bool(useless(state.question, parts[-1], state.controls))
    return Result(
        answer=answer or abstention(state.question, unread=state.garbled),
        claims=claims,
        citations=union(claim.citations for claim in claims),
        confidence=sure,
        evidence_score=score if state.need_retrieval else None,
        abstained=not parts,
        degraded=not parts or state.stop not in _GOOD or lacking or not _DEGRADING.isdisjoint(state.warnings),
        stop_reason=state.stop,
        warnings=tuple(warning(code, state.question, detail) for code, detail in state.warnings.items()),
        rounds=tuple(state.rounds),
        passages=passages,
        dropped=state.dropped(),
        redundancy_before=state.pool.redundancy,
        redundancy_after=redundancy(passages),
        conflicts=tuple(conflicts),
        need_retrieval=state.need_retrieval,
        retrieved_count=state.retrieved,
        relevant_count=state.relevant_count,
        candidate_count=state.made,
        candidates=_candidates(state, parts),
        unparsed=state.unparsed,
    )


def _candidates(state: SelfRagState, parts: Sequence[Candidate]) -> tuple[CandidateRecord, ...]:
    made = [*state.candidates, *([state.alone] if state.alone else [])]
    weights = state.controls.weights
    return tuple(c.record(weights, chosen=any(c is part for part in parts)) for c in made)


def _warn(
    state: SelfRagState, parts: Sequence[Candidate], passages: Sequence[Passage], conflicts: Sequence[Contradiction]
) -> None:
    state.warn_of_end(None)
    if not parts:
        state.warn_of_silence(read=bool(passages) or not state.need_retrieval)
    else:
        _warn_of_answer(state, parts)
    if state.judged_count >= 5 and state.relevant_count < NOISY * state.judged_count:
        state.warn("potential_noise")
    answer = text_of(state.question, parts)
    warn_of_conflicts(state, answer, conflicts)
    warn_of_namesakes(state, answer, passages, conflicts)


def _warn_of_answer(state: SelfRagState, parts: Sequence[Candidate]) -> None:
    """What is wrong with the answer that is given."""
    # Small talk answered by the model alone needs no evidence; a question for facts does, whatever the critic said.
    if any(part.passage is None for part in parts) and (state.need_retrieval or needs_retrieval(state.question)):
        state.warn("from_memory")
    doubtful = sorted(
        (c for part in parts if part.passage for c in part.checked.claims if c.support != "supported"),
        key=lambda claim: WORST_FIRST.index(claim.support),
    )
    if doubtful:
        state.warn("unsupported_answer", claims_detail(state.question, doubtful))
    if strayed := list(dict.fromkeys(i for part in parts for i in part.checked.unused)):
        state.warn("unverified_citation", ", ".join(strayed))
    if lack := useless(state.question, parts[-1], state.controls):
        state.warn("low_confidence_generation", lack)
