"""A client around another: same name, same settings, an engine in between."""

from typing import Any, TypeVar

import dspy

T = TypeVar("T", bound=dspy.LM)


def lm_around(lm: Any, engine: Any, async_engine: Any, *, kind: type[T] = dspy.LM, cache: bool, num_retries: int) -> T:
    """A client that asks `engine`, with the model's name and the settings of a call that `lm` has.

    The connection's settings (key, address, time-out) stay with `lm`; DSPy refuses them beside a custom engine.
    """
    from dspy.clients.backend_selection import CLIENT_KEYS

    kwargs = {name: value for name, value in lm.kwargs.items() if name not in CLIENT_KEYS}
    if "max_completion_tokens" in kwargs:
        kwargs["max_tokens"] = kwargs.pop("max_completion_tokens")
    around: T = kind(
        lm.model,
        engine=engine,
        async_engine=async_engine,
        model_type=lm.model_type,
        cache=cache,
        num_retries=num_retries,
        **kwargs,
    )
    return around
