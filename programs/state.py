"""What one run of ReflectiveRAG's loop knows. Lives for one question; nothing of it is kept on the module."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date

from reflective_rag.programs import rules
from reflective_rag.programs.assessor import Reading, Verdict
from reflective_rag.programs.pool import EvidencePool
from reflective_rag.programs.scoring import IMPORTANT, RELEVANT, assess, is_enough, made_progress
from reflective_rag.programs.settings import LoopControls, ReflectiveSettings
from reflective_rag.programs.steps import AskOutcome, SearchOutcome
from reflective_rag.signatures.text import language_of, normalize, tokenize
from reflective_rag.signatures.types import (
    Assessment,
    Decision,
    Draft,
    Gap,
    Passage,
    Requirement,
    Round,
    StopReason,
    WarningCode,
)

SAME_QUERY = 0.9
"""Share of common tokens (Jaccard) from which a query counts as one that was tried."""

BUDGET_STOPS: dict[str, StopReason] = {
    "calls": "budget_calls",
    "tokens": "budget_tokens",
    "seconds": "budget_seconds",
    "retrievals": "budget_retrievals",
}


@dataclass
class LoopState:
    """The evidence, the rounds so far, and what has to be said about them."""

    question: str
    settings: ReflectiveSettings
    controls: LoopControls
    today: date
    pool: EvidencePool = field(default_factory=EvidencePool)
    tried: list[str] = field(default_factory=list)
    requirements: tuple[Requirement, ...] = ()
    rounds: list[Round] = field(default_factory=list)
    reading: Reading | None = None
    assessment: Assessment | None = None
    drafts: list[Draft] = field(default_factory=list)
    warnings: dict[WarningCode, str] = field(default_factory=dict)
    misses: int = 0
    retrieved: int = 0
    unparsed: int = 0
    stop: StopReason = "max_rounds"
    _grades: dict[str, float] = field(default_factory=dict)

    def add(self, found: SearchOutcome) -> list[Passage]:
        """Take in what a search brought; the passages that are new."""
        self.tried += found.ran
        self.retrieved += len(found.passages)
        if found.error:
            self.warn("retriever_degraded", found.error)
        return self.pool.add(*found.results)

    def read(self, limit: int | None = None) -> Reading:
        """Choose what this round reads: the best `max_passages` of the pool, or the best `limit`."""
        self.reading = Reading(
            question=self.question,
            passages=self.pool.for_reading(limit or self.settings.max_passages, self._grades),
            requirements=self.requirements,
            today=self.today,
            passage_chars=self.settings.passage_chars,
        )
        return self.reading

    def judge(self, verdict: Verdict) -> Assessment:
        """Score a verdict; from round 1 on the requirements are fixed and only filled in."""
        assert self.reading is not None
        judgement = verdict.judgement
        self.requirements = judgement.requirements or self.requirements
        self._grades |= judgement.relevance
        self.unread(judgement.unreadable)
        before = self.assessment
        self.assessment = assess(judgement, self.reading.passages, self.controls.weights, by_rules=verdict.by_rules)
        self.misses = 0 if made_progress(before, self.assessment) else self.misses + 1
        return self.assessment

    def gaps(self) -> list[Gap]:
        """What is missing, most important first: the critic's gaps, else one per requirement that is missing."""
        assert self.assessment is not None
        if self.assessment.gaps:
            return sorted(self.assessment.gaps, key=lambda gap: -gap.importance)
        missing = [r for r in self.assessment.requirements if r.status == "missing"]
        return [Gap(kind="incomplete_answer", need=r.need, query=r.need, importance=IMPORTANT) for r in missing]

    def new_queries(self, queries: Iterable[str]) -> tuple[str, ...]:
        """At most `gaps_per_round` queries that were not tried, nor stand twice among themselves."""
        chosen: list[str] = []
        for query in queries:
            text = query.strip()
            if text and not is_repeat(text, [*self.tried, *chosen]):
                chosen.append(text)
        return tuple(chosen[: self.settings.gaps_per_round])

    def close(self, number: int, queries: tuple[str, ...], retrieved: int, new: int, decision: Decision) -> Round:
        """Record a finished round."""
        this = Round(
            number=number,
            queries=queries,
            retrieved=retrieved,
            new=new,
            assessment=self.assessment,
            decision=decision,
            draft=self.drafts[-1].answer if self.drafts else None,
            shortened=self.reading.numbered[1] if self.reading else (),
        )
        self.rounds.append(this)
        return this

    def fork(self) -> "LoopState":
        """A copy that may be finished without disturbing this run; the pool, which is only read then, is shared."""
        return replace(
            self,
            rounds=list(self.rounds),
            drafts=list(self.drafts),
            warnings=dict(self.warnings),
            tried=list(self.tried),
        )

    def warn(self, code: WarningCode, detail: str = "") -> None:
        """Note something for the reader of the answer; the first detail stays."""
        self.warnings.setdefault(code, detail)

    def unread(self, count: int) -> None:
        """Note replies, or parts of them, that could not be read."""
        self.unparsed += count
        if count:
            self.warn("unreadable_verdict")

    def lost(self, outcome: AskOutcome) -> StopReason | None:
        """What a call without a reply means for how the loop ends; None when there was a reply."""
        if outcome.error:
            self.warn("model_degraded", outcome.error)
            return "model_error"
        return BUDGET_STOPS[outcome.refused] if outcome.refused else None

    def draft(self) -> Draft:
        """The latest draft that answers; without one, an empty draft."""
        return next((d for d in reversed(self.drafts) if d.answer), Draft(answer=""))

    def rules_draft(self) -> Draft:
        """An answer by extraction, for when the model is not to be had."""
        return rules.answer(self.question, self.reading.passages if self.reading else (), self.today)

    @property
    def relevant_count(self) -> int:
        """Passages that any round judged relevant."""
        return sum(grade >= RELEVANT for grade in self._grades.values())

    @property
    def judged_count(self) -> int:
        """Passages that any round graded."""
        return len(self._grades)


def stop_reason(
    assessment: Assessment, controls: LoopControls, number: int, misses: int, *, has_gap: bool
) -> StopReason | None:
    """Why the loop ends after round `number`, or None to search again. Replay tuning uses this same function."""
    if is_enough(assessment, controls):
        return "sufficient"
    if number >= controls.max_rounds:
        return "max_rounds"
    if misses >= controls.patience:
        return "no_progress"
    return None if has_gap else "no_gap"


def is_repeat(query: str, tried: Iterable[str]) -> bool:
    """Whether a query repeats a tried one: equal normal form, or nearly the same tokens (Jaccard ≥ `SAME_QUERY`)."""
    tokens = set(tokenize(query))
    for old in tried:
        if normalize(query) == normalize(old):
            return True
        others = set(tokenize(old))
        if tokens and others and len(tokens & others) / len(tokens | others) >= SAME_QUERY:
            return True
    return False


def joined(question: str, need: str) -> str:
    """A query from the question and what is missing, for a back end that cannot rewrite."""
    return f"{question}{'，' if language_of(question) == 'zh' else ' '}{need}"
