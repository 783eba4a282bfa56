"""llama.cpp in this process: one loaded server per model file and settings, shared by all engines that ask for it.

Calls to one server are made one after another. The server itself takes calls from several threads, but on a CPU two at
a time take as long as two in a row, and one at a time means that each finds the whole context free.
"""

import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.installing import install_hint

# The slots share one pool of key/value cells. A pool of `n_ctx` would lose every kept prefix to the first long prompt;
# `n_ctx` for each slot would take 0.9 GB with a 1.5B model (8192 × 4). Twice `n_ctx` keeps four prompts of 4000 tokens.
_POOL_FACTOR = 2


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """What a server is shared by: engines with equal settings use the same one."""

    path: Path
    n_ctx: int
    """Tokens that one request may hold, prompt and answer together; at least 256."""
    n_slots: int
    """How many different prompt prefixes are kept; at least 1."""
    n_threads: int

    def __post_init__(self) -> None:
        for name, least in (("n_ctx", 256), ("n_slots", 1), ("n_threads", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"`{name}` of a local model must be at least {least}, got {getattr(self, name)!r}")


class SlotTable:
    """Gives each prompt prefix a slot of its own; when all are taken, that of the prefix unused for longest."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._slots: OrderedDict[str, int] = OrderedDict()

    def slot_for(self, prefix: str) -> int:
        """The slot, 0 to size - 1; the same one for the same prefix until it is taken away."""
        if prefix not in self._slots:
            used = len(self._slots)
            self._slots[prefix] = used if used < self._size else self._slots.popitem(last=False)[1]
        self._slots.move_to_end(prefix)
        return self._slots[prefix]


class ServerClosedError(Exception):
    """The last engine that used the server closed it while this call waited."""


class LlamaServer:
    """A llama.cpp server. It loads when first needed, and again after a fork, which no loaded server survives."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.users = 0
        """Engines that hold it; kept by `acquire` and `release`."""
        self._slots = SlotTable(settings.n_slots)
        self._lock = threading.Lock()
        self._server: Any = None
        self._closed = False

    def load(self) -> None:
        """Load the weights if they are not loaded.

        Raises:
            ConfigError: xllamacpp is missing or does not work on this machine.
            DataError: the file is not GGUF or cannot be loaded.
        """
        with self._lock:
            self._loaded()

    def chat(self, body: Mapping[str, Any], *, prefix: str) -> dict[str, Any]:
        """One chat completion in the OpenAI form.

        Args:
            body: The request. A refusal is a reply too: `{"error": {"type", "message", …}}`.
            prefix: Text that the prompt begins with. A call with the same one finds it already read.

        Raises:
            ServerClosedError: closed while the call waited for its turn.
            ValueError: llama.cpp cannot make anything of the request, such as a schema it does not know.
        """
        with self._lock:
            server = self._loaded()
            kept = {"id_slot": self._slots.slot_for(prefix), "cache_prompt": True}
            reply: dict[str, Any] = server.handle_chat_completions({**body, **kept})
            return reply

    def close(self) -> None:
        """Unload for good, after the call that is running."""
        with self._lock:
            self._closed, self._server = True, None

    def unload(self) -> None:
        """Unload until the next call."""
        with self._lock:
            self._server = None

    def after_fork_in_child(self) -> None:
        """Forget what belongs to the parent."""
        self._lock = threading.Lock()  # its holder, if any, is a thread of the parent
        if self._server is not None:  # loaded by another thread between the unloading and the fork
            _abandon(self._server)
            self._server = None

    def _loaded(self) -> Any:
        if self._closed:
            raise ServerClosedError
        if self._server is None:
            self._server = _start(self.settings)
        return self._server


_servers: dict[ServerSettings, LlamaServer] = {}
# Reentrant: the garbage collector may release an engine while this thread is inside `acquire`.
_servers_lock = threading.RLock()


def acquire(settings: ServerSettings) -> LlamaServer:
    """The process's server for these settings, loaded; give it back with `release`. Raises what `load` raises."""
    with _servers_lock:
        server = _servers.get(settings) or LlamaServer(settings)
        server.load()
        _servers[settings] = server
        server.users += 1
        return server


def release(server: LlamaServer) -> None:
    """Give back a server, once for each time it was acquired; it is closed when nobody uses it."""
    with _servers_lock:
        server.users -= 1
        if server.users:
            return
        _servers.pop(server.settings, None)
    server.close()


def _unload_before_fork() -> None:
    """Nothing is loaded in a fork: a child with llama.cpp's state but not its threads aborts or hangs when it exits."""
    for server in list(_servers.values()):
        server.unload()


def _reset_in_child() -> None:
    global _servers_lock  # noqa: PLW0603 - its holder may be a thread that the child does not have
    _servers_lock = threading.RLock()
    for server in _servers.values():
        server.after_fork_in_child()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_unload_before_fork, after_in_child=_reset_in_child)


def _abandon(server: Any) -> None:
    """Never destroy an inherited server: its destructor would wait for threads that this process does not have."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))


def _start(settings: ServerSettings) -> Any:
    xllamacpp = _xllamacpp()
    _check_magic(settings.path)
    try:
        server = xllamacpp.Server(_parameters(xllamacpp, settings))
    except RuntimeError as error:
        raise DataError(
            f"llama.cpp cannot load {str(settings.path)!r}: the file is cut short or damaged, of a kind that this "
            f"version does not know, or does not fit into memory with a context of {settings.n_ctx} tokens. "
            "Fetch it again, or try another file."
        ) from error
    # A server that is closed before its loop has begun never ends, and the process hangs (xllamacpp 2026.10). This is
    # answered by the loop.
    server.handle_metrics()
    return server


def _xllamacpp() -> Any:
    # OpenMP threads that wait by spinning make each call ten times slower as soon as another process uses the cores
    # (1.5 tokens/s against 30, with SmolLM2 on 2 busy cores). Read when the library is loaded; a user's choice stays.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        import xllamacpp
    except ModuleNotFoundError as error:
        if error.name != "xllamacpp":
            raise
        raise ConfigError(f"a local model needs the extra `local`: {install_hint('local')}") from error
    except ImportError as error:
        raise ConfigError(f"the package `xllamacpp` is installed but does not work on this machine: {error}") from error
    return xllamacpp


def _check_magic(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise DataError(f"the model file {str(path)!r} cannot be read: {error.strerror or error}") from error
    if magic != b"GGUF":
        raise DataError(f"{str(path)!r} is not a GGUF model file: it must begin with b'GGUF', got {magic!r}")


def _parameters(xllamacpp: Any, settings: ServerSettings) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(settings.path)
    params.model_alias = {settings.path.stem}
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.n_threads
    params.offline = True
    params.verbosity = -1
    params.n_parallel = settings.n_slots
    params.kv_unified = True
    params.kv_unified_per_slot = settings.n_ctx
    params.n_ctx = settings.n_ctx * _POOL_FACTOR
    params.fit_params = False  # it may choose another context than the one that was asked for
    # With its cache of idle slots, the server empties a slot after each call, and a request that names its slot never
    # gets the copy back: every prefix is lost (xllamacpp 2026.10).
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    # The server opens a loopback port, which cannot be turned off. Nobody else on the machine is to use it.
    params.port = 0
    params.api_keys = [secrets.token_urlsafe(32)]
    params.cors_origins = ""
    params.ui = False
    params.endpoint_slots = False
    params.endpoint_metrics = True
    return params
