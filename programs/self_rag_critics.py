"""[Retrieve] and [IsREL] at work: each by its back end, calls side by side, rules where a back end gives nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

import dspy

from reflective_rag.programs.reading import read_choice
from reflective_rag.programs.self_rag_rules import needs_retrieval, relevance_grades
from reflective_rag.programs.self_rag_scoring import hard, relevance_score, retrieval_score
from reflective_rag.programs.self_rag_state import SelfRagState
from reflective_rag.programs.soft import logprob_config, soft_choice
from reflective_rag.programs.steps import Ask, AskOutcome, Outcome, Score, ScoreOutcome, Substeps, answered
from reflective_rag.programs.verdicts import LIMIT_REACHED, Parts
from reflective_rag.signatures.self_rag import IsRel, Retrieve
from reflective_rag.signatures.text import without_markup
from reflective_rag.signatures.types import Backend, Passage, Phase, SelfRagJudgement

T = TypeVar("T")
Beginning = tuple[str, bool]
"""An answer as far as it is written, and whether it has a passage to go on with."""

NOTHING_YET = "nothing yet"


@dataclass(frozen=True)
class Verdict:
    """A critic's verdict: the written value, and the probability of each (all on the written one without figures)."""

    value: str
    mass: Mapping[str, float]


def verdict_in(outcome: AskOutcome, field: str, values: Sequence[str]) -> Verdict | None:
    """The verdict in a reply; None when it names none of the values."""
    fields = outcome.fields or {}
    value = read_choice(fields.get(field), values)
    if value is None:
        return None
    return Verdict(value, soft_choice(fields.get("logprobs"), field, values) or hard(value))


def critic_ask(
    program: Any, name: SelfRagJudgement, phase: Phase, inputs: Mapping[str, str], demo: Mapping[str, str] | None = None
) -> Ask:
    """A call to the critic of that name, with log-probabilities where the model reports them."""
    predictor = getattr(program, name)
    config = soft_config(predictor) if program.settings.soft_verdicts else {}
    return Ask(name=name, predictor=predictor, inputs=inputs, phase=phase, demo_inputs=demo or {}, config=config)


def soft_config(predictor: Any) -> dict[str, Any]:
    """What makes the model report log-probabilities; nothing where it cannot."""
    return logprob_config(getattr(predictor, "lm", None) or dspy.settings.lm)


def read_each(
    state: SelfRagState,
    judgement: SelfRagJudgement,
    backend: Backend,
    outcomes: Sequence[Outcome],
    read: Callable[[int, Any], T | None],
) -> list[T | None]:
    """`read(i, outcome)` of each outcome that came; None for one that did not, or cannot be read, which is noted."""
    found: list[T | None] = []
    came = 0
    for i, outcome in enumerate(outcomes):
        assert isinstance(outcome, AskOutcome | ScoreOutcome)
        missed = state.missed(judgement, backend, outcome)
        came += not missed
        found.append(None if missed else read(i, outcome))
    state.unreadable(judgement, backend, some=found.count(None) - (len(outcomes) - came), of=came)
    return found


def decide(program: Any, state: SelfRagState, beginnings: Sequence[Beginning]) -> Substeps[list[Retrieve]]:
    """[Retrieve] for each beginning of an answer, side by side."""
    mode = state.settings.retrieval
    if mode != "adaptive":
        return ["yes" if mode == "always" else "no" for _ in beginnings]
    found: Sequence[Retrieve | None] = [None for _ in beginnings]
    if state.backend("retrieve") == "lm":
        asked = beginnings[: state.may_ask(len(beginnings), "retrieve")]
        steps = [critic_ask(program, "retrieve", "assess", _beginning(state, text)) for text, _ in asked]
        outcomes = (yield steps) if steps else ()
        threshold = state.controls.retrieval_threshold
        found = read_each(
            state, "retrieve", "lm", outcomes, lambda i, outcome: _decision(outcome, threshold, beginnings[i][1])
        )
        found = [*found, *(None for _ in beginnings[len(asked) :])]
    return [f or _by_rules(state, text) for f, (text, _) in zip(found, beginnings, strict=True)]


def _beginning(state: SelfRagState, text: str) -> dict[str, str]:
    return {"question": without_markup(state.question), "so_far": without_markup(text) or NOTHING_YET}


def _decision(outcome: AskOutcome, threshold: float, has_passage: bool) -> Retrieve | None:
    """The decision in a reply. To continue with a passage where there is none is no decision."""
    verdict = verdict_in(outcome, "retrieve", get_args(Retrieve))
    if verdict is None:
        return None
    if verdict.value == "continue" and has_passage:
        return "continue"
    needed = retrieval_score(verdict.mass)
    if needed is None:
        return None
    return "yes" if needed > threshold else "no"


def _by_rules(state: SelfRagState, text: str) -> Retrieve:
    return "yes" if text or needs_retrieval(state.question) else "no"


def grade(program: Any, state: SelfRagState, passages: Sequence[Passage]) -> Substeps[None]:
    """[IsREL] of each passage, side by side, into `state.grades`.

    Where a budget does not allow all the calls, they go to the passages that rules grade best.
    """
    if not passages:
        return
    grades: dict[str, float] = {}
    backend = state.backend("relevance")
    if backend == "lm":
        granted = state.may_ask(len(passages), "relevance")
        if granted < len(passages):
            first = _by_rules_alone(state)
            passages = sorted(passages, key=lambda p: -first.get(p.id, 0.0))
        if granted:
            grades = yield from _graded_by_lm(program, state, passages[:granted])
    elif backend == "models":
        grades = yield from _graded_by_models(program, state, passages)
    if any(p.id not in grades for p in passages):
        rules = _by_rules_alone(state)
        grades = {p.id: grades.get(p.id, rules.get(p.id, 0.0)) for p in passages}
    state.grades |= grades


def _by_rules_alone(state: SelfRagState) -> dict[str, float]:
    return relevance_grades(state.question, list(state.seen.values()), state.today)


def _graded_by_lm(program: Any, state: SelfRagState, passages: Sequence[Passage]) -> Substeps[dict[str, float]]:
    question = without_markup(state.question)
    outcomes = yield [
        critic_ask(
            program,
            "relevance",
            "assess",
            {"question": question, "passage": reading.one(passage)},
            {"passage": reading.demo["passages"]},
        )
        for passage, reading in ((p, state.material(p)) for p in passages)
    ]
    found = read_each(state, "relevance", "lm", outcomes, lambda _, outcome: _relevance(outcome))
    return {p.id: value for p, value in zip(passages, found, strict=True) if value is not None}


def _relevance(outcome: AskOutcome) -> float | None:
    verdict = verdict_in(answered(outcome), "relevance", get_args(IsRel))
    return relevance_score(verdict.mass) if verdict else None


def _graded_by_models(program: Any, state: SelfRagState, passages: Sequence[Passage]) -> Substeps[dict[str, float]]:
    parts = Parts(state.material(*passages))
    steps: list[Score] = program.scorers.steps(["relevance"], parts.reading)
    (outcome,) = yield steps
    assert isinstance(outcome, ScoreOutcome)
    program.scorers.take(parts, steps[0], outcome)
    if parts.refused:
        state.missed("relevance", "models", outcome)
    elif failed := parts.failed.get("relevance"):
        assert failed[1] != LIMIT_REACHED
        state.down.add(("relevance", "models"))
        state.fell("relevance", "models", failed[1])
    return parts.found["relevance"].relevance if "relevance" in parts.found else {}
