"""Intervals: the bootstrap against a second implementation, its edges, and the paired difference."""

import math
from typing import Any

import pytest

from reflective_rag.optimizers.statistics import Interval, bootstrap_mean, paired_difference
from reflective_rag.signatures.errors import ConfigError, ContractError

SCORES = [0.0, 0.1, 0.25, 0.4, 0.5, 0.5, 0.8, 1.0, 1.0, 1.0]


def ends(interval: Interval) -> tuple[float, float]:
    """Both ends of an interval that is defined."""
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def test_the_interval_agrees_with_scipy() -> None:
    """Mean and percentile interval agree with scipy.stats.bootstrap up to the noise of resampling."""
    import numpy as np

    stats = pytest.importorskip("scipy.stats")
    ours = bootstrap_mean(SCORES, resamples=5000)
    theirs = stats.bootstrap(
        (SCORES,), np.mean, n_resamples=5000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    assert ours.mean == pytest.approx(np.mean(SCORES))
    assert ours.low == pytest.approx(theirs.low, abs=0.02)
    assert ours.high == pytest.approx(theirs.high, abs=0.02)
    assert ours.n == 10


def test_the_same_seed_gives_the_same_interval() -> None:
    """The resampling depends on its seed alone (0 is a seed) and leaves numpy's global generator untouched."""
    import numpy as np

    np.random.seed(3)
    expected = np.random.random()
    np.random.seed(3)
    assert bootstrap_mean(SCORES, seed=0) == bootstrap_mean(SCORES)
    assert bootstrap_mean(SCORES, seed=0) != bootstrap_mean(SCORES, seed=1)
    assert np.random.random() == expected


def test_a_higher_level_gives_a_wider_interval() -> None:
    """99 % encloses 95 %, which encloses 50 %."""
    half, most, nearly_all = (ends(bootstrap_mean(SCORES, level=level)) for level in (0.5, 0.95, 0.99))
    assert nearly_all[0] <= most[0] <= half[0] < half[1] <= most[1] <= nearly_all[1]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], Interval(None, None, None, 0)),
        ([0.4], Interval(0.4, None, None, 1)),
        ([1.0, 1.0, 1.0], Interval(1.0, 1.0, 1.0, 3)),
        ([True, True], Interval(1.0, 1.0, 1.0, 2)),
    ],
    ids=["none", "one", "no spread", "bools"],
)
def test_edges_are_not_defined_rather_than_zero(values: list[float], expected: Interval) -> None:
    """No value has no mean, one value has no interval, equal values have an interval of no width."""
    assert bootstrap_mean(values) == expected


def test_numpy_values_are_numbers() -> None:
    """Scores of an array, single precision too, works like Python floats."""
    import numpy as np

    assert bootstrap_mean(list(np.array([0.5, 0.5], dtype=np.float32))) == Interval(0.5, 0.5, 0.5, 2)


def test_an_interval_becomes_json() -> None:
    """The four parts under their names, None for what is not defined."""
    assert bootstrap_mean([0.5]).to_dict() == {"mean": 0.5, "low": None, "high": None, "n": 1}


@pytest.mark.parametrize("value", [None, "0.5", math.nan, math.inf], ids=["none", "text", "nan", "infinite"])
def test_values_that_are_no_numbers_are_refused(value: Any) -> None:
    """An unscored question must be left out by the caller; it is neither 0 nor NaN."""
    with pytest.raises(ContractError, match=r"`values\[1\]` must be a finite number"):
        bootstrap_mean([0.5, value])


@pytest.mark.parametrize("setting", [{"resamples": 0}, {"level": 0.0}, {"level": 1.0}, {"level": 95}], ids=str)
def test_settings_out_of_range_are_refused(setting: dict[str, Any]) -> None:
    """A level in percent or no resamples is a ConfigError that names the setting."""
    with pytest.raises(ConfigError, match=f"`{next(iter(setting))}` must"):
        bootstrap_mean(SCORES, **setting)


def test_pairing_finds_a_small_steady_difference() -> None:
    """A constant gain of .1 is certain when paired, though the two systems' own intervals overlap widely."""
    better = [score + 0.1 for score in SCORES]
    difference = paired_difference(better, SCORES)
    assert difference.mean == pytest.approx(0.1)
    assert difference.low == pytest.approx(0.1)
    assert ends(bootstrap_mean(SCORES))[1] > ends(bootstrap_mean(better))[0]


def test_swapping_the_systems_turns_the_sign() -> None:
    """The mean of a − b is the opposite of b − a, ends included."""
    other = [0.5, *SCORES[1:5], *[0.2] * 5]
    forth, back = paired_difference(SCORES, other), paired_difference(other, SCORES)
    low, high = ends(back)
    assert ends(forth) == pytest.approx((-high, -low))


def test_unequal_lengths_are_refused() -> None:
    """Systems scored on different questions cannot be paired."""
    with pytest.raises(ContractError, match="got 10 and 9 values"):
        paired_difference(SCORES, SCORES[1:])
