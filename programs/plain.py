"""The part that programs without an evidence judgement share: ask for the answer, and put the result together."""

from typing import Any

from reflective_rag.programs.citing import cite
from reflective_rag.programs.judgements import draft_of
from reflective_rag.programs.material import reading_ask
from reflective_rag.programs.messages import abstention, warning
from reflective_rag.programs.noise import redundancy
from reflective_rag.programs.run_state import BUDGET_STOPS, RunState
from reflective_rag.programs.steps import AskOutcome, SearchOutcome, Substeps, ask
from reflective_rag.signatures.types import Draft, Result, StopReason, WarningCode

SOUND: frozenset[StopReason] = frozenset({"single_pass", "finished", "sufficient"})
"""Stop reasons that do not make a result degraded: one search and one answer, all planned steps done (neither with a
judgement whether the evidence is enough), and evidence that was judged enough."""
_DEGRADING: frozenset[WarningCode] = frozenset(
    {"model_degraded", "retriever_degraded", "budget_exhausted", "conflicting_evidence", "ambiguous_question"}
)
"""Warnings that make a result degraded however the run ended."""


def take_search(state: RunState, found: SearchOutcome) -> int:
    """Take in a search and note how it ends the run, if it does; returns how many passages are new."""
    new = len(state.add(found))
    if found.error:
        state.stop = "retriever_error"
    elif found.refused:
        state.stop = BUDGET_STOPS[found.refused]
    elif not len(state.pool):
        state.stop = "no_passages"
    return new


def ask_answer(program: Any, state: RunState, limit: int) -> Substeps[Draft]:
    """The answer from the best `limit` passages: by the model, and by extraction without one or where it fails."""
    reading = state.read(limit)
    if not reading.passages:
        return Draft(answer="")
    if not program.uses_model():
        state.warn("rules_only")
        return state.rules_draft()
    outcome = yield from ask(reading_ask(program.answer, "answer", "answer", reading))
    return take_answer(state, outcome)


def take_answer(state: RunState, outcome: AskOutcome) -> Draft:
    """The draft in a reply about `state.reading`; the rules extract one where there is no reply at all."""
    assert state.reading is not None
    if stop := state.lost(outcome):
        state.stop = state.stop if state.stop == "retriever_error" else stop
        state.warn("rules_only")
        if outcome.refused:
            state.instead["answer"] = "rules"
        return state.rules_draft()
    draft = draft_of(outcome, state.reading.passages)
    if draft is None:
        state.unread_answer()
        return Draft(answer="")
    state.unread(draft.unreadable)
    return draft


def plain_result(state: RunState, draft: Draft, **more: Any) -> Result:
    """The result of a run that judged no evidence: `evidence_score` and `confidence` None unless `more` has them."""
    passages = tuple(state.reading.passages) if state.reading else ()
    citations, unused = cite(state.question, draft, passages) if draft.answer and passages else ((), ())
    if unused:
        state.warn("unverified_citation", ", ".join(unused))
    state.warn_of_end("evidence_unjudged")
    if not draft.answer:
        state.warn_of_silence(read=bool(passages) or not more.get("need_retrieval", True))
    fields: dict[str, Any] = {
        "answer": draft.answer or abstention(state.question, unread=state.garbled),
        "citations": citations if citations and state.settings.include_citations else (),
        "abstained": not draft.answer,
        "confidence": None if draft.answer else 0.0,
        "degraded": state.stop not in SOUND or not draft.answer or not _DEGRADING.isdisjoint(state.warnings),
        "stop_reason": state.stop,
        "passages": passages,
        "dropped": state.pool.dropped,
        "retrieved_count": state.retrieved,
        "candidate_count": int(bool(draft.answer)),
        "unparsed": state.unparsed,
        "redundancy_before": state.pool.redundancy,
        "redundancy_after": redundancy(passages),
    }
    messages = tuple(warning(code, state.question, detail) for code, detail in state.warnings.items())
    return Result(**{**fields, **more}, warnings=messages)
