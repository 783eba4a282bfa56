"""A web search of the caller's as a source of passages. Nothing here calls the network: the caller's function does.

| service | where the results are | of a result: link, text, date |
| --- | --- | --- |
| Tavily | `results` | `url`, `content`, `published_date` |
| Brave | `web.results` | `url`, `description` and `extra_snippets`, `page_age` or `age` |
| SerpAPI | `organic_results` | `link`, `snippet`, `date` |
| Serper | `organic` | `link`, `snippet`, `date` |
| DuckDuckGo (`ddgs`) | the list itself | `href` or `url`, `body`, `date` |
| Exa | `.results` | `url`, `text` or `highlights`, `published_date` |
| SearXNG | `results` | `url`, `content`, `publishedDate` |
| Google Programmable Search | `items` | `link`, `snippet`, none |
| Bing | `webPages.value` | `url`, `snippet`, `datePublished` |
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from reflective_rag.data.retrieval.web_text import plain, web_date
from reflective_rag.data.secrets import scrub
from reflective_rag.signatures.errors import ConfigError, ContractError, DataError
from reflective_rag.signatures.text import content_hash, identity
from reflective_rag.signatures.types import Passage

Search = Callable[[str, int], list[Passage]]
AsyncSearch = Callable[[str, int], Awaitable[list[Passage]]]

LONGEST = 8000
"""Characters of a result that are kept: a service may send a whole page."""

_LISTS = ("results", "organic_results", "organic", "items", "value", "data", "news_results", "hits")
_AROUND = ("web", "webPages", "news", "data", "response")
"""Keys under which a service keeps its list, and what it may wrap around it."""
_ENVELOPE = frozenset(
    {"query", "queries", "search_metadata", "search_information", "searchParameters", "searchInformation"}
) | {"_type", "type", "kind", "queryContext", "request_id"}
"""A reply with one of these and without a list has found nothing."""
_TEXTS = ("content", "snippet", "description", "body", "text", "summary", "raw_content")
"""The first that holds something is the text."""
_MORE = ("extra_snippets", "highlights")
_LINKS = ("url", "link", "href")
_TITLES = ("title", "name")
_DATES = ("published_date", "publishedDate", "datePublished", "published", "page_age", "date", "age")
_FAULTS = ("error", "errors", "detail", "message")
_NOTHING = "hasn't returned any results"
"""SerpAPI says so in `error`."""


def web_search(function: Callable[..., Any]) -> Search | AsyncSearch:
    """A `search(query, k)` over a function of yours that asks the web; for `fallback_search`, `gap_search`, `search`.

    Args:
        function: `function(query, k)` or `function(query)`, sync or async. It returns what the service sent: a list of
            dicts, or the dict (or object) with such a list in it. What it raises, a 429 say, goes to the program,
            which goes on with what it has and warns.

    Raises:
        ConfigError: It is no function of a query.
    """
    takes_k = _takes_k(function)
    call = getattr(function, "__call__", None)  # noqa: B004 - the bound method, which may be a coroutine function

    def ask(query: str, k: int) -> Any:
        return function(query, k) if takes_k else function(query)

    async def asearch(query: str, k: int) -> list[Passage]:
        return web_passages(await ask(query, k), k)

    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):
        return asearch
    return lambda query, k: web_passages(ask(query, k), k)


def web_passages(found: Any, k: int | None = None, *, today: date | None = None) -> list[Passage]:
    """The results of a web search as passages, in their order, at most `k`.

    Marks of HTML are taken out. `source` is the link, where it is one of the web; `published` the date, where it can be
    read ("3 days ago" counts from `today`). A result without a text is left out, and so is a text that came already.

    Raises:
        ContractError: `found` holds no results of a search.
        DataError: The service sent an error in their place.
    """
    passages: dict[str, Passage] = {}
    for item in _items(found):
        passage = _passage(item, today or date.today())
        if passage.text:
            passages.setdefault(identity(passage.text), passage)
    return list(passages.values())[:k]


def _takes_k(function: Any) -> bool:
    if not callable(function) or inspect.isclass(function):
        raise ConfigError(f"`web_search` needs a `function(query, k)` or `function(query)`, got {function!r:.80}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions of C have none
        return True
    for arguments in (("query", 5), ("query",)):
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return len(arguments) == 2 and not _names_another(signature)
    raise ConfigError(
        f"`web_search` calls `function(query, k)` or `function(query)`, and {function!r:.80} takes neither; wrap it, "
        "for example `lambda query, k: client.search(query, max_results=k)`"
    )


def _names_another(signature: inspect.Signature) -> bool:
    """Whether the second argument has a default and a name of its own, such as `region="us-en"`: it is not for k."""
    second = list(signature.parameters.values())[1]
    return (
        second.kind is second.POSITIONAL_OR_KEYWORD
        and second.default is not second.empty
        and not isinstance(second.default, int)
        and second.name not in ("k", "top_k", "n", "limit", "count", "num", "max_results", "num_results")
    )


def _items(found: Any) -> Iterable[Any]:
    listed = _list_in(found)
    if listed is not None:
        return listed
    if isinstance(found, Mapping):
        if fault := next((found[key] for key in _FAULTS if found.get(key)), None):
            if _NOTHING in str(fault):
                return []
            raise DataError(f"the web search sent an error: {scrub(str(fault))[:300]}")
        if _ENVELOPE & found.keys():
            return []
        got = f"a dict with the keys {sorted(map(str, found))[:12]}"
    else:
        got = type(found).__name__
    raise ContractError(f"a web search must return a list of results (dicts), or a dict that holds one; got {got}")


def _list_in(found: Any) -> Sequence[Any] | None:
    if isinstance(found, list | tuple):
        return found
    if not isinstance(found, Mapping):
        inner = getattr(found, "results", None)
        return inner if isinstance(inner, list | tuple) else None
    for key in _LISTS:
        if isinstance(found.get(key), list | tuple):
            listed: Sequence[Any] = found[key]
            return listed
    around = [found[key] for key in _AROUND if isinstance(found.get(key), Mapping)]
    return next((inside for inner in around if (inside := _list_in(inner)) is not None), None)


def _passage(item: Any, today: date) -> Passage:
    fields = item if isinstance(item, Mapping) else getattr(item, "__dict__", None)
    if not isinstance(fields, Mapping) or isinstance(item, Passage):
        raise ContractError(
            f"a result of a web search must be a dict with a link and a text, got {type(item).__name__}"
        )
    text = _text(fields)
    link = str(_first(fields, _LINKS) or "").strip()
    score = fields.get("score")
    metadata: dict[str, Any] = {"cut": True} if len(text) > LONGEST else {}
    return Passage(
        id=f"web-{content_hash(f'{link} {text}')}",
        text=text[:LONGEST],
        title=plain(str(_first(fields, _TITLES) or "")),
        source=link if link.lower().startswith(("http://", "https://")) else "",
        published=next((day for key in _DATES if (day := web_date(fields.get(key), today))), None),
        score=float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None,
        metadata=metadata,
    )


def _text(fields: Mapping[str, Any]) -> str:
    """The text, and what other parts of the page come with it and do not say the same."""
    parts = [plain(str(_first(fields, _TEXTS) or ""))]
    for key in _MORE:
        more = fields.get(key)
        if isinstance(more, list | tuple):
            parts += [plain(part) for part in more if isinstance(part, str)]
    kept: list[str] = []
    for part in parts:
        if part and not any(part in other for other in kept):
            kept.append(part)
    return "\n".join(kept)


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> str | None:
    return next((value for name in names if isinstance(value := fields.get(name), str) and value.strip()), None)
