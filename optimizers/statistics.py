"""Means with intervals: a mean never travels alone."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from reflective_rag.signatures.errors import ConfigError, ContractError

_AT_ONCE = 200_000
"""Numbers drawn at once while resampling."""


@dataclass(frozen=True)
class Interval:
    """A mean of `n` values and its confidence interval, in the unit of the values.

    `mean` is None without values; `low` and `high` are None below two values: one value says nothing about spread.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int

    def to_dict(self) -> dict[str, float | None]:
        """`mean`, `low`, `high` and `n` for JSON."""
        return asdict(self)


def bootstrap_mean(values: Sequence[float], *, seed: int = 0, resamples: int = 2000, level: float = 0.95) -> Interval:
    """Mean with its percentile bootstrap interval (Efron and Tibshirani 1993, ch. 13). Same arguments, same interval.

    Args:
        values: One finite number a question; bools count as 0 and 1. Leave out what does not apply instead of None.
        seed: Of the resampling; numpy's own generator, nothing global.
        resamples: At least 1; 2000 make the ends of a 95 % interval steady to about a hundredth of a 0..1 score.
        level: Confidence, between 0 and 1.

    Raises:
        ConfigError: `resamples` or `level` out of range.
        ContractError: A value is not a finite number.
    """
    import numpy as np

    if resamples < 1:
        raise ConfigError(f"`resamples` must be at least 1, got {resamples!r}.")
    if not 0 < level < 1:
        raise ConfigError(f"`level` must lie between 0 and 1, for example 0.95, got {level!r}.")
    numbers: tuple[type, ...] = (int, float, np.number, np.bool_)
    for index, value in enumerate(values):
        if not (isinstance(value, numbers) and math.isfinite(value)):
            raise ContractError(f"`values[{index}]` must be a finite number, got {value!r}.")
    sample = np.asarray(values, dtype=float)
    if sample.size < 2:
        return Interval(float(sample[0]) if sample.size else None, None, None, sample.size)
    generator = np.random.default_rng(seed)
    # Some at a time: all at once would need resamples × n numbers of memory.
    chunk = max(1, _AT_ONCE // sample.size)
    sizes = [min(chunk, resamples - start) for start in range(0, resamples, chunk)]
    means = [sample[generator.integers(0, sample.size, (size, sample.size))].mean(axis=1) for size in sizes]
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(sample.mean()), float(low), float(high), sample.size)


def paired_difference(
    a: Sequence[float], b: Sequence[float], *, seed: int = 0, resamples: int = 2000, level: float = 0.95
) -> Interval:
    """Mean of `a[i] - b[i]` with its bootstrap interval: above 0 means that `a` is better, on the same questions.

    Both hold one value a question in the same order. An interval that excludes 0 is a difference at `level`.

    Raises:
        ContractError: The lengths differ, or a value is not a finite number.
        ConfigError: As in `bootstrap_mean`.
    """
    if len(a) != len(b):
        raise ContractError(
            f"`a` and `b` must hold one value for each of the same questions, got {len(a)} and {len(b)} values."
        )
    return bootstrap_mean(
        [float(x) - float(y) for x, y in zip(a, b, strict=True)], seed=seed, resamples=resamples, level=level
    )
