"""A server that keeps a connection open without ever ending its answer: nobody waits for it, and it is left behind."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from reflective_rag.data.retrieval import CircuitBreaker, RetrieverUnavailable
from reflective_rag.data.retrieval.weaviate import waiting
from tests.data.retrieval.helpers import CORPUS

HEADS = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
PARTS = {"body": (HEADS, b" "), "headers": (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n")}


class Between:
    """Stands before a server's REST port. `mood` is `pass`, or `drip` or `mute` towards what asks then."""

    def __init__(self, port: int, mood: str, part: str = "body", host: str = "127.0.0.1") -> None:
        self._to, self.mood, self._part = port, mood, part
        self.asked, self.gone = threading.Event(), threading.Event()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listening = socket.create_server((host, 0), family=family)
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                asking = self._listening.accept()[0]
                threading.Thread(target=self._serve, args=(asking,), daemon=True).start()

    def _serve(self, asking: socket.socket) -> None:
        with suppress(OSError), asking:
            if self.mood == "drip":
                self._drip(asking)
            else:
                with socket.create_connection(("127.0.0.1", self._to)) as server:
                    threading.Thread(target=self._pump, args=(server, asking), daemon=True).start()
                    self._pump(asking, server)

    def _drip(self, asking: socket.socket) -> None:
        head, drop = PARTS[self._part]
        try:
            asking.recv(65536)
            self.asked.set()
            asking.sendall(head)
            while True:
                asking.sendall(drop)
                time.sleep(0.02)
        finally:
            self.gone.set()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if self.mood == "pass":
                    target.sendall(data)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """The server is asked about after a tenth of a second."""
    monkeypatch.setattr(waiting, "PATIENCE_SECONDS", 0.1)


@pytest.fixture
def between(standin):
    """Puts something before the stand-in; an address goes through it."""
    made = []

    def put(name: str, mood: str, part: str = "body") -> tuple[Between, str]:
        made.append(Between(standin.http_port, mood, part))
        address = standin.address(name, deadline=0.5)
        return made[-1], address.replace(f":{standin.http_port}/", f":{made[-1].port}/")

    yield put
    for each in made:
        each.close()


def ends(job: Callable[[], object]) -> bool:
    """Whether the job ends at all, in a thread that is given a very long time."""
    thread = threading.Thread(target=job, daemon=True)
    thread.start()
    thread.join(20)
    return not thread.is_alive()


@pytest.mark.parametrize("part", PARTS)
def test_an_answer_in_drops_ends_at_the_deadline_and_holds_nobody(between, name, open_at, part):
    """A search ends, `close` ends, and the connection does too."""
    server, address = between(name, "drip", part)
    retriever = open_at(address, breaker=CircuitBreaker("x", failures=99))
    for ask in (lambda: retriever.search("tea", 1), retriever.count, lambda: retriever.delete(["tea"])):
        with pytest.raises(RetrieverUnavailable, match="does not answer"):
            ask()
    assert ends(retriever.close)
    assert server.gone.wait(20)


def test_close_does_not_wait_for_a_connection_under_way(between, name, open_at):
    """The search that waited for it ends too, and says why."""
    server, address = between(name, "drip")
    retriever, errors = open_at(address.replace("deadline=0.5", "deadline=60")), []

    def search() -> None:
        try:
            retriever.search("tea", 1)
        except RetrieverUnavailable as error:
            errors.append(str(error))

    searching = threading.Thread(target=search, daemon=True)
    searching.start()
    assert server.asked.wait(20)
    assert ends(retriever.close)
    searching.join(20)
    assert "closed while it was used" in errors[0]


def test_a_connection_that_is_made_after_close_is_closed(standin, name, open_at, monkeypatch):
    """Nobody would ever close it otherwise, nor search through it."""
    import weaviate

    begun, goes_on, made = threading.Event(), threading.Event(), []
    connect = weaviate.WeaviateClient.connect

    def slowly(client):
        made.append(client)
        begun.set()
        assert goes_on.wait(20)
        connect(client)

    monkeypatch.setattr(weaviate.WeaviateClient, "connect", slowly)
    retriever, errors = open_at(standin.address(name)), []

    def search() -> None:
        try:
            retriever.search("tea", 1)
        except RetrieverUnavailable as error:
            errors.append(str(error))

    searching = threading.Thread(target=search, daemon=True)
    searching.start()
    assert begun.wait(20)
    assert ends(retriever.close)
    goes_on.set()
    searching.join(20)
    assert "closed while it was used" in errors[0]
    assert [client.is_connected() for client in made] == [False]
    assert retriever.count() == 0  # the next use opens it again


def test_a_server_that_answers_again_is_asked_anew(between, name, open_at):
    """The connection that hung is left behind; no `close` by the user is needed."""
    server, address = between(name, "drip")
    retriever = open_at(address)
    with pytest.raises(RetrieverUnavailable):
        retriever.count()
    server.mood = "pass"
    assert retriever.add(CORPUS) == len(CORPUS)


def test_a_frozen_server_is_not_said_to_answer(between, standin, name, open_at):
    """Neither where the asynchronous client has yet to connect, nor after it has: REST was asked and said nothing."""
    server, address = between(name, "pass")
    for used_before in (False, True):
        retriever = open_at(address, breaker=CircuitBreaker("x", failures=99))
        retriever.add(CORPUS)
        if used_before:
            asyncio.run(retriever.asearch("tea", 1))
        server.mood, standin.slow = "mute", 2.0
        with pytest.raises(RetrieverUnavailable, match="does not answer") as caught:
            asyncio.run(retriever.asearch("tea", 1))
        assert "REST" not in str(caught.value)
        server.mood, standin.slow = "pass", 0.0
