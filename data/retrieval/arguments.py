"""What callers hand to a retriever, checked once for all indexes: a mistake is never silently another call."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from pydantic import ValidationError

from reflective_rag.signatures.errors import ConfigError, ContractError
from reflective_rag.signatures.text import content_hash
from reflective_rag.signatures.types import Passage

Addable: TypeAlias = Passage | Mapping[str, Any] | str
"""What `add` takes: a dict has a `text`, and may have the other fields of a passage; what else it has is metadata."""
MOST = (1 << 31) - 2
"""The largest `k` that is handed on; no index here holds more passages."""


def checked_query(query: str, k: int) -> tuple[str, int]:
    """The query without lone surrogates, which can be typed but not embedded; `k` as a plain whole number up to `MOST`.

    Raises `ConfigError` for a query that is no text, and for a `k` that is no whole number (of any library) from 1 up.
    """
    if not isinstance(query, str):
        raise ConfigError(f"`query` must be text, got {type(query).__name__}")
    try:
        number = 0 if isinstance(k, bool) else operator.index(k)
    except TypeError:
        number = 0
    if number < 1:
        raise ConfigError(f"`k` must be 1 or more, and a whole number, got {k!r}")
    return query.encode(errors="replace").decode(), min(number, MOST)


def checked_ids(ids: Iterable[str]) -> list[str]:
    """Each id once, in order. A text alone is one id, not its letters. Raises `ContractError` for what are no ids."""
    if isinstance(ids, str):
        return [ids]
    given: Any = ids
    if isinstance(given, bytes | dict | Passage) or not isinstance(given, Iterable):
        raise ContractError(f"ids of passages must be an iterable of texts, got {type(ids).__name__}")
    found = list(ids)
    for name in found:
        if not isinstance(name, str):
            raise ContractError(f"ids of passages must be texts, got one of type {type(name).__name__}: {name!r:.80}")
    return list(dict.fromkeys(found))


def checked_passages(passages: Iterable[Addable]) -> Iterator[Passage]:
    """The passages as they come, dicts and texts made into passages.

    Raises `ContractError` at once for what is no iterable, and at an item that is no passage.
    """
    given: Any = passages
    if isinstance(given, str | bytes | dict | Passage) or not isinstance(given, Iterable):
        raise ContractError(
            "`add` takes an iterable of `Passage` objects, dicts with a `text`, or texts, "
            f"got {type(passages).__name__}; put a single one into a list"
        )
    return map(_passage, passages)


def _passage(item: object) -> Passage:
    if isinstance(item, Passage):
        return item
    fields: dict[Any, Any] = (
        {"text": item} if isinstance(item, str) else dict(item) if isinstance(item, Mapping) else {}
    )
    text = fields.get("text")
    if not isinstance(text, str) or not text.strip():
        raise ContractError(
            "`add` takes `Passage` objects, dicts with a `text`, or texts that are not empty, "
            f"got {type(item).__name__}: {str(item)[:80]!r}"
        )
    return _from_fields(fields, text)


def _from_fields(fields: Mapping[Any, Any], text: str) -> Passage:
    """A dict's own fields of a passage, everything else as metadata; without an id, the hash of the text is it."""
    own = {key: value for key, value in fields.items() if key in Passage.model_fields and value is not None}
    rest = {key: value for key, value in fields.items() if key not in Passage.model_fields}
    metadata = own.get("metadata", {})
    if isinstance(metadata, Mapping):
        own["metadata"] = {**rest, **metadata}
    name = own.get("id", "")
    own["id"] = f"p-{content_hash(text)}" if name == "" else str(name)
    try:
        return Passage.model_validate(own)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ContractError(f"`add` got a dict whose `{where}` is no field of a passage: {first['msg']}") from error
