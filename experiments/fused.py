"""Several retrievers searched as one, also where some of them do not answer."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from reflective_rag.data.partial import PartialPassages
from reflective_rag.data.retrieval import (
    Filters,
    Mode,
    Progress,
    Retriever,
    RetrieverMethods,
    reciprocal_rank_fusion,
)
from reflective_rag.data.retrieval.arguments import Addable, checked_ids
from reflective_rag.data.threads import in_daemon_thread
from reflective_rag.signatures.errors import ConfigError, described
from reflective_rag.signatures.types import Passage

T = TypeVar("T")


class FusedRetriever(RetrieverMethods):
    """Several retrievers as one: each text once, by reciprocal rank. Read only.

    Where some fail the others answer, with `PartialPassages` that name those that do not; where all fail, the first
    error is raised. A `ConfigError` of any part is.
    """

    def __init__(self, parts: Sequence[Retriever]) -> None:
        self._parts = tuple(parts)

    @property
    def mode(self) -> Mode:
        """`keyword` as soon as one part is."""
        return "keyword" if "keyword" in self._said(lambda part: part.mode) else "hybrid"

    @property
    def note(self) -> str:
        """The notes of the parts."""
        return " ".join(filter(None, self._said(lambda part: part.note)))

    def search(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """At most `k` passages, best first; `score` is that of the fusion. All parts at once."""
        waiting = [in_daemon_thread(partial(part.search, query, k, filters=filters)) for part in self._parts]
        return self._fused([_result(future.result) for future in waiting], k)

    async def asearch(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """`search` without blocking."""
        asked = (part.asearch(query, k, filters=filters) for part in self._parts)
        return self._fused(await asyncio.gather(*asked, return_exceptions=True), k)

    def _fused(self, outcomes: Sequence[list[Passage] | BaseException], k: int) -> list[Passage]:
        found, errors = _sorted_out(outcomes)
        texts = {passage.key: passage for hits in reversed(found) for passage in hits}
        ranked = reciprocal_rank_fusion([[passage.key for passage in hits] for hits in found])
        passages = [texts[key].model_copy(update={"score": score}) for key, score in ranked[:k]]
        if not errors:
            return passages
        why = "; ".join(dict.fromkeys(described(error) for error in errors))
        return PartialPassages(passages, f"{len(errors)} of {len(outcomes)} corpora could not be searched: {why}")

    def count(self) -> int:
        """Passages in all parts that answer, repeats included."""
        return sum(self._said(lambda part: part.count()))

    def _said(self, ask: Callable[[Retriever], T]) -> list[T]:
        return _sorted_out([_result(partial(ask, part)) for part in self._parts])[0]

    def stored(self, ids: Iterable[str]) -> set[str]:
        """Those of the ids that some part holds."""
        wanted = checked_ids(ids)
        return {name for there in self._said(lambda part: part.stored(wanted)) for name in there}

    def filter_keys(self) -> list[str]:
        """The keys of all parts that answer."""
        return list(dict.fromkeys(key for keys in self._said(lambda part: part.filter_keys()) for key in keys))

    def missing_keys(self, filters: Filters) -> list[str]:
        """The keys that no part has."""
        first, *others = self._said(lambda part: part.missing_keys(filters))
        return [key for key in first if all(key in other for other in others)]

    def add(self, passages: Iterable[Addable], *, progress: Progress | None = None) -> int:
        """Refused: it is not said which part should hold them."""
        raise ConfigError(
            "several corpora are searched as one; add passages to one of them with `reflective-rag index`"
        )

    def delete(self, ids: Iterable[str]) -> int:
        """Refused, as `add`."""
        raise ConfigError("several corpora are searched as one; delete passages in one of them")

    def close(self) -> None:
        """Close every part."""
        for part in self._parts:
            part.close()


def _result(job: Callable[[], T]) -> T | Exception:
    try:
        return job()
    except Exception as error:  # noqa: BLE001 - a retriever may raise anything; `_sorted_out` says what it means
        return error


def _sorted_out(outcomes: Sequence[T | BaseException]) -> tuple[list[T], list[BaseException]]:
    """What came, and what failed. Raises what no other part can make up for, and the first failure where all failed."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    fatal = (e for e in errors if isinstance(e, ConfigError) or not isinstance(e, Exception))
    if error := next(fatal, errors[0] if errors and len(errors) == len(outcomes) else None):
        raise error
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)], errors
