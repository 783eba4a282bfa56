"""CRAG's decisions (see `corrective`): thresholds, the three actions, strips as passages, and the state of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reflective_rag.programs.grading import Grades
from reflective_rag.programs.material import Reading
from reflective_rag.programs.scoring import CragAction
from reflective_rag.programs.strips import recompose
from reflective_rag.programs.system_settings import CorrectiveSettings
from reflective_rag.programs.system_state import SystemState
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Assessment, Backend, DroppedPassage, Passage, Strip
from reflective_rag.signatures.wording import phrase

THRESHOLDS: Mapping[Backend, tuple[float, float]] = {"lm": (0.75, 0.05), "rules": (0.6, 0.3), "models": (0.75, 0.05)}
"""Critic → `upper`, `lower`, where the settings name none. The paper has a pair a data set, on −1..1: .59 and −.99
(PopQA), .5 and −.91 (PubHealth, ARC), .95 and −.91 (Biography); the second pair on 0..1 is .75 and .05,
which fits the three verdicts of a model (1, .5, 0). That of the rules was chosen on train questions of eight data sets
(408, keyword search, k 10): nine of ten supporting passages have .49 or more (musique .20, the rest up to .84), half of
the others .34 or less (fact sets of RGB more). That of small models is the paper's, untested: tune it."""
IRRELEVANT: Mapping[CragAction, str] = {
    "incorrect": "the tried queries brought no passage that helps",
    "ambiguous": "it is not certain that the tried queries brought a passage that helps",
}
"""What the rewriter is told."""


def thresholds(settings: CorrectiveSettings, critic: Backend) -> tuple[float, float]:
    """`upper` and `lower` for a critic. Raises `ConfigError` where they are in the wrong order."""
    upper, lower = THRESHOLDS[critic]
    upper = upper if settings.upper is None else settings.upper
    lower = lower if settings.lower is None else settings.lower
    if lower > upper:
        raise ConfigError(f"`lower` must not exceed `upper`, got {lower} and {upper} for the critic {critic!r}")
    return upper, lower


def action_of(grades: Sequence[float | None], upper: float, lower: float) -> CragAction:
    """What the grades call for. A passage without a grade (an unreadable verdict) is neither good nor bad."""
    if any(g is not None and g >= upper for g in grades):
        return "correct"
    return "incorrect" if all(g is not None and g < lower for g in grades) else "ambiguous"


def excerpt(passage: Passage, strip: Strip, number: int) -> Passage:
    """A strip as a passage of its own, to be graded."""
    return passage.model_copy(update={"id": f"{passage.id}#{number}", "text": passage.text[strip.start : strip.end]})


def recomposed(passage: Passage, strips: Sequence[Strip]) -> Passage:
    """The passage as it is read: its kept strips, in order."""
    return passage.model_copy(update={"text": recompose(passage, strips)})


@dataclass(kw_only=True)
class CorrectiveState(SystemState):
    """The verdict on the first search, and what is read after refinement."""

    judged: Grades = field(default_factory=Grades)
    """Grades of what the first search brought."""
    again: Grades = field(default_factory=Grades)
    """Grades of what the second search brought, maybe by another critic."""
    action: CragAction = "incorrect"
    kept: list[Passage] = field(default_factory=list)
    strips: tuple[Strip, ...] = ()

    def reading_of(self, passages: Sequence[Passage]) -> Reading:
        """The question with these passages."""
        return Reading(
            question=self.question,
            passages=passages,
            requirements=(),
            today=self.today,
            passage_chars=self.settings.passage_chars,
        )

    @property
    def thresholds(self) -> tuple[float, float]:
        """`upper` and `lower` for whoever graded."""
        return thresholds(self.settings, self.judged.by)

    def is_bad(self, passage: Passage) -> bool:
        """Whether whoever graded the passage throws it away; one without a grade is neither good nor bad."""
        grade = self.grades.get(passage.id)
        return grade is not None and grade < self._thresholds_of(passage.id)[1]

    def _thresholds_of(self, id_: str) -> tuple[float, float]:
        return thresholds(self.settings, self.again.by) if id_ in self.again.of else self.thresholds

    def grounds(self) -> str:
        """The action and what it rests on, in one line."""
        best = max(self.grades.values(), default=None)
        upper, lower = self.thresholds
        if best is None:
            return phrase("crag_ungraded", self.question, action=self.action)
        shown = {"best": f"{best:.2f}", "lower": f"{lower:.2f}", "upper": f"{upper:.2f}"}
        return phrase("crag", self.question, action=self.action, **shown)

    def assessment(self, judged: Grades) -> Assessment | None:
        """The grades as an assessment; its evidence score is the best grade, which decides the action."""
        if not judged.of:
            return None
        best = max(judged.of.values())
        return Assessment(
            relevance=best,
            evidence_score=best,
            passage_relevance=dict(judged.of),
            unreadable=judged.unread,
            by_rules=judged.by == "rules",
            fallbacks=judged.fallbacks,
        )

    def more(self) -> dict[str, Any]:
        """What the result holds beside the answer."""
        read = {p.id for p in self.kept}
        left = [p for p in self.pool.for_reading(len(self.pool) or 1, {}) if p.id not in read]
        bad = {p.id for p in left if self.is_bad(p)}
        reasons = {bad: phrase("judged_irrelevant" if bad else "no_strip", self.question) for bad in (True, False)}
        thrown = tuple(DroppedPassage(passage=p, reason=reasons[p.id in bad]) for p in left)
        return {
            "evidence_score": max((g for id_, g in self.grades.items() if id_ in read), default=None),
            "relevant_count": sum(grade >= self._thresholds_of(id_)[0] for id_, grade in self.grades.items()),
            "rounds": tuple(self.rounds),
            "dropped": (*self.pool.dropped, *thrown),
        }
