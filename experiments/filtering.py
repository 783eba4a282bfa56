"""`--filter KEY=VALUE`: only what matches is searched."""

import json
import re
from collections.abc import Sequence
from typing import Any

from reflective_rag.data.retrieval import Filters, Retriever
from reflective_rag.data.retrieval.filters import parse_filters
from reflective_rag.experiments.fused import FusedRetriever
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Passage

_WORD = re.compile(r"\s*([^<>=]+?)\s*(>=|<=|=|>|<)(.*)", re.DOTALL)


def parse_filter_words(words: Sequence[str] | None) -> dict[str, Any]:
    """`["page=3", "published>=2024-01-01"]` as filters; a number or truth value is read as such, in quotes it is text.

    Several values of one key by `=` are alternatives; everything else must hold together.

    Raises:
        ConfigError: A word without a key or a comparison, or what is no filter.
    """
    found: dict[str, Any] = {}
    for text in words or ():
        match = _WORD.fullmatch(text)
        if match is None or not match[3].strip():
            raise ConfigError(f"`--filter` expects `KEY=VALUE`, such as `page=3` or `year>=2020`, got {text!r}")
        key, sign, value = match[1], match[2], _value(match[3].strip())
        comparisons = found.setdefault(key, {})
        if sign == "=":
            comparisons.setdefault("in", []).append(value)
        else:
            comparisons[sign] = value
    parse_filters(found)
    return found


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str | int | float | bool) else text


class FilteredRetriever(FusedRetriever):
    """A retriever whose every search is filtered; closed with it.

    Raises:
        ConfigError: A key that no passage has; it names those that there are.
    """

    def __init__(self, search: Retriever, filters: Filters) -> None:
        super().__init__([search])
        self._filters = filters
        if missing := search.missing_keys(filters):
            known = ", ".join(f"`{key}`" for key in search.filter_keys())
            raise ConfigError(f"no passage has {', '.join(map(repr, missing))} to filter by; there are {known}")

    def search(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """As that of the retriever, with the filters; `filters` are not taken here."""
        return self._parts[0].search(query, k, filters=self._filters)

    async def asearch(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """`search` without blocking."""
        return await self._parts[0].asearch(query, k, filters=self._filters)
