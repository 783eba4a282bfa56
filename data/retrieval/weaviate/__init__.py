"""Weaviate as a retriever: for corpora and traffic beyond one machine.

with open_retriever("weaviate://localhost:8080/Passage", create=True) as retriever:
    retriever.add(passages)
    best = retriever.search("who wrote it?", 5, filters={"lang": "en"})
"""

from reflective_rag.data.retrieval.weaviate.faults import ImportFailures
from reflective_rag.data.retrieval.weaviate.place import WeaviatePlace, parse_place
from reflective_rag.data.retrieval.weaviate.retriever import WeaviateRetriever

__all__ = ["ImportFailures", "WeaviatePlace", "WeaviateRetriever", "parse_place"]
