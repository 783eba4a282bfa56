"""Checks an answer claim by claim: what its claims are, whether the passages carry each, and where."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reflective_rag.programs import rules
from reflective_rag.programs.citing import Sources, union, unused
from reflective_rag.programs.claims import split_claims
from reflective_rag.programs.judgements import support_of
from reflective_rag.programs.rules.deadline import GRACE, in_time
from reflective_rag.programs.run_state import RunState
from reflective_rag.programs.state import LoopState
from reflective_rag.programs.steps import Ask, ScoreOutcome, Substeps, answered
from reflective_rag.programs.verdicts import LIMIT_REACHED, NO_MODEL, UNREADABLE
from reflective_rag.signatures.errors import ReflectiveRAGError
from reflective_rag.signatures.text import normalize
from reflective_rag.signatures.types import Backend, Citation, ClaimSupport, Draft, Fallback, Support
from reflective_rag.signatures.wording import phrase

WORST_FIRST: tuple[Support | None, ...] = ("contradicted", "not_supported", None, "partially", "supported")
_FAILING = WORST_FIRST[:2]
"""Verdicts that call for a repair. A verdict that could not be read is no "no"."""

LONGEST_CHECKED = 4000
"""Characters of a claim that rules check against the passages; they compare words pair by pair, which takes time."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A draft, the verdicts on its claims, and the spans found for it."""

    draft: Draft
    claims: tuple[ClaimSupport, ...] = ()
    """Empty where nothing was checked."""
    citations: tuple[Citation, ...] = ()
    unused: tuple[str, ...] = ()
    """Passages that the draft names and that carry none of its claims."""

    @property
    def failing(self) -> list[ClaimSupport]:
        """The claims that the passages do not carry, or deny."""
        return [claim for claim in self.claims if claim.support in _FAILING]

    @property
    def support(self) -> Support | None:
        """The verdict on the whole answer: that of its worst claim. An answer is as good as its weakest part."""
        return min((claim.support for claim in self.claims), key=WORST_FIRST.index, default=None)


def check(program: Any, state: LoopState, draft: Draft) -> Substeps[Checked]:
    """Split the draft into claims, judge each, and find the spans that carry it. A claim that fails has none."""
    assert state.reading is not None
    claims = split_claims(state.question, draft.answer)
    sources = Sources(state.question, state.reading.passages)
    spans = [sources.citations(claim, draft.cited) for claim in claims]
    verdicts = (yield from check_claims(program, state, draft, claims, sources)) if claims else ()
    cited = state.settings.include_citations
    checked = tuple(
        verdict.model_copy(update={"citations": found if cited and verdict.support not in _FAILING else ()})
        for verdict, found in zip(verdicts, spans, strict=bool(verdicts))
    )
    return Checked(
        draft=draft,
        claims=checked,
        citations=union(claim.citations for claim in checked) if checked else union(spans if cited else []),
        unused=unused(draft.cited, state.reading.passages, spans) if cited else (),
    )


def check_claims(
    program: Any, state: LoopState, draft: Draft, claims: Sequence[str], sources: Sources
) -> Substeps[tuple[ClaimSupport, ...]]:
    """A verdict for each claim by the chosen back end, or the next that can; empty where nothing is to be checked."""
    backend = program.settings.critics.support
    if backend == "off":
        return ()
    found: dict[str, ClaimSupport] = {}
    failed = ""
    to: Backend | None = None
    for judge in dict.fromkeys((backend, *program.settings.fallback)):
        left = [claim for claim in claims if claim not in found]
        if not left:
            break
        if judge == "rules":
            found |= {c: check_by_rules(state, draft, c, sources, alone=len(claims) == 1) for c in left}
        elif judge == "models":
            failed = (yield from _by_scorer(program, state, left, found)) or failed
        elif program.uses_model() and hasattr(program, "support"):
            failed = (yield from _by_model(program, state, left, found)) or failed
        if judge != backend and len(found) > len(claims) - len(left):
            to = judge
    if backend == "lm" and not program.uses_model():
        failed = failed or NO_MODEL
    if failed:
        state.fell([Fallback(judgement="support", backend=backend, to=to, reason=failed)])
    unchecked = phrase("unchecked", state.question)
    return tuple(found.get(c) or ClaimSupport(claim=c, support=None, problem=unchecked) for c in claims)


def _by_model(program: Any, state: LoopState, claims: Sequence[str], found: dict[str, ClaimSupport]) -> Substeps[str]:
    """One call a claim, side by side. Returns why a claim has no verdict, if one has none."""
    assert state.reading is not None
    reading = state.reading
    outcomes = yield [
        Ask(
            name="support",
            predictor=program.support,
            inputs={**reading.inputs(), "answer": claim},
            phase="check",
            demo_inputs=reading.demo,
        )
        for claim in claims
    ]
    failed = ""
    for claim, outcome in zip(claims, map(answered, outcomes), strict=True):
        verdict = support_of(outcome, claim, reading.passages)
        if verdict.support is None:
            state.unread(outcome.fields is not None)
            failed = failed or outcome.error or (LIMIT_REACHED if outcome.refused else UNREADABLE)
            continue
        problem = "" if normalize(verdict.problem) in ("none", "无", "没有") else verdict.problem
        found[claim] = verdict.model_copy(update={"problem": problem})
    return failed


def _by_scorer(program: Any, state: LoopState, claims: Sequence[str], found: dict[str, ClaimSupport]) -> Substeps[str]:
    """The inference model on every claim. Returns why a claim has no verdict, if one has none."""
    assert state.reading is not None
    passages, scorers = state.reading.passages, program.scorers
    outcomes = yield [scorers.support_step(state.question, claim, passages) for claim in claims]
    failed = ""
    for claim, outcome in zip(claims, outcomes, strict=True):
        assert isinstance(outcome, ScoreOutcome)
        if outcome.scores is None:
            failed = failed or outcome.error or (LIMIT_REACHED if outcome.refused else "")
            continue
        try:
            found[claim] = scorers.support(state.question, claim, passages, outcome)
        except ReflectiveRAGError as error:
            failed = failed or str(error)
    return failed


def check_by_rules(state: RunState, draft: Draft, claim: str, sources: Sources, *, alone: bool) -> ClaimSupport:
    """The rules' verdict on one claim; `alone` when it is the whole answer.

    The cited passages come first: usually they carry the answer, and the rest need not be read. A claim cut from
    a longer answer ("it was built in 1889") may have lost what it is about, and another thing may have been built then.
    So it counts as supported only where a sentence can be cited for it.
    """
    question = state.question
    if len(claim) > LONGEST_CHECKED:
        return ClaimSupport(claim=claim, support=None, problem=phrase("too_long", question, limit=LONGEST_CHECKED))
    passages = in_time("support", lambda: sources.about(claim), None, GRACE)
    if passages is None:
        return ClaimSupport(claim=claim, support=None, problem=phrase("unchecked", question))
    cited = [p for p in passages if p.id in draft.cited]
    found = rules.check_support(question, claim, cited, state.today) if cited else None
    if found is None or found.support != "supported":
        found = rules.check_support(question, claim, passages, state.today)
    if alone or found.support != "supported" or sources.citations(claim, draft.cited):
        return found
    return found.model_copy(update={"support": "partially", "problem": phrase("apart", question)})
