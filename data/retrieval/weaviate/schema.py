"""The collection: made with a typed schema, recognised again by what its description says."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal

from reflective_rag.data.retrieval.weaviate.place import WeaviatePlace
from reflective_rag.signatures.errors import DataError

VERSION = 1
"""Raised when the properties change."""
MOST_PROPERTIES = 400
"""Keys of metadata that get an index; each costs the server files and memory."""
_INTRODUCTION = "Passages of reflective-rag. "


@dataclass(frozen=True)
class About:
    """What a collection says of itself. `embedder` is `none` where it holds no vectors of ours."""

    embedder: str
    dimensions: int | None
    chinese: str
    vectorizer: str = ""
    version: int = VERSION


class Schema:
    """An existing collection's description and the names of its properties, which grow with the metadata."""

    def __init__(self, about: About, properties: Iterable[str]) -> None:
        self.about = about
        self.properties = frozenset(properties)


def read_schema(collection: Any, place: WeaviatePlace) -> Schema | None:
    """The schema of the collection; None where there is none.

    Raises `DataError` for a collection that is not ours, has another format, or disagrees about tenants.
    """
    from weaviate.exceptions import UnexpectedStatusCodeError

    try:
        config = collection.config.get()
    except UnexpectedStatusCodeError as error:
        if error.status_code == 404:
            return None
        raise
    if config.multi_tenancy_config.enabled != bool(place.tenant):
        raise DataError(
            f"the collection `{place.collection}` keeps its passages by tenant: add `?tenant=NAME` to {place.address!r}"
            if config.multi_tenancy_config.enabled
            else f"the collection `{place.collection}` has no tenants: take `tenant` out of {place.address!r}"
        )
    return Schema(_about(config.description, place), (prop.name for prop in config.properties))


def _about(description: str | None, place: WeaviatePlace) -> About:
    try:
        about = About(**json.loads((description or "").removeprefix(_INTRODUCTION)))
    except (TypeError, ValueError):
        raise DataError(
            f"the collection `{place.collection}` was not made by `reflective-rag index`. Give another name."
        ) from None
    if about.version != VERSION:
        raise DataError(
            f"the collection `{place.collection}` has format {about.version}, this version reads {VERSION}. "
            "Index the corpus again into a new collection."
        )
    return about


def create(client: Any, place: WeaviatePlace, embedder: str, dimensions: int | None) -> None:
    """Make the collection; one that another process made meanwhile is left as it is.

    Chinese is tokenised by `gse_ch` where the server offers it (it loads a dictionary when ENABLE_TOKENIZER_GSE_CH is
    set), else by our own bigrams: `gse` alone segments by a Japanese dictionary, and `trigram` makes nothing of a query
    of two characters (weaviate/entities/tokenizer/tokenizer.go), as most Chinese words are.
    """
    from weaviate.exceptions import UnexpectedStatusCodeError

    for chinese in ("gse_ch", "bigram") if place.chinese == "auto" else (place.chinese,):
        about = About(embedder, dimensions, chinese, place.vectorizer)
        try:
            client.collections.create(place.collection, **_settings(place, about))
            return
        except UnexpectedStatusCodeError as error:
            message = str(error).lower()
            if "already exists" in message:
                return
            if chinese == place.chinese or chinese == "bigram" or "tokeniz" not in message:
                raise


def _settings(place: WeaviatePlace, about: About) -> dict[str, Any]:
    from weaviate.classes.config import Configure, VectorDistances

    # Our vectors have length 1, so the cosine is their dot product; the server normalises once more.
    index = Configure.VectorIndex.hnsw(distance_metric=VectorDistances.COSINE)
    if place.vectorizer:
        vectors = Configure.Vectors.custom(
            module_name=place.vectorizer, source_properties=["title", "text"], vector_index_config=index
        )
    else:
        vectors = Configure.Vectors.self_provided(vector_index_config=index)
    return {
        "description": _INTRODUCTION + json.dumps(asdict(about)),
        "properties": _properties(about.chinese),
        "vector_config": vectors,
        "multi_tenancy_config": Configure.multi_tenancy(enabled=True) if place.tenant else None,
        "reranker_config": Configure.Reranker.custom(place.rerank) if place.rerank else None,
        "replication_config": Configure.replication(factor=place.replicas) if place.replicas > 1 else None,
        "sharding_config": Configure.sharding(desired_count=place.shards) if place.shards else None,
    }


def _properties(chinese: str) -> list[Any]:
    from weaviate.classes.config import DataType, Property, Tokenization

    def text(name: str, tokens: Tokenization, *uses: Literal["filter", "search"], embedded: bool = False) -> Property:
        return Property(
            name=name,
            data_type=DataType.TEXT,
            tokenization=tokens,
            index_filterable="filter" in uses,
            index_searchable="search" in uses,
            skip_vectorization=not embedded,
        )

    return [
        text("passage_id", Tokenization.FIELD, "filter"),
        text("text", Tokenization.WORD, "search", embedded=True),
        text("title", Tokenization.WORD, "search", embedded=True),
        text("zh", Tokenization("whitespace" if chinese == "bigram" else chinese), "search"),
        text("source", Tokenization.FIELD, "filter"),
        Property(name="published", data_type=DataType.DATE, index_filterable=True, index_range_filters=True),
        text("metadata", Tokenization.FIELD),
        text("digest", Tokenization.FIELD),
    ]


def add_properties(collection: Any, schema: Schema, names: Iterable[str]) -> Schema:
    """The schema with those metadata properties that it lacked, up to `MOST_PROPERTIES` in all."""
    from weaviate.classes.config import DataType, Property, Tokenization
    from weaviate.exceptions import UnexpectedStatusCodeError, WeaviateInvalidInputError

    known = set(schema.properties)
    kinds = {"text": DataType.TEXT_ARRAY, "flag": DataType.BOOL_ARRAY, "number": DataType.NUMBER_ARRAY}
    for name in sorted(set(names) - known)[: max(0, MOST_PROPERTIES - len(known))]:
        kind = kinds[name.split("_")[1]]
        wanted = Property(
            name=name,
            data_type=kind,
            tokenization=Tokenization.FIELD if kind is DataType.TEXT_ARRAY else None,
            index_filterable=True,
            index_searchable=False,
        )
        try:
            with suppress(WeaviateInvalidInputError):  # it is there: another process was faster
                collection.config.add_property(wanted)
        except UnexpectedStatusCodeError as error:
            if "already in use" not in str(error):  # the same, at the same moment
                raise
        known.add(name)
    return Schema(schema.about, known)


def ensure_tenant(collection: Any, place: WeaviatePlace) -> None:
    """Make the tenant of the address where it does not exist; `collection` is the one without a tenant."""
    if place.tenant and not collection.tenants.get_by_names([place.tenant]):
        collection.tenants.create([place.tenant])
