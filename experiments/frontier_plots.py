"""The frontier of replay tuning: quality against what it costs, with the rule the program had and the one chosen."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reflective_rag.experiments.plotting import error_bars, new_figure, save_figure


def save_frontier(report: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw a report of the strategy `controls` into `folder`, which exists; the files, none for a single point."""
    points = report.get("frontier") or []
    return [] if len(points) < 2 else save_figure(frontier_figure(report), folder / "frontier")


def frontier_figure(report: Mapping[str, Any]) -> Any:
    """The picture: every point with its interval, the chosen rule marked."""
    points = report["frontier"]
    x = points[0]["x"]
    figure = new_figure(7, 4.5)
    axes = figure.add_subplot()
    title = f"{report['rules']:,} stopping rules replayed on {report['n']} questions"
    axes.set(title=title, xlabel=f"{x} a question", ylabel="quality")
    axes.grid(alpha=0.3)
    means, spread = error_bars([point["quality"] for point in points])
    costs = [point[x] for point in points]
    axes.errorbar(costs, means, yerr=spread, marker="o", markersize=3, capsize=2, linewidth=1, label="frontier")
    chosen = f"chosen (λ {report['lam']:g}, μ {report['mu']:g})"
    axes.plot([report[x]["mean"]], [report["quality"]["mean"]], "*", markersize=13, label=chosen)
    before = report["before"]
    axes.plot([before[x]], [before["quality"]], "s", markersize=6, label="before")
    axes.set_xlim(left=0)
    axes.legend(loc="lower right", fontsize=8)
    return figure


def frontier_rows(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The frontier as rows of a table: cost, quality with its interval, and every setting in a column of its own."""
    return [_row(point) for point in report.get("frontier") or []]


def _row(point: Mapping[str, Any]) -> dict[str, Any]:
    quality, controls = point["quality"], dict(point["controls"])
    weights = {f"weight_{name}": value for name, value in controls.pop("weights").items()}
    named: Sequence[str] = ("tokens", "retrievals", "costed")
    ends = {"quality": quality["mean"], "quality_low": quality["low"], "quality_high": quality["high"]}
    return {**{name: point[name] for name in named}, **ends, **controls, **weights}
