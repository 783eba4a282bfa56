"""A stand-in for a Weaviate server: its REST and gRPC on loopback, with the stubs that the client brings."""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from concurrent import futures
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict
from weaviate.proto.v1 import (  # noqa: TID253 - imported by the fixture that starts the server alone
    aggregate_pb2,
    batch_delete_pb2,
    batch_pb2,
    properties_pb2,
    search_get_pb2,
    tenants_pb2,
    weaviate_pb2_grpc,
)

from tests.data.retrieval.weaviate.standin_search import by_vector, by_words, fused, matching
from tests.data.retrieval.weaviate.standin_store import Collection, RefusedError, Store, Thing


class StandIn:
    """The server; `stop` and `start` again at the same ports. `slow` seconds pass before each gRPC answer."""

    def __init__(self, store: Store | None = None, key: str = "") -> None:
        self.store = store or Store()
        self.key, self.slow = key, 0.0
        self.calls: list[tuple[str, Any]] = []
        self.http_port = self.grpc_port = 0
        self.start()

    def start(self) -> None:
        """Begin to answer."""
        self._http = _Http(("127.0.0.1", self.http_port), _handler(self))
        self.http_port = self._http.server_port
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self._grpc = grpc.server(futures.ThreadPoolExecutor(16))
        weaviate_pb2_grpc.add_WeaviateServicer_to_server(_Servicer(self), self._grpc)
        self.grpc_port = self._grpc.add_insecure_port(f"127.0.0.1:{self.grpc_port}")
        self._grpc.start()

    def stop(self) -> None:
        """Refuse connections."""
        self._http.shutdown()
        self._http.server_close()
        self._grpc.stop(grace=0).wait()

    def address(self, collection: str, **options: Any) -> str:
        """Of a collection."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"weaviate://127.0.0.1:{self.http_port}/{collection}?grpc={self.grpc_port}{more}"

    def last(self, name: str) -> Any:
        """The last request of that name."""
        return next(request for called, request in reversed(self.calls) if called == name)


class _Http(ThreadingHTTPServer):
    """Closes the connections that clients keep open when it stops, as the end of a process does."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _handler(server: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length) or "null")
            server.calls.append((f"{self.command} {self.path}", body))
            status: int
            reply: Any
            if server.key and self.headers.get("authorization") != f"Bearer {server.key}":
                # adapters/handlers/rest/configure_api.go
                status, reply = 401, {"code": 401, "message": "unauthorized: invalid api key"}
            else:
                status, reply = self._reply(body)
            data = b"" if reply is None else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _reply(self, body: Any) -> tuple[int, Any]:
            try:
                return _rest(server.store, self.command, self.path, body)
            except RefusedError as refused:
                return 422, {"error": [{"message": str(refused)}]}

        do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    return Handler


def _rest(store: Store, method: str, path: str, body: Any) -> tuple[int, Any]:
    parts = path.partition("?")[0].strip("/").split("/")[1:]
    if parts == ["meta"]:
        return 200, {"version": "1.34.0"}
    if parts[0] == ".well-known":
        return (200, None) if parts[1] in ("ready", "live") else (404, None)
    if parts == ["schema"] and method == "POST":
        return 200, store.create(body)
    if parts[0] != "schema" or (name := parts[1]) not in store.collections:
        return 404, None
    collection = store.collections[name]
    if method == "DELETE":
        del store.collections[name]
        return 200, None
    if method == "POST" and parts[2:] == ["properties"]:
        store.add_property(collection, body)
        return 200, body
    if method == "POST" and parts[2:] == ["tenants"]:
        for tenant in body:
            collection.objects.setdefault(tenant["name"], {})
        return 200, body
    return 200, collection.schema


def _rpc(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """Note the request, wait, check the key, and turn a refusal into the status that Weaviate gives it."""

    def call(self: "_Servicer", request: Any, context: Any) -> Any:
        server = self.server
        server.calls.append((method.__name__, request))
        time.sleep(server.slow)
        if server.key and dict(context.invocation_metadata()).get("authorization") != f"Bearer {server.key}":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "unauthorized: invalid api key")
        try:
            return method(self, request)
        except RefusedError as refused:
            context.abort(grpc.StatusCode.UNKNOWN, str(refused))

    return call


class _Servicer(weaviate_pb2_grpc.WeaviateServicer):
    def __init__(self, server: StandIn) -> None:
        self.server = server

    @_rpc
    def Search(self, request: Any) -> Any:  # noqa: N802 - gRPC's name
        collection = self.server.store.get(request.collection)
        filters = request.filters if request.HasField("filters") else None
        things = matching(collection, request.tenant, filters)
        hits, kind = self._ranked(request, collection, things)
        reply = search_get_pb2.SearchReply()
        for thing, score in hits[: request.limit or 20]:
            reply.results.append(_result(collection, thing, score, kind, request.properties.non_ref_properties))
            if request.HasField("rerank"):
                metadata = reply.results[-1].metadata
                metadata.rerank_score, metadata.rerank_score_present = 0.5, True
        return reply

    def _ranked(self, request: Any, collection: Collection, things: list[Thing]) -> Any:
        if request.HasField("bm25_search"):
            search = request.bm25_search
            return by_words(collection, things, search.query, search.properties), "score"
        if request.HasField("near_vector"):
            return by_vector(things, _vector(request.near_vector) or []), "distance"
        if request.HasField("hybrid_search"):
            search = request.hybrid_search
            alpha = search.alpha_param if search.use_alpha_param else search.alpha
            words = by_words(collection, things, search.query, search.properties)
            vector = _vector(search)
            return fused(words, by_vector(things, vector) if vector else [], alpha), "score"
        return [(thing, 0.0) for thing in things], ""

    @_rpc
    def BatchObjects(self, request: Any) -> Any:  # noqa: N802 - gRPC's name
        reply = batch_pb2.BatchObjectsReply()
        for i, item in enumerate(request.objects):
            try:
                self.server.store.put(
                    item.collection, item.tenant, Thing(item.uuid, _properties(item.properties), _vector(item))
                )
            except RefusedError as refused:
                reply.errors.add(index=i, error=str(refused))
        return reply

    @_rpc
    def BatchDelete(self, request: Any) -> Any:  # noqa: N802 - gRPC's name
        collection = self.server.store.get(request.collection)
        gone = matching(collection, request.tenant, request.filters)
        for thing in gone:
            del collection.of(request.tenant)[thing.uuid]
        return batch_delete_pb2.BatchDeleteReply(matches=len(gone), successful=len(gone))

    @_rpc
    def Aggregate(self, request: Any) -> Any:  # noqa: N802 - gRPC's name
        things = self.server.store.get(request.collection).of(request.tenant)
        single = aggregate_pb2.AggregateReply.Single(objects_count=len(things))
        return aggregate_pb2.AggregateReply(single_result=single)

    @_rpc
    def TenantsGet(self, request: Any) -> Any:  # noqa: N802 - gRPC's name
        there = self.server.store.get(request.collection).objects
        hot = tenants_pb2.TenantActivityStatus.TENANT_ACTIVITY_STATUS_HOT
        names = [name for name in request.names.values if name in there]
        return tenants_pb2.TenantsGetReply(tenants=[tenants_pb2.Tenant(name=n, activity_status=hot) for n in names])


def _vector(message: Any) -> list[float] | None:
    """Little-endian 32-bit floats, in one of the places where clients have put them."""
    data = message.vector_bytes
    for name in ("near_vector", "vectors"):
        if not data and hasattr(message, name):
            inner = getattr(message, name)
            inner = inner if name == "near_vector" else next(iter(inner), None)
            data = inner.vector_bytes if inner is not None else data
    return list(struct.unpack(f"<{len(data) // 4}f", data)) if data else None


def _properties(message: Any) -> dict[str, Any]:
    """adapters/handlers/grpc/v1/batch_parse_request.go, extractPrimitiveProperties."""
    found: dict[str, Any] = MessageToDict(message.non_ref_properties)
    for item in message.text_array_properties:
        found[item.prop_name] = list(item.values)
    for item in message.boolean_array_properties:
        found[item.prop_name] = list(item.values)
    for item in message.number_array_properties:
        data = item.values_bytes
        found[item.prop_name] = list(struct.unpack(f"<{len(data) // 8}d", data)) if data else list(item.values)
    return found


def _result(collection: Collection, thing: Thing, score: float, kind: str, names: Any) -> Any:
    result = search_get_pb2.SearchResult()
    metadata = result.metadata
    metadata.id_as_bytes = bytes.fromhex(thing.uuid.replace("-", ""))
    if kind == "score":
        metadata.score, metadata.score_present = score, True
    if kind == "distance":
        metadata.distance, metadata.distance_present = 1 - score, True
    for name in names:
        value = properties_pb2.Value()
        if name not in thing.properties:
            value.null_value = 0
        elif collection.properties[name]["dataType"][0] == "date":
            value.date_value = thing.properties[name]
        else:
            value.text_value = thing.properties[name]
        result.properties.non_ref_props.fields[name].CopyFrom(value)
    return result
