"""How good confidences are: ranking (AUROC), honesty (ECE, Brier), and selective answering (risk-coverage).

All are functions of how often each case was drawn, so one bootstrap gives every interval. Cases of equal confidence are
kept together: their order says nothing, so a curve runs straight through them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from reflective_rag.optimizers.calibration.curves import BINS, Groups
from reflective_rag.optimizers.ranking_metrics import Statistic, auroc_statistic, clustered_interval
from reflective_rag.optimizers.statistics import Interval
from reflective_rag.signatures.errors import ContractError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

COVERAGES = (0.5, 0.8)
"""Shares of the questions at which selective accuracy is reported."""
RESAMPLES = 1000
Build = Callable[[Sequence[float], Sequence[bool]], Statistic]


@dataclass(frozen=True)
class Quality:
    """The measures of one kind of confidence. Higher is better for AUROC and selective accuracy, lower for the rest."""

    auroc: Interval
    """Probability that a right answer has a higher confidence than a wrong one."""
    aurc: Interval
    """Mean risk over all coverages (Geifman and El-Yaniv 2017)."""
    augrc: Interval
    """Mean over all coverages of P(answered and wrong) (Traub et al. 2024)."""
    selective: dict[float, Interval]
    """Coverage → share right among that share of the questions, the surest first."""
    ece: Interval | None
    """Mean gap between confidence and share right, over bins of equal mass (Nixon et al. 2019); biased upward in small
    samples. None where the values are no probabilities."""
    brier: Interval | None
    """Mean squared difference to 0 or 1 (Brier 1950)."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        names = ("auroc", "aurc", "augrc", "ece", "brier")
        plain = {name: None if (value := getattr(self, name)) is None else value.to_dict() for name in names}
        return plain | {"selective_accuracy": {f"{c:g}": value.to_dict() for c, value in self.selective.items()}}


def brier_statistic(confidences: Sequence[float], right: Sequence[bool]) -> Statistic:
    """Brier score as a function of case weights."""
    import numpy as np

    errors = (np.asarray(confidences, dtype=float) - np.asarray(right, dtype=float)) ** 2
    return lambda weights: np.asarray(weights @ errors / weights.sum(axis=1))


def ece_statistic(confidences: Sequence[float], right: Sequence[bool], bins: int = BINS) -> Statistic:
    """ECE with bins of equal mass: a case falls into the bin of the middle rank of its confidence."""
    import numpy as np

    groups = Groups(confidences, right)
    gap = np.asarray(confidences, dtype=float)[groups.order] - groups.right

    def error(weights: "Numbers") -> "Numbers":
        drawn = weights[:, groups.order]
        mass = np.add.reduceat(drawn, groups.starts, axis=1)
        total = mass.sum(axis=1, keepdims=True)
        middle = (np.cumsum(mass, axis=1) - mass / 2) / total
        gaps = np.add.reduceat(drawn * gap, groups.starts, axis=1)
        place = np.minimum((middle * bins).astype(int), bins - 1)
        sums = [np.abs(np.where(place == number, gaps, 0.0).sum(axis=1)) for number in range(bins)]
        return np.asarray(np.sum(sums, axis=0) / total[:, 0])

    return error


def aurc_statistic(confidences: Sequence[float], right: Sequence[bool]) -> Statistic:
    """Mean of the risk among the i surest, for i from 1 to n; expected over the orders of equal confidences."""
    import numpy as np

    groups = Groups(confidences, right)

    def area(weights: "Numbers") -> "Numbers":
        before, mass, errors_before, errors = groups.surest_first(weights)
        total = round(float(weights.sum(axis=1).max()))
        harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, total + 1))])
        rate = np.divide(errors, mass, out=np.zeros_like(errors), where=mass > 0)
        ends = np.rint(before + mass).astype(int)
        steps = harmonic[ends] - harmonic[np.rint(before).astype(int)]
        return np.asarray(((errors_before - before * rate) * steps + errors).sum(axis=1) / weights.sum(axis=1))

    return area


def augrc_statistic(confidences: Sequence[float], right: Sequence[bool]) -> Statistic:
    """Area under P(answered and wrong) over coverage: (1 - AUROC) · acc · (1 - acc) + (1 - acc)² / 2."""
    groups = Groups(confidences, right)

    def area(weights: "Numbers") -> "Numbers":
        _, mass, errors_before, errors = groups.surest_first(weights)
        total: Numbers = weights.sum(axis=1)
        result: Numbers = (mass * (errors_before + errors / 2)).sum(axis=1) / total**2
        return result

    return area


def selective_statistic(confidences: Sequence[float], right: Sequence[bool], coverage: float) -> Statistic:
    """Share right among the surest `coverage` of the cases."""
    import numpy as np

    groups = Groups(confidences, right)

    def accuracy(weights: "Numbers") -> "Numbers":
        before, mass, _, errors = groups.surest_first(weights)
        wanted = coverage * weights.sum(axis=1, keepdims=True)
        taken = np.clip(wanted - before, 0.0, mass)
        rate = np.divide(errors, mass, out=np.zeros_like(errors), where=mass > 0)
        return np.asarray(1 - (taken * rate).sum(axis=1) / wanted[:, 0])

    return accuracy


MEASURES: dict[str, Build] = {
    "auroc": auroc_statistic,
    "aurc": aurc_statistic,
    "augrc": augrc_statistic,
    "ece": ece_statistic,
    "brier": brier_statistic,
}
"""Name → the measure as a function of case weights."""


def quality(
    confidences: Sequence[float],
    right: Sequence[bool],
    *,
    probabilities: bool = True,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Quality:
    """Every measure with its 95 % bootstrap interval.

    Args:
        probabilities: Whether the values are meant as such, 0..1; else only their order is measured.

    Raises:
        ContractError: Lengths differ, there are none, or a value is not finite.
    """
    if len(confidences) != len(right) or not len(right):
        raise ContractError(f"expected one confidence a label, got {len(confidences)} and {len(right)}")

    def measured(build: Build) -> Interval:
        ids = [str(index) for index in range(len(right))]
        return clustered_interval(build(confidences, right), ids, seed=seed, resamples=resamples)

    return Quality(
        auroc=measured(auroc_statistic),
        aurc=measured(aurc_statistic),
        augrc=measured(augrc_statistic),
        selective={c: measured(partial(selective_statistic, coverage=c)) for c in COVERAGES},
        ece=measured(ece_statistic) if probabilities else None,
        brier=measured(brier_statistic) if probabilities else None,
    )


def difference(
    name: str,
    a: Sequence[float],
    b: Sequence[float],
    right: Sequence[bool],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval:
    """Measure `name` of `a` minus that of `b` on the same questions, with its paired bootstrap interval."""
    first, second = MEASURES[name](a, right), MEASURES[name](b, right)
    ids = [str(index) for index in range(len(right))]
    return clustered_interval(lambda weights: first(weights) - second(weights), ids, seed=seed, resamples=resamples)
