"""`reflective-rag bench`: what our code costs on top of the model, as ratios measured in one run."""

from typing import Annotated, Any, Literal

import typer

from reflective_rag.experiments import options


def command(
    what: Annotated[
        Literal["loop"], typer.Argument(help="`loop`: imports, overhead, side-by-side calls, throughput.")
    ] = "loop",
    repeats: Annotated[int, typer.Option(min=3, help="Measurements of each figure; medians are reported.")] = 9,
    json: options.Json = False,
) -> None:
    """Measure the loop against bare DSPy on a model of known latency. Needs a quiet machine; asks no real model."""
    from reflective_rag.experiments.bench.loop import run
    from reflective_rag.experiments.bench.machine import facts
    from reflective_rag.experiments.console import only_results, print_json

    with only_results():
        rows = run(repeats)
    report = {"bench": what, "machine": facts(), "rows": rows}
    if json:
        print_json(report)
    else:
        _print(report)


def _print(report: dict[str, Any]) -> None:
    from rich.table import Table

    from reflective_rag.experiments.console import out

    table = Table("measurement", "ours s", "bare s", "ratio", "range", "target", "met", "n")
    for row in report["rows"]:
        table.add_row(
            row["name"],
            f"{row['ours_seconds']:.4f}",
            f"{row['bare_seconds']:.4f}",
            f"{row['ratio']:.2f}",
            f"{row['lowest']:.2f}-{row['highest']:.2f}",
            row["target"],
            "yes" if row["met"] else "NO",
            str(row["n"]),
        )
    out.print(table)
    out.print(", ".join(f"{key} {value}" for key, value in report["machine"].items()), style="dim")
