"""[IsSUP] of every claim and [IsUSE] of every answer of a batch of candidates, all side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from reflective_rag.programs.checking import Checked, check_by_rules
from reflective_rag.programs.citing import Sources, union, unused
from reflective_rag.programs.claims import split_claims
from reflective_rag.programs.self_rag_candidates import Candidate
from reflective_rag.programs.self_rag_critics import critic_ask, read_each, verdict_in
from reflective_rag.programs.self_rag_rules import rate
from reflective_rag.programs.self_rag_scoring import CriticScores, hard, support_score, usefulness_score
from reflective_rag.programs.self_rag_state import SelfRagState
from reflective_rag.programs.steps import AskOutcome, Outcome, ScoreOutcome, Step, Substeps
from reflective_rag.signatures.errors import ReflectiveRAGError
from reflective_rag.signatures.self_rag import Usefulness
from reflective_rag.signatures.text import normalize, without_markup
from reflective_rag.signatures.types import Citation, ClaimSupport, Draft, Passage, Support
from reflective_rag.signatures.wording import phrase

_NO_PROBLEM = ("", "none", "nothing", "n a", "无", "没有")
"""Normal forms of "there is no problem"."""

Judged = tuple[ClaimSupport, Mapping[str, float]]
"""The verdict on a claim, and the probability of each value."""
Rating = tuple[Mapping[str, float], str]
"""The probability of each grade, and what was found wanting."""


@dataclass
class _Check:
    """One claim of a candidate and the passage that should carry it."""

    owner: int
    claim: str
    passage: Passage
    sources: Sources
    cited: tuple[str, ...]
    alone: bool

    def spans(self) -> tuple[Citation, ...]:
        return self.sources.citations(self.claim, self.cited)


def criticise(program: Any, state: SelfRagState, candidates: Sequence[Candidate]) -> Substeps[list[Candidate]]:
    """The candidates with claims, citations and scores. Identical answers are rated once: [IsUSE] reads no passage."""
    checks = [check for i, c in enumerate(candidates) for check in _checks(state, i, c)]
    texts: dict[str, str] = {}
    for candidate in candidates:
        texts.setdefault(normalize(_whole(candidate)), _whole(candidate))
    support, useful = _support_steps(program, state, checks), _usefulness_steps(program, state, list(texts.values()))
    outcomes = (yield [*support, *useful]) if support or useful else ()
    state.made += len(candidates)
    verdicts = _supports(program, state, checks, outcomes[: len(support)])
    ratings = dict(zip(texts, _ratings(state, list(texts.values()), outcomes[len(support) :]), strict=True))
    return [
        _judged(
            state,
            candidate,
            [(c, v) for c, v in zip(checks, verdicts, strict=True) if c.owner == i],
            ratings[normalize(_whole(candidate))],
        )
        for i, candidate in enumerate(candidates)
    ]


def _checks(state: SelfRagState, owner: int, candidate: Candidate) -> list[_Check]:
    if candidate.passage is None:
        return []
    claims = split_claims(state.question, candidate.draft.answer)
    # A sentence of a long answer says by itself what it is about; it need not speak of all that is asked.
    sources = Sources("" if state.settings.long_form else state.question, [candidate.passage])
    return [
        _Check(owner, claim, candidate.passage, sources, candidate.draft.cited, len(claims) == 1) for claim in claims
    ]


def _whole(candidate: Candidate) -> str:
    return f"{candidate.before}{candidate.draft.answer}"


def _support_steps(program: Any, state: SelfRagState, checks: Sequence[_Check]) -> list[Step]:
    backend = state.backend("support")
    if backend == "models":
        return [program.scorers.support_step(state.question, c.claim, [c.passage]) for c in checks]
    if backend != "lm":
        return []
    steps: list[Step] = []
    for check in checks:
        reading = state.material(check.passage)
        inputs = {**reading.inputs(), "answer": without_markup(check.claim)}
        steps.append(critic_ask(program, "support", "check", inputs, reading.demo))
    return steps


def _supports(program: Any, state: SelfRagState, checks: Sequence[_Check], outcomes: Sequence[Outcome]) -> list[Judged]:
    backend = state.backend("support")
    found: Sequence[Judged | None] = [None for _ in checks]
    if outcomes:

        def read(i: int, outcome: Any) -> Judged | None:
            check = checks[i]
            if isinstance(outcome, AskOutcome):
                return _support_in(check, outcome)
            return _support_of(program, state, check, outcome)

        found = read_each(state, "support", backend, outcomes, read)
    return [known or _by_rules(state, check) for known, check in zip(found, checks, strict=True)]


def _support_in(check: _Check, outcome: AskOutcome) -> Judged | None:
    verdict = verdict_in(outcome, "support", get_args(Support))
    if verdict is None:
        return None
    support: Support = verdict.value  # type: ignore[assignment]  # one of the values that were asked for
    problem = "" if support == "supported" else _problem((outcome.fields or {}).get("problem"))
    ids = () if support == "not_supported" else (check.passage.id,)
    return ClaimSupport(claim=check.claim, support=support, passage_ids=ids, problem=problem), verdict.mass


def _support_of(program: Any, state: SelfRagState, check: _Check, outcome: ScoreOutcome) -> Judged | None:
    try:
        found: ClaimSupport = program.scorers.support(state.question, check.claim, [check.passage], outcome)
    except ReflectiveRAGError:
        return None
    return found, hard(found.support)


def _by_rules(state: SelfRagState, check: _Check) -> Judged:
    draft = Draft(answer=check.claim, cited=check.cited)
    found = check_by_rules(state, draft, check.claim, check.sources, alone=check.alone)
    return found, hard(found.support)


def _usefulness_steps(program: Any, state: SelfRagState, texts: Sequence[str]) -> list[Step]:
    if state.backend("usefulness") != "lm":
        return []
    question = without_markup(state.question)
    return [
        critic_ask(program, "usefulness", "check", {"question": question, "answer": without_markup(text)})
        for text in texts
    ]


def _ratings(state: SelfRagState, texts: Sequence[str], outcomes: Sequence[Outcome]) -> list[Rating]:
    found: Sequence[Rating | None] = [None for _ in texts]
    if outcomes:
        found = read_each(state, "usefulness", "lm", outcomes, lambda _, outcome: _rating_in(outcome))
    return [known or _rated(state, text) for known, text in zip(found, texts, strict=True)]


def _rating_in(outcome: AskOutcome) -> Rating | None:
    verdict = verdict_in(outcome, "usefulness", get_args(Usefulness))
    return None if verdict is None else (verdict.mass, _problem((outcome.fields or {}).get("problem")))


def _rated(state: SelfRagState, text: str) -> Rating:
    grade, problem = rate(state.question, text, long=state.settings.long_form)
    return hard(grade), problem


def _problem(value: Any) -> str:
    text = str(value or "").strip()
    return "" if normalize(text) in _NO_PROBLEM else text


def _judged(
    state: SelfRagState, candidate: Candidate, checks: Sequence[tuple[_Check, Judged]], rating: Rating
) -> Candidate:
    """The candidate with what its critics said. Its support score is the mean over its claims."""
    cited = state.settings.include_citations
    spans = [check.spans() for check, _ in checks]
    claims = tuple(
        verdict.model_copy(
            update={"citations": found if cited and verdict.support not in ("not_supported", "contradicted") else ()}
        )
        for (_, (verdict, _)), found in zip(checks, spans, strict=True)
    )
    if candidate.passage is None:
        unchecked = phrase("from_memory", state.question)
        texts = split_claims(state.question, candidate.draft.answer)
        claims = tuple(ClaimSupport(claim=text, support=None, problem=unchecked) for text in texts)
    held = [score for _, (_, mass) in checks if (score := support_score(mass)) is not None]
    named = unused(candidate.draft.cited, [candidate.passage], spans) if cited and candidate.passage else ()
    return replace(
        candidate,
        checked=Checked(
            draft=candidate.draft, claims=claims, citations=union(c.citations for c in claims), unused=named
        ),
        scores=CriticScores(
            relevance=candidate.relevance,
            support=sum(held) / len(held) if held else None,
            usefulness=usefulness_score(rating[0]),
        ),
        problem=rating[1],
    )
