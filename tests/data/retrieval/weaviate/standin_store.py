"""The stand-in's collections: what a real server refuses is refused here too, each refusal with its source.

Sources are paths in the repository weaviate/weaviate. Its ranking is NOT Weaviate's: matched words counted, a dot
product, and their weighted sum. It proves calls, mapping and failures; ranking is tested where WEAVIATE_URL is set.
"""

import re
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

PLAIN_TOKENIZERS = ("word", "lowercase", "whitespace", "field", "trigram")
HNSW = {
    "cleanupIntervalSeconds": 300,
    "distance": "cosine",
    "dynamicEfFactor": 8,
    "dynamicEfMax": 500,
    "dynamicEfMin": 100,
    "ef": -1,
    "efConstruction": 128,
    "flatSearchCutoff": 40000,
    "maxConnections": 32,
    "skip": False,
    "vectorCacheMaxObjects": 1_000_000_000_000,
}
DEFAULTS = {
    "invertedIndexConfig": {
        "bm25": {"b": 0.75, "k1": 1.2},
        "cleanupIntervalSeconds": 60,
        "stopwords": {"preset": "en", "additions": None, "removals": None},
    },
    "replicationConfig": {"factor": 1, "asyncEnabled": False},
    "shardingConfig": {
        "virtualPerPhysical": 128,
        "desiredCount": 1,
        "actualCount": 1,
        "desiredVirtualCount": 128,
        "actualVirtualCount": 128,
        "key": "_id",
        "strategy": "hash",
        "function": "murmur3",
    },
    "multiTenancyConfig": {"enabled": False},
}


class RefusedError(Exception):
    """What the server says no to."""


@dataclass
class Thing:
    """An object."""

    uuid: str
    properties: dict[str, Any]
    vector: list[float] | None


@dataclass
class Collection:
    """A collection with its schema, as the server would return it, and its objects by tenant ("" without tenants)."""

    schema: dict[str, Any]
    objects: dict[str, dict[str, Thing]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.schema["class"])

    @property
    def properties(self) -> dict[str, dict[str, Any]]:
        return {prop["name"]: prop for prop in self.schema["properties"]}

    def of(self, tenant: str) -> dict[str, Thing]:
        # The texts are those of multiTenantValidator and singleTenantValidator in usecases/multitenancy.
        if self.schema["multiTenancyConfig"]["enabled"]:
            if not tenant:
                raise RefusedError(f"class {self.name} has multi-tenancy enabled, but request was without tenant")
            if tenant not in self.objects:
                raise RefusedError(f'tenant not found: "{tenant}"')
            return self.objects[tenant]
        if tenant:
            raise RefusedError(f"class {self.name} has multi-tenancy disabled, but request was with tenant")
        return self.objects.setdefault("", {})


class Store:
    """All collections. `tokenizers` are the optional ones that this server loaded, `modules` its modules."""

    def __init__(self, tokenizers: tuple[str, ...] = ("gse_ch",), modules: tuple[str, ...] = ()) -> None:
        self.collections: dict[str, Collection] = {}
        self.tokenizers, self.modules = tokenizers, modules
        self.refused: dict[str, str] = {}
        """Reason by `passage_id`: objects that a test wants refused."""

    def get(self, name: str) -> Collection:
        if name not in self.collections:  # adapters/handlers/grpc/v1/parse_search_request.go
            raise RefusedError(f"could not find class {name} in schema")
        return self.collections[name]

    def create(self, body: dict[str, Any]) -> dict[str, Any]:
        """POST /v1/schema."""
        name = body["class"]
        # entities/schema/validation.go, ClassNameRegexCore
        if not re.fullmatch("[A-Z][_0-9A-Za-z]{0,254}", name):
            raise RefusedError(f"'{name}' is not a valid class name")
        if name in self.collections:  # usecases/schema/class.go
            raise RefusedError(f"class name {name} already exists")
        for module in body.get("moduleConfig", {}):
            if module not in self.modules:  # usecases/modules/modules.go, ValidateClass
                raise RefusedError(f'module with name "{module}" is not present')
        for vectors in body.get("vectorConfig", {}).values():
            for module in vectors["vectorizer"]:
                if module not in ("none", *self.modules):
                    raise RefusedError(f'vectorizer: no module with name "{module}" present')
            vectors["vectorIndexConfig"] = HNSW | vectors.get("vectorIndexConfig", {})
        schema = {**DEFAULTS, **{key: value for key, value in body.items() if value is not None}}
        for key in ("replicationConfig", "shardingConfig", "multiTenancyConfig"):
            schema[key] = DEFAULTS[key] | (body.get(key) or {})  # type: ignore[operator]  # all three are mappings
        properties, schema["properties"] = body.get("properties") or [], []
        collection = Collection(schema)
        for prop in properties:
            self.add_property(collection, prop)
        self.collections[name] = collection
        return schema

    def add_property(self, collection: Collection, prop: dict[str, Any]) -> None:
        """POST /v1/schema/{name}/properties; usecases/schema/class.go, validateProperty."""
        name, kind = prop["name"], prop["dataType"][0]
        if not re.fullmatch("[_A-Za-z][_0-9A-Za-z]{0,230}", name):  # entities/schema/validation.go, PropertyNameRegex
            raise RefusedError(f"'{name}' is not a valid property name")
        if name in ("_additional", "_id", "id"):  # the same file, reservedPropertyNames
            raise RefusedError(f"'{name}' is a reserved property name")
        if name.lower() in {known.lower() for known in collection.properties}:
            raise RefusedError(f'class "{collection.name}": conflict for property "{name}": already in use')
        self._check_tokenizer(prop.get("tokenization"), kind)
        if prop.get("indexRangeFilters") and kind not in ("number", "int", "date"):  # validatePropertyIndexing
            raise RefusedError("`indexRangeFilters` is allowed only for number/int/date data types.")
        text = kind in ("text", "text[]")
        if prop.get("indexSearchable") and not text:
            raise RefusedError("`indexSearchable` is allowed only for text/text[] data types.")
        defaults = {"indexFilterable": True, "indexSearchable": text, "indexRangeFilters": False}
        given = {key: value for key, value in prop.items() if value is not None}
        collection.schema["properties"].append({**defaults, **({"tokenization": "word"} if text else {}), **given})

    def _check_tokenizer(self, tokenizer: str | None, kind: str) -> None:
        """usecases/schema/class.go, validatePropertyTokenization."""
        if not tokenizer:
            return
        if kind not in ("text", "text[]"):
            raise RefusedError(f"tokenization is not allowed for data type '{kind}'")
        if tokenizer in PLAIN_TOKENIZERS or tokenizer in self.tokenizers:
            return
        if tokenizer == "gse_ch":
            raise RefusedError(
                "the Chinese tokenizer is not enabled; set 'ENABLE_TOKENIZER_GSE_CH' to 'true' to enable"
            )
        raise RefusedError(f"tokenization '{tokenizer}' is not allowed for data type '{kind}'")

    def put(self, collection: str, tenant: str, thing: Thing) -> None:
        """One object of a batch."""
        home = self.get(collection)
        things = home.of(tenant)
        try:
            uuid.UUID(thing.uuid)
        except ValueError:  # adapters/handlers/grpc/v1/batch_parse_request.go: uuid.Parse of google/uuid
            raise RefusedError(f"invalid UUID length: {len(thing.uuid)}") from None
        if reason := self.refused.get(thing.properties.get("passage_id", "")):
            raise RefusedError(reason)
        for name, value in thing.properties.items():
            self._check_value(home, name, value)
        held = next((len(other.vector) for other in things.values() if other.vector), None)
        if thing.vector and held and len(thing.vector) != held:
            raise RefusedError(  # adapters/repos/db/vector/hnsw/insert.go, ValidateBeforeInsert
                f"new node has a vector with length {len(thing.vector)}. Existing nodes have vectors with length {held}"
            )
        things[thing.uuid] = thing

    @staticmethod
    def _check_value(home: Collection, name: str, value: Any) -> None:
        """usecases/objects/validation/properties_validation.go."""
        if name not in home.properties:
            raise RefusedError(f"no such prop with name '{name}' found in class '{home.name}' in the schema")
        kind = home.properties[name]["dataType"][0]
        items = value if kind.endswith("[]") and isinstance(value, list) else [value]
        if kind.endswith("[]") != isinstance(value, list):
            raise RefusedError(f"invalid {kind} property '{name}' on class '{home.name}': not an array, but {value!r}")
        wanted = {"text": str, "number": float, "boolean": bool, "date": str}[kind.removesuffix("[]")]
        if any(type(item) is not wanted for item in items):
            raise RefusedError(f"invalid {kind} property '{name}' on class '{home.name}': not a {kind}: {value!r}")
        if kind == "date":
            try:
                datetime.fromisoformat(value)
            except ValueError:
                raise RefusedError(
                    f"invalid date property '{name}' on class '{home.name}': requires a string with a RFC3339 "
                    f"formatted date, but the given value is '{value}'"
                ) from None
