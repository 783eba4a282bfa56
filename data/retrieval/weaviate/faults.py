"""Errors of the Weaviate client and server as errors of this library: what happened, and what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reflective_rag.data.retrieval.breaker import RetrieverUnavailable
from reflective_rag.data.retrieval.weaviate.place import KEY_VARIABLE, WeaviatePlace
from reflective_rag.data.secrets import scrub
from reflective_rag.signatures.errors import ConfigError, DataError, ReflectiveRAGError

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNAVAILABLE = re.compile(
    r"deadline exceeded|unavailable|failed to connect|connection (?:refused|reset)", re.IGNORECASE
)
_DENIED = re.compile(r"unauthenticated|unauthorized|forbidden|permission.?denied|anonymous access", re.IGNORECASE)
_MISSING = re.compile(r"could not find class|class .{0,300} not (?:found|present)|no such class", re.IGNORECASE)
_TENANT = re.compile(r"tenan", re.IGNORECASE)
_DIMENSIONS = re.compile(r"vectors? (?:with )?lengths?|vector dimensions|vector lengths don.t match", re.IGNORECASE)
_SHOWN = 3


class ImportFailures(DataError):
    """Some passages were refused; the others are stored. `failures` has the server's reason by passage id.

    `stored` is how many were written.
    """

    def __init__(self, place: WeaviatePlace, failures: dict[str, str], stored: int) -> None:
        self.failures = failures
        self.stored = stored
        shown = "".join(f"\n  {name!r}: {first_line(reason)}" for name, reason in list(failures.items())[:_SHOWN])
        more = f"\n  and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
        super().__init__(
            f"{len(failures)} passage(s) were refused by {place.address!r}, {stored} were stored:{shown}{more}\n"
            "Mend these and add all again; what is stored already is skipped."
        )

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, (str(self), self.failures, self.stored)


def _unpickled(message: str, failures: dict[str, str], stored: int) -> ImportFailures:
    error = ImportFailures.__new__(ImportFailures)
    error.args, error.failures, error.stored = (message,), failures, stored
    return error


def silent(place: WeaviatePlace, seconds: float, ready: bool) -> RetrieverUnavailable:
    """A call that did not end in time. `ready` says whether the server answered over REST meanwhile."""
    if not ready:
        return RetrieverUnavailable(f"{place.address!r} does not answer. {_running(place)}")
    return RetrieverUnavailable(
        f"{place.address!r} did not answer within {seconds:g} seconds, though REST answered meanwhile: is the server "
        f"busy (`?deadline=SECONDS`), and gRPC reachable at {place.grpc_host}:{place.grpc_port} (`?grpc=PORT`)?"
    )


def translated(error: Exception, place: WeaviatePlace) -> Exception:
    """The error of this library that `error` amounts to; `error` itself where it is none of Weaviate's."""
    from weaviate import exceptions as weaviate_errors

    if isinstance(error, ReflectiveRAGError):
        return error
    if isinstance(error, weaviate_errors.WeaviateClosedClientError):  # by another thread
        return RetrieverUnavailable(f"the connection to {place.address!r} was closed while it was used")
    names = {kind.__name__ for kind in type(error).__mro__}
    ours = isinstance(error, weaviate_errors.WeaviateBaseError | OSError)
    # httpx errors (a dependency of the client's, not of ours) and those of gRPC are known by name.
    if not ours and not names & {"TransportError", "RpcError", "AioRpcError", "TimeoutException"}:
        return error
    return _by_text(error, names, place)


def _by_text(error: Exception, names: set[str], place: WeaviatePlace) -> ReflectiveRAGError:
    status = getattr(error, "status_code", None)
    text = _text(error)
    if (
        status in (401, 403)
        or names & {"AuthenticationFailedError", "InsufficientPermissionsError"}
        or _DENIED.search(text)
    ):
        return ConfigError(f"{place.address!r} refuses the request: set {KEY_VARIABLE} to a key that may use it")
    if "is not supported" in text and "version" in text:
        return DataError(f"{place.address!r}: {first_line(text)}")
    if names & _NOT_REACHED or _UNAVAILABLE.search(text):
        return RetrieverUnavailable(f"{place.address!r} cannot be reached. {_running(place)}")
    if _MISSING.search(text):
        return missing(place)
    if _TENANT.search(text):
        return DataError(f"{place.address!r}: {first_line(text)}. Set the right `?tenant=NAME`.")
    if _DIMENSIONS.search(text):
        return DataError(
            f"{place.address!r} holds vectors of another size than this embedder's: {first_line(text)}. "
            "Index again into a new collection."
        )
    return DataError(f"{place.address!r} refused the request: {first_line(text)}")


_NOT_REACHED = {
    "ConnectionError",
    "TransportError",
    "TimeoutException",
    "WeaviateConnectionError",
    "WeaviateGRPCUnavailableError",
    "WeaviateRetryError",
    "WeaviateStartUpError",
    "WeaviateTimeoutError",
}


def missing(place: WeaviatePlace) -> DataError:
    """The collection does not exist."""
    return DataError(
        f"there is no collection `{place.collection}` at {place.address!r}. "
        f"Make it with `reflective-rag index CORPUS --to {place.address}`."
    )


def first_line(text: str) -> str:
    """The first line of a message of the server's, without keys and cut to a readable length."""
    lines: Sequence[str] = [line.strip() for line in text.splitlines() if line.strip()]
    return scrub(lines[0] if lines else "no reason given")[:300].rstrip(" .")


def _running(place: WeaviatePlace) -> str:
    if place.scheme == "weaviate+embedded":
        return "Did the embedded server stop?"
    return f"Is Weaviate running at {place.host}:{place.port}?"


def _text(error: Exception) -> str:
    """What the server said, without the client's own words around it."""
    text = str(getattr(error, "message", "") or error)
    details = re.search(r'details = "(.*?)"\n', text)  # a gRPC error that the client printed into its own
    return details[1] if details else text
