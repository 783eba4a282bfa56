"""A search as a call of the client, the same for its synchronous and its asynchronous form."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from reflective_rag.data.retrieval.filters import Condition
from reflective_rag.data.retrieval.weaviate.objects import (
    RETURNED,
    bigrams,
    has_chinese,
    key_of,
    midnight,
    property_name,
    to_passage,
)
from reflective_rag.data.retrieval.weaviate.place import WeaviatePlace
from reflective_rag.data.retrieval.weaviate.schema import MOST_PROPERTIES, Schema
from reflective_rag.signatures.errors import DataError
from reflective_rag.signatures.types import Passage

if TYPE_CHECKING:
    from reflective_rag.data.retrieval.embedders import Vectors

_OWN = {"id": "passage_id", "source": "source", "published": "published"}
_METHODS = {"==": "equal", ">": "greater_than", ">=": "greater_or_equal", "<": "less_than", "<=": "less_or_equal"}


class Call(NamedTuple):
    """A method of `collection.query` and its arguments."""

    method: str
    arguments: dict[str, Any]


def lacking(schema: Schema, conditions: Sequence[Condition]) -> list[str]:
    """The keys of the conditions for which the schema, as far as it is known, has no property of that kind."""
    return list(dict.fromkeys(c.field for c in conditions if _property(c, schema) is None))


def metadata_keys(schema: Schema) -> list[str]:
    """The keys of the metadata that can be filtered by, by name; those too long for a name of Weaviate's left out."""
    return sorted({key for name in schema.properties if (key := key_of(name))})


def search_call(
    place: WeaviatePlace,
    schema: Schema,
    query: str,
    k: int,
    conditions: Sequence[Condition],
    vector: Vectors | None,
) -> Call:
    """The call that searches, for conditions of which the schema lacks none."""
    from weaviate.classes.query import HybridFusion, HybridVector, MetadataQuery, Rerank

    common: dict[str, Any] = {
        "limit": k,
        "filters": _filter(conditions, schema),
        "return_properties": list(RETURNED),
        "return_metadata": MetadataQuery(score=True, distance=True),
        "rerank": Rerank(prop="text", query=query) if place.rerank else None,
    }
    by_server = bool(schema.about.vectorizer)
    dense = by_server or vector is not None
    if dense and place.alpha == 1:
        if vector is None:
            return Call("near_text", {"query": query, **common})
        return Call("near_vector", {"near_vector": vector.tolist(), **common})
    words = {"query": _words(query, schema), "query_properties": _searched(query)}
    if not dense or place.alpha == 0:
        return Call("bm25", {**words, **common})
    fusion = HybridFusion.RELATIVE_SCORE if place.fusion == "relative" else HybridFusion.RANKED
    meaning = HybridVector.near_text(query) if vector is None else vector.tolist()
    return Call("hybrid", {**words, "alpha": place.alpha, "vector": meaning, "fusion_type": fusion, **common})


def read_passages(found: Any) -> list[Passage]:
    """The passages of a reply, best first, equal scores by id. A distance is turned into a similarity: 1 − distance."""
    passages = [to_passage(item.properties, _score(item.metadata)) for item in found.objects]
    return sorted(passages, key=lambda passage: (-cast(float, passage.score), passage.id))


def _score(metadata: Any) -> float:
    if metadata.rerank_score is not None:
        return float(metadata.rerank_score)
    if metadata.distance is not None:
        return 1.0 - float(metadata.distance)
    return float(metadata.score or 0.0)


def _searched(query: str) -> list[str]:
    return ["title", "text", *(["zh"] if has_chinese(query) else [])]


def _words(query: str, schema: Schema) -> str:
    """The query for keyword search, with its bigrams where Chinese is kept as bigrams."""
    if schema.about.chinese == "bigram" and has_chinese(query):
        return f"{query} {bigrams(query)}"
    return query


def _property(condition: Condition, schema: Schema) -> str | None:
    """The property to filter by; None where no passage has that key with a value of that kind."""
    if condition.own:
        return _OWN[condition.field]
    name = property_name(condition.field, condition.kind)
    if name in schema.properties:
        return name
    if len(schema.properties) >= MOST_PROPERTIES:
        raise DataError(
            f"cannot filter by {condition.field!r}: the collection has {MOST_PROPERTIES} properties, the most that get "
            "an index, and none for this key"
        )
    return None


def _filter(conditions: Sequence[Condition], schema: Schema) -> Any:
    from weaviate.classes.query import Filter

    parts: list[Any] = []
    for condition in conditions:
        prop: Any = Filter.by_property(cast(str, _property(condition, schema)))
        values = [midnight(value) if isinstance(value, date) else value for value in condition.values]
        if condition.kind is date and condition.operator == "in":
            parts.append(Filter.any_of([prop.equal(value) for value in values]))
        elif condition.operator in ("==", "in") and condition.kind is not date:
            parts.append(prop.contains_any(values))
        else:
            parts.append(getattr(prop, _METHODS[condition.operator])(values[0]))
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else Filter.all_of(parts)
