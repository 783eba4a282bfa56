"""A model of known latency for benchmarks. It answers every signature correctly, so that only our code is timed."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any, Self

import dspy

_REPLY = """[[ ## needs ## ]]
[{"need": "the answer", "passages": [1]}]

[[ ## relevant ## ]]
[1, 2]

[[ ## contradictions ## ]]
[]

[[ ## time_scope ## ]]
timeless

[[ ## outdated ## ]]
[]

[[ ## gaps ## ]]
[]

[[ ## relevance ## ]]
relevant

[[ ## sufficient ## ]]
yes

[[ ## retrieve ## ]]
yes

[[ ## problem ## ]]
none

[[ ## support ## ]]
supported

[[ ## usefulness ## ]]
5

[[ ## answer ## ]]
Giotto

[[ ## cited ## ]]
[1]

[[ ## completed ## ]]
"""


class SteadyEngine:
    """Replies after `latency` seconds, sync and async."""

    supports_response_schema = False
    supported_params = frozenset({"temperature", "max_tokens"})

    def __init__(self, latency: float) -> None:
        self.latency = latency

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def complete(self, request: Any) -> Any:
        """The reply; sleeps in the calling thread."""
        if self.latency:  # sleeping for no time would still hand the interpreter to another thread
            time.sleep(self.latency)
        return _response()

    def stream(self, request: Any) -> Iterator[Any]:
        """The reply as events."""
        from dspy.lm15 import response_to_events

        events: Iterator[Any] = response_to_events(self.complete(request))
        return events

    def close(self) -> None:
        """Nothing is held open."""


class AsyncSteadyEngine:
    """The same for `acall`; it waits on the event loop."""

    def __init__(self, latency: float) -> None:
        self.latency = latency

    async def complete(self, request: Any) -> Any:
        """The reply."""
        await asyncio.sleep(self.latency)
        return _response()

    async def aclose(self) -> None:
        """Nothing is held open."""


def steady_lm(latency: float) -> dspy.LM:
    """An LM on these engines, uncached, without retries."""
    engine, other = SteadyEngine(latency), AsyncSteadyEngine(latency)
    return dspy.LM("bench/steady", engine=engine, async_engine=other, cache=False, num_retries=0)


def _response() -> Any:
    from dspy.lm15 import Message, Response, TextPart, Usage

    return Response(
        id="bench",
        model="bench/steady",
        message=Message.assistant([TextPart(_REPLY)]),
        finish_reason="stop",
        usage=Usage(input_tokens=1, output_tokens=1, total_tokens=2),
    )
