"""`reflective-rag report`: runs as one HTML page."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from reflective_rag.experiments import options

Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="The page; an earlier one is replaced.")]
Language = Annotated[
    Literal["en", "zh"] | None,
    typer.Option("--lang", help="Of the page's own words.", show_default="that of most questions"),
]
Examples = Annotated[int, typer.Option("--examples", min=0, max=1000, help="Questions shown, the worst first.")]
Split = Annotated[str, typer.Option("--split", metavar="NAME", help="Of the run of a compile: `dev` or `test`.")]


def command(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN_OR_FOLDER...",
            help="A file of `evaluate --rows`, a folder of `compare --out` or `sweep --out`, or an MLflow run's id.",
        ),
    ],
    out: Out = Path("report.html"),
    lang: Language = None,
    examples: Examples = 20,
    split: Split = "dev",
    tracking: options.Tracking = "sqlite:///mlflow.db",
    json: options.Json = False,
) -> None:
    """Write one self-contained HTML page: settings, tables, plots, and questions round by round.

        reflective-rag report rows.jsonl

        reflective-rag report rows-naive.jsonl rows-reflective.jsonl sweeps/noise --out report.html

    Files of rows over the same questions stand side by side, the first as the baseline. The page loads nothing and
    runs no script; it can be mailed.
    """
    from reflective_rag.experiments.console import only_results, print_json
    from reflective_rag.experiments.console import out as console
    from reflective_rag.experiments.registry import tracking_uri
    from reflective_rag.experiments.report.page import page, write_page
    from reflective_rag.experiments.report.sources import load_sources

    with only_results():
        uri = tracking_uri(tracking)
        found = load_sources(sources, uri=uri, split=split)
        path = write_page(page(found, language=lang, examples=examples), out)
    if json:
        told = [{"name": each.name, "kind": each.kind, "rows": sum(len(r.rows) for r in each.runs)} for each in found]
        print_json({"file": str(path), "sources": told})
        return
    console.print(str(path), markup=False)
