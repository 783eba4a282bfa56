"""Measures of a confidence: values worked out by hand, and identities of the field."""

import math
import random

import pytest

from reflective_rag.optimizers.calibration import quality, reliability, risk_coverage
from reflective_rag.optimizers.calibration.measures import MEASURES, difference
from reflective_rag.signatures.errors import ContractError

# Confidences with the surest first: right, right, wrong, right, wrong.
SURE = [0.9, 0.8, 0.7, 0.6, 0.5]
RIGHT = [True, True, False, True, False]


def value(name: str, confidences: list[float], right: list[bool]) -> float:
    """A measure without its interval."""
    import numpy as np

    return float(MEASURES[name](confidences, right)(np.ones((1, len(right))))[0])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("brier", (0.01 + 0.04 + 0.49 + 0.16 + 0.25) / 5, id="brier"),
        pytest.param("ece", (0.1 + 0.2 + 0.7 + 0.4 + 0.5) / 5, id="ece, one case a bin"),
        pytest.param("auroc", 5 / 6, id="auroc"),
        pytest.param("aurc", (0 + 0 + 1 / 3 + 1 / 4 + 2 / 5) / 5, id="aurc"),
        pytest.param("augrc", (0.5 + 1 + 1.5) / 25, id="augrc"),
    ],
)
def test_values_by_hand(name: str, expected: float) -> None:
    """Each measure over five answers."""
    assert value(name, SURE, RIGHT) == pytest.approx(expected)


def test_ece_with_several_cases_a_bin() -> None:
    """Ten bins over twenty cases hold two each: |.85 - 1/2| in one, and so on."""
    confidences = [0.9] * 10 + [0.3] * 10
    right = [True] * 8 + [False] * 2 + [True] * 4 + [False] * 6
    assert value("ece", confidences, right) == pytest.approx((abs(0.9 - 0.8) + abs(0.3 - 0.4)) / 2)


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_the_order_of_the_cases_says_nothing(name: str) -> None:
    """Ties are kept together: shuffling the cases changes no measure."""
    draw = random.Random(1)
    cases = [(draw.choice([0.2, 0.5, 0.9]), draw.random() < 0.5) for _ in range(30)]
    found = set()
    for _ in range(5):
        draw.shuffle(cases)
        found.add(round(value(name, [c for c, _ in cases], [r for _, r in cases]), 9))
    assert len(found) == 1


def test_a_constant_confidence() -> None:
    """It ranks nothing (AUROC one half, AURC the error rate), and is calibrated where it is the share right."""
    confidences, right = [0.6] * 5, RIGHT
    assert value("auroc", confidences, right) == 0.5
    assert value("aurc", confidences, right) == pytest.approx(0.4)
    assert value("ece", confidences, right) == pytest.approx(0)
    ((coverage, risk),) = risk_coverage(confidences, right)
    assert (coverage, risk) == pytest.approx((1.0, 0.4))


@pytest.mark.parametrize("seed", range(3))
def test_augrc_follows_from_auroc_and_accuracy(seed: int) -> None:
    """AUGRC = (1 - AUROC) · acc · (1 - acc) + (1 - acc)² / 2 (Traub et al. 2024, eq. 6), ties included."""
    draw = random.Random(seed)
    confidences = [round(draw.random(), 1) for _ in range(50)]
    right = [draw.random() < c for c in confidences]
    accuracy = sum(right) / 50
    expected = (1 - value("auroc", confidences, right)) * accuracy * (1 - accuracy) + (1 - accuracy) ** 2 / 2
    assert value("augrc", confidences, right) == pytest.approx(expected)


def test_risk_coverage_by_hand() -> None:
    """The curve's points: (1/5, 0), (2/5, 0), (3/5, 1/3), (4/5, 1/4), (1, 2/5)."""
    points = risk_coverage(SURE, RIGHT)
    assert [c for c, _ in points] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert [r for _, r in points] == pytest.approx([0, 0, 1 / 3, 1 / 4, 2 / 5])


def test_selective_accuracy_by_hand() -> None:
    """Of the surest 4 of 5, 3 are right; of the surest 2.5, half a case of the third (wrong) counts."""
    selective = quality(SURE, RIGHT).selective
    assert selective[0.8].mean == pytest.approx(3 / 4)
    assert selective[0.5].mean == pytest.approx(2 / 2.5)


def test_intervals_hold_the_value_and_are_reproducible() -> None:
    """The same seed gives the same interval, around the value."""
    draw = random.Random(3)
    confidences = [draw.random() for _ in range(80)]
    right = [draw.random() < c for c in confidences]
    first, second = quality(confidences, right, seed=5), quality(confidences, right, seed=5)
    assert first == second
    for interval in (first.auroc, first.aurc, first.augrc, first.brier, *first.selective.values()):
        assert interval is not None
        assert interval.mean is not None
        assert interval.low is not None
        assert interval.high is not None
        assert interval.low <= interval.mean <= interval.high
        assert interval.n == 80


def test_a_weight_counts_as_that_many_cases() -> None:
    """What the bootstrap draws twice weighs as if it stood there twice."""
    import numpy as np

    for measure in MEASURES.values():
        drawn = measure(SURE, RIGHT)(np.asarray([[2.0, 1.0, 1.0, 2.0, 1.0]]))[0]
        twice = measure([0.9, *SURE, 0.6], [True, *RIGHT, True])(np.ones((1, 7)))[0]
        assert drawn == pytest.approx(twice)


def test_a_difference_is_paired() -> None:
    """A confidence against itself differs by nothing, in every resample."""
    same = difference("brier", SURE, SURE, RIGHT)
    assert (same.mean, same.low, same.high) == (0.0, 0.0, 0.0)
    better = difference("brier", [float(r) for r in RIGHT], SURE, RIGHT)
    assert better.mean == pytest.approx(-0.19)


def test_reliability_bins_hold_every_case_once() -> None:
    """Bins of equal mass, each with the share right and its interval."""
    rows = reliability([n / 100 for n in range(100)], [n % 2 == 0 for n in range(100)])
    assert [row["n"] for row in rows] == [10] * 10
    assert all(row["low"] <= row["right"] == 0.5 <= row["high"] for row in rows)


@pytest.mark.parametrize(
    ("confidences", "right"),
    [
        pytest.param([], [], id="none"),
        pytest.param([0.5], [True, False], id="lengths"),
        pytest.param([math.nan, 0.2], [True, False], id="NaN"),
    ],
)
def test_bad_input_is_one_error(confidences: list[float], right: list[bool]) -> None:
    """No cases, lengths that differ and numbers that are none are refused."""
    with pytest.raises(ContractError):
        quality(confidences, right)


@pytest.mark.parametrize("label", [True, False], ids=["all right", "all wrong"])
def test_one_label_only(label: bool) -> None:
    """AUROC does not exist then; risk, ECE and Brier do."""
    found = quality([0.2, 0.6, 0.9], [label] * 3)
    assert found.auroc.mean is None
    assert found.aurc.mean == pytest.approx(0.0 if label else 1.0)
    assert found.brier is not None
