"""The noise curves: one picture a data set and kind, four figures against the share of noise."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reflective_rag.experiments.plotting import error_bars, new_figure, save_figure
from reflective_rag.experiments.tracking_values import file_name

SHOWN = (
    ("accuracy", "accuracy"),
    ("hallucination", "hallucination rate (wrong, not abstained)"),
    ("rejection", "rejection rate"),
    ("recall", "recall of supporting passages"),
)


def save_noise_plots(cells: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """Draw every data set and kind into `folder`, which exists; the files that were written."""
    written: list[Path] = []
    for data, noise in dict.fromkeys((cell["data"], cell["noise"]) for cell in cells):
        mine = [cell for cell in cells if (cell["data"], cell["noise"]) == (data, noise)]
        stem = file_name(f"noise-{data.replace('/', '_')}-{noise}")
        written += save_figure(noise_figure(mine, f"{data}, {noise} noise, n = {mine[0]['n']}"), folder / stem)
    return written


def noise_figure(cells: Sequence[dict[str, Any]], title: str) -> Any:
    """The picture of one data set and kind of noise."""
    figure = new_figure(9, 7)
    figure.suptitle(title)
    systems = list(dict.fromkeys(cell["system"] for cell in cells))
    for place, (name, label) in enumerate(SHOWN, 1):
        axes = figure.add_subplot(2, 2, place)
        axes.set(xlabel="share of noise in every search", ylabel=label, xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        axes.grid(alpha=0.3)
        for number, system in enumerate(systems):
            told = [cell for cell in cells if cell["system"] == system and cell[name]["mean"] is not None]
            # A little apart, so that intervals at one rate do not hide each other.
            rates = [cell["rate"] + 0.008 * (number - (len(systems) - 1) / 2) for cell in told]
            means, spread = error_bars([cell[name] for cell in told])
            axes.errorbar(rates, means, yerr=spread, marker="o", markersize=3, capsize=2, linewidth=1.2, label=system)
    figure.axes[0].legend(fontsize=8)
    return figure
