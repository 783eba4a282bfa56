"""What a retriever has of its server: the clients, the collection once opened, and the guard around each call."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

from reflective_rag.data.retrieval.breaker import CircuitBreaker
from reflective_rag.data.retrieval.cache import CachingEmbedder, VectorCache
from reflective_rag.data.retrieval.embedders import Embedder, recorded_embedder, resolve_embedder
from reflective_rag.data.retrieval.weaviate.connection import Clients
from reflective_rag.data.retrieval.weaviate.faults import missing, silent, translated
from reflective_rag.data.retrieval.weaviate.place import WeaviatePlace
from reflective_rag.data.retrieval.weaviate.schema import Schema, create, read_schema
from reflective_rag.data.retrieval.weaviate.waiting import Silence, await_, wait
from reflective_rag.data.threads import in_daemon_thread

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


class Session:
    """Connects at the first use, anew after `close` and in a forked process. Safe for threads; not to be copied."""

    def __init__(
        self, place: WeaviatePlace, embedder: str | Embedder, create: bool, breaker: CircuitBreaker | None
    ) -> None:
        self.place = place
        self._embedder, self._create = embedder, create
        self._breaker = breaker or _breaker(place)
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._opened: Opened | None = None
        self._connect_later()

    def _connect_later(self) -> None:
        self.clients = Clients(self.place)
        # Whoever forgets to close leaves no connection behind, here and at the end of the process.
        self._finalizer = weakref.finalize(self, self.clients.close)

    def handle(self) -> Opened:
        """The collection; asks the server at the first time, and in a forked process."""
        if self.clients.inherited:
            self._finalizer.detach()
            _inherited.append(self.clients)
            self._breaker = _breaker(self.place)
            self._begin()
        return self._opened or self.run(self._open)

    def run(self, job: Callable[[], T], seconds: float | None = None) -> T:
        """Do what asks the server, within `seconds`, behind the breaker, with its errors made ours.

        By default the seconds are the place's deadline. Never for a job that asks nothing: its success would tell the
        breaker that the server is well.
        """
        allowed = seconds or self.place.deadline
        if self.place.folder and self._opened is None:
            allowed = START_SECONDS
        clients = self.clients
        with self._breaker:
            try:
                return wait(job, clients.ready, allowed)
            except Silence as silence:
                self._leave(clients, silence)
                raise silent(self.place, allowed, silence.ready) from None
            except Exception as error:
                raise translated(error, self.place) from error

    async def arun(self, job: Callable[[Any], Awaitable[T]]) -> T:
        """`run` for what uses the collection of the asynchronous client; on the loop of `connection.on_loop`."""
        clients = self.clients

        async def ask() -> T:
            client = await clients.asynchronous()
            return await job(self._of_tenant(client.collections.use(self.place.collection)))

        with self._breaker:
            try:
                return await await_(ask(), clients.aready, self.place.deadline)
            except Silence as silence:
                self._leave(clients, silence)
                raise silent(self.place, self.place.deadline, silence.ready) from None
            except Exception as error:
                raise translated(error, self.place) from error

    def bare(self) -> Any:
        """The collection without a tenant."""
        return self.clients.sync().collections.use(self.place.collection)

    def remember(self, schema: Schema) -> None:
        """The schema has more properties now."""
        with self._lock:
            if self._opened is not None:
                self._opened = self._opened._replace(schema=schema)

    def look_again(self) -> None:
        """Read the schema anew."""
        if schema := read_schema(self.bare(), self.place):
            self.remember(schema)

    def close(self) -> None:
        """Let go of the connections, without waiting for one that is being made."""
        self._swapped(self.clients)()

    def _swapped(self, clients: Clients) -> Callable[[], object]:
        """What closes `clients`, which are used no more; nothing where others have come already."""
        with self._lock:
            if clients is not self.clients:
                return lambda: None
            finalizer, self._opened = self._finalizer, None
            self._connect_later()
        return finalizer

    def _leave(self, clients: Clients, silence: Silence) -> None:
        """A server that says nothing at all may hold its connections for ever: the next call makes new ones."""
        if not silence.ready and not self.place.folder:
            in_daemon_thread(self._swapped(clients))

    def _open(self) -> Opened:
        """The collection, from the server at the first time. Runs inside `run`."""
        clients = self.clients
        with clients.opening:
            if (known := self._opened) is not None and clients is self.clients:
                return known
            opened = self._connected(clients)
            with self._lock:
                if clients is self.clients:
                    self._opened = opened
            return opened

    def _connected(self, clients: Clients) -> Opened:
        bare = clients.sync().collections.use(self.place.collection)
        schema = read_schema(bare, self.place)
        if schema is None and self._create:
            chosen = None if self.place.vectorizer else self._chosen()
            name, dimensions = (chosen.name, chosen.dimensions) if chosen else ("none", None)
            create(clients.sync(), self.place, name, dimensions)
            schema = read_schema(bare, self.place)
        if schema is None:
            raise missing(self.place)
        return Opened(self._of_tenant(bare), schema, *self._embedder_of(schema))

    def _of_tenant(self, collection: Any) -> Any:
        return collection.with_tenant(self.place.tenant) if self.place.tenant else collection

    def _embedder_of(self, schema: Schema) -> tuple[CachingEmbedder | None, str]:
        about = schema.about
        if about.vectorizer:
            return None, ""
        embedder, note = recorded_embedder(about.embedder, self._embedder, self.place.address, "collection")
        if embedder is None:
            return None, note
        return CachingEmbedder(embedder, about.dimensions or embedder.dimensions, VectorCache()), note

    def _chosen(self) -> Embedder | None:
        return resolve_embedder(self._embedder) if isinstance(self._embedder, str) else self._embedder


def _breaker(place: WeaviatePlace) -> CircuitBreaker:
    return CircuitBreaker(repr(place.address))
