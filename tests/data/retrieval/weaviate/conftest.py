"""A Weaviate server for each test: the stand-in on loopback, or the real one that WEAVIATE_URL names.

WEAVIATE_URL is the address of a server without a collection, such as `weaviate://localhost:8080` or
`weaviate://localhost:8080?grpc=50051`; a key comes from WEAVIATE_API_KEY. Collections are named RragTest… and deleted.
"""

import itertools
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Protocol

import pytest

from reflective_rag.data.retrieval import WeaviateRetriever
from reflective_rag.data.retrieval.weaviate import parse_place
from tests.data.retrieval.helpers import HashEmbedder

URL = os.environ.get("WEAVIATE_URL", "")
_KEY = os.environ.get("WEAVIATE_API_KEY", "")
_numbers = itertools.count()


class Server(Protocol):
    """What a test needs of either server."""

    def address(self, collection: str, **options: Any) -> str: ...


class RealServer:
    """The server at WEAVIATE_URL; remembers the collections to delete."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def address(self, collection: str, **options: Any) -> str:
        self.used.add(collection)
        base, _, query = URL.partition("?")
        more = "&".join([*([query] if query else []), *(f"{name}={value}" for name, value in options.items())])
        return f"{base.rstrip('/')}/{collection}" + (f"?{more}" if more else "")

    def clean(self) -> None:
        for name in self.used:
            retriever = WeaviateRetriever(parse_place(self.address(name)))
            with suppress(Exception), retriever:
                retriever._session.clients.sync().collections.delete(name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A real server may be anywhere."""
    for item in items:
        if URL and "server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.live)


@pytest.fixture(scope="session")
def started() -> Iterator[Any]:
    """One stand-in for all tests that do not break it; the first import of the client takes seconds."""
    from tests.data.retrieval.weaviate.standin import StandIn

    server = StandIn()
    yield server
    server.stop()


@pytest.fixture
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The real server where WEAVIATE_URL is set, else the stand-in."""
    if not URL:
        yield request.getfixturevalue("started")
        return
    if _KEY:
        monkeypatch.setenv("WEAVIATE_API_KEY", _KEY)
    real = RealServer()
    yield real
    real.clean()


@pytest.fixture
def standin() -> Iterator[Any]:
    """A stand-in of its own, that a test may stop, slow down or make refuse."""
    from tests.data.retrieval.weaviate.standin import StandIn

    server = StandIn()
    yield server
    server.stop()


@pytest.fixture
def name() -> str:
    """A collection that no other test uses."""
    return f"RragTest{os.getpid()}n{next(_numbers)}"


@pytest.fixture
def open_at() -> Iterator[Any]:
    """Opens a retriever, with the hash embedder unless told otherwise, and closes it at the end of the test."""
    opened: list[WeaviateRetriever] = []

    def open_(address: str, **settings: Any) -> WeaviateRetriever:
        arguments: dict[str, Any] = {"embedder": HashEmbedder(), "create": True, **settings}
        opened.append(WeaviateRetriever(parse_place(address), **arguments))
        return opened[-1]

    yield open_
    for retriever in opened:
        retriever.close()


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(50)
        yield listening.getsockname()[1]
