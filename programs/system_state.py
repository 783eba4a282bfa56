"""What a run of the systems to compare with keeps, beside what every run knows: its rounds, and what ends it."""

from dataclasses import dataclass
from typing import Any

from reflective_rag.programs import rules
from reflective_rag.programs.plain import SOUND, ask_answer
from reflective_rag.programs.run_state import BUDGET_STOPS, RunState
from reflective_rag.programs.steps import AskOutcome, Report, SearchOutcome, Substeps
from reflective_rag.signatures.types import Assessment, Decision, Draft, Passage, Round, StopReason, Strip
from reflective_rag.signatures.wording import phrase


@dataclass(kw_only=True)
class SystemState(RunState):
    """One question under way in a program with a plan of its own."""

    asked: int = 0
    """Model calls so far, for `may_ask`."""
    is_over: bool = False
    """Whether no more model calls should be made before the answer: the model failed, or a budget is spent."""
    is_reserved: bool = False
    """Whether all that ended the run so far is that its last calls are kept for the answer."""
    is_closed: bool = False
    """Whether no more searches can be made: a budget refused one."""

    def end(self, reason: StopReason) -> None:
        """Note how the run ends: the first thing that went wrong stays.

        Calls kept for the answer are not spent: what really leaves the run without an answer comes before them.
        """
        if self.stop in SOUND or (self.is_reserved and reason in self._outweighing()):
            self.stop = reason
            self.is_reserved = False

    def _outweighing(self) -> set[StopReason]:
        found_nothing: set[StopReason] = set() if len(self.pool) else {"retriever_error", "no_passages"}
        return {"model_error", *BUDGET_STOPS.values(), *found_nothing}

    def take(self, found: SearchOutcome) -> list[Passage]:
        """Take in a search; the passages that are new. One that failed or was refused is noted as the run's end."""
        new = self.add(found)
        if found.error:
            self.end("retriever_error")
        if found.refused:
            self.is_closed = True
            self.end(BUDGET_STOPS[found.refused])
        return new

    def may_ask(self, wanted: int, spare: int = 1) -> int:
        """How many of `wanted` calls may go, so that the last `spare` of a budget are left for the answer."""
        limit = self.settings.budget.lm_calls
        granted = wanted if limit is None else max(0, min(wanted, limit - self.asked - spare))
        self.asked += granted
        if granted < wanted:
            self.is_over = True
            if self.stop in SOUND:
                self.stop, self.is_reserved = "budget_calls", limit is not None and self.asked < limit
        return granted

    def took(self, outcome: AskOutcome) -> bool:
        """Whether a call brought a reply; if not, why is noted as the run's end."""
        if stop := self.lost(outcome):
            self.is_over = True
            self.end(stop)
        return outcome.fields is not None

    def replaced(self, what: str) -> None:
        """Note a part of the work that was done in another way, since the model's reply could not be read."""
        self.warn("model_degraded", f"{what} ({phrase('unreadable', self.question)})")

    def close(
        self,
        queries: tuple[str, ...],
        found: int,
        new: int,
        decision: Decision | None = None,
        *,
        assessment: Assessment | None = None,
        strips: tuple[Strip, ...] = (),
    ) -> Report:
        """Record a round: what was searched, how many passages came back and were new, what is done next."""
        this = Round(
            number=len(self.rounds) + 1,
            queries=queries,
            retrieved=found,
            new=new,
            decision=decision,
            assessment=assessment,
            strips=strips,
        )
        self.rounds.append(this)
        return Report(round=this)

    def last_draft(self, program: Any, limit: int) -> Substeps[Draft]:
        """The answer from the best `limit` passages; by extraction where the model has just failed."""
        if self.stop == "model_error" and program.uses_model():
            return self.extracted(limit)
        return (yield from ask_answer(program, self, limit))

    def extracted(self, limit: int) -> Draft:
        """An answer by rules from the best `limit` passages, for when there is no model to write one."""
        if self.read(limit).passages:
            self.warn("rules_only")
        return self.rules_draft()


def gap_queries(state: RunState) -> tuple[list[str], bool | None]:
    """What the rules would search for next, most important first, and whether they find the evidence enough."""
    assert state.reading is not None
    judged = rules.assess(state.question, state.reading.passages, (), state.today)
    return [gap.query for gap in judged.gaps], judged.sufficient
