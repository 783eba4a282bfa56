"""What callers hand to a retriever, checked once for all indexes: a mistake is never silently another call."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any

from reflective_rag.signatures.errors import ConfigError, ContractError
from reflective_rag.signatures.types import Passage

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


def checked_passages(passages: Iterable[Passage]) -> Iterator[Passage]:
    """The passages as they come. Raises `ContractError` at once for what is no iterable, and at one that is none."""
    given: Any = passages
    if isinstance(given, str | bytes | dict | Passage) or not isinstance(given, Iterable):
        raise ContractError(
            f"`add` takes an iterable of `Passage` objects, got {type(passages).__name__}; put a single one into a list"
        )
    return map(_passage, passages)


def _passage(item: object) -> Passage:
    if not isinstance(item, Passage):
        raise ContractError(f"`add` takes `Passage` objects, got {type(item).__name__}: {str(item)[:80]!r}")
    return item
