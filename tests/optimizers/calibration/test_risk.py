"""Thresholds that keep a risk: by hand, and in a world whose true risk is known."""

import math

import pytest

from reflective_rag.optimizers.calibration import feasible, learn_then_test, risk_control
from reflective_rag.optimizers.calibration.risk import binomial_p, hoeffding_bentkus_p, sequence_to_test
from reflective_rag.signatures.errors import ConfigError, ContractError

RESAMPLES = 1000


def test_the_least_number_of_labels() -> None:
    """α = δ = .1 needs 22 answered labels without an error: .9²² = .098 ≤ .1 < .9²¹ = .109."""
    assert feasible(22, 0.1, 0.1).ok
    assert not feasible(21, 0.1, 0.1).ok
    assert feasible(0, 0.1, 0.1).least == 22
    assert feasible(100, 0.05, 0.1).least == 45
    assert feasible(60, 0.05, 0.1).lowest == pytest.approx(1 - 0.1 ** (1 / 60))
    assert "needs at least 22 answered labels" in feasible(10, 0.1, 0.1).message


@pytest.mark.parametrize(
    ("errors", "n", "alpha", "expected"),
    [
        pytest.param(0, 22, 0.1, 0.9**22, id="none wrong"),
        pytest.param(1, 10, 0.2, 0.8**10 + 10 * 0.2 * 0.8**9, id="one wrong"),
        pytest.param(3, 3, 0.2, 1.0, id="all wrong"),
        pytest.param(0, 5000, 0.5, 0.0, id="far away"),
    ],
)
def test_binomial_p_by_hand(errors: int, n: int, alpha: float, expected: float) -> None:
    """The chance of so few errors where the risk is α."""
    assert binomial_p(errors, n, alpha) == pytest.approx(expected, abs=1e-12)


def test_hoeffding_bentkus_is_never_below_the_exact_value() -> None:
    """It holds for any bounded loss, so it is wider than the binomial for a loss of 0 or 1."""
    for errors in range(8):
        assert hoeffding_bentkus_p(errors / 40, 40, 0.2) >= binomial_p(errors, 40, 0.2)
    assert hoeffding_bentkus_p(0.0, 40, 0.2) == pytest.approx(math.exp(-40 * math.log(1 / 0.8)))


def test_risk_control_by_hand() -> None:
    """With 9 questions and α = .3, two errors may be answered: (2 + 1) / 10 = .3; the third surest error ends it."""
    sure = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    wrong = [False, True, False, True, False, True, False, True, False]
    found = risk_control(sure, wrong, 0.3)
    assert found is not None
    assert (found.value, found.answered, found.wrong, found.n) == (0.5, 5, 2, 9)
    assert risk_control(sure, wrong, 0.09) is None
    everything = risk_control(sure, wrong, 0.5)
    assert everything is not None
    assert (everything.value, everything.answered) == (0.0, 9)


def test_questions_without_an_answer_are_no_loss() -> None:
    """An abstention counts among the questions, and is never wrong."""
    found = risk_control([0.9, None, None, 0.4], [False, False, False, True], 0.2)
    assert found is not None
    assert (found.value, found.answered, found.n) == (0.9, 1, 4)


def test_equal_confidences_are_answered_together_or_not_at_all() -> None:
    """A threshold cannot cut through a tie."""
    found = risk_control([0.9, 0.5, 0.5, 0.5], [False, True, False, False], 0.2)
    assert found is not None
    assert (found.value, found.answered) == (0.9, 1)


def test_learn_then_test_by_hand() -> None:
    """30 right answers from .8 on show a risk of .1; the next step adds wrong ones and is not rejected."""
    sure = [0.9] * 30 + [0.5] * 30
    wrong = [False] * 30 + [True] * 10 + [False] * 20
    found = learn_then_test(sure, wrong, 0.1, 0.1, (0.9, 0.8, 0.5, 0.0))
    assert found is not None
    assert (found.value, found.answered, found.wrong) == (0.8, 30, 0)
    assert learn_then_test(sure, wrong, 0.1, 0.1, (0.5, 0.9)) is None
    assert learn_then_test(sure, wrong, 0.05, 0.1) is None


def uniform(generator, n):
    """Confidences over 0..1 that are the chance of being right."""
    import numpy as np

    sure = generator.random(n)
    return sure, np.asarray(generator.random(n) >= sure)


def test_the_selective_guarantee_holds_in_a_known_world() -> None:
    """Of 1,000 sets of labels, at most a share δ gives a threshold from which the true risk, (1 - t) / 2, exceeds α."""
    import numpy as np

    alpha, delta, n = 0.1, 0.1, 300
    generator = np.random.default_rng(0)
    sure, wrong = uniform(generator, n)
    sequence = sequence_to_test(sure.tolist(), wrong.tolist(), alpha, delta, n)
    broken = found = 0
    for _ in range(RESAMPLES):
        sure, wrong = uniform(generator, n)
        if chosen := learn_then_test(sure.tolist(), wrong.tolist(), alpha, delta, sequence):
            found += 1
            broken += (1 - chosen.value) / 2 > alpha
    assert broken <= delta * RESAMPLES
    assert found > 0.2 * RESAMPLES


def test_the_selective_guarantee_holds_where_the_ranking_misleads() -> None:
    """Also where the surest answers are the worst, so that the risk is not monotone in the threshold."""
    import numpy as np

    alpha, delta, n = 0.3, 0.1, 200
    generator = np.random.default_rng(1)
    broken = 0
    for _ in range(RESAMPLES):
        sure = generator.random(n)
        wrong = generator.random(n) < np.where(sure > 0.8, 0.6, 0.25)  # true risk from t = .5 on: .39, from 0 on: .32
        broken += learn_then_test(sure.tolist(), wrong.tolist(), alpha, delta, (0.6, 0.4, 0.2, 0.0)) is not None
    assert broken <= delta * RESAMPLES


@pytest.mark.parametrize(("alpha", "n"), [(0.1, 60), (0.05, 200), (0.2, 30)])
def test_the_joint_guarantee_holds_in_a_known_world(alpha: float, n: int) -> None:
    """Over 1,000 sets of labels the true P(answered and wrong), (1 - t)² / 2, is α at most on average, and near it."""
    import numpy as np

    generator = np.random.default_rng(2)
    risks = []
    for _ in range(RESAMPLES):
        sure, wrong = uniform(generator, n)
        chosen = risk_control(sure.tolist(), wrong.tolist(), alpha)
        risks.append((1 - chosen.value) ** 2 / 2 if chosen else 0.0)
    mean, error = float(np.mean(risks)), float(np.std(risks) / RESAMPLES**0.5)
    assert mean <= alpha + 2 * error
    assert mean >= alpha / 2


def test_the_sequence_begins_where_a_risk_can_be_shown_and_widens() -> None:
    """Not at the very top, where nothing is answered; and it never turns back."""
    sure = [n / 200 for n in range(200)]
    sequence = sequence_to_test(sure, [s < 0.5 for s in sure], 0.1, 0.1, 200)
    assert list(sequence) == sorted(sequence, reverse=True)
    assert 0.4 <= sequence[0] <= 0.6
    assert sequence[-1] == 0.0


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 2.0, math.nan])
def test_a_risk_out_of_range_is_refused(alpha: float) -> None:
    """A risk lies between 0 and 1."""
    with pytest.raises(ConfigError, match="alpha"):
        risk_control([0.5], [True], alpha)
    with pytest.raises(ConfigError, match="alpha"):
        feasible(10, alpha, 0.1)


def test_bad_labels_are_refused() -> None:
    """Lengths that differ, and a confidence that is no number."""
    with pytest.raises(ContractError, match="one confidence a label"):
        learn_then_test([0.5], [], 0.1, 0.1)
    with pytest.raises(ContractError, match="finite"):
        risk_control([math.nan], [True], 0.1)


@pytest.mark.parametrize("wrong", [True, False], ids=["all wrong", "all right"])
def test_extremes(wrong: bool) -> None:
    """All right: everything is answered; all wrong: nothing is, at any risk worth the name."""
    sure = [n / 50 for n in range(50)]
    both = (risk_control(sure, [wrong] * 50, 0.1), learn_then_test(sure, [wrong] * 50, 0.1, 0.1, (0.3, 0.1, 0.0)))
    if wrong:
        assert both[1] is None
        assert both[0] is None or both[0].answered <= 5
    else:
        assert [each and each.answered for each in both] == [50, 50]
