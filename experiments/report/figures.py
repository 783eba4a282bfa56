"""The plots of a report, as SVG elements."""

from collections.abc import Mapping, Sequence
from typing import Any

from reflective_rag.experiments.comparison_report import risk_coverage_figure
from reflective_rag.experiments.plotting import error_bars, inline_svg, new_figure
from reflective_rag.experiments.sweeps.noise_plots import noise_figure
from reflective_rag.experiments.sweeps.threshold_plots import threshold_figure

SCORES = (
    ("f1", "F1"),
    ("containment", "containment"),
    ("recall", "recall"),
    ("unsupported", "claims unsupported"),
    ("citation_precision", "citation precision"),
    ("citation_recall", "citation recall"),
)


def system_plots(systems: Sequence[Mapping[str, Any]], n: int, name: str) -> list[str]:
    """Scores with their intervals, and risk over coverage."""
    drawn = [_scores(systems)]
    if all(each["selective"].get("curve") for each in systems):
        drawn.append(risk_coverage_figure(systems, n))
    return [inline_svg(figure, f"{name}p{number}") for number, figure in enumerate(drawn)]


def noise_plots(cells: Sequence[dict[str, Any]], name: str) -> list[str]:
    """One plot a data set and kind of noise."""
    found = []
    for number, (data, noise) in enumerate(dict.fromkeys((cell["data"], cell["noise"]) for cell in cells)):
        mine = [cell for cell in cells if (cell["data"], cell["noise"]) == (data, noise)]
        found.append(inline_svg(noise_figure(mine, f"{data}, {noise} noise, n = {mine[0]['n']}"), f"{name}n{number}"))
    return found


def threshold_plots(cells: Sequence[dict[str, Any]], name: str) -> list[str]:
    """One plot a data set; presets are not drawn."""
    found = []
    for number, data in enumerate(dict.fromkeys(cell["data"] for cell in cells)):
        mine = [cell for cell in cells if cell["data"] == data and cell["differences"]]
        if mine:
            found.append(inline_svg(threshold_figure(mine, f"{data}, n = {mine[0]['n']}"), f"{name}t{number}"))
    return found


def _scores(systems: Sequence[Mapping[str, Any]]) -> Any:
    names = [(name, label) for name, label in SCORES if any(each[name]["mean"] is not None for each in systems)]
    figure = new_figure(7.5, 1 + 0.45 * len(names) + 0.12 * len(names) * len(systems))
    axes = figure.add_subplot()
    for number, each in enumerate(systems):
        told = [(place, each[name]) for place, (name, _) in enumerate(names) if each[name]["mean"] is not None]
        apart = 0.14 * (number - (len(systems) - 1) / 2)
        means, spread = error_bars([value for _, value in told])
        places = [place + apart for place, _ in told]
        axes.errorbar(means, places, xerr=spread, fmt="o", markersize=4, capsize=2, label=each["system"])
    axes.set_yticks(range(len(names)), [label for _, label in names])
    axes.set(xlim=(-0.02, 1.02), ylim=(len(names) - 0.5, -0.5))
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=8)
    return figure
