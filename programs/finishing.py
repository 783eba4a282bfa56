"""The end of a run: take the draft, check that the passages carry it, repair it once, and say how it came about."""

from typing import Any, TypeGuard

from reflective_rag.programs import rules
from reflective_rag.programs.assessor import reading_ask
from reflective_rag.programs.citing import cite
from reflective_rag.programs.judgements import draft_of, support_of
from reflective_rag.programs.messages import abstention, warning
from reflective_rag.programs.scoring import RELEVANT, confidence, stale, unresolved
from reflective_rag.programs.state import BUDGET_STOPS, LoopState
from reflective_rag.programs.steps import Ask, Steps, Substeps, ask
from reflective_rag.signatures.types import (
    Citation,
    ClaimSupport,
    Draft,
    Judgement,
    Result,
    ResultWarning,
    StopReason,
    WarningCode,
)

_OF_STOP: dict[StopReason, WarningCode] = {
    "no_passages": "no_evidence",
    "no_gap": "insufficient_evidence",
    "no_new_query": "insufficient_evidence",
    "no_new_passages": "insufficient_evidence",
    "no_progress": "insufficient_evidence",
    "max_rounds": "insufficient_evidence",
    "budget_calls": "budget_exhausted",
    "budget_tokens": "budget_exhausted",
    "budget_seconds": "budget_exhausted",
    "budget_retrievals": "budget_exhausted",
    "model_error": "model_degraded",
    "retriever_error": "retriever_degraded",
}
"""Every stop but `sufficient` is degraded and carries at least this warning."""

_DEGRADING: frozenset[WarningCode] = frozenset({"model_degraded", "retriever_degraded"})
"""Warnings that make a result degraded even where the evidence sufficed."""

LONGEST_CHECKED = 4000
"""Characters of an answer that rules check against the passages; they compare words pair by pair, which takes time."""

NOISY = 0.2
"""Share of relevant passages among those judged, below which the evidence counts as noisy (of five or more)."""


def finish(program: Any, state: LoopState) -> Steps:
    """Steps from the last round to the result."""
    if not len(state.pool):
        return _result(state, Draft(answer=""), None)
    # A model that has just failed is not asked again: its retries are spent.
    settled = bool(state.drafts) or state.stop == "model_error"
    draft = state.draft() if settled else (yield from _draft(program, state))
    if not draft.answer and (state.stop == "model_error" or state.stop.startswith("budget")):
        draft = state.rules_draft()
        state.warn("rules_only")
    support = yield from _check(program, state, draft)
    if _wanting(support) and program.uses_model() and hasattr(program, "repair"):
        draft, support = yield from _repair(program, state, draft, support)
    return _result(state, draft, support)


def _draft(program: Any, state: LoopState) -> Substeps[Draft]:
    """The answer where no round wrote one: by the model, or without one by extraction."""
    assert state.reading is not None
    if not program.uses_model() or not hasattr(program, "answer"):
        state.warn("rules_only")
        state.drafts.append(state.rules_draft())
        return state.draft()
    outcome = yield from ask(reading_ask(program.answer, "answer", "answer", state.reading))
    draft = draft_of(outcome, state.reading.passages)
    if outcome.error:
        state.stop = "model_error"
        state.warn("model_degraded", outcome.error)
    elif outcome.refused:
        state.stop = BUDGET_STOPS[outcome.refused]
    elif draft is None:
        state.unread(1)
    if draft is not None:
        state.unread(draft.unreadable)
        state.drafts.append(draft)
    return state.draft()


def _check(program: Any, state: LoopState, draft: Draft) -> Substeps[ClaimSupport | None]:
    """Whether the passages carry the draft: by rules (free) or by the model; None where nothing is to be checked."""
    assert state.reading is not None
    if not draft.answer or program.settings.support_check == "off":
        return None
    if program.settings.support_check == "lm" and program.uses_model():
        inputs = {**state.reading.inputs(), "answer": draft.answer}
        outcome = yield from ask(
            Ask(name="support", predictor=program.support, inputs=inputs, phase="check", demo_inputs=state.reading.demo)
        )
        if outcome.fields is not None:
            verdict = support_of(outcome, draft.answer, state.reading.passages)
            state.unread(verdict.support is None)
            return verdict
        state.lost(outcome)
    return _check_by_rules(state, draft)


def _check_by_rules(state: LoopState, draft: Draft) -> ClaimSupport:
    """The cited passages first: usually they carry the answer, and the rest need not be read."""
    assert state.reading is not None
    if len(draft.answer) > LONGEST_CHECKED:
        return ClaimSupport(claim=draft.answer, support=None, problem=f"longer than {LONGEST_CHECKED} characters")
    if cited := [p for p in state.reading.passages if p.id in draft.cited]:
        support = rules.check_support(state.question, draft.answer, cited)
        if support.support == "supported":
            return support
    return rules.check_support(state.question, draft.answer, state.reading.passages)


def _wanting(support: ClaimSupport | None) -> TypeGuard[ClaimSupport]:
    return support is not None and support.support in ("not_supported", "contradicted")


def _repair(
    program: Any, state: LoopState, draft: Draft, support: ClaimSupport
) -> Substeps[tuple[Draft, ClaimSupport | None]]:
    """One attempt to do better, told what failed. The old draft stays unless the new one is carried by the passages."""
    assert state.reading is not None
    inputs = {
        **state.reading.inputs(),
        "draft": draft.answer,
        "problem": support.problem or "not stated in the passages",
    }
    outcome = yield from ask(
        Ask(name="repair", predictor=program.repair, inputs=inputs, phase="answer", demo_inputs=state.reading.demo)
    )
    state.lost(outcome)
    repaired = draft_of(outcome, state.reading.passages)
    state.unread(outcome.fields is not None and repaired is None)
    if repaired is None or not repaired.answer:
        return draft, support
    checked = yield from _check(program, state, repaired)
    return (draft, support) if _wanting(checked) else (repaired, checked)


def _result(state: LoopState, draft: Draft, support: ClaimSupport | None) -> Result:
    passages = tuple(state.reading.passages) if state.reading else ()
    sure = _confidence(state, support)
    abstained = _abstains(state, draft, sure)
    citations = _citations(state, draft) if not abstained else ()
    _warn(state, draft, support, sure, abstained)
    return Result(
        answer=abstention(state.question) if abstained else draft.answer,
        citations=citations,
        confidence=0.0 if abstained else sure,
        evidence_score=state.assessment.evidence_score if state.assessment else 0.0,
        abstained=abstained,
        degraded=abstained or state.stop != "sufficient" or not _DEGRADING.isdisjoint(state.warnings),
        stop_reason=state.stop,
        warnings=_messages(state),
        rounds=tuple(state.rounds),
        passages=passages,
        dropped=state.pool.dropped,
        retrieved_count=state.retrieved,
        relevant_count=state.relevant_count,
        candidate_count=len(state.drafts),
        unparsed=state.unparsed,
    )


def _abstains(state: LoopState, draft: Draft, sure: float) -> bool:
    if not draft.answer:
        return True
    unsure = sure < state.settings.min_confidence and state.stop != "sufficient"
    return state.settings.abstain and unsure


def _confidence(state: LoopState, support: ClaimSupport | None) -> float:
    a = state.assessment
    if a is None:
        return 0.0
    judgement = Judgement(requirements=a.requirements, contradictions=a.contradictions, sufficient=a.sufficient)
    return confidence(a.evidence_score, judgement, support.support if support else None)


def _citations(state: LoopState, draft: Draft) -> tuple[Citation, ...]:
    assert state.reading is not None
    if not state.settings.include_citations:
        return ()
    citations, failed = cite(state.question, draft, state.reading.passages)
    if failed:
        state.warn("unverified_citation", ", ".join(failed))
    return citations


def _warn(state: LoopState, draft: Draft, support: ClaimSupport | None, sure: float, abstained: bool) -> None:
    """Everything the reader of the answer should know, each from a stated condition."""
    if code := _OF_STOP.get(state.stop):
        state.warn(code)
    if not abstained and support and support.support != "supported":
        state.warn("unsupported_answer", support.problem)
    if state.settings.warn_on_low_confidence and not abstained and sure < state.settings.min_confidence:
        state.warn("low_confidence_generation")
    if not draft.answer:
        state.warn("no_answer" if len(state.pool) else "no_evidence")
    a = state.assessment
    if a is None:
        return
    if state.judged_count >= 5 and state.relevant_count < NOISY * state.judged_count:
        state.warn("potential_noise")
    if stale(a) or (a.freshness is not None and a.freshness < RELEVANT):
        state.warn("outdated_info")
    if unresolved(a.contradictions):
        state.warn("conflicting_evidence")


def _messages(state: LoopState) -> tuple[ResultWarning, ...]:
    return tuple(warning(code, state.question, detail) for code, detail in state.warnings.items())
