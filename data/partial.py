"""What several sources found where some of them failed: the passages, and a word on those that brought nothing."""

from collections.abc import Iterable

from reflective_rag.signatures.types import Passage


class PartialPassages(list[Passage]):
    """Passages of the sources that answered. `failed` names the others and says why they did not.

    A `search(query, k)` may return it: the program goes on with the passages, and its result is `degraded` with a
    warning that holds `failed`.
    """

    def __init__(self, passages: Iterable[Passage], failed: str) -> None:
        super().__init__(passages)
        self.failed = failed


def failed_part(found: object) -> str:
    """What did not answer of what was searched; empty where all did."""
    return found.failed if isinstance(found, PartialPassages) else ""


def as_whole_as(found: object, passages: list[Passage]) -> list[Passage]:
    """Passages made from `found`, with what `found` says of failed sources."""
    failed = "; ".join(filter(None, (failed_part(found), failed_part(passages))))
    return PartialPassages(passages, failed) if failed else passages
