"""Counts calls and tokens at the model client, adapter fall-backs and answers from DSPy's cache included.

DSPy's own usage tracker misses cache hits and sees nothing from a second thread. Every finished call does append one
entry to its client's `history`, so a copy of the client with a listening history sees each call exactly once.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dspy


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What one reply cost."""

    prompt: int
    """Tokens."""
    completion: int
    cached: bool
    """Whether it came from DSPy's cache."""
    truncated: bool
    """Whether it was cut off at the most tokens a reply may have."""


class _ListeningHistory(list):  # type: ignore[type-arg]  # DSPy's entries are untyped dicts
    """A client's history that reports each new entry and passes it on to the original list."""

    def __init__(self, original: list[Any], listen: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()
        self._original = original
        self._listen = listen

    def append(self, entry: Any) -> None:
        self._listen(entry)
        if len(self._original) >= max(1, dspy.settings.max_history_size):
            self._original.pop(0)
        self._original.append(entry)


def metered(lm: Any, listen: Callable[[Reply], None]) -> Any:
    """A copy of `lm` that calls `listen` with the figures of each reply.

    The copy makes one attempt per call: retries belong to the driver, which counts them.
    """
    clone = copy.copy(lm)  # not lm.copy(): the user's history list must go on being filled
    clone.retries_of_driver = getattr(lm, "retries_of_driver", lm.num_retries)
    clone.num_retries = 0
    clone.history = _ListeningHistory(lm.history, lambda entry: listen(_figures(entry)))
    return clone


def _figures(entry: dict[str, Any]) -> Reply:
    usage = entry.get("usage") or {}
    cached = not usage
    if cached:  # DSPy empties the usage of a cache hit; the stored reply still has it
        stored = getattr(entry.get("response"), "usage", None)
        prompt, completion = getattr(stored, "input_tokens", 0), getattr(stored, "output_tokens", 0)
        cached = bool(stored)
    else:
        prompt, completion = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
    truncated = getattr(entry.get("response"), "finish_reason", None) == "length"
    return Reply(prompt=int(prompt or 0), completion=int(completion or 0), cached=cached, truncated=truncated)
