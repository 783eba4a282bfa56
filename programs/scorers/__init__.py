"""Small special models as critics, the back end `models`: cross-encoders, inference (NLI) models, the embedder.

Synchronous, thread-safe, and without any part in the loop: which pairs to ask, a scorer's `predict(pairs)`, and what
its numbers mean.
"""

from reflective_rag.programs.scorers.base import Nli, NliScorer, PairScorer, Predictor
from reflective_rag.programs.scorers.embedding import CosineRelevance
from reflective_rag.programs.scorers.onnx import OnnxPairModel
from reflective_rag.programs.scorers.resolve import DEFAULT_NLI, DEFAULT_RERANKER, nli_scorer, relevance_scorer

__all__ = [
    "DEFAULT_NLI",
    "DEFAULT_RERANKER",
    "CosineRelevance",
    "Nli",
    "NliScorer",
    "OnnxPairModel",
    "PairScorer",
    "Predictor",
    "nli_scorer",
    "relevance_scorer",
]
