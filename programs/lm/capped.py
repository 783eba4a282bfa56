"""A hard limit on the money a model may cost.

    model, cap = cap_model(resolve_model("openai/gpt-4o-mini"), 0.50)
    with model.use():
        ...
    cap.check()      # an optimizer may have swallowed the error

The limit stands at the model client, below programs and optimizers, so that every call passes it: those of the program,
those that write instructions, adapter fall-backs and retries. DSPy's cache stays in front of it: a hit costs nothing.
"""

import asyncio
import copy
import math
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any, Self

import dspy

from reflective_rag.programs.lm.prices import Price, price_of
from reflective_rag.programs.lm.recording_engine import RecordingEngine
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.programs.lm.wrapped import lm_around
from reflective_rag.signatures.errors import BudgetExceeded, ConfigError

_LOOK_AGAIN = 0.01
"""Seconds between two looks of a call that waits for money on the event loop."""


class SpendingCap:
    """Dollars spent and the most that may be. Thread-safe; overshoot is at most one call's completion."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.spent = 0.0
        self.calls = 0
        self.tripped = False
        """Whether a call was refused. From then on every call is."""
        self._reserved = 0.0
        self._flying = 0
        self._settled = threading.Condition()

    def reserve(self, estimate: float) -> None:
        """Book a call of at least `estimate` dollars; waits while calls under way could use up the rest of the limit.

        Raises:
            BudgetExceeded: The limit is reached, or this call would pass it.
        """
        with self._settled:
            self._settled.wait_for(lambda: self._booked(estimate))

    async def areserve(self, estimate: float) -> None:
        """`reserve` on the event loop. It looks again and again: DSPy's own calls need the threads that could wait."""
        while True:
            with self._settled:
                if self._booked(estimate):
                    return
            await asyncio.sleep(_LOOK_AGAIN)

    def _booked(self, estimate: float) -> bool:
        """Book if there is room; False while that depends on calls under way. The lock is held."""
        if self.tripped or self.spent + estimate > self.limit:
            self.tripped = True
            raise self._error()
        if self._flying and self.spent + self._reserved + estimate > self.limit:
            return False
        self._flying += 1
        self._reserved += estimate
        return True

    def settle(self, estimate: float, cost: float) -> None:
        """Replace a booking by what the call did cost (0 where it failed)."""
        with self._settled:
            self._flying -= 1
            self._reserved -= estimate
            self.spent += cost
            self.calls += 1
            self._settled.notify_all()

    def check(self) -> None:
        """Raise `BudgetExceeded` if a call was refused."""
        if self.tripped:
            raise self._error()

    def _error(self) -> BudgetExceeded:
        return BudgetExceeded(
            f"the cost limit of ${self.limit:g} is reached: ${self.spent:.6f} were spent in {self.calls} call(s), and "
            "further calls are refused. Raise `--max-cost`, or make the run smaller; replies in the cache are free.",
            limit="cost",
        )


class CappedEngine:
    """A DSPy engine that asks the model behind it as long as the cap allows."""

    def __init__(self, lm: dspy.LM, cap: SpendingCap, price: Price) -> None:
        self.lm, self.cap, self.price = lm, cap, price
        self.supports_response_schema = bool(lm.supports_response_schema)
        self.supported_params = frozenset(lm.supported_params)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def complete(self, request: Any) -> Any:
        """One reply; raises `BudgetExceeded` instead of a call that the cap does not allow."""
        estimate = self.price.of(_prompt_tokens(request), 0)
        self.cap.reserve(estimate)
        cost = 0.0
        try:
            lm = self._listening()
            with dspy.context(**_OWN_HISTORY):
                response = lm(request)
            cost = self._cost(lm.history, response, request)
        finally:
            self.cap.settle(estimate, cost)
        return response

    def stream(self, request: Any) -> Iterator[Any]:
        """The same as events; the whole reply is there before the first."""
        from dspy.lm15 import response_to_events

        events: Iterator[Any] = response_to_events(self.complete(request))
        return events

    def close(self) -> None:
        """Nothing of its own to close."""

    async def acomplete(self, request: Any) -> Any:
        """`complete` on the event loop."""
        estimate = self.price.of(_prompt_tokens(request), 0)
        await self.cap.areserve(estimate)
        cost = 0.0
        try:
            lm = self._listening()
            with dspy.context(**_OWN_HISTORY):
                response = await lm.acall(request)
            cost = self._cost(lm.history, response, request)
        finally:
            self.cap.settle(estimate, cost)
        return response

    def _listening(self) -> dspy.LM:
        """A copy with a history of its own, for this call's price. Cache and retries are the outer client's."""
        lm = copy.copy(self.lm)
        lm.history = []
        lm.cache = False
        lm.num_retries = 0
        return lm

    def _cost(self, history: list[dict[str, Any]], response: Any, request: Any) -> float:
        """As DSPy priced it, else tokens times price, else (no usage reported) an estimate from the texts."""
        entry = history[-1] if history else {}
        if (cost := entry.get("cost")) is not None:
            return float(cost)
        usage = entry.get("usage") or {}
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if prompt is None or completion is None:
            prompt, completion = _prompt_tokens(request), _tokens(response.text or "")
        return self.price.of(prompt, completion)


class AsyncCappedEngine:
    """`CappedEngine` for `acall`."""

    def __init__(self, engine: CappedEngine) -> None:
        self._engine = engine
        self.supports_response_schema = engine.supports_response_schema
        self.supported_params = engine.supported_params

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    async def complete(self, request: Any) -> Any:
        """One reply; see `CappedEngine.complete`."""
        return await self._engine.acomplete(request)

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        """The same as events."""
        from dspy.lm15 import response_to_events

        for event in response_to_events(await self.complete(request)):
            yield event

    async def aclose(self) -> None:
        """Nothing of its own to close."""


def cap_model(model: Model, dollars: float, cap: SpendingCap | None = None) -> tuple[Model, SpendingCap]:
    """The model with a hard limit on its cost, and the limit to look at. Rules, local models and replays cost nothing.

    With `cap` the model shares the limit of another.

    Raises:
        ConfigError: `dollars` is negative or not a number, or the model's price is not known.
    """
    if not (math.isfinite(dollars) and dollars >= 0):
        raise ConfigError(f"`--max-cost` must be an amount in dollars, 0 or more, got {dollars!r}")
    cap = cap or SpendingCap(dollars)
    if model.lm is None:
        return model, cap
    price = price_of(model.lm)
    if price is None:
        raise ConfigError(
            f"`--max-cost` needs the price of {model.name!r}, which is not in DSPy's price list; leave the limit out, "
            "set the program's own `budget`, or use a model with a listed price"
        )
    if not any(price):
        return model, cap
    engine = model.lm.engine
    if isinstance(engine, RecordingEngine):
        # Below the recording: what it already holds is free.
        engine.inner = _capped_lm(engine.inner, cap, price)
        return model, cap
    return replace(model, lm=_capped_lm(model.lm, cap, price)), cap


def _capped_lm(lm: dspy.LM, cap: SpendingCap, price: Price) -> dspy.LM:
    engine = CappedEngine(lm, cap, price)
    return lm_around(lm, engine, AsyncCappedEngine(engine), cache=lm.cache, num_retries=lm.num_retries)


_OWN_HISTORY: dict[str, Any] = {
    "disable_history": False,
    "max_history_size": 1,
    "caller_modules": [],  # the outer client already writes the modules' history
    "usage_tracker": None,  # and counts the usage
}


def _prompt_tokens(request: Any) -> int:
    system = request.system if isinstance(request.system, str) else ""
    return _tokens(system) + sum(_tokens(message.text or "") for message in request.messages)


def _tokens(text: str) -> int:
    """A low-side estimate: one per 4 bytes of UTF-8."""
    return len(text.encode()) // 4
