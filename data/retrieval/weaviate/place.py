"""The Weaviate forms of an address, taken apart. Keys are never part of one: they come from the environment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from reflective_rag.signatures.errors import ConfigError

Scheme = Literal["weaviate", "weaviate+cloud", "weaviate+embedded"]
SCHEMES: tuple[Scheme, ...] = ("weaviate", "weaviate+cloud", "weaviate+embedded")
FORMS = (
    "`weaviate://HOST[:PORT]/Collection`",
    "`weaviate+cloud://HOST/Collection`",
    "`weaviate+embedded://PATH/Collection`",
)
KEY_VARIABLE = "WEAVIATE_API_KEY"
"""The environment variable that holds the key of a server that wants one."""

HTTP_PORT, GRPC_PORT = 8080, 50051
ALPHA = 0.5
"""Share of dense search in a hybrid one: as much as of keyword search, as in the embedded index."""
DEADLINE_SECONDS = 10.0
CHINESE = ("auto", "gse_ch", "trigram", "bigram")
FUSIONS = ("relative", "ranked")

_NAME = re.compile(r"[A-Z][_0-9A-Za-z]{0,254}")  # weaviate/entities/schema/validation.go, ClassNameRegexCore
_TENANT = re.compile(r"[A-Za-z0-9\-_]{1,64}")  # the same file, ShardNameRegexCore
_SECRET = re.compile(r"key|token|secret|passw|auth|credential", re.IGNORECASE)


@dataclass(frozen=True)
class WeaviatePlace:
    """A collection on a server, and how to search it. See the README of `experiments/examples/weaviate`.

    `address` is what the user wrote and holds no secret. `host` and the ports are those of REST and gRPC; for
    `weaviate+embedded`, `folder` is where the server keeps its data. `deadline` is in seconds, for one search.
    `chinese`, `vectorizer`, `rerank`, `replicas` and `shards` are used when the collection is made; `rerank` also when
    it is searched.
    """

    address: str
    scheme: Scheme
    collection: str
    host: str = ""
    port: int = HTTP_PORT
    secure: bool = False
    grpc_host: str = ""
    grpc_port: int = GRPC_PORT
    folder: str = ""
    tenant: str = ""
    alpha: float = ALPHA
    fusion: Literal["relative", "ranked"] = "relative"
    deadline: float = DEADLINE_SECONDS
    chinese: Literal["auto", "gse_ch", "trigram", "bigram"] = "auto"
    vectorizer: str = ""
    rerank: str = ""
    replicas: int = 1
    shards: int | None = None


def parse_place(address: str) -> WeaviatePlace:
    """The place that a Weaviate address names. Raises `ConfigError` for an address that cannot be meant."""
    scheme, _, rest = address.partition("://")
    if scheme not in SCHEMES:
        raise ConfigError(f"a Weaviate address is one of {', '.join(FORMS)}; got the scheme {scheme.split(':')[0]!r}")
    _refuse_keys(rest)
    body, _, query = rest.partition("?")
    where, _, collection = body.rstrip("/").rpartition("/")
    if not where or not collection:
        form = FORMS[SCHEMES.index(scheme)]
        raise ConfigError(f"the address {address!r} names no collection: expected {form}")
    if not _NAME.fullmatch(collection):
        better = collection[:1].upper() + collection[1:]
        meant = f" (did you mean {better!r}?)" if _NAME.fullmatch(better) else ""
        raise ConfigError(
            f"{collection!r} is no name of a Weaviate collection{meant}: expected a capital letter, then letters, "
            "digits and `_`, 255 characters at most"
        )
    options = _Options(address, query)
    place = _SERVERS[scheme](address, scheme, where, collection, options)
    options.refuse_unknown()
    return place


def _refuse_keys(rest: str) -> None:
    """No message here shows the address."""
    body, _, query = rest.partition("?")
    names = [name for name, _ in parse_qsl(query, keep_blank_values=True)]
    if "@" in body.split("/")[0] or any(_SECRET.search(name) for name in names):
        raise ConfigError(
            f"an address must hold no user, password or key: take it out, and set {KEY_VARIABLE} in the environment"
        )


class _Options:
    """What follows `?`, each taken by name; what is left is unknown."""

    def __init__(self, address: str, query: str) -> None:
        self._address = address
        pairs = parse_qsl(query, keep_blank_values=True)
        self._left = dict(pairs)
        self._known: list[str] = []
        if len(self._left) < len(pairs):
            raise ConfigError(f"the address {address!r} sets an option twice")

    def text(self, name: str, pattern: str, default: str, expected: str) -> str:
        """The option as it is written."""
        self._known.append(name)
        value = self._left.pop(name, None)
        if value is None:
            return default
        if not re.fullmatch(pattern, value):
            raise ConfigError(f"`{name}={value}` in the address {self._address!r}: expected {expected}")
        return value

    def number(self, name: str, low: float, high: float, default: float) -> float:
        """A decimal number from `low` to `high`."""
        expected = f"a number from {low:g} to {high:g}"
        value = float(self.text(name, r"\d{1,9}(\.\d{1,9})?", str(default), expected))
        if not low <= value <= high:
            raise ConfigError(f"`{name}={value:g}` in the address {self._address!r}: expected {expected}")
        return value

    def whole(self, name: str, low: int, high: int, default: int) -> int:
        """A whole number from `low` to `high`."""
        value = int(self.text(name, r"\d{1,9}", str(default), f"a whole number from {low} to {high}"))
        if not low <= value <= high:
            raise ConfigError(f"`{name}={value}` in the address {self._address!r}: expected {low} to {high}")
        return value

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        """One of `choices`."""
        return self.text(name, "|".join(choices), default, " or ".join(map(repr, choices)))

    def refuse_unknown(self) -> None:
        """After all that are known were taken."""
        if self._left:
            known = ", ".join(f"`{name}`" for name in sorted(self._known))
            raise ConfigError(
                f"unknown option {', '.join(map(repr, self._left))} in the address {self._address!r}: expected {known}"
            )


def _served(address: str, scheme: Scheme, where: str, collection: str, options: _Options) -> WeaviatePlace:
    """A server with a host and two ports."""
    host, port = _host_and_port(where)
    if not host:
        raise ConfigError(
            f"the address {address!r} names no host and port: expected {FORMS[0]}, PORT 1 to 65535, "
            "an IPv6 address in brackets: `[::1]`"
        )
    secure = options.choice("secure", ("true", "false"), "false") == "true"
    grpc = options.text(
        "grpc", r"((\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):)?\d{1,5}", str(443 if secure else GRPC_PORT), "PORT or HOST:PORT"
    )
    grpc_host, _, grpc_port = grpc.rpartition(":")
    place = WeaviatePlace(
        address=address,
        scheme=scheme,
        collection=collection,
        host=host,
        port=port or (443 if secure else HTTP_PORT),
        secure=secure,
        grpc_host=grpc_host or host,
        grpc_port=int(grpc_port),
        **_common(options),  # type: ignore[arg-type]  # each is checked where it is read
    )
    if not 0 < place.grpc_port < 65536 or (place.host, place.port) == (place.grpc_host, place.grpc_port):
        raise ConfigError(
            f"the address {address!r} has no gRPC port of its own: Weaviate answers REST and gRPC on two ports; "
            f"set `?grpc=PORT` (usually {GRPC_PORT})"
        )
    return place


def _host_and_port(where: str) -> tuple[str, int | None]:
    """The host, an IPv6 address in its brackets, as all who put a port behind it need it; empty for what is none."""
    try:
        parts = urlsplit(f"//{where}")
        host, port = parts.hostname or "", parts.port
        if where.startswith("["):
            ip_address(host.partition("%")[0])
            host = f"[{host}]"
    except ValueError:
        return "", None
    return ("", None) if parts.path or re.search(r"\s", where) else (host, port)


def _cloud(address: str, scheme: Scheme, where: str, collection: str, options: _Options) -> WeaviatePlace:
    """Weaviate Cloud: TLS on port 443, gRPC on a host of its own, as `weaviate.connect_to_weaviate_cloud` has it."""
    if not re.fullmatch(r"[A-Za-z0-9.\-]+", where):
        raise ConfigError(f"the address {address!r} names no cloud host: expected {FORMS[1]}, without a port")
    name, _, domain = where.partition(".")
    old = where.endswith(".weaviate.network")
    return WeaviatePlace(
        address=address,
        scheme=scheme,
        collection=collection,
        host=where,
        port=443,
        secure=True,
        grpc_host=f"{name}.grpc.{domain}" if old else f"grpc-{where}",
        grpc_port=443,
        **_common(options),  # type: ignore[arg-type]  # each is checked where it is read
    )


def _embedded(address: str, scheme: Scheme, where: str, collection: str, options: _Options) -> WeaviatePlace:
    """A server that the client starts; its ports are found then."""
    return WeaviatePlace(
        address=address,
        scheme=scheme,
        collection=collection,
        host="127.0.0.1",
        grpc_host="127.0.0.1",
        folder=unquote(where),
        **_common(options),  # type: ignore[arg-type]  # each is checked where it is read
    )


_SERVERS = {"weaviate": _served, "weaviate+cloud": _cloud, "weaviate+embedded": _embedded}


def _common(options: _Options) -> dict[str, object]:
    module = r"[a-z0-9][a-z0-9\-]{0,99}"
    shards = options.whole("shards", 0, 1000, 0)
    return {
        "tenant": options.text("tenant", _TENANT.pattern, "", "letters, digits, `-` and `_`, 64 at most"),
        "alpha": options.number("alpha", 0, 1, ALPHA),
        "fusion": options.choice("fusion", FUSIONS, "relative"),
        "deadline": options.number("deadline", 0.1, 600, DEADLINE_SECONDS),
        "chinese": options.choice("chinese", CHINESE, "auto"),
        "vectorizer": options.text("vectorizer", module, "", "the name of a module, such as `text2vec-transformers`"),
        "rerank": options.text("rerank", module, "", "the name of a module, such as `reranker-transformers`"),
        "replicas": options.whole("replicas", 1, 100, 1),
        "shards": shards or None,
    }
