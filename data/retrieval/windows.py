"""Small chunks are searched, the window around them is read: what a passage says of its window, and the exchange."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from reflective_rag.data.partial import as_whole_as
from reflective_rag.signatures.types import Passage

WINDOW = "window"
"""The key of the metadata under which a chunk carries its window."""
_MOST = 16
"""How many times `k` chunks are searched at most for `k` windows."""

Find = Callable[[int], list[Passage]]
AsyncFind = Callable[[int], Awaitable[list[Passage]]]


class Window(NamedTuple):
    """The text around a chunk. `pages` lists [offset in the window, page] for every page that it touches."""

    id: str
    text: str
    start: int
    pages: list[tuple[int, int]]

    def as_metadata(self) -> dict[str, Any]:
        """What a chunk carries."""
        return {WINDOW: self._asdict()}


def widened(found: Iterable[Passage]) -> list[Passage]:
    """Each chunk's window in its stead, every window once, in the order of the best chunk; other passages as they are.

    The id is the window's. Its metadata has `start` and `end` of the window in the document, `pages` where it has
    pages, and `chunk`, the id of the chunk that was found.
    """
    kept: dict[str, Passage] = {}
    for passage in found:
        window = passage.metadata.get(WINDOW)
        if not isinstance(window, dict) or not {"id", "text", "start"} <= set(window):
            kept.setdefault(passage.id, passage)
        elif window["id"] not in kept:
            kept[window["id"]] = _window_of(passage, window)
    return list(kept.values())


def search_widened(find: Find, k: int) -> list[Passage]:
    """`k` windows by a search for chunks: more chunks are asked for while several fall into one window."""
    n, found = k, find(k)
    while _too_few(found, n, k):
        n *= 2
        found = find(n)
    return as_whole_as(found, widened(found)[:k])


async def asearch_widened(find: AsyncFind, k: int) -> list[Passage]:
    """`search_widened` without blocking."""
    n, found = k, await find(k)
    while _too_few(found, n, k):
        n *= 2
        found = await find(n)
    return as_whole_as(found, widened(found)[:k])


def _too_few(found: list[Passage], n: int, k: int) -> bool:
    return n < _MOST * k and len(found) >= n and len(widened(found)) < k


def page_at(passage: Passage, offset: int) -> int | None:
    """The page on which the character at `offset` of a passage's text stands; None where it has no pages."""
    page = passage.metadata.get("page")
    for begin, number in passage.metadata.get("pages") or ():
        if begin <= offset:
            page = number
    return page if isinstance(page, int) else None


def _window_of(passage: Passage, window: dict[str, Any]) -> Passage:
    metadata = {key: value for key, value in passage.metadata.items() if key != WINDOW}
    metadata |= {"start": window["start"], "end": window["start"] + len(window["text"]), "chunk": passage.id}
    if window.get("pages"):
        metadata |= {"pages": window["pages"], "page": window["pages"][0][1]}
    return passage.model_copy(update={"id": window["id"], "text": window["text"], "metadata": metadata})
