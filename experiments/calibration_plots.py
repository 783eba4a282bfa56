"""Two plots of a calibration, each as PNG and SVG: reliability, and risk against coverage."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reflective_rag.experiments.plotting import error_bars, new_figure, save_figure
from reflective_rag.optimizers.calibration.curves import reliability, risk_coverage
from reflective_rag.optimizers.calibration.report import Report


def save_plots(report: Report, folder: Path) -> list[Path]:
    """Draw both into `folder`, which exists; the files that were written."""
    right = [case.right for case in report.cases]
    before = [(case.signals or {})["confidence"] for case in report.cases]
    top = [(case.signals or {})["top_score"] for case in report.cases]
    probabilities = {"calibrated (held out)": report.held_out, "before": before}
    curves = {**probabilities, "top retrieval score": top}
    return [
        *save_figure(_reliability(probabilities, right), folder / "reliability"),
        *save_figure(_risk_coverage(curves, right), folder / "risk_coverage"),
    ]


def _axes(title: str, x: str, y: str) -> tuple[Any, Any]:
    figure = new_figure()
    axes = figure.add_subplot()
    axes.set(title=title, xlabel=x, ylabel=y, xlim=(0, 1), ylim=(0, 1))
    axes.grid(alpha=0.3)
    return figure, axes


def _reliability(series: dict[str, Sequence[float]], right: Sequence[bool]) -> Any:
    figure, axes = _axes(f"Reliability, {len(right)} answers", "confidence (bins of equal mass)", "share right")
    axes.plot([0, 1], [0, 1], color="grey", linestyle="--", linewidth=1, label="as it should be")
    for name, values in series.items():
        rows = reliability(values, right)
        x = [row["confidence"] for row in rows]
        y, spread = error_bars([{"mean": row["right"], "low": row["low"], "high": row["high"]} for row in rows])
        axes.errorbar(x, y, yerr=spread, marker="o", markersize=4, capsize=2, linewidth=1, label=name)
    axes.legend(loc="upper left", fontsize=8)
    return figure


def _risk_coverage(series: dict[str, Sequence[float]], right: Sequence[bool]) -> Any:
    figure, axes = _axes(f"Risk and coverage, {len(right)} answers", "coverage of the answers", "share wrong")
    for name, values in series.items():
        points = risk_coverage(values, right)
        axes.plot([c for c, _ in points], [r for _, r in points], linewidth=1.5, label=name)
    axes.axhline(1 - sum(right) / len(right), color="grey", linestyle="--", linewidth=1, label="all answered")
    axes.legend(loc="upper left", fontsize=8)
    return figure
