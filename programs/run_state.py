"""What any run knows of its question: the passages found, what was tried, the drafts, and what has to be said of it."""

from dataclasses import dataclass, field
from datetime import date
from typing import Any

from reflective_rag.programs.beginnings import extract
from reflective_rag.programs.material import Reading
from reflective_rag.programs.messages import WARNING_OF_STOP, budget_detail, ended
from reflective_rag.programs.pool import EvidencePool
from reflective_rag.programs.steps import AskOutcome, Report, ScoreOutcome, SearchOutcome, Substeps
from reflective_rag.signatures.text import language_of
from reflective_rag.signatures.types import Backend, Draft, Passage, Requirement, Round, StopReason, Strip, WarningCode
from reflective_rag.signatures.wording import Phrase

BUDGET_STOPS: dict[str, StopReason] = {
    "calls": "budget_calls",
    "tokens": "budget_tokens",
    "seconds": "budget_seconds",
    "retrievals": "budget_retrievals",
}


@dataclass(kw_only=True)
class RunState:
    """One question under way. Lives for one call; nothing of it is kept on the module."""

    question: str
    settings: Any
    today: date
    pool: EvidencePool = field(default_factory=EvidencePool)
    tried: list[str] = field(default_factory=list)
    requirements: tuple[Requirement, ...] = ()
    reading: Reading | None = None
    drafts: list[Draft] = field(default_factory=list)
    warnings: dict[WarningCode, str] = field(default_factory=dict)
    retrieved: int = 0
    unparsed: int = 0
    instead: dict[str, Backend | None] = field(default_factory=dict)
    """Judgement, `answer` or `repair` that a budget refused → who did it instead; None where nobody did."""
    garbled: bool = False
    """Whether a reply came in which no answer could be read."""
    stop: StopReason = "single_pass"
    rounds: list[Round] = field(default_factory=list)
    grades: dict[str, float] = field(default_factory=dict)
    """Passage id → grade of those that any round judged."""

    def __post_init__(self) -> None:
        self.pool.language = language_of(self.question)

    def add(self, found: SearchOutcome) -> list[Passage]:
        """Take in what a search brought; the passages that are new."""
        self.tried += found.ran
        self.retrieved += len(found.passages)
        if failed := found.error or found.partial:
            self.warn("retriever_degraded", failed)
        return self.pool.add(*found.results)

    def read(self, limit: int, **choice: Any) -> Reading:
        """Choose what is read next, the best `limit` passages; `choice` as in `EvidencePool.for_reading`."""
        carried: tuple[Strip, ...] = self.reading.numbered[1] if self.reading else ()
        self.reading = Reading(
            question=self.question,
            passages=self.pool.for_reading(limit, self.grades, **choice),
            requirements=self.requirements,
            today=self.today,
            passage_chars=self.settings.passage_chars,
            carried=carried,
        )
        return self.reading

    def warn(self, code: WarningCode, detail: str = "") -> None:
        """Note something for the reader of the answer; the first detail stays."""
        self.warnings.setdefault(code, detail)

    def unread(self, count: int) -> None:
        """Note replies, or parts of them, that could not be read."""
        self.unparsed += count
        if count:
            self.warn("unreadable_verdict")

    def unread_answer(self) -> None:
        """Note a reply in which no answer can be read. It is no "no answer"."""
        self.unread(1)
        self.garbled = True

    def warn_of_end(self, evidence: Phrase | None) -> None:
        """Warn of how the run ended; of a budget with what it left undone, also where the run ended otherwise.

        Args:
            evidence: How the evidence stood; None where that is no question.
        """
        code = WARNING_OF_STOP.get(self.stop)
        if code == "budget_exhausted" or self.instead:
            told = evidence if code == "budget_exhausted" else None
            self.warn("budget_exhausted", budget_detail(self.question, told, self.instead))
        if code:
            self.warn(code)

    def warn_of_silence(self, *, read: bool) -> None:
        """Warn that there is no answer, for the reason that holds; `read` whether there was anything to read."""
        self.warn("unreadable_answer" if self.garbled else "no_answer" if read else "no_evidence")

    def close_in_vain(self, found: SearchOutcome) -> Substeps[None]:
        """Record the round of a search that brought nothing new, which ends the run: nothing was judged in it."""
        if found.ran:  # else a budget refused the search: it was not made
            number, retrieved, end = len(self.rounds) + 1, len(found.passages), ended(self.stop, self.question)
            self.rounds.append(Round(number=number, queries=found.ran, retrieved=retrieved, new=0, decision=end))
            yield [Report(round=self.rounds[-1])]

    def lost(self, outcome: AskOutcome | ScoreOutcome) -> StopReason | None:
        """What a call without a reply means for how the run ends; None when there was a reply."""
        if outcome.error:
            self.warn("model_degraded", outcome.error)
            return "model_error"
        return BUDGET_STOPS[outcome.refused] if outcome.refused else None

    def draft(self) -> Draft:
        """The latest draft that answers; without one, an empty draft."""
        return next((d for d in reversed(self.drafts) if d.answer), Draft(answer=""))

    def rules_draft(self) -> Draft:
        """An answer by extraction, for when the model is not to be had."""
        return extract(self.question, self.reading.passages if self.reading else (), self.today)

    @property
    def relevant_count(self) -> int:
        """Passages that any round judged relevant."""
        return sum(grade >= self.settings.relevant_at for grade in self.grades.values())

    @property
    def judged_count(self) -> int:
        """Passages that any round graded."""
        return len(self.grades)
