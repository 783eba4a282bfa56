"""The stand-in's searches: filters as Weaviate has them, and a ranking that is only good enough for tests of calls."""

import operator
import re
from collections.abc import Iterable
from typing import Any

from tests.data.retrieval.weaviate.standin_store import Collection, RefusedError, Thing

COMPARE = {1: operator.eq, 3: operator.gt, 4: operator.ge, 5: operator.lt, 6: operator.le}
AND, OR, CONTAINS_ANY = 7, 8, 12
Found = list[tuple[Thing, float]]


def tokens(text: str, tokenizer: str) -> list[str]:
    """entities/tokenizer/tokenizer.go; `gse_ch` cuts by a dictionary there, into characters and bigrams here."""
    if tokenizer == "field":
        return [text.strip()]
    if tokenizer == "whitespace":
        return text.split()
    if tokenizer == "lowercase":
        return text.lower().split()
    if tokenizer == "word":
        return re.findall(r"[^\W_]+", text.lower())
    joined = "".join(re.findall(r"[^\W_]+", text.lower()))
    if tokenizer == "trigram":
        return [joined[i : i + 3] for i in range(len(joined) - 2)]
    return [*joined, *(joined[i : i + 2] for i in range(len(joined) - 1))]


def matching(collection: Collection, tenant: str, filters: Any) -> list[Thing]:
    """The objects that a filter lets through."""
    return [thing for thing in collection.of(tenant).values() if filters is None or holds(collection, thing, filters)]


def holds(collection: Collection, thing: Thing, clause: Any) -> bool:
    """adapters/handlers/grpc/v1/filters.go."""
    if clause.operator in (AND, OR):
        return (all if clause.operator == AND else any)(holds(collection, thing, part) for part in clause.filters)
    name = clause.target.property
    wanted = _value(clause)
    if name == "_id":
        return thing.uuid in wanted if isinstance(wanted, list) else thing.uuid == wanted
    if name not in collection.properties:
        raise RefusedError(f"no such prop with name '{name}' found in class '{collection.name}' in the schema")
    prop = collection.properties[name]
    if not prop["indexFilterable"]:  # adapters/repos/db/inverted/searcher.go
        raise RefusedError(f"Filtering by property '{name}' requires inverted index. Is `indexFilterable` disabled?")
    _check_type(prop, wanted)
    found = thing.properties.get(name)
    items = found if isinstance(found, list) else [] if found is None else [found]
    if clause.operator == CONTAINS_ANY:
        return any(item in wanted for item in items)
    return any(COMPARE[clause.operator](_instant(item), _instant(wanted)) for item in items)


def _check_type(prop: dict[str, Any], wanted: Any) -> None:
    """entities/filters/filters_validator.go: the value's type must be the property's."""
    kind = prop["dataType"][0].removesuffix("[]")
    one = wanted[0] if isinstance(wanted, list) else wanted
    if type(one) is not {"text": str, "date": str, "number": float, "boolean": bool}[kind]:
        raise RefusedError(f"invalid filter: data type filter cannot use {type(one).__name__!r} on type {kind!r}")


def _instant(value: Any) -> Any:
    return value.replace("+00:00", "Z") if isinstance(value, str) else value


def _value(clause: Any) -> Any:
    name = clause.WhichOneof("test_value")
    value = getattr(clause, name)
    return list(value.values) if name.endswith("_array") else value


def by_words(collection: Collection, things: Iterable[Thing], query: str, properties: Iterable[str]) -> Found:
    """How many words of the query an object has, in all of the properties."""
    hits: Found = []
    for name in properties:
        prop = collection.properties.get(name.partition("^")[0])
        if prop is None or not prop["indexSearchable"]:  # adapters/repos/db/inverted/bm25_searcher.go
            raise RefusedError(
                f"Searching by property '{name}' requires inverted index. Is `indexSearchable` disabled?"
            )
    for thing in things:
        score = 0.0
        for name in properties:
            tokenizer = collection.properties[name]["tokenization"]
            here = tokens(str(thing.properties.get(name, "")), tokenizer)
            score += sum(here.count(word) > 0 for word in tokens(query, tokenizer))
        if score:
            hits.append((thing, score))
    return sorted(hits, key=lambda hit: -hit[1])


def by_vector(things: Iterable[Thing], vector: list[float]) -> Found:
    """The dot product, best first."""
    hits: Found = []
    for thing in things:
        if not thing.vector:
            continue
        if len(thing.vector) != len(vector):  # adapters/repos/db/vector/hnsw/search.go
            raise RefusedError(
                f"knn search: distance between entrypoint and query node: {len(thing.vector)} vs {len(vector)}: "
                "vector lengths don't match"
            )
        hits.append((thing, sum(a * b for a, b in zip(thing.vector, vector, strict=True))))
    return sorted(hits, key=lambda hit: -hit[1])


def fused(words: Found, meaning: Found, alpha: float) -> Found:
    """The weighted sum of both, each scaled to 0 to 1 (usecases/traverser/hybrid, relativeScoreFusion)."""
    scores: dict[str, float] = {}
    things: dict[str, Thing] = {}
    for hits, weight in ((words, 1 - alpha), (meaning, alpha)):
        low, high = (min(s for _, s in hits), max(s for _, s in hits)) if hits else (0.0, 0.0)
        for thing, score in hits:
            things[thing.uuid] = thing
            scores[thing.uuid] = scores.get(thing.uuid, 0.0) + weight * (
                (score - low) / (high - low) if high > low else 1.0
            )
    return sorted(((things[key], score) for key, score in scores.items()), key=lambda hit: -hit[1])
