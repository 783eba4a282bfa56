"""Requests and signatures that the tests of local models share."""

from typing import Any, Literal

import dspy
from dspy import lm15


class Grade(dspy.Signature):
    """Grade how far the passage helps to answer the question, from what it states and not from what is likely."""

    question: str = dspy.InputField()
    passage: str = dspy.InputField()
    helps: Literal["yes", "no"] = dspy.OutputField()


class Choose(dspy.Signature):
    """Choose the colour that the passage is about, and no other; when it is about none, choose the nearest one."""

    passage: str = dspy.InputField()
    colour: Literal["red", "blue"] = dspy.OutputField()


def ask(text: str, *, system: str | None = None, model: str = "local/x", **config: Any) -> lm15.Request:
    """A request with one user message."""
    return lm15.Request(model=model, system=system, messages=(lm15.Message.user(text),), config=lm15.Config(**config))
