"""Local models: llama.cpp in this process, behind `dspy.LM`, for GGUF files. No server to start, no key, no network.

    lm = local_lm("local:~/models/qwen2.5-1.5b-instruct-q4_k_m.gguf")
    dspy.configure(lm=lm, adapter=dspy.JSONAdapter())  # llama.cpp enforces the schema that this adapter sends

Settings, each an argument or an environment variable:

    n_ctx       RRAG_LOCAL_CTX       8192        tokens one request may hold, prompt and answer together
    n_slots     RRAG_LOCAL_SLOTS     4           prompt prefixes kept, one for each predictor in use
    n_threads   RRAG_LOCAL_THREADS   all cores

Log-probabilities: call a predictor with `config={"logprobs": True, "top_logprobs": 5}` and read
`prediction.logprobs`, which covers every token of the reply, including a code fence that the text leaves out. Under a
schema the alternatives are those of the model before the schema forbade some of them.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Self

import dspy
from dspy import lm15

from reflective_rag.programs.lm.hub import locate, model_name
from reflective_rag.programs.lm.llama_chat import (
    DEFAULT_MAX_TOKENS,
    DEFAULT_TEMPERATURE,
    PROVIDER,
    chat_body,
    response_of,
    system_text,
)
from reflective_rag.programs.lm.llama_server import LlamaServer, ServerClosedError, ServerSettings, acquire, release
from reflective_rag.signatures.errors import ConfigError, ReflectiveRAGError

_VARIABLES = {"n_ctx": "RRAG_LOCAL_CTX", "n_slots": "RRAG_LOCAL_SLOTS", "n_threads": "RRAG_LOCAL_THREADS"}


def local_lm(
    spec: str, *, n_ctx: int | None = None, n_slots: int | None = None, n_threads: int | None = None, **lm_kwargs: Any
) -> dspy.LM:
    """A `dspy.LM` on a GGUF file: `local:PATH.gguf`, or `local:OWNER/REPO/FILE.gguf` from the model hub.

    The weights are loaded here, so that a file that cannot be used is known before a program runs. All LMs of one file
    and settings share them. `lm.engine.close()` gives them back; so does the end of the LM, or of the process.

    Args:
        spec: The model string. A hub file is downloaded once.
        n_ctx: Tokens one request may hold, prompt and answer together; at least 256.
        n_slots: Prompt prefixes kept, one for each predictor in use.
        n_threads: Threads to compute with.
        lm_kwargs: Passed to `dspy.LM`; temperature is 0 and `max_tokens` 512 unless given.

    Raises:
        ConfigError: a malformed string or setting, or the extra `local` is not installed.
        DataError: the file is missing, cannot be fetched, is not GGUF, or cannot be loaded.
    """
    engine = LlamaEngine(spec, n_ctx=n_ctx, n_slots=n_slots, n_threads=n_threads)
    engine.open()
    defaults = {"temperature": DEFAULT_TEMPERATURE, "max_tokens": DEFAULT_MAX_TOKENS}
    return dspy.LM(model_name(spec), engine=engine, async_engine=AsyncLlamaEngine(engine), **(defaults | lm_kwargs))


class LlamaEngine:
    """What `local_lm` gives DSPy: `complete(Request) -> Response`, from any thread. A pickled copy opens when used."""

    supports_response_schema = True
    supported_params = frozenset(
        {"response_format", "max_tokens", "temperature", "top_p", "top_k", "stop", "seed", "logprobs", "top_logprobs"}
        | {"frequency_penalty", "presence_penalty"}
    )

    def __init__(
        self, spec: str, *, n_ctx: int | None = None, n_slots: int | None = None, n_threads: int | None = None
    ) -> None:
        self.spec = spec
        self.model = model_name(spec)
        given = {"n_ctx": n_ctx, "n_slots": n_slots, "n_threads": n_threads}
        self._given = {name: value for name, value in given.items() if value is not None}
        self._closed = False
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._server: LlamaServer | None = None
        self._release: weakref.finalize[Any, Any] | None = None

    def open(self) -> LlamaServer:
        """The loaded server, shared with other engines. Raises what `local_lm` raises, or an lm15 error once closed."""
        with self._lock:
            if self._closed:
                raise _closed_error()
            if self._server is None:
                self._server = acquire(ServerSettings(path=locate(self.spec), **self._options()))
                self._release = weakref.finalize(self, release, self._server)
            return self._server

    def complete(self, request: lm15.Request) -> lm15.Response:
        """One answer, after the calls before it. Raises lm15 errors (see `response_of`), which DSPy makes its own."""
        body = chat_body(request)
        try:
            server = self.open()
            reply = server.chat(body, prefix=system_text(request))
        except ServerClosedError as error:
            raise _closed_error() from error
        except ReflectiveRAGError as error:  # only after unpickling or a fork: `local_lm` has opened the file before
            raise lm15.ConfigurationError(str(error), provider=PROVIDER) from error
        except ValueError as error:
            raise lm15.InvalidRequestError(f"llama.cpp cannot use this request: {error}", provider=PROVIDER) from error
        return response_of(reply, request, max_tokens=body["max_tokens"], n_ctx=server.settings.n_ctx)

    def stream(self, request: lm15.Request) -> Iterator[Any]:
        """The answer as stream events, all of them when it is complete."""
        events: Iterator[Any] = lm15.response_to_events(self.complete(request))
        return events

    def close(self) -> None:
        """Give the weights back; they go when no other engine uses them. Calls from now on are refused."""
        with self._lock:
            self._closed, self._server = True, None
            finalizer = self._release
        if finalizer is not None:
            finalizer()  # does its work once, however often it is called

    def _options(self) -> dict[str, int]:
        defaults = {"n_ctx": 8192, "n_slots": 4, "n_threads": os.cpu_count() or 1}
        return defaults | _environment() | self._given

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"spec": self.spec, "model": self.model, "_given": self._given, "_closed": self._closed}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    def dump_state(self) -> dict[str, Any]:
        """For saved programs: the model string, and the settings that were given as arguments."""
        return {"spec": self.spec, **self._given}

    @classmethod
    def load_state(cls, state: Mapping[str, Any]) -> Self:
        """An engine that opens its file at its first call."""
        return cls(**state)


class AsyncLlamaEngine:
    """The asynchronous twin of a `LlamaEngine`: the same calls, each in a thread. Closing either closes both."""

    supports_response_schema = LlamaEngine.supports_response_schema
    supported_params = LlamaEngine.supported_params

    def __init__(self, engine: LlamaEngine) -> None:
        self.engine = engine

    async def complete(self, request: lm15.Request) -> lm15.Response:
        """As `LlamaEngine.complete`."""
        return await asyncio.to_thread(self.engine.complete, request)

    async def stream(self, request: lm15.Request) -> AsyncIterator[Any]:
        """As `LlamaEngine.stream`."""
        for event in lm15.response_to_events(await self.complete(request)):
            yield event

    async def aclose(self) -> None:
        """As `LlamaEngine.close`."""
        await asyncio.to_thread(self.engine.close)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def dump_state(self) -> dict[str, Any]:
        """As `LlamaEngine.dump_state`."""
        return self.engine.dump_state()

    @classmethod
    def load_state(cls, state: Mapping[str, Any]) -> Self:
        """As `LlamaEngine.load_state`."""
        return cls(LlamaEngine.load_state(state))


def _environment() -> dict[str, int]:
    found = {}
    for name, variable in _VARIABLES.items():
        if raw := os.environ.get(variable, "").strip():
            if not raw.isdecimal():
                raise ConfigError(f"`{variable}` must be a whole number, got {raw!r}")
            found[name] = int(raw)
    return found


def _closed_error() -> Exception:
    error: Exception = lm15.ConfigurationError("the model was closed; make it again with `local_lm`", provider=PROVIDER)
    return error
