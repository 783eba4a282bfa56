"""A fitted calibration: from the signals of a result to the probability that its answer is right.

It is fitted in `optimizers.calibration`, kept in an artefact's manifest as JSON, and applied here without any library.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from reflective_rag.programs.settings import describe
from reflective_rag.programs.signals import SIGNALS, signals
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Result

__all__ = ["SIGNALS", "Calibration", "Kind", "RiskRule", "RiskThreshold", "read_calibration", "signals"]

Kind = Literal["logistic", "isotonic"]
RiskRule = Literal["selective", "joint"]
"""`selective`: of the answers that are given, the share that is wrong (learn-then-test, with confidence 1 - δ).
`joint`: of all questions, the share that is answered and wrong (conformal risk control, in expectation)."""
RULES: Mapping[RiskRule, str] = {
    "selective": "of the answers that are given, the share that is wrong",
    "joint": "of all questions, the share that is answered and wrong",
}
"""Rule → what it bounds."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class RiskThreshold(_Frozen):
    """Where to stop answering so that a risk is kept, found on labels that the fit has not seen."""

    risk: float = Field(gt=0, lt=1)
    """The risk that is wanted, see `RiskRule`."""
    rule: RiskRule
    delta: float | None = Field(default=None, gt=0, lt=1)
    """For `selective`: the chance that the labels mislead and the risk is higher all the same."""
    method: str = ""
    abstain_below: float | None = Field(default=None, ge=0)
    """Answer from this confidence on; None where the labels do not show that the risk can be kept."""
    coverage: float | None = Field(default=None, ge=0, le=1)
    """Share of the questions that are answered from there on."""
    observed: float | None = Field(default=None, ge=0, le=1)
    """The risk that the labels showed from there on."""
    n: int = Field(ge=0)
    """Labels: answers for `selective`, questions for `joint`."""
    note: str = ""
    """Where it cannot be kept: why, and what could be."""


class Calibration(_Frozen):
    """Turns signals into a probability; holds for the model, program and corpus that it names, and no other."""

    kind: Kind
    features: tuple[str, ...] = Field(min_length=1)
    """Signals that are used, see `SIGNALS`; `isotonic` uses one."""
    means: tuple[float, ...] = ()
    scales: tuple[float, ...] = ()
    coefficients: tuple[float, ...] = ()
    """`logistic`: log-odds = intercept + Σ coefficient · (signal - mean) / scale."""
    intercept: float = 0.0
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    """`isotonic`: probability `y` at signal value `x`, in straight lines between them, flat outside."""
    model: str = ""
    """Name of the language model; empty for rules."""
    program: str = ""
    """Fingerprint of settings, instructions, demos and controls, as `program_digest` gives it."""
    corpus: dict[str, Any] = {}
    """What was searched; it cannot be compared with an app's own `search`."""
    data: dict[str, str] = {}
    """Name → fingerprint of the labelled questions."""
    correct: str = ""
    """What counted as right."""
    n: int = Field(default=0, ge=0)
    """Answers that it was fitted on."""
    scores: dict[str, Any] = {}
    """AUROC, ECE, Brier, AURC, … with intervals, of cross-fitted probabilities."""
    risks: tuple[RiskThreshold, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if unknown := sorted(set(self.features) - SIGNALS.keys()):
            raise ValueError(
                f"unknown signals {', '.join(map(repr, unknown))}; this version knows {', '.join(SIGNALS)}"
            )
        if self.kind == "logistic":
            lengths = {len(self.features), len(self.means), len(self.scales), len(self.coefficients)}
            if len(lengths) > 1 or min(self.scales) <= 0:
                raise ValueError("`logistic` needs a mean, a scale above 0 and a coefficient for each feature")
        elif len(self.features) > 1 or not self.x or len(self.x) != len(self.y) or list(self.x) != sorted(self.x):
            raise ValueError("`isotonic` needs one feature, and as many `y` as rising `x`")
        elif min(self.y) < 0 or max(self.y) > 1:
            raise ValueError("`y` must be probabilities, 0..1")
        return self

    def confidence(self, result: Result) -> float:
        """Probability that the answer is right. Raises `ConfigError` for a result that is calibrated already."""
        return self.probability(signals(result))

    def probability(self, values: Mapping[str, float]) -> float:
        """The same from signals, as `signals` gives them."""
        chosen = [values[name] for name in self.features]
        if self.kind == "isotonic":
            return _interpolated(chosen[0], self.x, self.y)
        parts = zip(chosen, self.means, self.scales, self.coefficients, strict=True)
        return _sigmoid(self.intercept + sum(c * (value - mean) / scale for value, mean, scale, c in parts))

    def threshold(self, risk: Any, rule: RiskRule = "selective") -> RiskThreshold:
        """The threshold for a wanted risk: the one that was found for it, else the nearest for a lower risk.

        Raises:
            ConfigError: The risk is out of range, the rule unknown, no threshold was found for that risk or a lower
                one, or the labels did not allow it.
        """
        check_rule(rule)
        if isinstance(risk, bool) or not isinstance(risk, int | float) or not 0 < risk < 1:
            raise ConfigError(f"`abstain_at_risk` must lie between 0 and 1, such as 0.1, got {risk!r}")
        known = [each for each in self.risks if each.rule == rule]
        fitting = [each for each in known if each.risk <= risk + 1e-12]
        if found := _nearest(fitting):
            return found
        listed = ", ".join(
            f"{each.risk:g}{'' if each.abstain_below is not None else ' (cannot be kept)'}" for each in known
        )
        why = max(fitting, key=lambda each: each.risk).note if fitting else "no threshold was found for a risk that low"
        raise ConfigError(
            f"`abstain_at_risk={risk:g}` cannot be kept: {why}. The calibration has, by rule {rule!r}: "
            f"{listed or 'none'}; `reflective-rag calibrate --risk {risk:g}` with more labels finds others"
            f"{self._by_another_rule(risk, rule)}"
        )

    def _by_another_rule(self, risk: float, rule: RiskRule) -> str:
        """The rule that has a threshold for the risk, for an error about the one that has not."""
        for other, meaning in RULES.items():
            fitting = [each for each in self.risks if each.rule == other and each.risk <= risk + 1e-12]
            if other != rule and _nearest(fitting):
                return f". `abstain_rule={other!r}` can be kept; it bounds another risk: {meaning}"
        return ""


def check_rule(rule: object) -> None:
    """Raise `ConfigError` for what is no `RiskRule`."""
    if rule not in get_args(RiskRule):
        listed = " or ".join(f"{name!r} ({meaning})" for name, meaning in RULES.items())
        raise ConfigError(f"`abstain_rule` must be {listed}, got {rule!r:.80}")


def _nearest(thresholds: Sequence[RiskThreshold]) -> RiskThreshold | None:
    """Of those that can be kept the one of the highest risk."""
    kept = [each for each in thresholds if each.abstain_below is not None]
    return max(kept, key=lambda each: each.risk) if kept else None


def read_calibration(value: Mapping[str, Any]) -> Calibration:
    """A calibration from JSON. Raises `DataError` that names the field when it is damaged or of another version."""
    try:
        return Calibration(**value)
    except ValidationError as error:
        raise DataError(f"the calibration cannot be used: {describe(error, Calibration)}") from None
    except TypeError as error:
        raise DataError(f"the calibration cannot be used: expected a JSON object, got {value!r:.80}") from error


def _sigmoid(z: float) -> float:
    if z >= 0:
        return 1 / (1 + math.exp(-min(z, 700.0)))
    power = math.exp(max(z, -700.0))
    return power / (1 + power)


def _interpolated(value: float, x: tuple[float, ...], y: tuple[float, ...]) -> float:
    right = bisect_right(x, value)
    if right == 0:
        return y[0]
    if right == len(x):
        return y[-1]
    share = (value - x[right - 1]) / (x[right] - x[right - 1])
    return y[right - 1] + share * (y[right] - y[right - 1])
