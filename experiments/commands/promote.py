"""`reflective-rag promote`: the model of a run becomes the one that apps load."""

from typing import Annotated

import typer

from reflective_rag.experiments import options


def command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of a compile's MLflow run, or the artefact it made.")],
    alias: Annotated[str, typer.Option("--as", metavar="ALIAS", help="Such as `champion`.")],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Of the registered model.", show_default="the recipe's")
    ] = None,
    tracking: options.Tracking = "sqlite:///mlflow.db",
    json: options.Json = False,
) -> None:
    """Register the model of a compile in MLflow and give it an alias, which the version before it loses.

        reflective-rag promote artifacts/my --as champion

        reflective-rag ask "…" --artifact models:/my@champion

    In an app: `load_registered("models:/my@champion", search=…)`. Served: `mlflow models serve -m models:/my@champion
    --env-manager local`.
    """
    from reflective_rag.experiments.console import only_results, out, print_json
    from reflective_rag.experiments.registry import promote

    with only_results():
        done = promote(run, alias, name=name, tracking=tracking)
    if json:
        print_json(done)
        return
    before = f" (it was version {done['before']})" if done["before"] not in (None, done["version"]) else ""
    out.print(f"{done['uri']} is version {done['version']}{before}, of the run {done['run_id']}", markup=False)
