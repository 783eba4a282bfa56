"""`reflective-rag diff`: what differs between two artefacts."""

from typing import Annotated

import typer

from reflective_rag.experiments import options


def command(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="An artefact, or `models:/NAME@ALIAS`.")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The other one.")],
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Show what differs between two artefacts: instructions line by line, demos, settings, scores, data.

    reflective-rag diff artifacts/old artifacts/new
    """
    from reflective_rag.experiments.artefact_printing import print_differences
    from reflective_rag.experiments.artefact_views import differences
    from reflective_rag.experiments.console import only_results, print_json
    from reflective_rag.experiments.registry import local_artefact

    with only_results(), local_artefact(before) as old, local_artefact(after) as new:
        found = differences(old, new)
    if json:
        print_json({"before": before, "after": after, "same": not found, "differences": found})
        return
    print_differences(found, before, after, full=full)
