"""What one run of ReflectiveRAG's loop knows. Lives for one question; nothing of it is kept on the module."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from reflective_rag.programs.gap_ledger import GapLedger
from reflective_rag.programs.material import Reading
from reflective_rag.programs.messages import Whole, ended
from reflective_rag.programs.run_state import BUDGET_STOPS, RunState
from reflective_rag.programs.scoring import IMPORTANT, assess, is_enough, made_progress
from reflective_rag.programs.settings import LoopControls, ReflectiveSettings
from reflective_rag.programs.steps import Late, Report, SearchOutcome, Substeps
from reflective_rag.programs.verdicts import LIMIT_REACHED, NO_MODEL, UNREADABLE, Verdict
from reflective_rag.signatures.text import language_of, tokenize
from reflective_rag.signatures.types import (
    Assessment,
    Backend,
    Decision,
    Fallback,
    Gap,
    Passage,
    Requirement,
    Round,
    StopReason,
)
from reflective_rag.signatures.wording import Phrase, phrase


@dataclass(kw_only=True)
class LoopState(RunState):
    """The evidence, the rounds so far, and what has to be said about them."""

    settings: ReflectiveSettings
    controls: LoopControls
    ledger: GapLedger
    assessment: Assessment | None = None
    down: set[tuple[str, Backend]] = field(default_factory=set)
    misses: int = 0
    tells_judge: bool = False
    """Whether the result says that rules judged: where somebody else answers, it does not show."""
    stop: StopReason = "max_rounds"

    def choose(self, limit: int | None = None) -> Reading:
        """What this round reads: the best `max_passages` of the pool, or the best `limit`."""
        needs = " ".join(r.need for r in self.requirements)
        return self.read(
            limit or self.settings.max_passages,
            terms=tokenize(" ".join([self.question, needs, *self.tried])),
            covering={i for r in self.requirements for i in r.passage_ids},
            margin=self.settings.tangent_margin,
        )

    def judge(self, verdict: Verdict) -> Assessment:
        """Score a verdict; from round 1 on the requirements are fixed and only filled in."""
        assert self.reading is not None
        judgement = verdict.judgement
        self.requirements = tuple(map(self._kept, judgement.requirements)) or self.requirements
        self.grades |= judgement.relevance
        self.unread(judgement.unreadable)
        before = self.assessment
        self.assessment = assess(
            judgement,
            self.reading.passages,
            self.controls,
            relevant_at=self.settings.relevant_at,
            by_rules=verdict.by_rules,
            fallbacks=verdict.fallbacks,
        )
        self.fell(verdict.fallbacks)
        self.misses = 0 if made_progress(before, self.assessment) else self.misses + 1
        return self.assessment

    def _kept(self, requirement: Requirement) -> Requirement:
        """The requirement, covered by the passages that stand for those that covered it."""
        ids = dict.fromkeys(map(self.pool.kept, requirement.passage_ids))
        return requirement.model_copy(update={"passage_ids": tuple(ids)})

    def fell(self, fallbacks: Sequence[Fallback]) -> None:
        """Note which judgement fell where.

        A back end that failed is not asked again for this question: its retries are spent. (One whose reply could not
        be read is: the next round asks it something else.)
        """
        self.instead |= {f.judgement: f.to for f in fallbacks if f.reason == LIMIT_REACHED}
        fallbacks = [f for f in fallbacks if f.reason != LIMIT_REACHED]  # a spent budget is no failure of a critic
        self.down |= {(f.judgement, f.backend) for f in fallbacks if f.reason != UNREADABLE}
        if fallbacks:
            where = ", ".join(f"{f.judgement}: {f.backend} → {f.to or '–'}" for f in fallbacks)
            reason = fallbacks[0].reason
            ours: dict[str, Phrase] = {UNREADABLE: "unreadable", NO_MODEL: "no_model"}
            shown = phrase(ours[reason], self.question) if reason in ours else reason
            if all(f.reason == NO_MODEL for f in fallbacks):
                self.warn("model_degraded", Whole(phrase("no_model_for", self.question, where=where)))
            else:
                self.warn("model_degraded", f"{where} ({shown})")

    def gaps(self) -> list[Gap]:
        """What is missing, most important first: the critic's gaps, else one per requirement that is missing."""
        assert self.assessment is not None
        if self.assessment.gaps:
            return sorted(self.assessment.gaps, key=lambda gap: -gap.importance)
        missing = [r for r in self.assessment.requirements if r.status == "missing"]
        return [Gap(kind="incomplete_answer", need=r.need, query=r.need, importance=IMPORTANT) for r in missing]

    def searched(self, found: SearchOutcome, number: int) -> list[Passage]:
        """Take in the search of a round; the passages that are new."""
        self.ledger.ran(found.ran, number)
        return self.add(found)

    def new_query(self, query: str) -> tuple[str, ...]:
        """The query alone, or nothing where it repeats a tried one."""
        return (query.strip(),) if self.ledger.is_new(query) else ()

    def will_abstain(self) -> bool:
        """Whether the loop, which has just ended, should not answer at all: told to abstain, and too unsure."""
        unsure = self.assessment is not None and self.assessment.confidence < self.settings.min_confidence
        return self.settings.abstain and unsure and self.stop != "sufficient"

    def settle_gaps(self, number: int, *, named: bool) -> list[Gap]:
        """Bring the ledger up to the round that was judged, and return the gaps to search for.

        Args:
            named: Whether the critic's list of gaps could be read, so that what it no longer names is settled.
        """
        assert self.assessment is not None
        assert self.reading is not None
        gaps, requirements = self.gaps(), self.assessment.requirements
        self.ledger.close_covered(requirements, number, named=self.assessment.gaps if named else None)
        self.ledger.give_up_exhausted(number)
        self.ledger.learn(requirements, self.reading.passages)
        self.ledger.open(gaps, number)
        return gaps

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
            strips=self.reading.numbered[1] if self.reading else (),
        )
        self.rounds.append(this)
        return this

    def out_of_time(self) -> Substeps[Decision | None]:
        """The decision to end where the time is up: judging by rules takes time of its own, which no step shows."""
        (outcome,) = yield [Report()]
        if not isinstance(outcome, Late):
            return None
        self.stop = BUDGET_STOPS[outcome.refused]
        return ended(self.stop, self.question)

    def fork(self) -> "LoopState":
        """A copy that may be finished without disturbing this run; the pool, which is only read then, is shared."""
        return replace(
            self,
            rounds=list(self.rounds),
            drafts=list(self.drafts),
            warnings=dict(self.warnings),
            instead=dict(self.instead),
            down=set(self.down),
            tried=list(self.tried),
            ledger=self.ledger.copy(),
        )


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


def joined(question: str, need: str) -> str:
    """A query from the question and what is missing, for a back end that cannot rewrite."""
    return f"{question}{'，' if language_of(question) == 'zh' else ' '}{need}"
