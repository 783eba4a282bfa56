"""How well a critic's scores tell true cases from false ones: AUROC, a tuned threshold, accuracy, precision, recall.

Cases of one question are not independent, so intervals resample questions, not cases (cluster bootstrap: Davison and
Hinkley 1997, section 3.8).
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from reflective_rag.optimizers.statistics import Interval
from reflective_rag.signatures.errors import ConfigError, ContractError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

Statistic = Callable[["Numbers"], "Numbers"]
"""Weights of the cases (how often each was drawn), a row a resample → the figure of each; NaN where there is none."""

_CHUNK = 250
"""Resamples at once: all together would need resamples × cases numbers of memory."""


@dataclass(frozen=True)
class Threshold:
    """A score at or above `value` counts as true. `accuracy` is the balanced accuracy where it was tuned, 0..1."""

    value: float
    accuracy: float


@dataclass(frozen=True)
class PrecisionRecall:
    """Of the cases called true, the share that are (`precision`); of the true ones, the share found (`recall`).

    None where nothing was called true, or nothing is. `called` and `true` are these numbers of cases.
    """

    precision: float | None
    recall: float | None
    called: int
    true: int


def auroc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """Probability that a true case scores above a false one, ties counting one half; None without cases of both kinds.

    The Mann-Whitney U statistic over n₁·n₀, equal to the area under the ROC curve (Hanley and McNeil 1982).

    Raises:
        ContractError: Lengths differ, or a score is not a finite number.
    """
    import numpy as np

    _check(scores, labels)
    if not len(scores):
        return None
    value = float(auroc_statistic(scores, labels)(np.ones((1, len(scores))))[0])
    return None if math.isnan(value) else value


def auroc_interval(
    scores: Sequence[float],
    labels: Sequence[bool],
    clusters: Sequence[str],
    *,
    seed: int = 0,
    resamples: int = 2000,
    level: float = 0.95,
) -> Interval:
    """`auroc` with its interval; `clusters[i]` is the question of case i. `n` counts cases.

    Raises:
        ContractError: As in `auroc`.
        ConfigError: `resamples` below 1, `level` not between 0 and 1.
    """
    _check(scores, labels, clusters)
    return clustered_interval(auroc_statistic(scores, labels), clusters, seed=seed, resamples=resamples, level=level)


def best_threshold(scores: Sequence[float], labels: Sequence[bool]) -> Threshold | None:
    """The threshold of the best balanced accuracy (mean of the two classes' recalls); None without cases of both kinds.

    It lies halfway between two neighbouring scores; of several as good, between the two that are furthest apart. Where
    nothing beats chance it is above or below every score.

    Raises:
        ContractError: As in `auroc`.
    """
    _check(scores, labels)
    true = sum(map(bool, labels))
    false = len(labels) - true
    if not true or not false:
        return None
    values = sorted(set(map(float, scores)))
    # The outer ones call everything true, or nothing.
    candidates = [(values[0] - 1.0, 0.0), (values[-1] + 1.0, 0.0)]
    candidates += [((a + b) / 2, b - a) for a, b in itertools.pairwise(values)]
    rated = []
    for value, gap in candidates:
        hits = sum(bool(label) for score, label in zip(scores, labels, strict=True) if score >= value)
        calls = sum(score >= value for score in scores)
        rated.append(((hits / true + 1 - (calls - hits) / false) / 2, gap, value))
    accuracy, _, value = max(rated)
    return Threshold(value, accuracy)


def accuracy_interval(
    scores: Sequence[float],
    labels: Sequence[bool],
    clusters: Sequence[str],
    threshold: float,
    *,
    seed: int = 0,
    resamples: int = 2000,
    level: float = 0.95,
) -> Interval:
    """Share of the cases on the right side of `threshold`, with its interval. Raises as `auroc_interval`.

    Where all cases are right, or none is, resampling shows no spread; the interval is then Wilson's over the questions.
    """
    import numpy as np

    _check(scores, labels, clusters)
    right = np.asarray([(score >= threshold) == bool(label) for score, label in zip(scores, labels, strict=True)])

    def share(weights: "Numbers") -> "Numbers":
        return np.asarray(weights @ right / weights.sum(axis=1))

    found = clustered_interval(share, clusters, seed=seed, resamples=resamples, level=level)
    if found.mean in (0.0, 1.0) and found.low is not None:
        return Interval(found.mean, *wilson(found.mean, len(set(clusters)), level), found.n)
    return found


def precision_interval(
    scores: Sequence[float],
    labels: Sequence[bool],
    clusters: Sequence[str],
    threshold: float,
    *,
    level: float = 0.95,
) -> Interval:
    """Share of the cases at or above `threshold` that are true, with its interval; `n` counts the cases called true.

    Wilson's score interval (1927) over the questions among these, as if each had one case: few are called, and a
    bootstrap of a share of 1 knows no doubt. Raises as `auroc_interval`.
    """
    _check(scores, labels, clusters)
    called = [(bool(label), c) for score, label, c in zip(scores, labels, clusters, strict=True) if score >= threshold]
    if not called:
        return Interval(None, None, None, 0)
    share = sum(label for label, _ in called) / len(called)
    return Interval(share, *wilson(share, len({cluster for _, cluster in called}), level), len(called))


def wilson(share: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share over `n` independent cases (at least 1).

    Raises:
        ConfigError: `level` not between 0 and 1.
    """
    _check_level(level)
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def precision_recall(scores: Sequence[float], labels: Sequence[bool], threshold: float) -> PrecisionRecall:
    """Precision and recall of the cases at or above `threshold`. Raises as `auroc`."""
    _check(scores, labels)
    called = [bool(label) for score, label in zip(scores, labels, strict=True) if score >= threshold]
    hits, true = sum(called), sum(map(bool, labels))
    return PrecisionRecall(
        precision=hits / len(called) if called else None,
        recall=hits / true if true else None,
        called=len(called),
        true=true,
    )


def auroc_statistic(scores: Sequence[float], labels: Sequence[bool]) -> Statistic:
    """AUROC as a function of case weights, linear in the number of cases: the bootstrap asks for thousands."""
    import numpy as np

    values = np.asarray(scores, dtype=float)
    order = np.argsort(values, kind="stable")
    # Where each group of equal scores begins.
    starts = np.flatnonzero(np.r_[True, np.diff(values[order]) > 0])
    truth = np.asarray([bool(label) for label in labels], dtype=float)[order]

    def area(weights: "Numbers") -> "Numbers":
        drawn = weights[:, order]
        true = np.add.reduceat(drawn * truth, starts, axis=1)
        false = np.add.reduceat(drawn * (1 - truth), starts, axis=1)
        below = np.cumsum(false, axis=1) - false
        pairs = true.sum(axis=1) * false.sum(axis=1)
        won = (true * (below + false / 2)).sum(axis=1)
        figures: Numbers = np.divide(won, pairs, out=np.full(won.shape, np.nan), where=pairs > 0)
        return figures

    return area


def clustered_interval(
    statistic: Statistic, clusters: Sequence[str], *, seed: int = 0, resamples: int = 2000, level: float = 0.95
) -> Interval:
    """A figure with its percentile interval over resampled clusters; resamples without such a figure are left out.

    Raises:
        ConfigError: `resamples` below 1, `level` not between 0 and 1.
    """
    import numpy as np

    if resamples < 1:
        raise ConfigError(f"`resamples` must be at least 1, got {resamples!r}.")
    _check_level(level)
    if not clusters:
        return Interval(None, None, None, 0)
    names, member = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    mean = float(statistic(np.ones((1, len(clusters))))[0])
    if math.isnan(mean):
        return Interval(None, None, None, len(clusters))
    if names.size < 2:
        return Interval(mean, None, None, len(clusters))
    generator = np.random.default_rng(seed)
    even = np.full(names.size, 1 / names.size)
    drawn = []
    for first in range(0, resamples, _CHUNK):
        times = generator.multinomial(names.size, even, size=min(_CHUNK, resamples - first))
        drawn.append(statistic(times[:, member].astype(float)))
    found = np.concatenate(drawn)
    found = found[~np.isnan(found)]
    if not found.size:
        return Interval(mean, None, None, len(clusters))
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Interval(mean, float(low), float(high), len(clusters))


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ConfigError(f"`level` must lie between 0 and 1, for example 0.95, got {level!r}.")


def _check(scores: Sequence[Any], *others: Sequence[Any]) -> None:
    for other in others:
        if len(other) != len(scores):
            raise ContractError(
                "`scores`, `labels` and `clusters` must hold one entry a case, "
                f"got {len(scores)} scores and {len(other)} of another."
            )
    for index, score in enumerate(scores):
        if isinstance(score, str) or not math.isfinite(score):
            raise ContractError(f"`scores[{index}]` must be a finite number, got {score!r}.")
