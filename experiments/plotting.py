"""Figures without a display, saved as PNG and SVG, or as an SVG element that a page holds."""

import io
import re
import warnings
from pathlib import Path
from typing import Any


def new_figure(width: float = 5.5, height: float = 4.5) -> Any:
    """An empty figure of that many inches. Without pyplot: no global state, no display, safe in threads."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, stem: Path) -> list[Path]:
    """Write `stem`.png and `stem`.svg; the same figure gives the same files."""
    from matplotlib import rc_context

    written = [stem.with_name(f"{stem.name}.png"), stem.with_name(f"{stem.name}.svg")]
    with rc_context({"svg.hashsalt": "reflective-rag"}):
        figure.savefig(written[0], dpi=150, metadata={"Software": None})
        figure.savefig(written[1], metadata={"Date": None})
    return written


def error_bars(values: list[dict[str, Any]]) -> tuple[list[float], list[list[float]]]:
    """Means, and how far their intervals reach below and above, of {mean, low, high} that have a mean."""
    means = [value["mean"] for value in values]
    # Never below 0, which matplotlib refuses: an interval may end a rounding error before its mean.
    below = [max(0.0, value["mean"] - value["low"]) if value["low"] is not None else 0.0 for value in values]
    above = [max(0.0, value["high"] - value["mean"]) if value["high"] is not None else 0.0 for value in values]
    return means, [below, above]


def inline_svg(figure: Any, name: str) -> str:
    """The figure as an `<svg>` element for a page: text stays text, black follows the page's colour, nothing outside.

    Args:
        name: Letters and digits; makes its ids differ from those of other figures in the page.
    """
    from matplotlib import rc_context
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a name may hold dollar signs
    buffer = io.StringIO()
    about = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the browser has it
        figure.savefig(buffer, format="svg", transparent=True, metadata=about)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    return svg.replace("#000000", "currentColor").replace("#ffffff", "var(--page)").strip()
