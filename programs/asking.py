"""One `Ask`: call the predictor, count it, retry what is transient, salvage a reply that DSPy could not parse."""

import asyncio
import copy
import logging
import sys
import time
from typing import Any

import dspy
from dspy.utils.exceptions import (
    AdapterParseError,
    LMAuthError,
    LMBillingError,
    LMConfigurationError,
    LMError,
    LMUnsupportedModelError,
    is_retryable_lm_error,
)

from reflective_rag.data.secrets import scrub
from reflective_rag.data.threads import is_cancelled
from reflective_rag.programs.formatting import remembering
from reflective_rag.programs.ledger import Ledger
from reflective_rag.programs.metering import Reply, metered
from reflective_rag.programs.nearest import nearest_demos
from reflective_rag.programs.reading import salvage, well_formed_fields
from reflective_rag.programs.steps import Ask, AskOutcome
from reflective_rag.signatures.errors import ConfigError, ReflectiveRAGError, message_of
from reflective_rag.signatures.text import without_markup

logger = logging.getLogger(__name__)

_PERMANENT = (LMAuthError, LMBillingError, LMConfigurationError, LMUnsupportedModelError)
_LONGEST_WAIT = 60.0
"""Seconds; a longer Retry-After counts as "down"."""


class AskRun:
    """The state of one `Ask` under way, shared by the threaded and the asyncio driver."""

    def __init__(self, ask: Ask, ledger: Ledger) -> None:
        self.ask = ask
        self.trace: list[Any] = []
        self._ledger = ledger
        self._attempt = 0
        self._replied = False
        self._truncated = False
        self._abandoned = False
        self._handled = sys.exc_info()[1]
        """What the caller was handling when it asked; such an error is no part of ours."""
        self._limited = ledger.budget.lm_calls is not None or ledger.budget.tokens is not None
        self._estimate = estimate_tokens(ask) if ledger.budget.tokens is not None else 0
        self.refused = ledger.reserve_call(self._estimate)

    def run(self) -> AskOutcome:
        """Call in this thread. Never raises for what a model or network does; raises for what the user must mend."""
        if self.refused:
            return AskOutcome(refused=self.refused)
        started = time.monotonic()
        try:
            with dspy.context(**self._context()):
                while True:
                    try:
                        return self._read(self.ask.predictor(**self._inputs()))
                    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - `_failed` raises what is ours
                        delay = self._failed(error)
                        if isinstance(delay, AskOutcome):
                            return delay
                        time.sleep(delay)
        finally:
            self._settle(started)

    async def arun(self) -> AskOutcome:
        """The same on the event loop."""
        if self.refused:
            return AskOutcome(refused=self.refused)
        predictor: Any = self.ask.predictor
        started = time.monotonic()
        try:
            with dspy.context(**self._context()):
                while True:
                    try:
                        return self._read(await predictor.acall(**self._inputs()))
                    except (Exception, asyncio.CancelledError) as error:
                        if is_cancelled():
                            raise
                        delay = self._failed(error)
                        if isinstance(delay, AskOutcome):
                            return delay
                        await asyncio.sleep(delay)
        finally:
            self._settle(started)

    def _context(self) -> dict[str, Any]:
        adapter = remembering(dspy.settings.adapter)
        context: dict[str, Any] = {"trace": self.trace, "adapter": _single_call(adapter) if self._limited else adapter}
        if dspy.settings.lm is not None:
            context["lm"] = metered(dspy.settings.lm, self._count)
        if dspy.settings.disable_history or dspy.settings.max_history_size == 0:
            # The meter listens to the history; open it for this call only, without filling the caller's lists.
            context |= {"disable_history": False, "max_history_size": 1, "caller_modules": []}
        return context

    def _inputs(self) -> dict[str, Any]:
        inputs = {key: _plain(key, value) for key, value in self.ask.inputs.items()}
        if (pinned := getattr(self.ask.predictor, "lm", None)) is not None:
            inputs["lm"] = metered(pinned, self._count)
        if (demos := nearest_demos(self.ask.predictor, inputs)) is not None:
            inputs["demos"] = demos
        if self.ask.config:
            inputs["config"] = dict(self.ask.config)
        return inputs

    def _count(self, reply: Reply) -> None:
        if self._abandoned:
            return
        self._replied, self._truncated = True, reply.truncated
        self._ledger.count_call(self.ask.phase, prompt=reply.prompt, completion=reply.completion, cached=reply.cached)

    def abandon(self) -> None:
        """Book a call that is left behind at the deadline: it was sent, and will be billed. A reply booked itself."""
        abandoned, self._abandoned = self._abandoned, True
        if not (self._replied or abandoned):
            self._ledger.count_call(self.ask.phase, prompt=self._estimate or estimate_tokens(self.ask))

    def _read(self, prediction: Any) -> AskOutcome:
        return AskOutcome(fields=well_formed_fields(prediction))

    def _failed(self, error: BaseException) -> AskOutcome | float:
        """The outcome that a failure amounts to, or the seconds to wait before the next attempt."""
        if isinstance(error, AdapterParseError):
            fields, unread = salvage(self.ask.predictor, error, truncated=self._truncated)
            return AskOutcome(fields=well_formed_fields(fields), unread=unread)
        _raise_own(error, self._handled)
        if self._replied and not isinstance(error, LMError):  # the reply came, and broke the parser in another way
            logger.warning("%s: the reply cannot be read: %s", self.ask.name, _first_line(error))
            predictor: Any = self.ask.predictor
            return AskOutcome(fields={}, unread=tuple(predictor.signature.output_fields))
        self._ledger.count_call(self.ask.phase)
        if isinstance(error, _PERMANENT):
            raise ConfigError(f"the model cannot be used: {_first_line(error)}") from error
        self._attempt += 1
        delay = self._delay(error)
        if delay is None or self._ledger.reserve_call(0):
            logger.warning("%s failed: %s", self.ask.name, _first_line(error))
            return AskOutcome(error=_first_line(error))
        self._ledger.release_call(0)
        return delay

    def _delay(self, error: BaseException) -> float | None:
        lm = getattr(self.ask.predictor, "lm", None) or dspy.settings.lm
        retries = getattr(lm, "retries_of_driver", getattr(lm, "num_retries", 0))
        if not is_retryable_lm_error(error) or self._attempt > retries:
            return None
        hint = getattr(error, "retry_after", None)
        delay = float(hint) if hint is not None else float(2 ** (self._attempt - 1))
        left = self._ledger.seconds_left()
        return None if delay > _LONGEST_WAIT or (left is not None and delay >= left) else delay

    def _settle(self, started: float) -> None:
        self._ledger.count_seconds(self.ask.phase, time.monotonic() - started)
        self._ledger.release_call(self._estimate)

    def demo_trace(self) -> list[Any]:
        """The DSPy trace of this call, with the inputs that a demo should carry."""
        return [
            (predictor, {**inputs, **{k: v for k, v in self.ask.demo_inputs.items() if k in inputs}}, prediction)
            for predictor, inputs, prediction in self.trace
        ]


_FORMATTED = frozenset({"trajectory"})
"""Inputs that hold the adapter's own marks between fields; `react.py` cleans what it puts there."""


def _plain(key: str, value: Any) -> Any:
    """An input that cannot forge a field: needs and queries were written by a model, which may repeat a passage's."""
    return without_markup(value) if isinstance(value, str) and key not in _FORMATTED else value


def _single_call(adapter: Any) -> Any:
    """The adapter without its second call after a parse failure: under a hard budget a call is booked beforehand."""
    adapter = copy.copy(adapter)
    adapter.use_json_adapter_fallback = False
    return adapter


REPLY_TOKENS = 256
"""Tokens set aside for the reply of a call that runs beside others."""


def estimate_tokens(ask: Ask) -> int:
    """What a call may cost, on the high side: the whole prompt, demos too, at one token per 3 bytes, and a reply."""
    predictor: Any = ask.predictor
    adapter = dspy.settings.adapter or dspy.ChatAdapter()
    messages = adapter.format(predictor.signature, predictor.demos, dict(ask.inputs))
    return sum(len(str(m["content"]).encode(errors="replace")) for m in messages) // 3 + REPLY_TOKENS


def _raise_own(error: BaseException, handled: BaseException | None) -> None:
    """DSPy wraps what an engine raises; an error of ours inside (a replay without the request) must surface."""
    seen: BaseException | None = error
    while seen is not None and seen is not handled:
        if isinstance(seen, ReflectiveRAGError):
            raise seen
        seen = seen.__cause__ or seen.__context__


def _first_line(error: BaseException) -> str:
    """Class and first line; a server's error body may repeat the key that it was sent."""
    text = message_of(error).strip()
    return scrub(f"{type(error).__name__}: {text.splitlines()[0] if text else 'no message'}")
