"""The clients of one retriever: made when first needed, anew in a forked process, closed once.

A synchronous client serves `search`, an asynchronous one `asearch`. All asynchronous clients of a process live on one
event loop in a thread of their own: gRPC does not work well on several loops, and a caller's loop may end at any time.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from reflective_rag.data.retrieval.breaker import RetrieverUnavailable
from reflective_rag.data.retrieval.weaviate.place import KEY_VARIABLE, WeaviatePlace
from reflective_rag.data.threads import in_daemon_thread
from reflective_rag.signatures.errors import ConfigError, DataError

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient, WeaviateClient

T = TypeVar("T")

WRITE_SECONDS = 90.0
"""The longest that one batch, or one change of the schema, may take."""
PROBE_SECONDS = 2.0
"""How long the server may take to say that it is ready."""
CLOSE_SECONDS = 5.0
"""How long closing waits; what has not ended by then goes on in a thread of its own."""


class Clients:
    """Both clients, connected; closed once and for good. Safe for threads.

    Nobody waits for a connection that is being made, `close` least of all: one that is finished after it closes itself.
    """

    def __init__(self, place: WeaviatePlace) -> None:
        self._place = place
        self._lock = threading.Lock()  # never held while a server is asked
        self._connecting = threading.Lock()
        self.opening = threading.Lock()
        """For whoever reads the collection's schema through these: one does it for all."""
        self._pid = os.getpid()
        self._sync: WeaviateClient | None = None
        self._async: WeaviateAsyncClient | None = None
        self._begun: WeaviateClient | None = None
        self._closed = False

    @property
    def inherited(self) -> bool:
        """Whether this process was forked after a client was made."""
        return self._pid != os.getpid()

    def sync(self) -> WeaviateClient:
        """The synchronous client. Raises `RetrieverUnavailable` where `close` came first."""
        if (kept := self._sync) is not None:
            return kept
        with self._connecting:
            return self._sync or self._connected()

    def _connected(self) -> WeaviateClient:
        self._refuse_closed()
        client = self._begun = _embedded(self._place) if self._place.folder else _client(self._place)
        try:
            self._refuse_closed()
            client.connect()
            with self._lock:
                self._refuse_closed()
                self._sync = client
        except BaseException:
            with suppress(Exception):
                client.close()
            self._refuse_closed()  # whatever the client says when it is closed while it connects
            raise
        finally:
            self._begun = None
        return client

    async def asynchronous(self) -> WeaviateAsyncClient:
        """The asynchronous client; on the loop of `on_loop`. Raises as `sync`."""
        self._refuse_closed()
        if (kept := self._kept()) is not None:
            return kept
        client = _async_client(self._place, self._sync)
        try:
            await client.connect()
            with self._lock:
                self._refuse_closed()
                self._async = self._async or client
        except BaseException:
            await client.close()
            raise
        kept = self._kept() or client
        if kept is not client:  # another search connected meanwhile
            await client.close()
        return kept

    def _kept(self) -> WeaviateAsyncClient | None:
        return self._async

    def _refuse_closed(self) -> None:
        if self._closed:
            raise RetrieverUnavailable(f"the connection to {self._place.address!r} was closed while it was used")

    def ready(self) -> bool | None:
        """Whether the server answers over REST; None while there is no connection to ask by."""
        client = self._sync
        return None if client is None else bool(client.get_meta())  # `is_ready` would print its errors

    async def aready(self) -> bool | None:
        """`ready` on the loop of `on_loop`."""
        if (client := self._async) is not None:
            return bool(await client.get_meta())
        return await asyncio.wrap_future(in_daemon_thread(self.ready))

    def close(self) -> None:
        """Let go of both within `CLOSE_SECONDS`; in a forked process they are the parent's, and left alone."""
        if self.inherited:
            return
        with self._lock:
            self._closed = True
            sync, asynchronous, self._sync, self._async = self._sync or self._begun, self._async, None, None

        def let_go() -> None:
            if asynchronous is not None:
                with suppress(Exception):  # a connection that is broken already
                    on_loop(asynchronous.close()).result(PROBE_SECONDS)
            if sync is not None:
                sync.close()

        if sync is not None or asynchronous is not None:
            _within(CLOSE_SECONDS, let_go)


def _within(seconds: float, job: Callable[[], None]) -> None:
    """Do `job`, and wait for it no longer than that; its errors are nobody's."""
    try:
        done = in_daemon_thread(job)
    except RuntimeError:  # the interpreter ends, and begins no thread any more
        with suppress(Exception):
            job()
        return
    with suppress(Exception):
        done.result(seconds)


def _options(place: WeaviatePlace, **more: Any) -> dict[str, Any]:
    from weaviate.classes.init import AdditionalConfig, Auth, Timeout
    from weaviate.config import GrpcConfig

    key = os.environ.get(KEY_VARIABLE, "").strip()
    if place.scheme == "weaviate+cloud" and not key:
        raise ConfigError(f"{place.address!r} needs a key: set {KEY_VARIABLE} in the environment")
    return {
        "auth_client_secret": Auth.api_key(key) if key and not place.folder else None,
        "additional_config": AdditionalConfig(
            timeout=Timeout(init=PROBE_SECONDS, query=place.deadline, insert=WRITE_SECONDS),
            # A forked process must not take up the connections of its parent, which gRPC would share by address.
            grpc_config=GrpcConfig(channel_options=[("grpc.use_local_subchannel_pool", 1)]),
        ),
        # They would ask a package index for the newest release, and the first call shows as much as a ping.
        "skip_init_checks": True,
        **more,
    }


def _endpoints(place: WeaviatePlace) -> Any:
    from weaviate.connect import ConnectionParams

    return ConnectionParams.from_params(
        http_host=place.host,
        http_port=place.port,
        http_secure=place.secure,
        grpc_host=place.grpc_host,
        grpc_port=place.grpc_port,
        grpc_secure=place.secure,
    )


def _client(place: WeaviatePlace) -> WeaviateClient:
    import weaviate

    return weaviate.WeaviateClient(**_options(place, connection_params=_endpoints(place)))


def _async_client(place: WeaviatePlace, beside: WeaviateClient | None) -> WeaviateAsyncClient:
    """For an embedded server, at the ports where the synchronous client started it."""
    import weaviate

    endpoints = beside._connection._connection_params if place.folder and beside else _endpoints(place)
    return weaviate.WeaviateAsyncClient(**_options(place, connection_params=endpoints))


def _embedded(place: WeaviatePlace) -> WeaviateClient:
    """Start the server that the client brings; it fetches the server's binary at the first use."""
    import weaviate
    from weaviate.embedded import EmbeddedOptions
    from weaviate.exceptions import WeaviateStartUpError

    folder = Path(place.folder).expanduser().resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        options = EmbeddedOptions(
            persistence_data_path=str(folder),
            port=_free_port(),
            grpc_port=_free_port(),
            additional_env_vars={"ENABLE_TOKENIZER_GSE_CH": "true", "DISABLE_TELEMETRY": "true", "LOG_LEVEL": "error"},
        )
        return weaviate.WeaviateClient(**_options(place, embedded_options=options))
    except WeaviateStartUpError as error:
        raise DataError(f"the embedded Weaviate of {place.address!r} did not start: {error}") from error
    except OSError as error:  # URLError is one
        raise DataError(
            f"the embedded Weaviate of {place.address!r} cannot be had: {error}. Its binary is fetched from the "
            "vendor's releases at the first use (Linux and macOS). Without that, run a server (`weaviate://`, see "
            "experiments/examples/weaviate), or take the embedded index `local:PATH`, which needs neither."
        ) from error


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


_loop_lock = threading.Lock()
_loop: tuple[int, asyncio.AbstractEventLoop] | None = None


def on_loop(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine on the loop that all asynchronous clients of this process share."""
    global _loop  # noqa: PLW0603 - one loop a process is the point
    with _loop_lock:
        if _loop is None or _loop[0] != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, daemon=True, name="reflective-rag-weaviate").start()
            _loop = (os.getpid(), loop)
    return asyncio.run_coroutine_threadsafe(work, _loop[1])
