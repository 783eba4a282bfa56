"""One calibration from labelled cases: fitted, measured on held-out folds against baselines, with its thresholds."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self, get_args

from reflective_rag.optimizers.calibration.baselines import baselines
from reflective_rag.optimizers.calibration.cases import Case, Labelled, check, halves
from reflective_rag.optimizers.calibration.fit import cross_fit, fit
from reflective_rag.optimizers.calibration.measures import MEASURES, Quality, difference, quality
from reflective_rag.optimizers.calibration.thresholds import thresholds
from reflective_rag.programs.calibration import Calibration, Kind, RiskRule
from reflective_rag.programs.signals import DIMENSIONS, SIGNALS
from reflective_rag.signatures.errors import ConfigError, DataError

RISKS = (0.05, 0.1, 0.2)
"""Risks for which thresholds are looked for unless others are asked for."""


@dataclass(frozen=True)
class Report:
    """A calibration and what speaks for it. `held_out[i]` is the cross-fitted confidence of `cases[i]`."""

    calibration: Calibration
    cases: tuple[Case, ...]
    """The answered ones."""
    held_out: tuple[float, ...]
    after: Quality
    baselines: dict[str, Quality]
    """`confidence` is what was there before."""
    differences: dict[str, Any]
    """Measure → after minus before, paired, with its interval."""
    ablation: dict[str, Any]
    """Dimension → measure → a fit without that dimension's signals minus one with all; empty where not asked for."""
    labelled: Labelled

    def with_calibration(self, calibration: Calibration) -> Self:
        """The same report on a calibration that says what it holds for."""
        return replace(self, calibration=calibration)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        answered = len(self.cases)
        return {
            "n": len(self.labelled.cases) + self.labelled.failed + self.labelled.outages,
            "failed": self.labelled.failed,
            "outages": self.labelled.outages,
            "abstained": len(self.labelled.cases) - answered,
            "answered": answered,
            "right": sum(case.right for case in self.cases),
            "before": self.baselines["confidence"].to_dict(),
            "after": self.after.to_dict(),
            "differences": self.differences,
            "baselines": {name: each.to_dict() for name, each in self.baselines.items()},
            "ablation": self.ablation,
            "risks": [each.model_dump(mode="json") for each in self.calibration.risks],
        }


def check_wanted(method: str, risks: Sequence[float], delta: float, rules: Sequence[str]) -> Kind:
    """The kind of calibration that is meant, before anything is spent.

    Raises:
        ConfigError: Unknown method or rule, or a risk or δ that is not between 0 and 1.
    """
    for name, value in (("delta", delta), *(("risk", risk) for risk in risks)):
        if not 0 < value < 1:
            raise ConfigError(f"`{name}` must lie between 0 and 1, such as 0.1, got {value!r}")
    known = get_args(RiskRule)
    if not rules or not set(rules) <= set(known):
        got = ", ".join(map(repr, rules)) or "none"
        raise ConfigError(f"`abstain_rule` must be one or more of {', '.join(map(repr, known))}, got {got}")
    kinds: tuple[Kind, ...] = get_args(Kind)
    for kind in kinds:
        if kind == method:
            return kind
    raise ConfigError(f"`method` must be one of {', '.join(map(repr, kinds))}, got {method!r}")


def calibrate(
    labelled: Labelled,
    method: str = "logistic",
    *,
    risks: Sequence[float] = RISKS,
    delta: float = 0.1,
    rules: Sequence[str] = get_args(RiskRule),
    features: Sequence[str] | None = None,
    ablate: bool = False,
    seed: int = 0,
) -> Report:
    """Fit on one half of the cases and find thresholds on the other; measure by cross-fitting over all of them.

    The thresholds need labels that the fit has not seen, so the calibration itself knows one half only. The measures
    are of calibrations fitted on four fifths, each on the fifth that it has not seen.

    Raises:
        DataError: Too few right or wrong answers, or signals that are missing or no numbers.
        ConfigError: An argument is unknown or out of range.
    """
    kind = check_wanted(method, risks, delta, rules)
    cases = labelled.answered
    check(cases)
    right = [case.right for case in cases]
    first, second = halves(labelled.cases, seed=seed)
    fitted = fit([case for case in first if case.answered], kind, features, seed=seed)
    risk_thresholds = thresholds(
        fitted, first, second, kind, risks=risks, delta=delta, rules=rules, features=features, seed=seed
    )
    held = cross_fit(cases, kind, features, seed=seed)
    after = quality(held, right, seed=seed)
    plain = baselines(cases, seed=seed)
    before = list(plain["confidence"].values)
    return Report(
        calibration=fitted.model_copy(update={"scores": after.to_dict(), "risks": risk_thresholds}),
        cases=cases,
        held_out=tuple(held),
        after=after,
        baselines={n: quality(b.values, right, probabilities=b.probabilities, seed=seed) for n, b in plain.items()},
        differences={name: difference(name, held, before, right, seed=seed).to_dict() for name in MEASURES},
        ablation=_ablation(cases, kind, features or SIGNALS, seed) if ablate else {},
        labelled=labelled,
    )


def _ablation(cases: Sequence[Case], kind: Kind, features: Iterable[str], seed: int) -> dict[str, Any]:
    """What each dimension adds: the same fit without its signals. Only a fit over several signals can be ablated."""
    if kind == "isotonic":
        return {}
    right = [case.right for case in cases]
    every = list(features)
    whole = cross_fit(cases, kind, every, seed=seed)
    found: dict[str, Any] = {}
    for dimension in DIMENSIONS:
        left = [name for name in every if name not in (dimension, f"{dimension}_known")]
        with suppress(DataError):  # nothing that varies is left
            without = cross_fit(cases, kind, left, seed=seed)
            found[dimension] = {
                name: difference(name, without, whole, right, seed=seed).to_dict() for name in ("auroc", "brier")
            }
    return found
