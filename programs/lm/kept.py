"""The replies of one long job on disk, so that a rerun after a kill asks the model only for the rest.

    kept = keep_replies(resolve_model("openai/gpt-4o-mini"), "calls.jsonl", today=date.today())
    with kept.model.use(): ...
    kept.close()

Made of a `Recording`, with the meaning of a cache: one reply to a request and its `rollout_id` (DSPy's number of a
sample), whoever asks, in whatever order. So a rerun with many threads gets what the first run got. Unlike with DSPy's
own cache each reply keeps its usage, so counts of tokens are those of an uninterrupted run. DSPy's cache stays in use
behind it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import dspy

from reflective_rag.programs.lm.prices import Price, price_of
from reflective_rag.programs.lm.recording import Recording, key_of
from reflective_rag.programs.lm.recording_engine import AsyncRecordingEngine, RecordingEngine, header_for
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.programs.lm.wrapped import lm_around

_rollout: ContextVar[Any] = ContextVar("reflective_rag_rollout", default=None)
"""Of the call under way: DSPy takes it out of the request before the engine sees it."""


class KeepingLM(dspy.LM):
    """A client that tells its engine which rollout a call belongs to."""

    def __call__(self, prompt: Any = None, **kwargs: Any) -> Any:
        """As `dspy.LM`."""
        with self._telling(kwargs):
            return super().__call__(prompt, **kwargs)

    async def acall(self, prompt: Any = None, **kwargs: Any) -> Any:
        """As `dspy.LM`."""
        with self._telling(kwargs):
            return await super().acall(prompt, **kwargs)

    @contextmanager
    def _telling(self, kwargs: dict[str, Any]) -> Iterator[None]:
        token = _rollout.set(kwargs.get("rollout_id", self.kwargs.get("rollout_id")))
        try:
            yield
        finally:
            _rollout.reset(token)


@dataclass
class Spent:
    """What a job asked for. Replies that were kept count as on the day they were paid for."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failed: int = 0
    """Calls without a reply, retries included."""
    kept: int = 0
    """Of `calls`, those that an earlier attempt had paid for."""


class KeepingEngine(RecordingEngine):
    """A DSPy engine that answers what it knows from the file, and asks the model behind it for the rest."""

    def __init__(self, recording: Recording, inner: dspy.LM) -> None:
        super().__init__(recording, inner)
        self.spent = Spent()
        self.failing = False
        """Whether the last call that went to the model failed."""
        self._lock = threading.Lock()
        self._earlier = {id(reply) for reply in recording.replies()}
        self._paid: set[str] = set()

    def _ask(self, request: Any) -> Any:
        with self._watching():
            return self.inner(request, **_sample())  # type: ignore[misc]  # there is always one

    async def _aask(self, request: Any) -> Any:
        with self._watching():
            return await self.inner.acall(request, **_sample())  # type: ignore[union-attr]  # there is always one

    @contextmanager
    def _watching(self) -> Iterator[None]:
        try:
            yield
        except Exception:
            with self._lock:
                self.failing = True
                self.spent.failed += 1
            raise
        self.failing = False

    def _look_up(self, request: Any) -> tuple[str, dict[str, Any], Any]:
        readable = self.readable(request)
        sampled = readable.get("config", {}).get("temperature") != 0
        key = key_of([readable, _rollout.get() if sampled else None])
        reply = self.recording.next_reply(key, sampled=False)
        if reply is None:
            return key, readable, None
        self._count(key, reply)
        return key, readable, self._response(key, reply)

    def _write(self, key: str, readable: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
        kept = self.recording.first(key, readable, reply)
        self._count(key, kept)
        return kept

    def _count(self, key: str, reply: dict[str, Any]) -> None:
        """Each reply once: asking again is free, in one run as in two."""
        usage = reply.get("usage") or {}
        with self._lock:
            if key in self._paid:
                return
            self._paid.add(key)
            self.spent.calls += 1
            self.spent.kept += id(reply) in self._earlier
            self.spent.prompt_tokens += int(usage.get("input_tokens") or 0)
            self.spent.completion_tokens += int(usage.get("output_tokens") or 0)


@dataclass(frozen=True)
class Kept:
    """A model whose replies are kept; close it at the end."""

    model: Model
    engine: KeepingEngine

    @property
    def price(self) -> Price | None:
        """Of the model behind; None where it is not known."""
        return price_of(self.engine.inner)

    def check(self) -> None:
        """Raise `DataError` if a reply could not be written, which an optimizer may have swallowed."""
        self.engine.recording.check()

    def close(self) -> None:
        """Close and unlock the file; safe to call twice."""
        self.engine.recording.close()

    def dollars(self) -> float:
        """What the replies in the file did cost; 0 where the price is not known."""
        usages = [reply.get("usage") or {} for reply in self.engine.recording.replies()]
        price = self.price or Price(0.0, 0.0)
        return sum(price.of(int(u.get("input_tokens") or 0), int(u.get("output_tokens") or 0)) for u in usages)


def keep_replies(model: Model, path: str | Path, *, today: date) -> Kept:
    """The model with its replies kept in a file, which is continued where it exists.

    Args:
        model: One that is asked over a client; not rules.
        today: When the job began: prompts that hold the date must not change with the day of a rerun.

    Raises:
        DataError: The file cannot be written, is being written by another process, or holds another model's replies.
    """
    lm = model.lm
    assert lm is not None, "rules ask no model"
    recording = Recording.create(path, header_for(lm, adapter=model.adapter, today=today.isoformat()))
    inner = lm.copy()
    inner.num_retries = 0  # the client around it retries, and would multiply these
    engine = KeepingEngine(recording, inner)
    around = lm_around(
        lm, engine, AsyncRecordingEngine(engine), kind=KeepingLM, cache=False, num_retries=lm.num_retries
    )
    return Kept(replace(model, lm=around, today=today), engine)


def _sample() -> dict[str, Any]:
    """What DSPy's own cache, behind, tells samples of one request apart by."""
    return {} if _rollout.get() is None else {"rollout_id": _rollout.get()}
