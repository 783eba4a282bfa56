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

STRENGTHS = (0.003, 0.03, 0.3, 3.0)
"""Inverse strengths of the L2 penalty that are tried; the signals are standardised, so one scale serves all."""
FOLDS = 5


def fit(cases: Sequence[Case], kind: Kind, features: Sequence[str] | None = None, *, seed: int = 0) -> Calibration:
    """A calibration from answered cases of both labels.

    Args:
        kind: `logistic` regression over the standardised signals, its L2 penalty chosen by cross-validated log loss;
            signals that never vary are left out. `isotonic` regression over one signal, its probabilities kept
            1 / (n + 2) away from 0 and 1 (Laplace), since a step of few answers proves no certainty.
        features: Signals to use. By default all for `logistic`, and for `isotonic` the evidence score, or the program's
            own confidence where it judges no evidence.

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
    return _isotonic(cases, chosen) if kind == "isotonic" else _logistic(cases, chosen, seed)


def cross_fit(
    cases: Sequence[Case], kind: Kind, features: Sequence[str] | None = None, *, folds: int = FOLDS, seed: int = 0
) -> list[float]:
    """For each case, the probability by a calibration that was fitted on the other folds (stratified, seeded).

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


def _logistic(cases: Sequence[Case], features: Sequence[str], seed: int) -> Calibration:
    from sklearn.preprocessing import StandardScaler

    x, y = _matrix(cases, features)
    varying = _varying(x, features)
    scaler = StandardScaler().fit(x[:, varying])
    model = _regression(scaler.transform(x[:, varying]), y, seed)
    return Calibration(
        kind="logistic",
        features=tuple(features[index] for index in varying),
        means=tuple(map(float, scaler.mean_)),
        scales=tuple(map(float, scaler.scale_)),
        coefficients=tuple(map(float, model.coef_[0])),
        intercept=float(model.intercept_[0]),
        n=len(y),
    )


def _regression(x: "Numbers", y: "Numbers", seed: int) -> Any:
    """The model with the penalty of the least log loss on held-out folds; the strongest where there are too few."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    parts = min(FOLDS, int(y.sum()), int(len(y) - y.sum()))
    losses = dict.fromkeys(STRENGTHS, 0.0)
    if parts > 1:
        dealt = np.asarray(deal(list(y), parts, seed=seed))
        for strength in STRENGTHS:
            held = np.empty(len(y))
            for part in range(parts):
                inside = dealt != part
                model = LogisticRegression(C=strength, max_iter=1000).fit(x[inside], y[inside])
                held[~inside] = model.predict_proba(x[~inside])[:, 1]
            losses[strength] = float(log_loss(y, held, labels=[0, 1]))
    best = min(STRENGTHS, key=lambda strength: (losses[strength], strength))
    return LogisticRegression(C=best, max_iter=1000).fit(x, y)


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
