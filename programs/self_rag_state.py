"""What one run of SelfRAG knows. Lives for one question; nothing of it is kept on the module."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from reflective_rag.programs.checking import WORST_FIRST
from reflective_rag.programs.material import Reading
from reflective_rag.programs.run_state import BUDGET_STOPS, RunState
from reflective_rag.programs.scoring import SUPPORT_FACTOR
from reflective_rag.programs.self_rag_candidates import Candidate, best_of, text_of
from reflective_rag.programs.self_rag_scoring import beam_score
from reflective_rag.programs.self_rag_settings import SelfRagControls, SelfRagSettings
from reflective_rag.programs.steps import AskOutcome, ScoreOutcome, SearchOutcome
from reflective_rag.programs.verdicts import UNREADABLE
from reflective_rag.signatures.types import (
    Assessment,
    Backend,
    Decision,
    DroppedPassage,
    Fallback,
    Passage,
    Round,
    SelfRagJudgement,
    StopReason,
)
from reflective_rag.signatures.wording import phrase


@dataclass(kw_only=True)
class SelfRagState(RunState):
    """The passages, the candidates of all rounds, and what has to be said about them."""

    settings: SelfRagSettings
    controls: SelfRagControls
    has_model: bool
    seen: dict[str, Passage] = field(default_factory=dict)
    """Every passage that entered, by id, in the order found."""
    candidates: list[Candidate] = field(default_factory=list)
    alone: Candidate | None = None
    """The answer of the model alone, where it was asked for one."""
    asked_alone: bool = False
    down: set[tuple[SelfRagJudgement, Backend]] = field(default_factory=set)
    fallbacks: list[Fallback] = field(default_factory=list)
    """Those of the round under way."""
    spent: StopReason | None = None
    """The budget that refused a call, or the model that gave out: the round under way is the last."""
    is_reserved: bool = False
    """Whether `spent` is but a call kept for the answer."""
    asked: int = 0
    """Model calls so far."""
    made: int = 0
    """Candidates that were judged."""
    need_retrieval: bool = True
    stop: StopReason = "max_rounds"

    @property
    def answers(self) -> bool:
        """Whether a model writes the answers."""
        return self.has_model and self.settings.mode == "lm" and self.spent != "model_error"

    def backend(self, judgement: SelfRagJudgement) -> Backend:
        """Who makes a judgement now: the chosen back end, or rules where it has failed before or there is no model."""
        chosen = self.settings.backend(judgement)
        if (chosen == "lm" and not self.has_model) or (judgement, chosen) in self.down:
            return "rules"
        return chosen

    def may_ask(self, wanted: int, judgement: SelfRagJudgement | None = None) -> int:
        """How many of `wanted` calls may go, so that the last one of a budget is left for an answer.

        Where that is less than all, the round under way is the last, and rules make the rest of the `judgement`.
        """
        limit = self.settings.budget.lm_calls
        granted = wanted if limit is None else max(0, min(wanted, limit - self.asked - 1))
        if granted < wanted:
            if self.spent is None:
                self.spent, self.is_reserved = "budget_calls", limit is not None and self.asked + granted < limit
            if judgement:
                self.instead[judgement] = "rules"
        return granted

    def spend(self, reason: StopReason) -> None:
        """Note what ends the run: the first thing stays, but a call kept for the answer is not spent."""
        if self.spent is None or self.is_reserved:
            self.spent, self.is_reserved = reason, False

    @property
    def found_nothing(self) -> bool:
        """Whether there is no passage, and no budget that kept one away: a call kept for the answer did not."""
        return not self.seen and (self.spent is None or self.is_reserved)

    def missed(self, judgement: SelfRagJudgement, backend: Backend, outcome: AskOutcome | ScoreOutcome) -> bool:
        """Note a critic's call that came back empty-handed; whether it did. Rules judge in its place."""
        self.asked += isinstance(outcome, AskOutcome) and not outcome.refused
        if outcome.refused:
            self.spend(BUDGET_STOPS[outcome.refused])
            self.instead[judgement] = "rules"
        elif outcome.error:
            self.down.add((judgement, backend))
            self.fell(judgement, backend, outcome.error)
        return bool(outcome.refused or outcome.error)

    def extracts(self) -> None:
        """Note that the rules write the answer, also where a budget refused the model's."""
        self.warn("rules_only")
        if self.spent in BUDGET_STOPS.values():
            self.instead["answer"] = "rules"

    def unreadable(self, judgement: SelfRagJudgement, backend: Backend, *, some: int, of: int) -> None:
        """Note `some` verdicts of a batch that are none of the values, which is no "no": rules judge in their place.

        Where nothing of the batch could be read, the back end counts as failed.
        """
        self.unread(some)
        if some:
            self.fell(judgement, backend, UNREADABLE, degrades=some == of)

    def fell(self, judgement: SelfRagJudgement, backend: Backend, reason: str, *, degrades: bool = True) -> None:
        """Note that rules judge in place of a back end."""
        fallback = Fallback(judgement=judgement, backend=backend, to="rules", reason=reason)
        if fallback not in self.fallbacks:
            self.fallbacks.append(fallback)
        if degrades:
            shown = phrase("unreadable", self.question) if reason == UNREADABLE else reason
            told = self.warnings.get("model_degraded", "")
            where = f"{judgement}: {backend} → rules"
            if f"({shown})" in told and where not in told:  # the same reason, once behind all that it befell
                self.warnings["model_degraded"] = f"{where}, {told}"
            elif where not in told:
                self.warnings["model_degraded"] = f"{told}{'; ' if told else ''}{where} ({shown})"

    def take(self, found: SearchOutcome) -> list[Passage]:
        """Take in a search; the passages that are new. One whose budget ran out ends the run."""
        new = self.add(found)
        self.seen |= {p.id: p for p in new}
        if found.refused:
            self.spend(BUDGET_STOPS[found.refused])
        return new

    def nothing_new(self, number: int, found: SearchOutcome) -> StopReason:
        """Why a search that brought nothing new ends the run."""
        if self.spent and not self.found_nothing:
            return self.spent
        if found.error:
            return "retriever_error"
        return "no_passages" if number == 1 else "no_new_passages"

    def relevant(self, passages: Iterable[Passage]) -> list[Passage]:
        """Those that were judged relevant."""
        return [p for p in passages if self.grades.get(p.id, 0.0) >= self.settings.relevant_at]

    def material(self, *passages: Passage) -> Reading:
        """The question with these passages, as a model reads them."""
        return Reading(
            question=self.question,
            passages=passages,
            requirements=(),
            today=self.today,
            passage_chars=self.settings.passage_chars,
        )

    def best(self) -> Candidate | None:
        """The best candidate of all rounds."""
        return best_of(self.candidates, self.controls.weights, closed_set=self.settings.closed_set)

    def close(
        self,
        number: int,
        queries: tuple[str, ...],
        found: int,
        new: Sequence[Passage],
        decision: Decision,
        parts: Sequence[Candidate],
    ) -> Round:
        """Record a finished round: its passages, and the answer as it stands, made of `parts`."""
        grades = {p.id: self.grades[p.id] for p in new if p.id in self.grades}
        score, sure = self.worth(parts)
        known = [part.relevance for part in parts if part.relevance is not None]
        this = Round(
            number=number,
            queries=queries,
            retrieved=found,
            new=len(new),
            assessment=Assessment(
                relevance=sum(known) / len(known) if known else max(grades.values(), default=None),
                evidence_score=score,
                confidence=sure,
                passage_relevance=grades,
                fallbacks=tuple(self.fallbacks),
                by_rules=all(self.backend(name) == "rules" for name in self.settings.asked),
            ),
            decision=decision,
            draft=text_of(self.question, parts) or None,
        )
        self.fallbacks.clear()
        self.rounds.append(this)
        return this

    def worth(self, parts: Sequence[Candidate]) -> tuple[float, float]:
        """Score of an answer made of `parts` on 0..1 (the geometric mean of theirs), and how sure one may be of it.

        The latter is the score × the support factor of every program (`scoring.SUPPORT_FACTOR`) for its worst claim.
        """
        if not parts:
            return 0.0, 0.0
        score = mean_share([part.share(self.controls.weights) for part in parts])
        support = min((part.support for part in parts), key=WORST_FIRST.index)
        return round(score, 6), round(score * SUPPORT_FACTOR[support], 6)

    def dropped(self) -> tuple[DroppedPassage, ...]:
        """Repeats, and passages that were judged irrelevant."""
        kept = {p.id for p in self.relevant(self.seen.values())}
        judged = (
            DroppedPassage(passage=p, reason=phrase("judged_irrelevant", self.question))
            for p in self.seen.values()
            if p.id not in kept
        )
        return (*(d for d in self.pool.dropped if d.passage.id not in self.seen), *judged)


def mean_share(shares: Sequence[float]) -> float:
    """Geometric mean: the path score of the paper (a product), made comparable between answers of different length."""
    product = 1.0
    for share in shares:
        product = beam_score(product, share)
    return product ** (1 / len(shares)) if shares else 1.0
