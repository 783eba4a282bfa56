"""The end of a run: take the draft, check each of its claims, repair it once, and say how it came about."""

from typing import Any

from reflective_rag.programs.beginnings import extract
from reflective_rag.programs.checking import WORST_FIRST, Checked, check
from reflective_rag.programs.disputes import follows_older, side_of, warn_of_conflicts, warn_of_namesakes
from reflective_rag.programs.judgements import draft_of
from reflective_rag.programs.messages import (
    abstention,
    claims_detail,
    outdated_detail,
    problem_of,
    warning,
)
from reflective_rag.programs.noise import redundancy
from reflective_rag.programs.run_state import BUDGET_STOPS
from reflective_rag.programs.scoring import RELEVANT, confidence, is_enough, stale, unresolved
from reflective_rag.programs.state import LoopState
from reflective_rag.programs.steps import Ask, Steps, Substeps, ask
from reflective_rag.signatures.types import (
    Draft,
    Result,
    ResultWarning,
    StopReason,
    WarningCode,
)
from reflective_rag.signatures.wording import Phrase, phrase

_DEGRADING: frozenset[WarningCode] = frozenset(
    {"model_degraded", "retriever_degraded", "budget_exhausted", "ambiguous_question"}
)
"""Warnings that make a result degraded even where the evidence sufficed."""

NOISY = 0.2
"""Share of relevant passages among those judged, below which the evidence counts as noisy (of five or more)."""


def finish(program: Any, state: LoopState) -> Steps:
    """Steps from the last round to the result."""
    checked = yield from conclude(program, state)
    return conclusion(state, checked)


def conclude(program: Any, state: LoopState) -> Substeps[Checked]:
    """The answer that is given when the loop ends here: drafted where no round did, checked, and repaired once."""
    if not len(state.pool):
        return Checked(draft=Draft(answer=""))
    # A model that has just failed is not asked again: its retries are spent.
    settled = bool(state.drafts) or state.stop == "model_error"
    draft = state.draft() if settled else (yield from _draft(program, state))
    if not draft.answer and (state.stop == "model_error" or state.stop.startswith("budget")):
        draft = state.rules_draft()
        state.warn("rules_only")
        if state.stop != "model_error":
            state.instead["answer"] = "rules"
    checked = yield from check(program, state, draft)
    if checked.failing and program.uses_model() and hasattr(program, "repair"):
        checked = yield from _repair(program, state, checked)
    return checked


def _newest(state: LoopState, draft: Draft) -> Draft:
    """A draft by rules; where it follows the older side of what a newer date settles, the one without that page."""
    older = follows_older(draft.answer, state.assessment) if draft.answer and state.assessment else None
    if older is None or state.reading is None:
        return draft
    gone = older.passage_b if older.newer == older.passage_a else older.passage_a
    kept = [passage for passage in state.reading.passages if passage.id != gone]
    newer = extract(state.question, kept, state.today) if kept else draft
    return newer if newer.answer and side_of(newer.answer, older) == older.newer else draft


def _draft(program: Any, state: LoopState) -> Substeps[Draft]:
    """The answer where no round wrote one: by the model, or without one by extraction."""
    assert state.reading is not None
    if not program.writes():
        state.warn("rules_only")
        state.drafts.append(_newest(state, state.rules_draft()))
        return state.draft()
    outcome = yield from ask(program.answer_step(state.reading))
    draft = draft_of(outcome, state.reading.passages)
    if outcome.error:
        state.stop = "model_error"
        state.warn("model_degraded", outcome.error)
    elif outcome.refused:
        state.stop = BUDGET_STOPS[outcome.refused]
    elif draft is None:
        state.unread_answer()
    if draft is not None:
        state.unread(draft.unreadable)
        state.drafts.append(draft)
    return state.draft()


def _repair(program: Any, state: LoopState, old: Checked) -> Substeps[Checked]:
    """One attempt to do better, told which claims failed and why. The old draft stays unless fewer claims fail."""
    assert state.reading is not None
    problems = [problem_of(state.question, claim) for claim in old.failing]
    if len(old.claims) > 1:
        problems = [
            phrase("claim", state.question, claim=claim.claim, problem=problem)
            for claim, problem in zip(old.failing, problems, strict=True)
        ]
    inputs = {**state.reading.inputs(), "draft": old.draft.answer, "problem": "\n".join(problems)}
    outcome = yield from ask(
        Ask(name="repair", predictor=program.repair, inputs=inputs, phase="answer", demo_inputs=state.reading.demo)
    )
    state.lost(outcome)
    if outcome.refused:
        state.instead["repair"] = None
    repaired = draft_of(outcome, state.reading.passages)
    state.unread(outcome.fields is not None and repaired is None)
    if repaired is None or not repaired.answer:
        return old
    new = yield from check(program, state, repaired)
    return new if len(new.failing) < len(old.failing) else old


def conclusion(state: LoopState, checked: Checked, *, unsure: bool | None = None) -> Result:
    """The result with that answer; `unsure` overrules whether it is withheld as too unsure (see `withholds`)."""
    passages = tuple(state.reading.passages) if state.reading else ()
    sure = confidence(state.assessment, state.controls, checked.support) if state.assessment else 0.0
    if unsure is None:
        unsure = state.settings.abstain and withholds(sure, state.settings.min_confidence, state.stop)
    silent = not checked.draft.answer
    abstained = unsure or silent
    _warn(state, checked, sure, abstained)
    state.ledger.give_up(len(state.rounds), state.stop)
    return Result(
        answer=abstention(state.question, unread=silent and state.garbled) if abstained else checked.draft.answer,
        claims=() if abstained else checked.claims,
        citations=() if abstained else checked.citations,
        conflicts=tuple(unresolved(state.assessment)) if state.assessment else (),
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
        redundancy_before=state.pool.redundancy,
        redundancy_after=redundancy(passages),
        gaps=state.ledger.records(),
    )


def withholds(sure: float, min_confidence: float, stop: StopReason) -> bool:
    """Whether a program that is told to abstain keeps its answer back. Replay tuning uses this same function."""
    return sure < min_confidence and stop != "sufficient"


def _warn(state: LoopState, checked: Checked, sure: float, abstained: bool) -> None:
    """Everything the reader of the answer should know, each from a stated condition."""
    a = state.assessment
    state.warn_of_end(_standing(state))
    if not abstained:
        _warn_of_answer(state, checked, sure)
    if not checked.draft.answer:
        state.warn_of_silence(read=bool(len(state.pool)))
    if a is None:
        return
    if a.by_rules and "rules_only" in state.warnings:
        state.warnings["rules_only"] = phrase("rules_judged_too", state.question)
    elif a.by_rules and state.tells_judge:
        state.warn("rules_judged")
    if state.judged_count >= 5 and state.relevant_count < NOISY * state.judged_count:
        state.warn("potential_noise")
    if stale(a) or (a.freshness is not None and a.freshness < RELEVANT):
        state.warn("outdated_info")
    answer = "" if abstained else checked.draft.answer
    if conflicts := unresolved(a):
        warn_of_conflicts(state, answer, conflicts)
    warn_of_namesakes(state, answer, state.reading.passages if state.reading else (), conflicts)


def _standing(state: LoopState) -> Phrase:
    """How the evidence stood when the run ended."""
    a = state.assessment
    if a is None or not state.judged_count:
        return "evidence_unjudged"
    return "evidence_enough" if is_enough(a, state.controls) else "evidence_short"


def _warn_of_answer(state: LoopState, checked: Checked, sure: float) -> None:
    """What is wrong with the answer that is given."""
    doubtful = sorted(
        (claim for claim in checked.claims if claim.support != "supported"),
        key=lambda claim: WORST_FIRST.index(claim.support),
    )
    if doubtful:
        state.warn("unsupported_answer", claims_detail(state.question, doubtful))
    if checked.unused:
        state.warn("unverified_citation", ", ".join(checked.unused))
    if state.settings.warn_on_low_confidence and sure < state.settings.min_confidence:
        state.warn("low_confidence_generation")
    if state.assessment and (older := follows_older(checked.draft.answer, state.assessment)):
        state.warn("outdated_info", outdated_detail(state.question, older))


def _messages(state: LoopState) -> tuple[ResultWarning, ...]:
    return tuple(warning(code, state.question, detail) for code, detail in state.warnings.items())
