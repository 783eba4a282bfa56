"""Which questions a report shows, the worst failures first."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from reflective_rag.experiments.comparing import correct_by
from reflective_rag.experiments.report.sources import Run
from reflective_rag.optimizers.evaluation import Row
from reflective_rag.optimizers.outcomes import is_right, is_silent

Verdict = Literal["failed", "wrong", "silent", "right"]


@dataclass(frozen=True, kw_only=True)
class Answered:
    """One system's answer to a question."""

    system: str
    row: Row
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class Example:
    """One question with the answers of all systems that were asked it under one condition."""

    row: Row
    """Of the first system: for the question and the accepted answers."""
    answers: Sequence[Answered]
    data: str
    cell: str

    @property
    def severity(self) -> float:
        """How bad it is, over the systems: a failure 4, a wrong answer 2 to 3 by its confidence, silence 1.5."""
        return sum(map(_severity, self.answers)) / len(self.answers)


def verdict_of(row: Row, metric: str | None) -> Verdict:
    """What became of a question. Silence where no answer is right counts as right."""
    if row.error is not None:
        return "failed"
    if is_right(row, correct_by(metric)):
        return "right"
    return "silent" if is_silent(row) else "wrong"


def worst(runs: Sequence[Run], most: int) -> list[Example]:
    """At most `most` questions, the worst first; from each data set and condition in turn, so that all are seen."""
    groups: dict[tuple[str, str], dict[str, list[Answered]]] = {}
    for run in runs:
        group = groups.setdefault((str(run.about.get("data", "")), run.cell), {})
        for row in run.rows:
            answered = Answered(system=run.system, row=row, verdict=verdict_of(row, run.metric))
            group.setdefault(row.record_id, []).append(answered)
    ranked = [
        sorted(
            (Example(row=a[0].row, answers=a, data=data, cell=cell) for a in group.values()),
            key=lambda example: -example.severity,
        )
        for (data, cell), group in groups.items()
    ]
    taken = [example for turn in zip_longest(*ranked) for example in turn if example is not None][:most]
    return sorted(taken, key=lambda example: -example.severity)


def _severity(answered: Answered) -> float:
    row = answered.row
    if answered.verdict == "failed":
        return 4.0
    if answered.verdict == "wrong":
        return 2.0 + (row.confidence or 0.0)
    if answered.verdict == "silent":
        return 1.5
    return (1 - row.f1) / 2 + (row.unsupported or 0.0) / 4
