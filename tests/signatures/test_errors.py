"""Exceptions in words."""

import pytest

from reflective_rag.signatures.errors import described, message_of


class Mute(Exception):
    """Has no message to give."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Odd(Exception):
    """Its message is no text."""

    def __str__(self) -> str:
        return 3  # type: ignore[return-value]  # noqa: PLE0307


@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(ValueError("no such field"), "ValueError: no such field", id="plain"),
        pytest.param(Mute(), "Mute: its message cannot be had (RuntimeError)", id="raises"),
        pytest.param(Odd(), "Odd: its message cannot be had (TypeError)", id="no text"),
    ],
)
def test_every_exception_can_be_described(error: Exception, said: str) -> None:
    """Class and message, whatever `__str__` does."""
    assert described(error) == said == f"{type(error).__name__}: {message_of(error)}"
