"""AUROC, thresholds, precision: hand-counted cases, a second implementation, and the edges."""

import math
from typing import Any

import pytest

from reflective_rag.optimizers.ranking_metrics import (
    accuracy_interval,
    auroc,
    auroc_interval,
    best_threshold,
    precision_interval,
    precision_recall,
    wilson,
)
from reflective_rag.signatures.errors import ConfigError, ContractError


@pytest.mark.parametrize(
    ("scores", "labels", "expected"),
    [
        pytest.param([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], 1.0, id="apart"),
        pytest.param([0.9, 0.8, 0.2, 0.1], [0, 0, 1, 1], 0.0, id="upside-down"),
        pytest.param([0.5, 0.5, 0.5, 0.5], [0, 1, 0, 1], 0.5, id="all-tied"),
        pytest.param([1, 0, 1, 0], [1, 1, 0, 0], 0.5, id="binary-at-chance"),
        pytest.param([1, 1, 0, 0, 0], [1, 1, 1, 0, 0], 5 / 6, id="binary-with-ties"),
        pytest.param([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], 0.75, id="one-pair-of-four-wrong"),
        pytest.param([0.1, 0.2], [1, 1], None, id="one-class"),
        pytest.param([], [], None, id="empty"),
    ],
)
def test_auroc_counts_pairs(scores: list[float], labels: list[int], expected: float | None) -> None:
    """It is the share of (true, false) pairs in the right order, ties counting one half."""
    found = auroc(scores, [bool(label) for label in labels])
    assert found == (None if expected is None else pytest.approx(expected))


def test_auroc_agrees_with_scipy() -> None:
    """It is the Mann-Whitney U of scipy over the number of pairs, with many ties."""
    import numpy as np

    stats = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(3)
    for _ in range(20):
        scores = generator.integers(0, 6, 50).astype(float)
        labels = generator.random(50) < 0.4
        u = stats.mannwhitneyu(scores[labels], scores[~labels]).statistic
        assert auroc(scores.tolist(), labels.tolist()) == pytest.approx(u / (labels.sum() * (~labels).sum()))


def test_repeating_every_case_of_a_question_does_not_narrow_the_interval() -> None:
    """Questions are resampled, not cases: copies bring no information."""
    scores, labels = [0.9, 0.4, 0.7, 0.6, 0.3, 0.1, 0.8, 0.2], [True, False] * 4
    clusters = [f"q{i // 2}" for i in range(8)]
    once = auroc_interval(scores, labels, clusters)
    thrice = auroc_interval(scores * 3, labels * 3, clusters * 3)
    assert (once.low, once.high) == pytest.approx((thrice.low, thrice.high))
    assert (once.n, thrice.n) == (8, 24)


def test_intervals_hold_the_figure_and_repeat_with_the_seed() -> None:
    """Low ≤ figure ≤ high, and the same seed gives the same ends."""
    scores, labels = [i / 20 for i in range(20)], [i % 3 > 0 for i in range(20)]
    clusters = [f"q{i}" for i in range(20)]
    for interval in (
        auroc_interval(scores, labels, clusters),
        accuracy_interval(scores, labels, clusters, 0.4),
        precision_interval(scores, labels, clusters, 0.4),
    ):
        assert interval.mean is not None
        assert interval.low is not None
        assert interval.high is not None
        assert interval.low <= interval.mean <= interval.high
    assert auroc_interval(scores, labels, clusters, seed=1) == auroc_interval(scores, labels, clusters, seed=1)


@pytest.mark.parametrize(
    ("clusters", "n", "has_mean"),
    [pytest.param([], 0, False, id="no-cases"), pytest.param(["q", "q"], 2, True, id="one-question")],
)
def test_one_question_has_no_spread(clusters: list[str], n: int, has_mean: bool) -> None:
    """Without two questions there is no interval, and without cases no figure either."""
    scores, labels = [0.2, 0.7][:n], [False, True][:n]
    found = auroc_interval(scores, labels, clusters)
    assert (found.mean is not None, found.low, found.high, found.n) == (has_mean, None, None, n)


@pytest.mark.parametrize(
    ("scores", "labels", "value", "accuracy"),
    [
        pytest.param([0.1, 0.3, 0.7, 0.9], [0, 0, 1, 1], 0.5, 1.0, id="halfway"),
        pytest.param([0.0, 0.0, 1.0, 1.0], [0, 1, 1, 1], 0.5, 5 / 6, id="binary"),
        pytest.param([0.1, 0.2, 0.8, 0.9, 0.95], [0, 1, 0, 1, 1], 0.85, 5 / 6, id="one-side-wrong"),
    ],
)
def test_the_best_threshold_balances_both_classes(
    scores: list[float], labels: list[int], value: float, accuracy: float
) -> None:
    """It maximises the mean of both recalls, halfway between scores."""
    found = best_threshold(scores, [bool(label) for label in labels])
    assert found is not None
    assert [found.value, found.accuracy] == pytest.approx([value, accuracy])


def test_a_useless_score_gets_a_threshold_at_chance() -> None:
    """Where everything scores alike, half the balanced accuracy is all there is."""
    found = best_threshold([0.5] * 6, [True, False] * 3)
    assert found is not None
    assert found.accuracy == 0.5
    assert best_threshold([0.5, 0.6], [True, True]) is None


def test_precision_and_recall_at_a_threshold() -> None:
    """A score at the threshold counts as called; without calls there is no precision."""
    scores, labels = [0.9, 0.5, 0.5, 0.1], [True, False, True, True]
    found = precision_recall(scores, labels, 0.5)
    assert [found.precision, found.recall] == pytest.approx([2 / 3, 2 / 3])
    assert (found.called, found.true) == (3, 3)
    none = precision_recall(scores, labels, 1.5)
    assert (none.precision, none.recall, none.called) == (None, 0.0, 0)
    assert precision_interval(scores, labels, ["a", "b", "c", "d"], 1.5).mean is None


def test_a_perfect_share_keeps_a_doubt() -> None:
    """Wilson's interval of 10 of 10 reaches down to .722; resampling would have said 1 to 1."""
    scores, labels, clusters = [1.0] * 10, [True] * 10, [f"q{i}" for i in range(10)]
    for found in (
        precision_interval(scores, labels, clusters, 0.5),
        accuracy_interval(scores, labels, clusters, 0.5),
    ):
        assert [found.mean, found.low, found.high] == pytest.approx([1.0, 0.7225, 1.0], abs=1e-4)
    assert wilson(0.5, 20) == pytest.approx((0.2993, 0.7007), abs=1e-4)


@pytest.mark.parametrize(
    ("scores", "labels", "clusters"),
    [
        pytest.param([0.1], [True, False], ["a"], id="lengths"),
        pytest.param([0.1], [True], ["a", "b"], id="clusters"),
        pytest.param([math.nan], [True], ["a"], id="nan"),
        pytest.param([math.inf], [True], ["a"], id="infinite"),
        pytest.param(["x"], [True], ["a"], id="text"),
    ],
)
def test_scores_that_cannot_be_ranked_are_refused(scores: Any, labels: Any, clusters: Any) -> None:
    """A wrong length or a score without an order is a caller's mistake, named as such."""
    with pytest.raises(ContractError, match="scores"):
        auroc_interval(scores, labels, clusters)


@pytest.mark.parametrize("options", [{"resamples": 0}, {"level": 1.0}], ids=["resamples", "level"])
def test_settings_of_the_interval_are_checked(options: dict[str, Any]) -> None:
    """Resamples and level out of range are refused."""
    with pytest.raises(ConfigError, match=next(iter(options))):
        auroc_interval([0.1, 0.2], [True, False], ["a", "b"], **options)
