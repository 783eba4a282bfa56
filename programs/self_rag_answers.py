"""The answers Self-RAG chooses from: one a relevant passage, or one by the model alone; and the query to try next."""

from collections.abc import Sequence
from typing import Any

from reflective_rag.programs.beginnings import extract
from reflective_rag.programs.judgements import draft_of
from reflective_rag.programs.material import reading_ask
from reflective_rag.programs.repeats import is_repeat
from reflective_rag.programs.run_state import BUDGET_STOPS
from reflective_rag.programs.self_rag_candidates import Candidate
from reflective_rag.programs.self_rag_critics import soft_config
from reflective_rag.programs.self_rag_state import SelfRagState
from reflective_rag.programs.self_rag_support import criticise
from reflective_rag.programs.soft import text_probability
from reflective_rag.programs.state import joined
from reflective_rag.programs.steps import Ask, AskOutcome, Substeps, answered, ask
from reflective_rag.programs.verdicts import by_rules
from reflective_rag.signatures.text import without_markup
from reflective_rag.signatures.types import Draft, Gap, Passage, StopReason


def answer_each(program: Any, state: SelfRagState, passages: Sequence[Passage]) -> Substeps[list[Candidate]]:
    """One candidate from each passage that gives an answer, side by side; by extraction where no model replies."""
    # Best first, so that a budget that ends amid them has gone to the best; `sorted` keeps the order of equals.
    passages = sorted(passages, key=lambda p: -state.grades.get(p.id, 0.0))
    if not state.answers:
        return extracted(state, passages)
    if not passages:
        return []
    config = soft_config(program.answer) if state.settings.sequence_score else {}
    outcomes = yield [reading_ask(program.answer, "answer", "answer", state.material(p), config) for p in passages]
    replies = [answered(outcome) for outcome in outcomes]
    if lost(state, replies):
        return extracted(state, passages)
    found = []
    for passage, reply in zip(passages, replies, strict=True):
        draft = draft_of(reply, [passage])
        if draft:
            state.unread(draft.unreadable)
        elif reply.fields is not None:
            state.unread_answer()
        if draft and draft.answer:
            found.append(candidate(state, draft, passage, sequence=sequence_of(state, reply, "answer", draft)))
    return found


def lost(state: SelfRagState, replies: Sequence[AskOutcome]) -> bool:
    """Note calls of the answerer that gave no reply; whether none at all did."""
    for reply in replies:
        state.asked += not reply.refused
        if reply.refused:
            state.spend(BUDGET_STOPS[reply.refused])
        elif reply.error:
            state.warn("model_degraded", reply.error)
    if any(reply.fields is not None for reply in replies):
        return False
    if any(reply.error for reply in replies):
        state.spent = "model_error"
    return True


def extracted(state: SelfRagState, passages: Sequence[Passage]) -> list[Candidate]:
    """Candidates by extraction."""
    state.extracts()
    drafts = [(p, extract(state.question, [p], state.today)) for p in passages]
    return [candidate(state, draft, p) for p, draft in drafts if draft.answer]


def candidate(
    state: SelfRagState, draft: Draft, passage: Passage | None, *, before: str = "", sequence: float | None = None
) -> Candidate:
    """A candidate that the critics have not seen yet."""
    relevance = state.grades.get(passage.id) if passage else None
    return Candidate(draft=draft, passage=passage, before=before, relevance=relevance, sequence=sequence)


def sequence_of(state: SelfRagState, reply: AskOutcome, field: str, draft: Draft) -> float | None:
    """The mean token probability of a draft, where it is wanted and known."""
    if not state.settings.sequence_score:
        return None
    return text_probability((reply.fields or {}).get("logprobs"), field, draft.answer)


def answer_alone(program: Any, state: SelfRagState) -> Substeps[None]:
    """Ask the model alone, once a question, and rate what it says; nothing where it cannot, or does not know."""
    if state.asked_alone or not state.answers or not hasattr(program, "alone"):
        return
    state.asked_alone = True
    inputs = {"question": without_markup(state.question)}
    config = soft_config(program.alone) if state.settings.sequence_score else {}
    reply = yield from ask(Ask(name="alone", predictor=program.alone, inputs=inputs, phase="answer", config=config))
    if lost(state, [reply]):
        return
    draft = draft_of(AskOutcome(fields={**(reply.fields or {}), "cited": []}), ())
    if draft is None:
        state.unread_answer()
    if draft and draft.answer:
        alone = candidate(state, draft, None, sequence=sequence_of(state, reply, "answer", draft))
        (state.alone,) = yield from criticise(program, state, [alone])


def from_memory(program: Any, state: SelfRagState) -> Substeps[list[Candidate]]:
    """What ends a run in which no passage gave an answer: the model alone, if it may; nothing otherwise."""
    if not state.relevant_count and state.stop in ("max_rounds", "no_new_query", "no_new_passages"):
        state.stop = "no_relevant_passages"
    if not state.settings.answer_from_memory:
        return []
    yield from answer_alone(program, state)
    return [state.alone] if state.alone else []


def next_query(program: Any, state: SelfRagState, problem: str) -> Substeps[tuple[tuple[str, ...], StopReason | None]]:
    """A query that is new, told why the last round failed, and why there was no reply, if so.

    Without a model it is that of the first gap the rules see.
    """
    found = list(state.seen.values())
    gaps = by_rules(state.material(*(state.relevant(found) or found))).gaps
    if not state.answers or not hasattr(program, "rewrite"):
        return _first_new(state, _queries(state, gaps)), None
    inputs = {
        "question": without_markup(state.question),
        "missing": without_markup(gaps[0].need if gaps else state.question),
        "tried": without_markup("; ".join(state.tried)),
        "problem": without_markup(problem),
    }
    if not state.may_ask(1):
        return (), state.spent
    outcome = yield from ask(Ask(name="rewrite", predictor=program.rewrite, inputs=inputs, phase="rewrite"))
    state.asked += not outcome.refused
    if stop := state.lost(outcome):
        return (), stop
    query = str((outcome.fields or {}).get("query") or "").strip()
    state.unread(not query)
    return _first_new(state, [query]), None


def _queries(state: SelfRagState, gaps: Sequence[Gap]) -> list[str]:
    return [query for gap in gaps for query in (gap.query, joined(state.question, gap.need))]


def _first_new(state: SelfRagState, queries: Sequence[str]) -> tuple[str, ...]:
    return next(((q,) for q in queries if q and not is_repeat(q, [state.question, *state.tried])), ())
