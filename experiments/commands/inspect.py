"""`reflective-rag inspect`: what is in an artefact."""

from typing import Annotated

import typer

from reflective_rag.experiments import options


def command(
    artifact: Annotated[str, typer.Argument(metavar="DIR", help="An artefact, or `models:/NAME@ALIAS`.")],
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Show what is in an artefact: instructions, demos, settings, calibration, scores, model, data.

        reflective-rag inspect artifacts/my

        reflective-rag inspect models:/my@champion --json

    It is checked as if it were loaded; nothing is run.
    """
    from reflective_rag.experiments.artefact_printing import print_contents
    from reflective_rag.experiments.artefact_views import contents
    from reflective_rag.experiments.console import note, only_results, print_json
    from reflective_rag.experiments.registry import local_artefact

    with only_results(), local_artefact(artifact) as folder:
        found = contents(folder) | {"artifact": artifact}
    if json:
        print_json(found)
        return
    print_contents(found, full=full)
    for text in found["notes"]:
        note(text)
