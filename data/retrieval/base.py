"""What every retriever can do, whatever stores the passages."""

from collections.abc import Callable, Iterable
from typing import Literal, Protocol, Self

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

    def __call__(self, query: str, k: int) -> list[Passage]:
        """At most `k` passages, best first, each with its `score`. A query without a single word finds nothing."""
        ...

    def add(self, passages: Iterable[Passage], *, progress: Progress | None = None) -> int:
        """Store passages and say how many were written: new ids, and ids that came with another content."""
        ...

    def delete(self, ids: Iterable[str]) -> int:
        """Remove passages by id and say how many there were; unknown ids are no error."""
        ...

    def count(self) -> int:
        """How many passages are stored."""
        ...

    def close(self) -> None:
        """Let go of open handles. May be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...
