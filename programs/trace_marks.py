"""A mark on every call in DSPy's trace that tells after which search it was made, hence in which round."""

from collections.abc import Sequence
from typing import Any

from reflective_rag.signatures.types import Round

_MARK = "_searches_before"
"""With an underscore, since other attributes of a `dspy.Prediction` are output fields."""


def mark(prediction: Any, searches: int) -> None:
    """Note how many searches (those that run side by side count as one) came before the call of this prediction."""
    setattr(prediction, _MARK, searches)


def round_of(prediction: Any, rounds: Sequence[Round]) -> int | None:
    """The index of the round whose search was the last one before this call.

    None before the first search, and for a call that no driver of ours made.
    """
    count = getattr(prediction, _MARK, None)
    searched = [index for index, this in enumerate(rounds) if this.queries]
    return searched[count - 1] if isinstance(count, int) and 1 <= count <= len(searched) else None
