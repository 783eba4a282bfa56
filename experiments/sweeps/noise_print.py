"""A noise sweep for people: one table a data set and kind, the systems under each figure, the rates side by side."""

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from reflective_rag.experiments.console import print_whole, short

FIGURES = (
    ("accuracy", "accuracy", 2),
    ("f1", "F1", 2),
    ("em", "EM", 2),
    ("containment", "containment", 2),
    ("hallucination", "hallucination rate", 2),
    ("rejection", "rejection rate", 2),
    ("recall", "recall", 2),
    ("redundancy", "redundancy", 2),
    ("retrievals", "retrievals", 1),
    ("tokens", "tokens", 0),
    ("read_tokens", "tokens read", 0),
)
"""Name, label, digits."""
COMPARED = ("accuracy", "f1", "hallucination", "recall", "redundancy")
"""Figures of which the difference to the baseline is printed; JSON has all."""


def noise_table(cells: Sequence[dict[str, Any]], title: str, baseline: str) -> Table:
    """All conditions of one data set and kind. Without a model the size of what was read stands for tokens."""
    table = Table(title=title, title_justify="left", box=SIMPLE, padding=(0, 1))
    table.add_column("", no_wrap=True)
    table.add_column("system", no_wrap=True)
    rates = list(dict.fromkeys(cell["rate"] for cell in cells))
    for rate in rates:
        table.add_column(f"{rate:g}", no_wrap=True)
    systems = list(dict.fromkeys(cell["system"] for cell in cells))
    by_place = {(cell["system"], cell["rate"]): cell for cell in cells}
    idle = "tokens" if not any(cell["tokens"]["mean"] for cell in cells) else "read_tokens"
    for name, label, digits in (figure for figure in FIGURES if figure[0] != idle):
        for number, system in enumerate(systems):
            values = [by_place[system, rate][name] for rate in rates]
            table.add_row("" if number else label, system, *(short(value, digits) for value in values))
        for number, system in enumerate(other for other in systems if other != baseline and name in COMPARED):
            paired = [by_place[system, rate]["differences"].get(name) for rate in rates]
            table.add_row("" if number else f"  − {baseline}", system, *(short(value, digits, "+") for value in paired))
        table.add_section()
    for label in ("failed", "unparsed"):
        if any(cell[label] for cell in cells):
            for system in systems:
                table.add_row(label, system, *(str(by_place[system, rate][label]) for rate in rates))
    return table


def over_data_table(rows: Sequence[dict[str, Any]], baseline: str) -> Table:
    """On how many data sets a system is better or worse than the baseline, and where it is worst."""
    table = Table(title=f"accuracy against {baseline}, by data set", title_justify="left")
    for header in ("noise", "rate", "system", "better", "unclear", "worse", "worst on"):
        table.add_column(header)
    for row in rows:
        worst = f"{row['worst']['data']} {short(row['worst'], 2, '+')}"
        numbers = [str(row[name]) for name in ("better", "unclear", "worse")]
        table.add_row(row["noise"], f"{row['rate']:g}", row["system"], *numbers, worst)
    return table


def show(document: dict[str, Any]) -> None:
    """Print the document of `sweep_noise`."""
    for about in document["questions"]:
        cells = [c for c in document["cells"] if (c["data"], c["noise"]) == (about["data"], about["noise"])]
        if cells:
            left = f", {about['left_out']} left out" if about["left_out"] else ""
            title = f"{about['data']}, {about['noise']} noise, {document['lm']}: {about['n']} questions{left}"
            print_whole(noise_table(cells, title, document["baseline"]))
    if document["over_data"]:
        print_whole(over_data_table(document["over_data"], document["baseline"]))
