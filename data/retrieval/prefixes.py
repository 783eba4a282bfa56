"""What some models want before a text, so that they know a query from a passage; without it they find clearly less."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

from reflective_rag.signatures.errors import ConfigError


class Prefixes(NamedTuple):
    """Put before each text, with the space that belongs to it."""

    query: str = ""
    passage: str = ""


_RETRIEVE = "Given a web search query, retrieve relevant passages that answer the query"
_REPRESENT = "Represent this sentence for searching relevant passages: "
_KNOWN: tuple[tuple[str, Prefixes], ...] = (
    # The cards of the models: intfloat, BAAI, nomic-ai, mixedbread-ai, Snowflake.
    (r"\be5-.*instruct\b|\bqwen3-embedding\b", Prefixes(query=f"Instruct: {_RETRIEVE}\nQuery: ")),
    (r"\be5-(small|base|large)\b", Prefixes("query: ", "passage: ")),
    (r"\bbge-(small|base|large)-zh\b", Prefixes(query="为这个句子生成表示以用于检索相关文章：")),
    (r"\bbge-(small|base|large)-en\b|\bmxbai-embed\b", Prefixes(query=_REPRESENT)),
    (r"\bnomic-embed-text\b", Prefixes("search_query: ", "search_document: ")),
    (r"\bsnowflake-arctic-embed-\w+-v2|\barctic-embed2", Prefixes(query="query: ")),
    (r"\bsnowflake-arctic-embed\b", Prefixes(query=_REPRESENT)),
)


def known_prefixes(model: str) -> Prefixes:
    """Those that the card of a model of this name asks for; none for a model that is not known."""
    return next((prefixes for pattern, prefixes in _KNOWN if re.search(pattern, model, re.IGNORECASE)), Prefixes())


def split_prefixes(name: str) -> tuple[str, Prefixes | None]:
    """`MODEL?query=…&passage=…` taken apart; None where no prefix is named. Raises `ConfigError` for other options."""
    model, mark, options = name.partition("?")
    if not mark:
        return name, None
    pairs = dict(parse_qsl(options, keep_blank_values=True))
    if not pairs or pairs.keys() - {"query", "passage"}:
        raise ConfigError(
            f"unknown options of the embedder {name!r}: expected `?query=…&passage=…`, the prefixes of queries and "
            "passages, such as `?query=query:%20&passage=passage:%20`"
        )
    return model, Prefixes(**pairs)


def named(model: str, prefixes: Prefixes) -> str:
    """The name under which an index and the cache know a model with its prefixes; `split_prefixes` reads it again."""
    return f"{model}?query={quote(prefixes.query)}&passage={quote(prefixes.passage)}" if any(prefixes) else model
