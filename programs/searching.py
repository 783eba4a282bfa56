"""Turns any caller's `search(query, k)` into Passages: Passages, dicts with a text, or plain strings; sync or async."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from itertools import islice
from typing import Any, Self, TypeVar

from reflective_rag.data.partial import PartialPassages, as_whole_as
from reflective_rag.data.threads import ENDS_A_WAIT, in_daemon_thread, is_cancelled, portable
from reflective_rag.programs.foreign import as_mapping, as_search
from reflective_rag.signatures.errors import ConfigError, ContractError, described
from reflective_rag.signatures.text import content_hash
from reflective_rag.signatures.types import Passage

T = TypeVar("T")
SearchFunction = Callable[[str, int], Iterable[Any] | Awaitable[Iterable[Any]]]

LOOKED_AT = 1000
"""Items that are looked at beyond ten times what is wanted, blank ones and bad ones included."""
_TEXT_KEYS = ("text", "content", "page_content", "passage", "long_text")
_DATE_KEYS = ("published", "date")


class SearchHandle:
    """Holds the caller's search function on a Module without DSPy copying, walking or saving it.

    A copied client (Weaviate, say) breaks.
    """

    def __init__(self, search: Any) -> None:
        if search is not None and (not callable(search) or inspect.isclass(search)):
            foreign = as_search(search)
            if foreign is None:
                got = f"the class {search.__name__}" if inspect.isclass(search) else type(search).__name__
                if isinstance(search, str):
                    got = f'the text {search!r}: open an index with `open_retriever("local:my-index")`, and give that'
                raise ConfigError(
                    "`search` must be a callable `search(query, k)`, or a retriever of LangChain, LlamaIndex or "
                    f"Haystack; got {got}"
                )
            search = foreign
        self._search: SearchFunction | None = search
        self.is_async = is_async(search)

    @property
    def given(self) -> bool:
        """Whether there is a search function."""
        return self._search is not None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def require(self) -> SearchFunction:
        """The search function; `ConfigError` when the program was built without one."""
        if self._search is None:
            raise ConfigError(
                "this program has no `search`: pass a callable `search(query, k)` when you build or load it, "
                "for example `ReflectiveRAG(search=my_search)`"
            )
        return self._search

    def __call__(self, query: str, k: int) -> list[Passage]:
        """Search in this thread; an async search function gets an event loop of its own."""
        search = self.require()
        try:
            found = search(query, k)
            if inspect.isawaitable(found):
                found = finish(found)
            return as_whole_as(found, as_passages(found, k))
        except ENDS_A_WAIT as error:
            raise portable(error) from error

    async def acall(self, query: str, k: int) -> list[Passage]:
        """Search without blocking the event loop; its end does not wait for the thread of a plain function."""
        search = self.require()
        acall = search if self.is_async else getattr(search, "acall", None)
        if acall is not None and is_async(acall):
            try:
                answer: Any = acall(query, k)
                found = await answer
                return as_whole_as(found, as_passages(found, k))
            except ENDS_A_WAIT as error:
                if is_cancelled():
                    raise
                raise portable(error) from error
        return await asyncio.wrap_future(in_daemon_thread(lambda: self(query, k)))


def is_async(function: Any) -> bool:
    """Whether calling it gives a coroutine: an `async def`, or an object whose `__call__` is one."""
    call = getattr(function, "__call__", None)  # noqa: B004 - the bound method, to see whether it is a coroutine function
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def finish(awaitable: Awaitable[Any]) -> Any:
    """The result of an awaitable, also where this thread's event loop is already running (a notebook)."""

    async def wait() -> Any:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    with ThreadPoolExecutor(max_workers=1) as other:
        return other.submit(asyncio.run, wait()).result()


def as_passages(found: Any, k: int, source: str = "`search` must return") -> list[Passage]:
    """The first `k` items as Passages; those of another shape are left out and told (`PartialPassages`).

    Raises:
        ContractError: The whole has another shape, or every item.
    """
    if found is None or isinstance(found, str | bytes | Mapping) or not isinstance(found, Iterable):
        raise ContractError(f"{source} a list of Passages, dicts with a `text`, or strings; got {type(found).__name__}")
    passages: list[Passage] = []
    faults: list[ContractError] = []
    broken = ""
    try:
        for item in islice(found, 10 * k + LOOKED_AT):  # some generators never end
            if len(passages) + len(faults) == k:
                break
            try:
                passage = _as_passage(item, source)
            except ContractError as error:
                faults.append(error)
                continue
            if passage.text.strip():
                passages.append(passage)
    except ENDS_A_WAIT:
        raise
    except Exception as error:
        if not passages:
            raise
        broken = f"it broke off: {described(error)}"
    if faults and not passages:
        raise faults[0]
    left_out = f"{len(faults)} item(s) of the reply left out: {faults[0]}" if faults else ""
    if told := "; ".join(filter(None, (left_out, broken))):
        return PartialPassages(passages, told)
    return passages


def _as_passage(item: Any, source: str) -> Passage:
    if isinstance(item, Passage):
        return item
    if isinstance(item, str):
        return Passage(id=f"p-{content_hash(item)}", text=item)
    if isinstance(item, Mapping):
        return _from_mapping(item, source)
    if (fields := as_mapping(item)) is not None:
        return _from_mapping(fields, source)
    raise ContractError(
        f"{source} a list of Passages, dicts with a `text`, documents of LangChain, LlamaIndex or Haystack, or "
        f"strings; got one with an item of type {type(item).__name__}"
    )


def _from_mapping(item: Mapping[str, Any], source: str) -> Passage:
    key = next((k for k in _TEXT_KEYS if isinstance(item.get(k), str)), None)
    if key is None:
        raise ContractError(
            f"{source} passages with a text; got a dict without one: "
            f"expected one of {_TEXT_KEYS}, got keys {sorted(map(str, item))}"
        )
    known = {key, "id", "title", "source", "score", "metadata", *_DATE_KEYS}
    text = item[key]
    metadata = item.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise ContractError(f"`metadata` of a passage must be a dict, got {type(metadata).__name__}")
    score = item.get("score")
    return Passage(
        id=str(item["id"]) if item.get("id") not in (None, "") else f"p-{content_hash(text)}",
        text=text,
        title=str(item.get("title") or ""),
        source=str(item.get("source") or ""),
        published=next((d for k in _DATE_KEYS if (d := read_date(item.get(k)))), None),
        score=float(score) if isinstance(score, int | float) else None,
        metadata={str(k): v for k, v in (*metadata.items(), *((k, v) for k, v in item.items() if k not in known))},
    )


def read_date(value: Any) -> date | None:
    """A date from a date, a datetime or ISO text; None for anything else: an unknown date is no error."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return datetime.fromisoformat(value).date() if isinstance(value, str) else None
    except ValueError:
        return None
