"""Retrievers and documents of other libraries, by duck typing: LangChain, LlamaIndex, Haystack. Nothing is imported.

| library | retriever | document |
| --- | --- | --- |
| LangChain | `invoke(query)`, `ainvoke(query)` | `page_content`, `metadata`, `id` |
| LlamaIndex | `retrieve(query)`, `aretrieve(query)` | `node` (`get_content()`, `metadata`, `node_id`) and `score` |
| Haystack | `run(query=…)`, `run_async(query=…)` → `{"documents": […]}` | `content`, `meta`, `id`, `score` |

An object of the user's own with a method `search(query, k)` is taken by that method.
"""

import inspect
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

_KNOWN = ("title", "source", "published", "date")
_PLACES = ("url", "file_path")
"""Where loaders of these libraries keep a document's source, besides `source`."""
_CALLS = (("invoke", "ainvoke"), ("retrieve", "aretrieve"), ("run", "run_async"))


def as_search(retriever: Any) -> "ForeignSearch | Callable[..., Any] | None":
    """A `search(query, k)` over a retriever of another library, or the one an object has; None where there is none."""
    if inspect.isclass(retriever):
        return None
    for name, other in _CALLS:
        if callable(call := getattr(retriever, name, None)):
            acall = None if _only_borrowed(type(retriever)) else getattr(retriever, other, None)
            return ForeignSearch(call, acall, keyword=name == "run")
    own = getattr(retriever, "search", None)
    return own if callable(own) else None


def _only_borrowed(kind: type) -> bool:
    """Whether a LlamaIndex retriever has no async method of its own: the inherited one blocks the event loop."""
    owners = [next((c for c in kind.__mro__ if name in vars(c)), None) for name in ("_retrieve", "_aretrieve")]
    return None not in owners and owners[0] is not owners[1] and issubclass(*owners)  # type: ignore[arg-type]  # see above


class ForeignSearch:
    """Calls the retriever, from a thread or on the event loop; what comes beyond `k` is cut.

    (How many documents come is set on the retriever itself.)
    """

    def __init__(self, call: Callable[..., Any], acall: Callable[..., Any] | None, *, keyword: bool) -> None:
        self._call, self._keyword = call, keyword
        self.acall = self._search_async if callable(acall) else None
        self._acall = acall

    def __call__(self, query: str, k: int) -> Any:
        """Documents for the query."""
        return _documents(self._call(query=query) if self._keyword else self._call(query))

    async def _search_async(self, query: str, k: int) -> Any:
        assert self._acall is not None
        return _documents(await (self._acall(query=query) if self._keyword else self._acall(query)))


def _documents(found: Any) -> Any:
    """Haystack wraps its documents; the others return the list."""
    return found.get("documents", found) if isinstance(found, Mapping) else found


def as_mapping(item: Any) -> dict[str, Any] | None:
    """A document of another library as a dict that `search` may return; None for something else."""
    score = getattr(item, "score", None)
    node = getattr(item, "node", item)
    if callable(getattr(node, "get_content", None)):
        text, metadata, key = node.get_content(), getattr(node, "metadata", None), getattr(node, "node_id", None)
    elif isinstance(getattr(item, "page_content", None), str):
        text, metadata, key = item.page_content, getattr(item, "metadata", None), getattr(item, "id", None)
    elif hasattr(item, "content") and hasattr(item, "meta"):
        # A document of bytes has no content; without a text it is left out as any empty passage is.
        text, metadata, key = item.content or "", item.meta, getattr(item, "id", None)
    else:
        return None
    return {**_own_fields(metadata), "text": text, "id": key, "score": score}


def _own_fields(metadata: Any) -> dict[str, Any]:
    """Title, source and date where the metadata has them; all of it stays under `metadata`."""
    values = dict(metadata) if isinstance(metadata, Mapping) else {}
    known = {name: values[name] for name in _KNOWN if isinstance(values.get(name), str | date)}
    place = next((values[name] for name in _PLACES if isinstance(values.get(name), str)), "")
    return {"source": place, **known, "metadata": values}
