"""Quality, retrievals, tokens and abstentions over θ: one picture a data set."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reflective_rag.experiments.plotting import error_bars, new_figure, save_figure
from reflective_rag.experiments.tracking_values import file_name

SHOWN = (
    ("score", "quality"),
    ("retrievals", "retrievals a question"),
    ("tokens", "tokens a question"),
    ("abstained", "share abstained"),
)


def save_threshold_plots(cells: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """Draw every data set into `folder`, which exists; the files that were written. Presets are not drawn."""
    written: list[Path] = []
    for data in dict.fromkeys(cell["data"] for cell in cells):
        mine = [cell for cell in cells if cell["data"] == data and cell["differences"]]
        figure = threshold_figure(mine, f"{data}, n = {mine[0]['n']}")
        written += save_figure(figure, folder / file_name(f"threshold-{data.replace('/', '_')}"))
    return written


def threshold_figure(cells: Sequence[dict[str, Any]], title: str) -> Any:
    """The picture of one data set."""
    figure = new_figure(9, 7)
    figure.suptitle(title)
    for place, (name, label) in enumerate(SHOWN, 1):
        axes = figure.add_subplot(2, 2, place)
        axes.set(xlabel="θ", ylabel=label)
        axes.grid(alpha=0.3)
        means, spread = error_bars([cell[name] for cell in cells])
        axes.errorbar([cell["theta"] for cell in cells], means, yerr=spread, marker="o", markersize=3, capsize=2)
        axes.set_ylim(bottom=0)
    return figure
