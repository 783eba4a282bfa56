"""Models in MLflow's registry: promote the model of a run, and load a promoted program in an app.

    rag = load_registered("models:/mine@champion", search=my_search)

The store is `tracking`, else `$RRAG_TRACKING`, `$MLFLOW_TRACKING_URI`, or the file that the commands use.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reflective_rag.experiments.tracking_leaderboard import existing_store
from reflective_rag.experiments.tracking_store import DEFAULT_URI, OFF, Address, quiet_mlflow, refusals
from reflective_rag.programs.artefacts import load_program
from reflective_rag.programs.module import RagModule
from reflective_rag.signatures.errors import ConfigError, DataError

if TYPE_CHECKING:
    from mlflow import MlflowClient

MODEL = "model"
"""Artifact folder of a run that holds the model."""
ARTEFACT = "artifacts/artefact"
"""Folder of a model that holds the artefact."""
_ADDRESS = re.compile(r"models:/+([^/@]+)(?:@([\w.-]+)|/(\d+))")
_ALIAS = re.compile(r"[A-Za-z][\w.-]*")


def promote(run: str, alias: str, *, name: str | None = None, tracking: str | None = None) -> dict[str, Any]:
    """Register the model of a compile's run, once, and give its version an alias, which any other version loses.

    Args:
        run: Id of the MLflow run of a compile; or the artefact that it made, as it is now (calibrated since, say).
        alias: Such as `champion`.
        name: Of the registered model; the recipe's unless given.

    Returns:
        `name`, `version`, `alias`, `run_id`, `uri` (what `load_registered` takes), and `before`: the version that had
        the alias until now, or None.

    Raises:
        ConfigError: The alias or name cannot be one, or the artefact knows no run.
        DataError: The store or the run does not exist, or the run has no model.
    """
    _check_names(alias, name)
    address, client = _opened(tracking)
    with refusals(address), quiet_mlflow():
        found = _run(client, _run_id(run), address)
        run_id = found.info.run_id
        if not any(item.path == MODEL for item in client.list_artifacts(run_id)):
            raise DataError(
                f"the run {run_id!r} has no model: it is no compile, did not end well, or is of an older version"
            )
        path = _model_of(client, run_id, Path(run), address) if Path(run).is_dir() else MODEL
        chosen = name or found.data.params.get("recipe") or found.info.run_name
        version = _version(client, chosen, run_id, f"{found.info.artifact_uri}/{path}")
        before = _alias_of(client, chosen, alias)
        client.set_registered_model_alias(chosen, alias, version)
    uri = f"models:/{chosen}@{alias}"
    return {"name": chosen, "version": version, "alias": alias, "run_id": run_id, "uri": uri, "before": before}


def _check_names(alias: str, name: str | None) -> None:
    if not _ALIAS.fullmatch(alias) or re.fullmatch(r"v\d+|latest", alias, re.IGNORECASE):
        raise ConfigError(
            "an alias is a word such as 'champion' (letters, digits, `-`, `_`, `.`; not 'latest' or 'v1'), "
            f"got {alias!r}"
        )
    if name is not None and not re.fullmatch(r"[^/:@'\"%]+", name):
        raise ConfigError(f"the name of a registered model has none of / : @ % and quotes, got {name!r}")


def load_registered(uri: str, search: Any = None, *, tracking: str | None = None, **options: Any) -> RagModule:
    """The program of a registered model, over the app's own search.

    Args:
        uri: `models:/NAME@ALIAS` or `models:/NAME/VERSION`.
        search: As for `load_program`.
        options: As for `load_program`.

    Raises:
        ConfigError: `uri` is no such address, or as for `load_program`.
        DataError: There is no such model, or its artefact cannot be used.
    """
    if not is_registered(uri):
        raise ConfigError(f"a registered model is `models:/NAME@ALIAS` or `models:/NAME/VERSION`, got {uri!r}")
    with local_artefact(uri, tracking=tracking) as folder:
        return load_program(folder, search, **options)


def is_registered(name: str | Path) -> bool:
    """Whether an artefact's name means a model of the registry."""
    return str(name).startswith("models:/")


@contextmanager
def local_artefact(name: str | Path, *, tracking: str | None = None) -> Iterator[Path]:
    """The folder of an artefact; that of a registered model is fetched, and removed at the end of the block.

    Raises:
        ConfigError: An address that cannot be one.
        DataError: There is no such model.
    """
    if not is_registered(name):
        yield Path(name)
        return
    match = _ADDRESS.fullmatch(str(name))
    if match is None:
        raise ConfigError(f"a registered model is `models:/NAME@ALIAS` or `models:/NAME/VERSION`, got {str(name)!r}")
    with tempfile.TemporaryDirectory(prefix="reflective-rag-") as folder:
        yield _fetch(match[1], match[2], match[3] or "", tracking, Path(folder))


def _fetch(name: str, alias: str | None, version: str, tracking: str | None, folder: Path) -> Path:
    from mlflow.artifacts import download_artifacts
    from mlflow.exceptions import MlflowException

    address, client = _opened(tracking)
    with refusals(address), quiet_mlflow():
        try:
            found = client.get_model_version_by_alias(name, alias) if alias else client.get_model_version(name, version)
        except MlflowException as error:
            raise DataError(_no_model(client, name, alias, version, address)) from error
        source = f"{found.source}/{ARTEFACT}"
        got = download_artifacts(artifact_uri=source, dst_path=str(folder), tracking_uri=address.uri)
    return Path(got)


def _no_model(client: "MlflowClient", name: str, alias: str | None, version: str, address: Address) -> str:
    known = {model.name: dict(model.aliases) for model in client.search_registered_models(max_results=20)}
    what = f"alias {alias!r}" if alias else f"version {version}"
    if name in known:
        aliases = ", ".join(f"`{found}`" for found in known[name]) or "none"
        return f"the registered model {name!r} in `{address.shown}` has no {what}; its aliases: {aliases}"
    names = ", ".join(f"`{found}`" for found in known) or "none"
    return (
        f"there is no registered model {name!r} in `{address.shown}` (known: {names}); "
        "`reflective-rag promote RUN --as champion` makes one"
    )


def tracking_uri(tracking: str | None = None) -> str:
    """The store that is meant where none is named."""
    own = os.environ.get("RRAG_TRACKING")
    return tracking or (own if own != OFF else None) or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI


def _opened(tracking: str | None) -> tuple[Address, "MlflowClient"]:
    uri = tracking_uri(tracking)
    if uri == OFF:
        raise ConfigError("tracking is `off`, and the registry is in the MLflow store: name one with `--tracking`")
    return existing_store(uri)


def _run_id(run: str) -> str:
    """The id itself, or the one that an artefact was made by."""
    if not Path(run).is_dir():
        return run
    from reflective_rag.programs.artefacts import read_manifest

    if made_by := read_manifest(run).notes.get("run_id"):
        return str(made_by)
    raise ConfigError(f"the artefact `{run}` was made without MLflow (tracking was off): compile it with a store first")


def _run(client: "MlflowClient", run_id: str, address: Address) -> Any:
    from mlflow.exceptions import MlflowException

    try:
        return client.get_run(run_id)
    except MlflowException as error:
        what = "artefact" if "/" in run_id else "run"
        where = "" if "/" in run_id else f" in the MLflow store `{address.shown}`"
        raise DataError(f"there is no {what} {run_id!r}{where}") from error


def _model_of(client: "MlflowClient", run_id: str, artefact: Path, address: Address) -> str:
    """Artifact folder with the model of the artefact as it is now; logged to its run where it is another by now."""
    from mlflow.artifacts import download_artifacts
    from mlflow.models import Model

    from reflective_rag.experiments.tracking_extras import log_model

    mine = (artefact / "manifest.json").read_bytes()
    with tempfile.TemporaryDirectory(prefix="reflective-rag-") as folder:
        source = f"runs:/{run_id}/{MODEL}"
        local = Path(download_artifacts(artifact_uri=source, dst_path=folder, tracking_uri=address.uri))
        if (local / ARTEFACT / "manifest.json").read_bytes() == mine:
            return MODEL
        config = Model.load(str(local)).flavors["python_function"]["config"]
    path = f"{MODEL}-{hashlib.sha256(mine).hexdigest()[:8]}"
    if not any(item.path == path for item in client.list_artifacts(run_id)):
        log_model(client, run_id, artefact, config, path)
    return path


def _version(client: "MlflowClient", name: str, run_id: str, source: str) -> str:
    """The version that this model has, registered now if need be."""
    from mlflow.exceptions import MlflowException

    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    for known in client.search_model_versions(f"name = '{name}'"):
        if known.source == source:
            return str(known.version)
    return str(client.create_model_version(name, source=source, run_id=run_id).version)


def _alias_of(client: "MlflowClient", name: str, alias: str) -> str | None:
    found = client.get_registered_model(name).aliases.get(alias)
    return None if found is None else str(found)
