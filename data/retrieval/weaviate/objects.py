"""A passage as a Weaviate object, and back."""

from __future__ import annotations

import hashlib
import json
import math
import re
import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from reflective_rag.data.retrieval.filters import as_float
from reflective_rag.data.retrieval.rows import analyze, to_row
from reflective_rag.signatures.types import Passage

RETURNED = ("passage_id", "text", "title", "source", "published", "metadata")
"""Properties that a search brings back; `id` is a name that Weaviate keeps to itself."""
MOST_FILTERED = 1_000
"""Characters of a text in the metadata that may be filtered by; each distinct one is an entry of an index."""

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "reflective-rag:passage")
_HAN = re.compile("[㐀-䶿一-鿿豈-﫿]")
_PREFIX = {str: "text", bool: "flag", float: "number"}
_LONGEST_NAME = 150
_METADATA_NAME = re.compile(rf"meta_(?:{'|'.join(_PREFIX.values())})_(.+)")
_CODE, _HASH = re.compile("_([0-9a-f]+)_"), re.compile("[0-9a-f]{64}")


def uuid_of(passage_id: str) -> str:
    """The same for the same id on every machine, so that adding again replaces and a broken import resumes."""
    return str(uuid.uuid5(_NAMESPACE, passage_id))


def to_properties(passage: Passage, chinese: str) -> dict[str, Any]:
    """All properties of the object. `chinese` is how the property `zh` is tokenised. Raises as `rows.to_row`."""
    row = to_row(passage)
    properties: dict[str, Any] = {
        "passage_id": row["id"],
        **{name: row[name] for name in ("text", "title", "source", "metadata", "digest")},
        **metadata_properties(passage.metadata),
    }
    if passage.published:
        properties["published"] = midnight(passage.published)
    if text := chinese_text(f"{passage.title}\n{passage.text}", chinese):
        properties["zh"] = text
    return properties


def to_passage(properties: Mapping[str, Any], score: float | None) -> Passage:
    """The passage as it was added, with the score of this search."""
    published = properties.get("published")
    return Passage(
        id=properties["passage_id"],
        text=properties["text"],
        title=properties.get("title") or "",
        source=properties.get("source") or "",
        published=published.date() if isinstance(published, datetime) else None,
        metadata=json.loads(properties.get("metadata") or "{}"),
        score=score,
    )


def midnight(day: date) -> datetime:
    """A date as Weaviate keeps it."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def has_chinese(text: str) -> bool:
    """Whether there is a Chinese character in it."""
    return bool(_HAN.search(text))


def chinese_text(text: str, chinese: str) -> str:
    """What is indexed of a text for Chinese: the text itself, or its bigrams; nothing where it holds no Chinese."""
    if not has_chinese(text):
        return ""
    return bigrams(text) if chinese == "bigram" else text


def bigrams(text: str) -> str:
    """The Chinese bigrams of a text, joined by spaces for a whitespace tokenizer, as in the embedded index."""
    return " ".join(token for token in analyze(text).split() if has_chinese(token))


def metadata_properties(metadata: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What of the metadata can be filtered by: texts, numbers and truth values, alone or in a list, one level deep.

    Each kind of value has a property of its own, always a list, so that no two passages can disagree about its type.
    """
    found: dict[str, list[Any]] = {}
    for key, value in metadata.items():
        for item in value if isinstance(value, list | tuple) else (value,):
            kind = bool if isinstance(item, bool) else float if isinstance(item, int | float) else type(item)
            if kind in _PREFIX and _filterable(item):
                found.setdefault(property_name(key, kind), []).append(kind(item))
    return found


def _filterable(item: str | float) -> bool:
    if isinstance(item, str):
        return len(item) <= MOST_FILTERED
    return math.isfinite(as_float(item))  # JSON, which is what the server keeps, has no other numbers


def property_name(key: str, kind: type) -> str:
    """The property that holds values of `kind` (`str`, `bool` or `float`) under a key of the metadata.

    Weaviate allows letters, digits and `_` alone, takes `Lang` and `lang` for one name, and 231 characters at most; so
    everything but a-z and 0-9 is written as its code, and a long key as its hash.
    """
    name = re.sub("[^a-z0-9]", lambda found: f"_{ord(found[0]):x}_", key)
    if len(name) > _LONGEST_NAME:
        name = hashlib.sha256(key.encode()).hexdigest()
    return f"meta_{_PREFIX[kind]}_{name}"


def key_of(name: str) -> str:
    """The key that `property_name` wrote as this name; empty for another property, and where only a hash is left."""
    if not (match := _METADATA_NAME.fullmatch(name)) or _HASH.fullmatch(match[1]):
        return ""
    return _CODE.sub(lambda found: chr(int(found[1], 16)), match[1])
