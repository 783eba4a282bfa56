"""One question, a model that answers it well, and one that fails: what the tests of failures share."""

import threading
from typing import Any

import dspy
from dspy.lm15 import Request

from reflective_rag.programs import ReflectiveRAG
from reflective_rag.signatures.types import Passage
from tests.fakes import FakeLM, asks_for, chat_reply, fake_lm, prompt_text

QUESTION = "When was Giotto born?"
CORPUS = [
    Passage(id="a", text="Giotto di Bondone was born in 1267 near Florence.", title="Giotto"),
    Passage(id="b", text="Bananas are yellow.", title="Banana"),
]
MODES = ("paired", "fused", "separate", "rules")


def search(query: str, k: int) -> list[Passage]:
    """The whole corpus."""
    return CORPUS[:k]


def good(request: Request) -> str:
    """A model that finds the evidence enough and answers."""
    fields: dict[str, Any] = {
        "needs": [{"need": "year of birth", "passages": [1]}],
        "relevant": [1],
        "contradictions": [],
        "outdated": [],
        "gaps": [],
        "sufficient": "yes",
        "relevance": "relevant",
        "time_scope": "timeless",
        "query": "Giotto birth year",
        "answer": "1267",
        "cited": [1],
    }
    return chat_reply(**{name: value for name, value in fields.items() if asks_for(request, name)})


def failing(error: Exception, times: int | None = None, **options: Any) -> FakeLM:
    """A model that raises, forever or the first `times` a request is made."""
    seen: dict[str, int] = {}
    lock = threading.Lock()

    def reply(request: Request) -> str:
        with lock:
            seen[prompt_text(request)] = seen.get(prompt_text(request), 0) + 1
            count = seen[prompt_text(request)]
        if times is None or count <= times:
            raise error
        return good(request)

    return fake_lm(reply, **options)


def ask(lm: FakeLM | None, program: Any = None, question: str = QUESTION, **options: Any) -> dspy.Prediction:
    """One question under a model."""
    program = program or ReflectiveRAG(search, **options)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        return program(question=question)


def codes(result: dspy.Prediction) -> set[str]:
    """The codes of its warnings."""
    return {w.code for w in result.warnings}
