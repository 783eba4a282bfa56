"""What a run holds beside numbers: the data it used, the instructions it compiled, and a model that can be served."""

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reflective_rag.experiments.tracking_recorder import Recorder
from reflective_rag.experiments.tracking_secrets import Scrubber, copy_without_secrets

if TYPE_CHECKING:
    from mlflow import MlflowClient

_CONTEXTS = {"train": "training", "val": "validation", "dev": "evaluation", "test": "testing"}
_PROMPT_NAME = re.compile(r"[^\w.-]+", re.ASCII)


def log_inputs(recorder: Recorder, run_id: str, data: Mapping[str, Mapping[str, Any]]) -> None:
    """Data sets by name, number of questions and fingerprint, as MLflow's inputs of the run."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    scrub = Scrubber()
    inputs = []
    for part, about in data.items():
        source = json.dumps({"file": scrub.text(str(about.get("file", "")))}, ensure_ascii=False)
        profile = json.dumps({"questions": about.get("n")})
        found = Dataset(
            name=scrub.text(f"{Path(str(about.get('file') or part)).stem} ({part})")[:500],
            digest=str(about.get("fingerprint", ""))[:36],
            source_type="local",
            source=source,
            profile=profile,
        )
        tags = [InputTag("mlflow.data.context", _CONTEXTS.get(part, part))]
        inputs.append(DatasetInput(found, tags=tags))
    recorder.client.log_inputs(run_id, datasets=inputs)


def log_prompts(
    recorder: Recorder,
    run_id: str,
    family: str,
    before: Mapping[str, str],
    after: Mapping[str, str],
    tags: Mapping[str, str],
) -> None:
    """A prompt `FAMILY.PREDICTOR` with a new version for these instructions, so that variants compare as text.

    The first version of a prompt is the instructions as they were before any compile.
    """
    scrub = Scrubber()
    for predictor, text in after.items():
        name = _PROMPT_NAME.sub("_", scrub.text(f"{family}.{predictor}"))[:200]
        known = recorder.client.get_prompt(name)
        if known is None and before.get(predictor):
            _register(recorder, name, scrub.text(before[predictor]), {"state": "before any compile"})
        if text:
            _register(recorder, name, scrub.text(text), {"run_id": run_id, "state": "compiled", **tags})


def _register(recorder: Recorder, name: str, text: str, tags: Mapping[str, str]) -> None:
    message = tags["state"] if "run_id" not in tags else f"compiled by the run {tags['run_id']}"
    recorder.client.register_prompt(name=name, template=text, commit_message=message, tags=dict(tags))


def log_model(
    client: "MlflowClient", run_id: str, artefact: Path, config: Mapping[str, Any], path: str = "model"
) -> None:
    """The artefact as a model made of code, in that artifact folder of the run; see `serving`."""
    from reflective_rag.experiments.serving import save_model

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "clean").mkdir()
        source = copy_without_secrets(artefact, folder / "clean")
        named = shutil.copytree(source, folder / "artefact")
        clean = Scrubber().value(dict(config))
        save_model(named, folder / "model", **clean)
        client.log_artifacts(run_id, str(folder / "model"), path)
