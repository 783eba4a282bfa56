"""What every retriever can do, whatever stores the passages."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Literal, Protocol, Self

from reflective_rag.data.retrieval.arguments import Addable
from reflective_rag.data.retrieval.filters import Filters
from reflective_rag.data.retrieval.windows import asearch_widened, search_widened
from reflective_rag.data.threads import in_daemon_thread
from reflective_rag.signatures.types import Passage

Mode = Literal["hybrid", "keyword"]
Progress = Callable[[int, int], None]
"""Called with (passages done, passages in all). The second equals the first while the end is unknown (a generator)."""


class Retriever(Protocol):
    """Finds passages for a query, and keeps them.

    Queries may come from many threads at once. A copy of a retriever is the retriever itself, since DSPy deep-copies
    programs while it optimises them; a pickled one carries no open handle and opens its store at the first use.
    """

    @property
    def mode(self) -> Mode:
        """`hybrid` when keyword and dense search are fused, `keyword` when there are no vectors to search."""
        ...

    @property
    def note(self) -> str:
        """One sentence for the user when dense search is off: why, and how to turn it on. Empty in hybrid mode."""
        ...

    def search(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """At most `k` passages, best first, each with its `score`. A query without a single word finds nothing.

        `filters` are those of `reflective_rag.data.retrieval.filters`.
        """
        ...

    async def asearch(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """`search` without blocking the event loop."""
        ...

    def __call__(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """`search` as a program calls it, for texts to read: chunks of a document come with the window around them.

        See `reflective_rag.data.retrieval.windows`. Passages that are no chunks come as they are.
        """
        ...

    async def acall(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """`__call__` without blocking the event loop."""
        ...

    def add(self, passages: Iterable[Addable], *, progress: Progress | None = None) -> int:
        """Store passages and say how many were written: new ids, and ids that came with another content."""
        ...

    def delete(self, ids: Iterable[str]) -> int:
        """Remove passages by id and say how many there were; unknown ids are no error. A text alone is one id."""
        ...

    def stored(self, ids: Iterable[str]) -> set[str]:
        """Those of the ids that are stored."""
        ...

    def count(self) -> int:
        """How many passages are stored."""
        ...

    def filter_keys(self) -> list[str]:
        """What can be filtered by: the passage's own fields, then keys of the metadata by name, as far as known."""
        ...

    def missing_keys(self, filters: Filters) -> list[str]:
        """The keys of `filters` that no passage has with a value of that kind. Raises as `parse_filters`."""
        ...

    def close(self) -> None:
        """Let go of open handles. May be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


class RetrieverMethods(ABC):
    """The methods of a `Retriever` that follow from `search` and `close`."""

    @abstractmethod
    def search(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """As in `Retriever`."""

    @abstractmethod
    def close(self) -> None:
        """As in `Retriever`."""

    async def asearch(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """`search` in a thread."""
        return await asyncio.wrap_future(in_daemon_thread(lambda: self.search(query, k, filters=filters)))

    def __call__(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """`search`, each chunk of a document widened to the window around it."""
        return search_widened(lambda n: self.search(query, n, filters=filters), k)

    async def acall(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """`asearch`, widened as in `__call__`."""
        return await asearch_widened(lambda n: self.asearch(query, n, filters=filters), k)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        """Itself: DSPy copies programs at every trial, and one open store serves them all."""
        return self
