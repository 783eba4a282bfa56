"""Selective answering: how a system does when it may leave the questions it is least sure of unanswered.

Risk and coverage after Geifman and El-Yaniv (2017). Coverage is a share of all questions, so that systems can be
compared at the same one; a question that got no answer comes last and counts as wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from reflective_rag.optimizers.calibration.cases import Correct
from reflective_rag.optimizers.calibration.curves import risk_coverage
from reflective_rag.optimizers.calibration.measures import COVERAGES, aurc_statistic, quality, selective_statistic
from reflective_rag.optimizers.evaluation_rows import Row
from reflective_rag.optimizers.outcomes import is_right, is_silent
from reflective_rag.optimizers.ranking_metrics import Statistic, clustered_interval

SILENT = -1.0
"""Stands for the confidence of a question without an answer: below every other."""


@dataclass(frozen=True)
class Ranked:
    """The questions of one run with what ranks them."""

    by: Literal["confidence", "top_score", "nothing"]
    """`top_score`, the best retrieval score, where the program tells no confidence."""
    confidences: tuple[float, ...]
    right: tuple[bool, ...]

    @property
    def curve(self) -> list[tuple[float, float]]:
        """Points (coverage, risk), the surest first."""
        return risk_coverage(self.confidences, self.right)


def ranked(rows: Sequence[Row], correct: Correct) -> Ranked:
    """The rows with their confidence; with the top retrieval score where all answers have the same confidence."""
    right = tuple(is_right(row, correct) for row in rows)
    silent = [row.error is not None or is_silent(row) for row in rows]
    by: Literal["confidence", "top_score", "nothing"] = "confidence"
    values = [row.confidence or 0.0 for row in rows]
    if len({value for value, quiet in zip(values, silent, strict=True) if not quiet}) < 2:
        values = [(row.signals or {}).get("top_score", 0.0) for row in rows]
        by = "top_score" if len(set(values)) > 1 else "nothing"
    return Ranked(by, tuple(SILENT if quiet else value for value, quiet in zip(values, silent, strict=True)), right)


def selective(own: Ranked, baseline: Ranked | None = None) -> dict[str, Any]:
    """AURC and selective accuracy at `COVERAGES`, each with its interval; with a baseline also paired differences."""
    if not own.right:
        return {"by": own.by, "aurc": None, "selective_accuracy": {}, "differences": {}}
    measured = quality(own.confidences, own.right, probabilities=False).to_dict()
    document = {"by": own.by, **{name: measured[name] for name in ("aurc", "selective_accuracy")}}
    return document | {"differences": {} if baseline is None else _differences(own, baseline)}


def _differences(own: Ranked, baseline: Ranked) -> dict[str, Any]:
    builds: dict[str, Any] = {"aurc": aurc_statistic}
    builds |= {f"accuracy at {c:g}": partial(selective_statistic, coverage=c) for c in COVERAGES}
    return {name: _difference(build, own, baseline) for name, build in builds.items()}


def _difference(build: Any, own: Ranked, baseline: Ranked) -> dict[str, Any]:
    ours: Statistic = build(own.confidences, own.right)
    theirs: Statistic = build(baseline.confidences, baseline.right)
    ids = [str(number) for number in range(len(own.right))]
    return clustered_interval(lambda weights: ours(weights) - theirs(weights), ids, resamples=1000).to_dict()
