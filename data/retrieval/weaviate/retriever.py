"""The retriever over a Weaviate collection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Sequence, Sized
from typing import Any

from reflective_rag.data.retrieval.adding import batches, ticker
from reflective_rag.data.retrieval.arguments import Addable, checked_ids, checked_passages, checked_query
from reflective_rag.data.retrieval.base import Mode, Progress, RetrieverMethods
from reflective_rag.data.retrieval.breaker import CircuitBreaker
from reflective_rag.data.retrieval.embedders import Embedder
from reflective_rag.data.retrieval.filters import OWN_FIELDS, Condition, Filters, parse_filters
from reflective_rag.data.retrieval.rows import analyze
from reflective_rag.data.retrieval.weaviate.connection import WRITE_SECONDS, on_loop
from reflective_rag.data.retrieval.weaviate.faults import ImportFailures
from reflective_rag.data.retrieval.weaviate.importing import (
    DELETE_BATCH,
    IMPORT_BATCH,
    delete_ids,
    import_batch,
    stored_digests,
)
from reflective_rag.data.retrieval.weaviate.place import WeaviatePlace
from reflective_rag.data.retrieval.weaviate.queries import Call, lacking, metadata_keys, read_passages, search_call
from reflective_rag.data.retrieval.weaviate.schema import Schema, ensure_tenant
from reflective_rag.data.retrieval.weaviate.session import Session
from reflective_rag.data.threads import in_daemon_thread
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Passage

logger = logging.getLogger(__name__)


class WeaviateRetriever(RetrieverMethods):
    """A `Retriever` over a Weaviate collection; `open_retriever` makes one.

    Nothing is connected before the first use. `score` is that of the server: of the fusion in hybrid search, BM25 in
    keyword search, the cosine in dense search (`alpha=1`), or the reranker's. A server that does not answer is a
    `RetrieverUnavailable` within `place.deadline` seconds; after some of those `breaker` refuses at once. In a forked
    process the retriever connects anew; gRPC does not survive a fork where threads were searching or `asearch` was
    used before, so prefer `spawn`.
    """

    def __init__(
        self,
        place: WeaviatePlace,
        *,
        embedder: str | Embedder = "auto",
        create: bool = False,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        if place.vectorizer and embedder not in ("auto", "none"):
            raise ConfigError(
                f"{place.address!r} lets the server embed (`vectorizer`): leave the embedder at `auto`, "
                f"got {embedder!r}"
            )
        self._settings: tuple[WeaviatePlace, str | Embedder, bool] = (place, embedder, create)
        self._place = place
        self._session = Session(*self._settings, breaker)
        self._told: tuple[Mode, str] | None = None

    @property
    def mode(self) -> Mode:
        """`hybrid` where there are vectors to search and `alpha` is not 0. Connects, unless it has done so before."""
        return self._about()[0]

    @property
    def note(self) -> str:
        """As in `Retriever`. Connects, unless it has done so before."""
        return self._about()[1]

    def _about(self) -> tuple[Mode, str]:
        if self._told is not None:
            return self._told
        opened = self._session.handle()
        dense = opened.embedder is not None or bool(opened.schema.about.vectorizer)
        told: tuple[Mode, str] = ("hybrid" if dense and self._place.alpha > 0 else "keyword", opened.note)
        self._told = told
        return told

    def search(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """At most `k` passages, best first. Raises as the class says, and `DataError` for a missing collection."""
        query, k = checked_query(query, k)
        conditions = parse_filters(filters)
        call = self._prepared(query, k, conditions)
        if call is None:
            return []
        collection = self._session.handle().collection
        return self._session.run(lambda: read_passages(_called(collection, call)))

    async def asearch(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """`search` with the asynchronous client; opening and embedding, which may block, go into a thread."""
        query, k = checked_query(query, k)
        conditions = parse_filters(filters)
        call = await asyncio.wrap_future(in_daemon_thread(lambda: self._prepared(query, k, conditions)))
        if call is None:
            return []

        async def ask(collection: Any) -> list[Passage]:
            reply: Awaitable[Any] = _called(collection, call)
            return read_passages(await reply)

        return await asyncio.wrap_future(on_loop(self._session.arun(ask)))

    def add(self, passages: Iterable[Addable], *, progress: Progress | None = None) -> int:
        """Store passages in batches; the number written: new ids, and ids whose text or other fields changed.

        What is stored already is not sent, so an import that was broken off goes on where it was. Raises
        `ImportFailures` at the end for passages that the server refused, and `DataError` where the collection holds
        vectors whose embedder is not at hand.
        """
        checked = checked_passages(passages)
        session, opened = self._session, self._session.handle()
        if opened.embedder is None and opened.schema.about.embedder != "none":
            raise DataError(f"cannot add to {self._place.address!r}. {opened.note}")
        if self._place.tenant:
            session.run(lambda: ensure_tenant(session.bare(), self._place), WRITE_SECONDS)
        tick = ticker(progress, len(passages) if isinstance(passages, Sized) else None)
        written, failures = 0, dict[str, str]()
        for batch in batches(checked, IMPORT_BATCH):
            done = import_batch(session, batch, tick)
            written += done.written
            failures |= done.failures
        if failures:
            raise ImportFailures(self._place, failures, written)
        return written

    def delete(self, ids: Iterable[str]) -> int:
        """Remove passages by id; the number that were stored."""
        wanted = checked_ids(ids)
        opened = self._session.handle()

        def remove(part: list[str]) -> int:
            return self._session.run(lambda: delete_ids(opened, part), WRITE_SECONDS)

        return sum(remove(part) for part in batches(wanted, DELETE_BATCH))

    def stored(self, ids: Iterable[str]) -> set[str]:
        """Those of the ids that are stored."""
        wanted, opened = checked_ids(ids), self._session.handle()

        def there(part: list[str]) -> dict[str, str]:
            return self._session.run(lambda: stored_digests(opened, part), WRITE_SECONDS)

        return {name for part in batches(wanted, DELETE_BATCH) for name in there(part)}

    def count(self) -> int:
        """How many passages are stored; none for a tenant that does not exist yet."""
        collection = self._session.handle().collection

        def ask() -> int:
            if self._place.tenant and not self._session.bare().tenants.get_by_names([self._place.tenant]):
                return 0
            return int(collection.aggregate.over_all(total_count=True).total_count or 0)

        return self._session.run(ask)

    def filter_keys(self) -> list[str]:
        """What can be filtered by: the passage's own fields, and the keys of the metadata that the server has."""
        self._session.handle()
        self._session.run(self._session.look_again)
        return [*OWN_FIELDS, *metadata_keys(self._session.handle().schema)]

    def missing_keys(self, filters: Filters) -> list[str]:
        """The keys of `filters` that no passage has with a value of that kind. Raises as `parse_filters`."""
        return lacking(self._schema_for(conditions := parse_filters(filters)), conditions)

    def ready(self) -> bool:
        """Whether the server can be reached and answers. Never raises for a server that does not."""
        try:
            return self._session.run(lambda: bool(self._session.clients.sync().get_meta()))
        except DataError:
            return False

    def close(self) -> None:
        """Let go of the connections; the next use opens them again."""
        self._session.close()

    def _prepared(self, query: str, k: int, conditions: Sequence[Condition]) -> Call | None:
        """The call that searches; None where nothing can match."""
        if not analyze(query):
            return None
        if missing := lacking(self._schema_for(conditions), conditions):
            known = ", ".join([*OWN_FIELDS, *metadata_keys(self._session.handle().schema)])
            logger.warning("no passage of %s has %s to filter by; there are %s", self._place.address, missing, known)
            return None
        opened = self._session.handle()
        vector = opened.embedder.query(query) if opened.embedder and self._place.alpha > 0 else None
        return search_call(self._place, opened.schema, query, k, conditions, vector)

    def _schema_for(self, conditions: Sequence[Condition]) -> Schema:
        """The schema, read anew where it lacks a key: another process may have added passages with such metadata."""
        schema = self._session.handle().schema
        if lacking(schema, conditions):
            self._session.run(self._session.look_again)
            schema = self._session.handle().schema
        return schema

    def __getstate__(self) -> dict[str, Any]:
        return {"_settings": self._settings, "_place": self._place, "_told": self._told}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._session = Session(*self._settings, None)


def _called(collection: Any, call: Call) -> Any:
    """The reply of the synchronous client, or an awaitable of the asynchronous one."""
    return getattr(collection.query, call.method)(**call.arguments)
