"""A language model that is a function: DSPy engines for offline tests, and helpers to read prompts and write replies.

    lm = fake_lm(lambda request: chat_reply(answer=field_of(request, "question").upper()))
    with dspy.context(lm=lm):
        assert dspy.Predict("question -> answer")(question="who?").answer == "WHO?"
    assert len(lm.engine.calls) == 1

A reply depends on the request alone, never on the order of calls, so results do not change with the number of threads.
"""

import asyncio
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import dspy
from dspy.lm15 import Message, Request, Response, StreamDeltaEvent, TextDelta, TextPart, Usage, response_to_events
from pydantic import BaseModel

Reply = Callable[[Request], str]

# A marker counts only on a line of its own, as in `dspy.ChatAdapter`.
_MARKER = re.compile(r"^\[\[ ## (\w+) ## \]\][ \t]*$", re.MULTILINE)
# What the chat and JSON adapters write after the last input field.
_CLOSING = re.compile(r"\n+Respond with (?:the corresponding output fields|a JSON object)[^\n]*\Z")


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request the engine saw, and its reply (None when the function raised)."""

    request: Request
    reply: str | None


class FunctionEngine:
    """A DSPy engine whose reply is `fn(request)`. Thread-safe; what `fn` raises reaches DSPy as it is.

    Args:
        fn: from the request to the reply's whole text; must be a function of the request's content.
        delay: seconds each call takes; the sync engine sleeps in its thread, the async one awaits.
        response_schema: claim support for JSON schemas, so that `dspy.JSONAdapter` sends one.
    """

    supported_params = frozenset({"response_format", "max_tokens", "temperature", "top_p", "stop", "seed"})

    def __init__(self, fn: Reply, *, delay: float = 0.0, response_schema: bool = False) -> None:
        self.fn = fn
        self.delay = delay
        self.supports_response_schema = response_schema
        self._calls: list[Call] = []
        self._lock = threading.Lock()

    @property
    def calls(self) -> list[Call]:
        """Every call so far, fall-backs and retries included, in order of completion. A copy."""
        with self._lock:
            return list(self._calls)

    @property
    def requests(self) -> list[Request]:
        """The requests of `calls`."""
        return [call.request for call in self.calls]

    def complete(self, request: Request) -> Response:
        """Answer, after `delay` seconds."""
        time.sleep(self.delay)
        return self.respond(request)

    def stream(self, request: Request) -> Iterator[Any]:
        """The answer of `complete` as events, a few characters each."""
        return _events(self.complete(request))

    def close(self) -> None:
        """Nothing is held open."""

    def respond(self, request: Request) -> Response:
        """Answer at once, and log the call. Usage counts one token per four characters, at least one."""
        reply: str | None = None
        try:
            reply = self.fn(request)
        finally:
            with self._lock:
                self._calls.append(Call(request=request, reply=reply))
        used_in, used_out = max(1, len(prompt_text(request)) // 4), max(1, len(reply) // 4)
        return Response(
            id="fake",
            model=request.model,
            message=Message.assistant([TextPart(reply)]),
            finish_reason="stop",
            usage=Usage(input_tokens=used_in, output_tokens=used_out, total_tokens=used_in + used_out),
        )

    # Optimizers and MLflow deep-copy programs and settings; the copies must share one log, and locks cannot be copied.
    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class AsyncFunctionEngine:
    """The asyncio side of a `FunctionEngine`; both share one call log."""

    def __init__(self, engine: FunctionEngine) -> None:
        self.engine = engine
        self.supported_params = engine.supported_params
        self.supports_response_schema = engine.supports_response_schema

    async def complete(self, request: Request) -> Response:
        """Answer, after the engine's delay; other tasks run meanwhile."""
        await asyncio.sleep(self.engine.delay)
        return self.engine.respond(request)

    async def stream(self, request: Request) -> AsyncIterator[Any]:
        """The answer of `complete` as events, a few characters each."""
        for event in _events(await self.complete(request)):
            yield event

    async def aclose(self) -> None:
        """Nothing is held open."""


class FakeLM(dspy.LM):
    """A `dspy.LM` that keeps its `FunctionEngine` in sight as `engine`."""

    @property
    def engine(self) -> FunctionEngine:
        """The engine; `lm.engine.calls` is the call log."""
        engine: FunctionEngine = self._engine_spec
        return engine


def fake_lm(
    fn: Reply, delay: float = 0.0, *, response_schema: bool = False, model: str = "fake/model", **kwargs: Any
) -> FakeLM:
    """A language model that answers `fn(request)`, sync and async, without cache and without retries.

    Args:
        fn, delay, response_schema: see `FunctionEngine`.
        model: the name that DSPy and MLflow see.
        kwargs: further `dspy.LM` arguments, for example `temperature`, `cache` or `num_retries`.
    """
    engine = FunctionEngine(fn, delay=delay, response_schema=response_schema)
    settings = {"cache": False, "num_retries": 0} | kwargs
    return FakeLM(model, engine=engine, async_engine=AsyncFunctionEngine(engine), **settings)


def chat_reply(**fields: Any) -> str:
    """A reply as `dspy.ChatAdapter` reads it: `[[ ## name ## ]]`, the value, and the closing marker."""
    blocks = [f"[[ ## {name} ## ]]\n{_written(value)}" for name, value in fields.items()]
    return "\n\n".join([*blocks, "[[ ## completed ## ]]"])


def json_reply(**fields: Any) -> str:
    """A reply as `dspy.JSONAdapter` reads it."""
    return json.dumps({name: _plain(value) for name, value in fields.items()}, ensure_ascii=False)


def system_text(request: Request) -> str:
    """The system prompt: field descriptions, then the signature's instructions. Empty when there is none."""
    if request.system is None or isinstance(request.system, str):
        return request.system or ""
    return "".join(getattr(part, "text", "") for part in request.system)


def last_user_text(request: Request) -> str:
    """The text of the newest user message: the inputs of this call, without demos and system prompt."""
    for message in reversed(request.messages):
        if message.role == "user":
            return message.text or ""
    raise AssertionError(f"no user message in {request.messages!r}")


def prompt_text(request: Request) -> str:
    """Everything the model reads: system prompt and all messages."""
    return "\n\n".join([system_text(request), *(message.text or "" for message in request.messages)])


def fields_of(request: Request) -> dict[str, str]:
    """Input field → its text in the newest user message, for the chat and JSON adapters.

    A value that itself holds a marker on a line of its own cannot be told apart; the first such field wins.
    """
    text = _CLOSING.sub("", last_user_text(request))
    pieces = _MARKER.split(text)
    fields: dict[str, str] = {}
    for name, value in zip(pieces[1::2], pieces[2::2], strict=True):
        fields.setdefault(name, value.strip())
    return fields


def field_of(request: Request, name: str) -> str:
    """The text of input field `name`; an AssertionError that lists the fields when there is none."""
    fields = fields_of(request)
    assert name in fields, f"no input field {name!r} in the prompt; it has {sorted(fields)}"
    return fields[name]


def asks_for(request: Request, output: str) -> bool:
    """Whether the prompt asks for the output field `output` (chat and JSON adapters): tells signatures apart."""
    closing = _CLOSING.search(last_user_text(request))
    return (
        closing is not None and re.search(rf"`(?:\[\[ ## )?{re.escape(output)}(?: ## \]\])?`", closing[0]) is not None
    )


def _events(response: Response) -> Iterator[Any]:
    # DSPy's stream listeners find a field only when its marker arrives in pieces, as from a real model.
    for event in response_to_events(response):
        if event.type == "delta":
            for piece in re.findall(r".{1,4}", event.delta.text, re.DOTALL):
                yield StreamDeltaEvent(delta=TextDelta(text=piece, part_index=event.delta.part_index))
        else:
            yield event


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return value


def _written(value: Any) -> str:
    value = _plain(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
