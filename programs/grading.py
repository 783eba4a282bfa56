"""Grades passages one by one with the critic that a program chose; the rules take over where it gave nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import dspy

from reflective_rag.programs.beginnings import read_in_time
from reflective_rag.programs.material import Reading
from reflective_rag.programs.reading import read_choice
from reflective_rag.programs.rules.evidence import gather
from reflective_rag.programs.rules.question import analyse
from reflective_rag.programs.rules.relevance import grades as rule_grades
from reflective_rag.programs.soft import GRADES, logprob_config, soft_grade
from reflective_rag.programs.steps import Ask, AskOutcome, ScoreOutcome, Substeps, answered
from reflective_rag.programs.system_state import SystemState
from reflective_rag.programs.verdicts import LIMIT_REACHED, UNREADABLE, Parts
from reflective_rag.signatures.text import without_markup
from reflective_rag.signatures.types import Backend, Fallback, Passage


@dataclass(frozen=True, kw_only=True)
class Grades:
    """Passage id → grade 0..1, and who gave them. A passage that is missing was not judged."""

    of: dict[str, float] = field(default_factory=dict)
    by: Backend = "rules"
    unread: int = 0
    fallbacks: tuple[Fallback, ...] = ()


def grade(program: Any, state: SystemState, passages: Sequence[Passage], *, strips: bool = False) -> Substeps[Grades]:
    """Grade passages by `program.critic`. Strips are not shown to a language model: one call each would be too many."""
    critic: Backend = program.critic
    reading = Reading(
        question=state.question,
        passages=passages,
        requirements=(),
        today=state.today,
        passage_chars=state.settings.passage_chars,
    )
    if critic == "models" and passages:
        return (yield from _by_scorer(program, state, reading))
    if critic == "lm" and not strips and program.uses_model() and passages:
        if state.is_over:  # the model failed or a budget is spent: what is left is for the answer
            error = state.warnings.get("model_degraded", "")
            if not error:
                state.instead["relevance"] = "rules"
            return _by_rules(reading, _fallback("lm", error or LIMIT_REACHED))
        return (yield from _by_model(program, state, reading))
    return _by_rules(reading)


def _by_rules(reading: Reading, fallbacks: tuple[Fallback, ...] = ()) -> Grades:
    asked = analyse(reading.question, reading.today)
    grades = read_in_time(lambda passages: rule_grades(gather(asked, passages)), reading.passages)
    return Grades(of=grades, by="rules", fallbacks=fallbacks)


def _by_model(program: Any, state: SystemState, reading: Reading) -> Substeps[Grades]:
    """One call a passage, side by side, best first where a budget does not allow all of them."""
    passages = reading.passages[: state.may_ask(len(reading.passages))]
    lm = program.relevance.lm or dspy.settings.lm
    config = logprob_config(lm) if state.settings.soft_verdicts else {}
    steps = [
        Ask(
            name="relevance",
            predictor=program.relevance,
            inputs={"question": without_markup(reading.question), "passage": reading.one(passage)},
            phase="assess",
            config=config,
        )
        for passage in passages
    ]
    outcomes = [answered(outcome) for outcome in ((yield steps) if steps else ())]
    replies = [state.took(outcome) for outcome in outcomes]
    found = {p.id: g for p, o in zip(passages, outcomes, strict=True) if (g := grade_of(o)) is not None}
    unread = sum(replies) - len(found)
    state.unread(unread)
    if found:
        return Grades(of=found, by="lm", unread=unread)
    error = next((outcome.error for outcome in outcomes if outcome.error), "")
    if unread and not error:
        state.replaced("relevance: lm → rules")
    elif not error:
        state.instead["relevance"] = "rules"
    return _by_rules(reading, _fallback("lm", error or (UNREADABLE if unread else LIMIT_REACHED)))


def grade_of(outcome: AskOutcome) -> float | None:
    """The grade in a reply of `JudgeRelevance`: expected where log-probabilities came with it. None if unreadable."""
    fields = outcome.fields or {}
    choice = read_choice(fields.get("relevance"), tuple(GRADES))
    if choice is None:
        return None
    soft = soft_grade(fields.get("logprobs"))
    return GRADES[choice] if soft is None else soft


def _by_scorer(program: Any, state: SystemState, reading: Reading) -> Substeps[Grades]:
    (step,) = program.scorers.steps(["relevance"], reading)
    (outcome,) = yield [step]
    assert isinstance(outcome, ScoreOutcome)
    parts = Parts(reading)
    program.scorers.take(parts, step, outcome)
    if "relevance" in parts.found:
        return Grades(of=dict(parts.found["relevance"].relevance), by="models")
    _, reason = parts.failed["relevance"]
    if reason == LIMIT_REACHED:  # a spent budget is no failure of a critic
        state.instead["relevance"] = "rules"
    else:
        state.warn("model_degraded", reason)
    return _by_rules(reading, _fallback("models", reason))


def _fallback(backend: Backend, reason: str) -> tuple[Fallback, ...]:
    return (Fallback(judgement="relevance", backend=backend, to="rules", reason=reason),)
