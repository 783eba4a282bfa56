"""A threshold sweep for people: one table a data set, one row a value of θ or a preset."""

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from reflective_rag.experiments.console import counts, print_whole, short


def threshold_table(cells: Sequence[dict[str, Any]], document: dict[str, Any]) -> Table:
    """The cells of one data set."""
    title = f"{cells[0]['data']}, {document['program']} ({document['lm']}), {cells[0]['n']} questions"
    title += f"; its own θ is {document['theta']:g}"
    table = Table(title=title, title_justify="left", box=SIMPLE)
    headers = ("θ", "rounds ≤", document["quality"], "− own θ", "retrievals", "tokens", "abstained", "stopped")
    for header in headers:
        table.add_column(header, no_wrap=True)
    for cell in cells:
        name = cell["rule"] if cell["differences"] else f"{cell['rule']} ({cell['theta']:g})"
        figures = [short(cell["score"], 2), short(cell["differences"].get("score"), 2, "+")]
        figures += [short(cell["retrievals"], 2), short(cell["tokens"], 0), short(cell["abstained"], 2)]
        table.add_row(name, str(cell["max_rounds"]), *figures, counts(cell["stop_reasons"]))
    return table


def show(document: dict[str, Any]) -> None:
    """Print the document of `sweep_threshold`."""
    for data in dict.fromkeys(cell["data"] for cell in document["cells"]):
        print_whole(threshold_table([cell for cell in document["cells"] if cell["data"] == data], document))
