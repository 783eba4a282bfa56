"""`reflective-rag doctor`: whether everything works here."""

from typing import Annotated, Any

import typer

from reflective_rag.experiments import options


def command(
    lm: options.Lm = None,
    tracking: options.Tracking = "sqlite:///mlflow.db",
    embedder: options.Embedder = "auto",
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus",
            metavar="ADDRESS",
            help="An index to open and count: `local:PATH`, `weaviate://HOST/Collection`. Repeatable.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Check versions, extras, model, tracking store, caches and indexes.

    All problems are told at once; the exit code is 1 if there is one.
    """
    from reflective_rag.experiments.checkup import checkup
    from reflective_rag.experiments.console import only_results, print_json

    with only_results():
        findings = checkup(lm, tracking, embedder, corpus or ())
    healthy = not any(finding.status == "problem" for finding in findings)
    if json:
        print_json({"ok": healthy, "checks": [finding.as_json() for finding in findings]})
    else:
        _print([finding.as_json() for finding in findings])
    if not healthy:
        raise typer.Exit(1)


def _print(findings: list[dict[str, Any]]) -> None:
    from rich.markup import escape

    from reflective_rag.experiments.console import out

    marks = {"ok": "[green]ok     [/]", "off": "[dim]off    [/]", "problem": "[red]PROBLEM[/]"}
    width = max(len(finding["name"]) for finding in findings)
    for finding in findings:
        out.print(f"{marks[finding['status']]} {finding['name']:<{width}}  {escape(finding['detail'])}")
