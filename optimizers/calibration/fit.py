"""Fitting a calibration on labelled answers, and probabilities for answers that the fit has not seen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reflective_rag.optimizers.calibration.cases import Case, deal
from reflective_rag.programs.calibration import Calibration, Kind
from reflective_rag.programs.signals import SIGNALS
from reflective_rag.signatures.errors import ConfigError, DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

STRENGTHS = (0.01, 0.1, 1.0)
"""Inverse strengths of the L2 penalty that are tried; the signals are standardised, so one scale serves all."""
OWN = ("confidence", "evidence_score")
"""All that a logistic regression uses where more signals predict held-out answers worse: with few labels they do."""
FOLDS = 5
INNER_FOLDS = 4
"""Those in which signals and penalty are chosen, inside every fold."""


def fit(cases: Sequence[Case], kind: Kind, features: Sequence[str] | None = None, *, seed: int = 0) -> Calibration:
    """A calibration from answered cases of both labels.

    Args:
        kind: `logistic` regression over the standardised signals: all of them, or the program's own two scores alone;
            which, and the L2 penalty, is chosen by cross-validated log loss. Signals that never vary are left out.
            `isotonic` regression over one signal, its probabilities kept 1 / (n + 2) away from 0 and 1 (Laplace),
            since a step of few answers proves no certainty.
        features: Signals to use. By default as said for `logistic`, and for `isotonic` the evidence score, or the
            program's own confidence where it judges no evidence.

    Raises:
        ConfigError: Unknown kind or signal, or several for `isotonic`.
        DataError: All answers are right, or all wrong; or no signal varies.
    """
    labels = {case.right for case in cases if case.answered}
    if len(labels) < 2:
        known = {frozenset({True}): "all are right", frozenset({False}): "all are wrong"}
        raise DataError(
            f"a calibration needs right and wrong answers, and {known.get(frozenset(labels), 'there are none')}"
        )
    chosen = _features(cases, kind, features)
    if kind == "isotonic":
        return _isotonic(cases, chosen)
    return _logistic(cases, [OWN, chosen] if features is None else [chosen], seed)


def cross_fit(
    cases: Sequence[Case], kind: Kind, features: Sequence[str] | None = None, *, folds: int = FOLDS, seed: int = 0
) -> list[float]:
    """For each case, the probability by a calibration that was fitted on the other folds (stratified, seeded).

    Where the signals tell nothing these rank a little below chance: a fold with more right answers leaves fewer to the
    others.

    Raises as `fit`; `DataError` also with fewer than two cases of a label.
    """
    right = sum(case.right for case in cases)
    parts = min(folds, right, len(cases) - right)
    if parts < 2:
        raise DataError(f"cross-fitting needs two right and two wrong answers, got {right} and {len(cases) - right}")
    dealt = deal([case.right for case in cases], parts, seed=seed)
    held = [0.0] * len(cases)
    for part in range(parts):
        fitted = fit([c for c, n in zip(cases, dealt, strict=True) if n != part], kind, features, seed=seed)
        for index, number in enumerate(dealt):
            if number == part:
                held[index] = fitted.probability(cases[index].signals or {})
    return held


def _features(cases: Sequence[Case], kind: Kind, features: Sequence[str] | None) -> list[str]:
    if kind not in ("logistic", "isotonic"):
        raise ConfigError(f"`kind` must be 'logistic' or 'isotonic', got {kind!r}")
    if features is None and kind == "isotonic":
        judged = any((case.signals or {}).get("evidence_known") for case in cases)
        features = ["evidence_score" if judged else "confidence"]
    chosen = list(SIGNALS if features is None else features)
    if unknown := [name for name in chosen if name not in SIGNALS]:
        raise ConfigError(f"unknown signals {', '.join(map(repr, unknown))}; known: {', '.join(SIGNALS)}")
    if kind == "isotonic" and len(chosen) != 1:
        raise ConfigError(f"`isotonic` uses one signal, got {len(chosen)}")
    return chosen


def _matrix(cases: Sequence[Case], features: Sequence[str]) -> tuple["Numbers", "Numbers"]:
    import numpy as np

    rows = [case.signals for case in cases if case.signals is not None]
    x = np.asarray([[row[name] for name in features] for row in rows], dtype=float)
    if not np.isfinite(x).all():
        row, column = np.argwhere(~np.isfinite(x))[0]
        raise DataError(f"signal `{features[column]}` must be a finite number, got {x[row, column]!r}")
    return x, np.asarray([case.right for case in cases if case.answered], dtype=float)


def _varying(x: "Numbers", features: Sequence[str]) -> list[int]:
    varying = [int(index) for index in (x.max(axis=0) > x.min(axis=0)).nonzero()[0]]
    if not varying:
        names = ", ".join(f"`{name}`" for name in features[:3])
        raise DataError(f"nothing to calibrate by: {names}{' …' if len(features) > 3 else ''} never varies")
    return varying


def _logistic(cases: Sequence[Case], candidates: Sequence[Sequence[str]], seed: int) -> Calibration:
    """The signals and the penalty of the least log loss on held-out folds; where there are none, few and strong."""
    from sklearn.preprocessing import StandardScaler

    features = candidates[-1]
    raw, y = _matrix(cases, features)
    varying = set(_varying(raw, features))
    scaler = StandardScaler().fit(raw)
    x = scaler.transform(raw)
    columns = [[i for i in sorted(varying) if features[i] in names] for names in candidates]
    tried = [(strength, chosen) for chosen in columns if chosen for strength in STRENGTHS]
    strength, chosen = min(tried, key=lambda each: (_held_out_loss(x[:, each[1]], y, each[0], seed), len(each[1])))
    model = _regression(x[:, chosen], y, strength)
    return Calibration(
        kind="logistic",
        features=tuple(features[index] for index in chosen),
        means=tuple(float(scaler.mean_[index]) for index in chosen),
        scales=tuple(float(scaler.scale_[index]) for index in chosen),
        coefficients=tuple(map(float, model.coef_[0])),
        intercept=float(model.intercept_[0]),
        n=len(y),
    )


def _regression(x: "Numbers", y: "Numbers", strength: float) -> Any:
    from sklearn import config_context
    from sklearn.linear_model import LogisticRegression

    with config_context(assume_finite=True, skip_parameter_validation=True):  # checked already; half of the time
        return LogisticRegression(C=strength, solver="newton-cholesky", max_iter=1000).fit(x, y)


def _held_out_loss(x: "Numbers", y: "Numbers", strength: float, seed: int) -> float:
    """Mean log loss over stratified folds; 0 where a label has a single case, so that nothing can be held out."""
    import numpy as np

    parts = min(INNER_FOLDS, int(y.sum()), int(len(y) - y.sum()))
    if parts < 2:
        return 0.0
    dealt = np.asarray(deal(list(y), parts, seed=seed))
    total = 0.0
    for part in range(parts):
        inside = dealt != part
        model = _regression(x[inside], y[inside], strength)
        odds = x[~inside] @ model.coef_[0] + model.intercept_[0]
        total += float(np.logaddexp(0.0, np.where(y[~inside] > 0, -odds, odds)).sum())
    return total / len(y)


def _isotonic(cases: Sequence[Case], features: Sequence[str]) -> Calibration:
    from sklearn.isotonic import IsotonicRegression

    x, y = _matrix(cases, features)
    _varying(x, features)
    edge = 1 / (len(y) + 2)
    model = IsotonicRegression(y_min=edge, y_max=1 - edge, out_of_bounds="clip").fit(x[:, 0], y)
    return Calibration(
        kind="isotonic",
        features=tuple(features),
        x=tuple(map(float, model.X_thresholds_)),
        y=tuple(map(float, model.y_thresholds_)),
        n=len(y),
    )
