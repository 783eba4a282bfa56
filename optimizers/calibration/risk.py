"""Thresholds that keep a wanted risk: conformal risk control, and learn-then-test.

Both take the confidences of labels that the calibration was not fitted on, and hold for questions drawn as these were.
"""

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from reflective_rag.signatures.errors import ConfigError, ContractError

PValue = Literal["binomial", "hoeffding-bentkus"]
GRID = tuple(step / 100 for step in range(100))
"""Thresholds that are tried, fixed before any label is seen."""


@dataclass(frozen=True)
class Threshold:
    """Answer from `value` on. On the labels, `answered` of `n` are, and `wrong` of these are wrong."""

    value: float
    answered: int
    wrong: int
    n: int

    @property
    def coverage(self) -> float:
        """Share that is answered."""
        return self.answered / self.n


@dataclass(frozen=True)
class Feasibility:
    """Whether a risk can be shown at all with so many answered labels, even if none is wrong."""

    ok: bool
    least: int
    """Answered labels that are needed when none is wrong."""
    lowest: float
    """Lowest risk that `n` labels without an error show."""
    message: str


def feasible(n: int, alpha: float, delta: float) -> Feasibility:
    """Whether `n` answered labels can show a selective risk of at most `alpha` with confidence 1 - `delta`.

    Without an error the binomial p-value is (1 - α)ⁿ, so n ≥ ln δ / ln(1 - α): 22 for α = δ = 0.1.

    Raises:
        ConfigError: `alpha` or `delta` is not between 0 and 1, or `n` below 0.
    """
    _check(alpha, delta)
    if n < 0:
        raise ConfigError(f"`n` must be at least 0, got {n!r}")
    least = math.ceil(math.log(delta) / math.log1p(-alpha) - 1e-9)
    lowest = -math.expm1(math.log(delta) / n) if n else 1.0
    ok = n >= least
    message = (
        f"a risk of {alpha:.2g} at confidence {1 - delta:.2g} needs at least {least} answered labels without an error"
        + ("" if ok else f"; {n} labels show no risk below {_up(lowest)}, even if all are right")
    )
    return Feasibility(ok, least, lowest, message)


def risk_control(confidences: Sequence[float | None], wrong: Sequence[bool], alpha: float) -> Threshold | None:
    """Conformal risk control of P(answered and wrong): E[loss of a new question] ≤ α (Angelopoulos et al. 2024, ICLR).

    The loss 1{confidence ≥ λ and wrong} falls as λ rises and is at most 1, so the least λ with
    (errors(λ) + 1) / (n + 1) ≤ α will do. It is rounded up to the next confidence that occurs, which only lowers the
    loss.

    Args:
        confidences: Of every question; None where there is no answer, which is never a loss.
        wrong: Whether the answer was wrong.

    Returns:
        The threshold; None where not even the surest answers can be given (α below 1 / (n + 1), at best).

    Raises:
        ConfigError: `alpha` is not between 0 and 1.
        ContractError: Lengths differ, or a confidence is not finite.
    """
    _check(alpha)
    given = _given(confidences, wrong)
    n = len(confidences)
    allowed = math.floor(alpha * (n + 1) - 1 + 1e-9)
    if allowed < 0 or not given:
        return None
    errors = sorted((sure for sure, bad in given if bad), reverse=True)
    if len(errors) <= allowed:
        return Threshold(0.0, len(given), len(errors), n)
    above = errors[allowed]  # this error, and its equals, must not be answered
    kept = [(sure, bad) for sure, bad in given if sure > above]
    if not kept:
        return None
    return Threshold(min(sure for sure, _ in kept), len(kept), sum(bad for _, bad in kept), n)


def learn_then_test(
    confidences: Sequence[float],
    wrong: Sequence[bool],
    alpha: float,
    delta: float,
    sequence: Sequence[float] = GRID[::-1],
    *,
    p_value: PValue = "binomial",
) -> Threshold | None:
    """A threshold from which on the share of wrong answers is at most α, with probability 1 - δ over the labels.

    Learn-then-test (Angelopoulos et al. 2021, arXiv 2110.01052) with fixed-sequence testing: the hypotheses "the risk
    from this threshold on exceeds α" are tested one after the other at level δ, up to the first that is not rejected;
    so the chance of any false rejection is at most δ. The share of wrong answers need not fall as the threshold rises,
    so the sequence may begin anywhere, but it must not have been chosen on these labels: see `sequence_to_test`.

    Args:
        p_value: `binomial` is exact, as a label is right or wrong; `hoeffding-bentkus` holds for any loss in 0..1.

    Returns:
        The threshold of the widest coverage among those rejected; None where the first is not.

    Raises:
        ConfigError: `alpha` or `delta` is not between 0 and 1.
        ContractError: Lengths differ, or a confidence is not finite.
    """
    _check(alpha, delta)
    sure, errors = _counted(_given(confidences, wrong))
    passed = []
    for threshold in sequence:
        answered = _count(sure, threshold)
        if not answered or _p(errors[answered], answered, alpha, p_value) > delta:
            break
        passed.append(Threshold(threshold, answered, errors[answered], len(sure)))
    return max(passed, key=lambda each: (each.answered, -each.value)) if passed else None


def sequence_to_test(
    confidences: Sequence[float], wrong: Sequence[bool], alpha: float, delta: float, n: int
) -> tuple[float, ...]:
    """The order in which thresholds are tested, learned on other labels than those of the test.

    It begins where `n` labels like these would reject most clearly, and goes down from there, to ever wider coverage.
    (From the top down it would end at once: almost nothing is answered there, so nothing can be shown.)
    """
    sure, errors = _counted(_given(confidences, wrong))
    scale = n / max(1, len(sure))

    def expected(threshold: float) -> tuple[float, float]:
        answered = _count(sure, threshold)
        return _p(math.ceil(errors[answered] * scale), max(1, round(answered * scale)), alpha, "binomial"), threshold

    start = min(GRID, key=expected)
    return tuple(threshold for threshold in reversed(GRID) if threshold <= start)


def binomial_p(errors: int, n: int, alpha: float) -> float:
    """P(at most `errors` of `n`) where each is an error with probability α: exact for "the risk exceeds α"."""
    if errors >= n:
        return 1.0
    odds = math.log(alpha) - math.log1p(-alpha)
    term = n * math.log1p(-alpha)
    total = 0.0
    for k in range(errors + 1):
        total += math.exp(term)
        term += odds + math.log((n - k) / (k + 1))
    return min(1.0, total)


def hoeffding_bentkus_p(risk: float, n: int, alpha: float) -> float:
    """The same for the mean `risk` of n losses in 0..1 (Bates et al. 2021, arXiv 2101.02703, proposition 5)."""
    low = min(risk, alpha)
    divergence = _part(low, alpha) + _part(1 - low, 1 - alpha)
    return min(1.0, math.exp(-n * divergence), math.e * binomial_p(math.ceil(n * risk - 1e-9), n, alpha))


def _part(a: float, b: float) -> float:
    return a * math.log(a / b) if a > 0 else 0.0


@lru_cache(maxsize=100_000)
def _p(errors: int, n: int, alpha: float, kind: PValue) -> float:
    return binomial_p(errors, n, alpha) if kind == "binomial" else hoeffding_bentkus_p(errors / n, n, alpha)


def _counted(given: Sequence[tuple[float, bool]]) -> tuple[list[float], list[int]]:
    """Confidences, negated so that they rise, the surest first; and the errors among the first 0, 1, 2, … of them."""
    ordered = sorted(given, reverse=True)
    return [-sure for sure, _ in ordered], [0, *itertools.accumulate(int(bad) for _, bad in ordered)]


def _count(negated: Sequence[float], threshold: float) -> int:
    """How many confidences reach the threshold."""
    return bisect_right(negated, -threshold)


def _up(risk: float) -> str:
    """Rounded up to whole hundredths: never lower than what holds."""
    return f"{math.ceil(risk * 100 - 1e-9) / 100:.2f}"


def _check(alpha: float, delta: float = 0.5) -> None:
    for name, value in (("alpha", alpha), ("delta", delta)):
        if not 0 < value < 1:
            raise ConfigError(f"`{name}` must lie between 0 and 1, such as 0.1, got {value!r}")


def _given(confidences: Sequence[float | None], wrong: Sequence[bool]) -> list[tuple[float, bool]]:
    """Confidence and label of the answers."""
    if len(confidences) != len(wrong):
        raise ContractError(f"expected one confidence a label, got {len(confidences)} and {len(wrong)}")
    given = [(float(sure), bool(bad)) for sure, bad in zip(confidences, wrong, strict=True) if sure is not None]
    if bad := [sure for sure, _ in given if not math.isfinite(sure)]:
        raise ContractError(f"a confidence must be a finite number, got {bad[0]!r}")
    return given
