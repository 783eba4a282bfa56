"""The retriever over a Weaviate collection."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any, NamedTuple, TypeVar

from reflective_rag.data.retrieval.adding import batches, ticker
from reflective_rag.data.retrieval.base import Mode, Progress, RetrieverMethods, checked_query
from reflective_rag.data.retrieval.breaker import CircuitBreaker, in_daemon_thread
from reflective_rag.data.retrieval.cache import CachingEmbedder, VectorCache
from reflective_rag.data.retrieval.embedders import Embedder, recorded_embedder, resolve_embedder
from reflective_rag.data.retrieval.filters import Condition, Filters, parse_filters
from reflective_rag.data.retrieval.rows import analyze
from reflective_rag.data.retrieval.weaviate.connection import WRITE_SECONDS, Clients, on_loop
from reflective_rag.data.retrieval.weaviate.faults import ImportFailures, missing, silent, translated
from reflective_rag.data.retrieval.weaviate.importing import DELETE_BATCH, IMPORT_BATCH, delete_ids, import_batch
from reflective_rag.data.retrieval.weaviate.place import WeaviatePlace
from reflective_rag.data.retrieval.weaviate.queries import Call, lacks, read_passages, search_call
from reflective_rag.data.retrieval.weaviate.schema import Schema, create, ensure_tenant, read_schema
from reflective_rag.data.retrieval.weaviate.waiting import Silence, await_, wait
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Passage

T = TypeVar("T")

START_SECONDS = 120.0
"""How long an embedded server may take to be fetched and to start."""


_inherited: list[Clients] = []
"""Clients of the parent in a forked process: closing, or forgetting, one would touch its connections."""


class Opened(NamedTuple):
    """A collection at hand: its handle in the synchronous client, what it says of itself, how to embed for it."""

    collection: Any
    schema: Schema
    embedder: CachingEmbedder | None
    note: str


class WeaviateRetriever(RetrieverMethods):
    """A `Retriever` over a Weaviate collection; `open_retriever` makes one.

    Nothing is connected before the first use. `score` is that of the server: of the fusion in hybrid search, BM25 in
    keyword search, the cosine in dense search (`alpha=1`), or the reranker's. A server that does not answer is a
    `RetrieverUnavailable` within `place.deadline` seconds; after some of those `breaker` refuses at once. In a forked
    process the retriever connects anew; threads that were searching while it forked are beyond gRPC, so prefer `spawn`.
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
        self._place, self._embedder, self._create = place, embedder, create
        self._breaker = breaker or _breaker(place)
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._clients = Clients(self._place)
        self._opened: Opened | None = None

    @property
    def mode(self) -> Mode:
        """`hybrid` where there are vectors to search and `alpha` is not 0. Connects."""
        opened = self._handle()
        dense = opened.embedder is not None or bool(opened.schema.about.vectorizer)
        return "hybrid" if dense and self._place.alpha > 0 else "keyword"

    @property
    def note(self) -> str:
        """As in `Retriever`. Connects."""
        return self._handle().note

    def search(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """At most `k` passages, best first. Raises as the class says, and `DataError` for a missing collection."""
        query, conditions = checked_query(query, k), parse_filters(filters)
        if not analyze(query):
            return []
        call = self._prepared(query, k, conditions)
        if call is None:
            return []
        return self._run(lambda: read_passages(_called(self._open().collection, call)))

    async def asearch(self, query: str, k: int, *, filters: Filters | None = None) -> list[Passage]:
        """`search` with the asynchronous client; opening and embedding go into a thread."""
        query, conditions = checked_query(query, k), parse_filters(filters)
        if not analyze(query):
            return []
        # Opening and embedding may block.
        call = await asyncio.wrap_future(in_daemon_thread(lambda: self._prepared(query, k, conditions)))
        if call is None:
            return []
        return await asyncio.wrap_future(on_loop(self._arun(call)))

    def add(self, passages: Iterable[Passage], *, progress: Progress | None = None) -> int:
        """Store passages in batches; the number written: new ids, and ids whose text or other fields changed.

        What is stored already is not sent, so an import that was broken off goes on where it was. Raises
        `ImportFailures` at the end for passages that the server refused, and `DataError` where the collection holds
        vectors whose embedder is not at hand.
        """
        opened = self._handle()
        if opened.embedder is None and opened.schema.about.embedder != "none":
            raise DataError(f"cannot add to {self._place.address!r}. {opened.note}")
        self._run(lambda: ensure_tenant(self._bare(), self._place), WRITE_SECONDS)
        tick = ticker(progress, len(passages) if isinstance(passages, Sized) else None)
        written, failures = 0, dict[str, str]()
        for batch in batches(passages, IMPORT_BATCH):
            done = import_batch(self._run, self._open, self._remember, batch, tick)
            written += done.written
            failures |= done.failures
        if failures:
            raise ImportFailures(self._place, failures, written)
        return written

    def delete(self, ids: Iterable[str]) -> int:
        """Remove passages by id; the number that were stored."""
        self._handle()
        parts = batches(dict.fromkeys(ids), DELETE_BATCH)
        return sum(self._run(lambda part=part: delete_ids(self._open(), part), WRITE_SECONDS) for part in parts)

    def count(self) -> int:
        """How many passages are stored; none for a tenant that does not exist yet."""

        def ask() -> int:
            collection = self._open().collection
            if self._place.tenant and not self._bare().tenants.get_by_names([self._place.tenant]):
                return 0
            return int(collection.aggregate.over_all(total_count=True).total_count or 0)

        self._handle()
        return self._run(ask)

    def ready(self) -> bool:
        """Whether the server can be reached and says that it is ready. Never raises for a server that is not."""
        try:
            return self._run(lambda: bool(self._clients.sync().get_meta()))
        except DataError:
            return False

    def close(self) -> None:
        """Let go of the connections; the next use opens them again."""
        with self._lock:
            clients, self._clients, self._opened = self._clients, Clients(self._place), None
        clients.close()

    def _prepared(self, query: str, k: int, conditions: Sequence[Condition]) -> Call | None:
        """The call that searches; None where nothing can match."""
        opened = self._handle()
        if lacks(opened.schema, conditions):  # another process may have added passages with such metadata
            self._run(self._look_again)
            opened = self._handle()
        vector = opened.embedder.query(query) if opened.embedder and self._place.alpha > 0 else None
        return search_call(self._place, opened.schema, query, k, conditions, vector)

    def _handle(self) -> Opened:
        """The collection; asks the server at the first time, and in a forked process."""
        if self._clients.inherited:
            _inherited.append(self._clients)
            self._breaker = _breaker(self._place)
            self._begin()
        return self._opened or self._run(self._open)

    def _look_again(self) -> None:
        """Read the schema anew."""
        if schema := read_schema(self._bare(), self._place):
            self._remember(schema)

    def _open(self) -> Opened:
        """The collection, from the server at the first time. Runs inside `_run`."""
        with self._lock:
            if self._opened is None:
                self._opened = self._connected()
            return self._opened

    def _connected(self) -> Opened:
        client = self._clients.sync()
        bare = client.collections.use(self._place.collection)
        schema = read_schema(bare, self._place)
        if schema is None and self._create:
            chosen = None if self._place.vectorizer else self._chosen()
            create(client, self._place, chosen.name if chosen else "none", chosen.dimensions if chosen else None)
            schema = read_schema(bare, self._place)
        if schema is None:
            raise missing(self._place)
        collection = bare.with_tenant(self._place.tenant) if self._place.tenant else bare
        return Opened(collection, schema, *self._embedder_of(schema))

    def _embedder_of(self, schema: Schema) -> tuple[CachingEmbedder | None, str]:
        about = schema.about
        if about.vectorizer:
            return None, ""
        embedder, note = recorded_embedder(about.embedder, self._embedder, self._place.address, "collection")
        if embedder is None:
            return None, note
        return CachingEmbedder(embedder, about.dimensions or embedder.dimensions, VectorCache()), note

    def _chosen(self) -> Embedder | None:
        return resolve_embedder(self._embedder) if isinstance(self._embedder, str) else self._embedder

    def _bare(self) -> Any:
        """The collection without a tenant."""
        return self._clients.sync().collections.use(self._place.collection)

    def _remember(self, schema: Schema) -> None:
        """The schema has more properties now."""
        with self._lock:
            if self._opened is not None:
                self._opened = self._opened._replace(schema=schema)

    def _run(self, job: Callable[[], T], seconds: float | None = None) -> T:
        """Do what asks the server, within seconds, behind the breaker, its errors made ours."""
        allowed = seconds or self._place.deadline
        if self._place.folder and self._opened is None:
            allowed = START_SECONDS
        with self._breaker:
            try:
                return wait(job, self._clients.ready, allowed)
            except Silence as silence:
                raise silent(self._place, allowed, silence.ready and self._clients.connected) from None
            except Exception as error:
                raise self._ours(error) from error

    async def _arun(self, call: Call) -> list[Passage]:
        """A search on the shared loop, as `_run`."""

        async def ask() -> list[Passage]:
            client = await self._clients.asynchronous()
            collection = client.collections.use(self._place.collection)
            if self._place.tenant:
                collection = collection.with_tenant(self._place.tenant)
            return read_passages(await _called(collection, call))

        with self._breaker:
            try:
                return await await_(ask(), self._clients.aready, self._place.deadline)
            except Silence as silence:
                raise silent(self._place, self._place.deadline, silence.ready) from None
            except Exception as error:
                raise self._ours(error) from error

    def _ours(self, error: Exception) -> Exception:
        return translated(error, self._place)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("_place", "_embedder", "_create")
        return {name: self.__dict__[name] for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _breaker=_breaker(state["_place"]))
        self._begin()


def _breaker(place: WeaviatePlace) -> CircuitBreaker:
    return CircuitBreaker(repr(place.address))


def _called(collection: Any, call: Call) -> Any:
    return getattr(collection.query, call.method)(**call.arguments)
