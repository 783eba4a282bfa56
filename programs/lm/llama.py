"""Local models: llama.cpp in this process, behind `dspy.LM`, for GGUF files. No server to start, no key, no network.

    lm = local_lm("local:~/models/qwen2.5-1.5b-instruct-q4_k_m.gguf")
    dspy.configure(lm=lm, adapter=dspy.JSONAdapter())      # JSONAdapter: llama.cpp enforces the signature's schema

Settings, each an argument or an environment variable:

    n_ctx       RRAG_LOCAL_CTX       8192           tokens one request may hold, prompt and answer together
    n_slots     RRAG_LOCAL_SLOTS     4              prompt prefixes kept: one for each predictor in use
    n_threads   RRAG_LOCAL_THREADS   all cores      a process beside this one that also runs llama.cpp slows both tenfold

Log-probabilities: call a predictor with `config={"logprobs": True, "top_logprobs": 5}` and read `prediction.logprobs`.
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
    chat_body,
    response_of,
    system_text,
)
from reflective_rag.programs.lm.llama_server import LlamaServer, ServerClosedError, ServerSettings, acquire, release
from reflective_rag.signatures.errors import ConfigError, ReflectiveRAGError

_OPTIONS = {"n_ctx": "RRAG_LOCAL_CTX", "n_slots": "RRAG_LOCAL_SLOTS", "n_threads": "RRAG_LOCAL_THREADS"}


def local_lm(
    spec: str, *, n_ctx: int | None = None, n_slots: int | None = None, n_threads: int | None = None, **lm_kwargs: Any
) -> dspy.LM:
    """A `dspy.LM` on a GGUF file of this machine or of the model hub (`local:PATH.gguf`, `local:OWNER/REPO/FILE.gguf`).

    The weights are loaded here, so that a file that cannot be used is known before a program runs. All LMs of one file and
    settings share them. `lm.engine.close()` gives them back; so does the end of the process, or of the LM.

    Args:
        spec: The model string. A hub file is downloaded once.
        n_ctx: Tokens one request may hold; `n_slots`: prompt prefixes kept; `n_threads`: see the module's text.
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
    """The engine behind `local_lm`: `complete(Request) -> Response`, from any thread. Unpickled, it opens again when first used."""

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
        self._release: weakref.finalize[..., Self] | None = None

    def open(self) -> LlamaServer:
        """The loaded server, from another engine if one has it. Raises what `local_lm` raises; an lm15 error once closed."""
        with self._lock:
            if self._closed:
                raise _closed_error(self.model)
            if self._server is None:
                settings = ServerSettings(path=locate(self.spec), **{name: self._option(name) for name in _OPTIONS})
                self._server = acquire(settings)
                self._release = weakref.finalize(self, release, self._server)
            return self._server

    def complete(self, request: lm15.Request) -> lm15.Response:
        """One answer; waits for the calls before it. Raises lm15 errors, which DSPy turns into its own (see `response_of`)."""
        body = chat_body(request)
        try:
            server = self.open()
            reply = server.chat(body, prefix=system_text(request))
        except ServerClosedError as error:
            raise _closed_error(self.model) from error
        except ReflectiveRAGError as error:  # only after unpickling or a fork: `local_lm` has opened the file before
            raise lm15.ConfigurationError(str(error), provider="local") from error
        except ValueError as error:
            raise lm15.InvalidRequestError(f"llama.cpp cannot use this request: {error}", provider="local") from error
        return response_of(reply, request, max_tokens=body["max_tokens"], n_ctx=server.settings.n_ctx)

    def stream(self, request: lm15.Request) -> Iterator[Any]:
        """The whole answer as events, when it is complete."""
        return lm15.response_to_events(self.complete(request))

    def close(self) -> None:
        """Give the weights back; they are unloaded when no other engine uses them. Calls from now on are refused."""
        with self._lock:
            self._closed, self._server = True, None
            finalizer = self._release
        if finalizer is not None:
            finalizer()

    def _option(self, name: str) -> int:
        if name in self._given:
            return self._given[name]
        defaults = {"n_ctx": 8192, "n_slots": 4, "n_threads": os.cpu_count() or 1}
        raw = os.environ.get(_OPTIONS[name], "").strip()
        if raw and not raw.isdecimal():
            raise ConfigError(f"`{_OPTIONS[name]}` must be a whole number, got {raw!r}.")
        return int(raw) if raw else defaults[name]

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
        return await asyncio.to_thread(self.engine.complete, request)

    async def stream(self, request: lm15.Request) -> AsyncIterator[Any]:
        for event in lm15.response_to_events(await self.complete(request)):
            yield event

    async def aclose(self) -> None:
        await asyncio.to_thread(self.engine.close)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def dump_state(self) -> dict[str, Any]:
        return self.engine.dump_state()

    @classmethod
    def load_state(cls, state: Mapping[str, Any]) -> Self:
        return cls(LlamaEngine.load_state(state))


def _closed_error(model: str) -> lm15.ConfigurationError:
    return lm15.ConfigurationError(f"`{model}` was closed; make it again with `local_lm`.", provider="local")
