"""Fitting a calibration, measuring it, and thresholds that keep a wanted risk.

The result is a `reflective_rag.programs.calibration.Calibration`, which needs none of this to be used.
"""

from reflective_rag.optimizers.calibration.baselines import baselines
from reflective_rag.optimizers.calibration.cases import Case, Labelled, collect
from reflective_rag.optimizers.calibration.curves import reliability, risk_coverage
from reflective_rag.optimizers.calibration.fit import cross_fit, fit
from reflective_rag.optimizers.calibration.measures import Quality, quality
from reflective_rag.optimizers.calibration.report import Report, calibrate
from reflective_rag.optimizers.calibration.risk import feasible, learn_then_test, risk_control

__all__ = [
    "Case",
    "Labelled",
    "Quality",
    "Report",
    "baselines",
    "calibrate",
    "collect",
    "cross_fit",
    "feasible",
    "fit",
    "learn_then_test",
    "quality",
    "reliability",
    "risk_control",
    "risk_coverage",
]
