"""A model that plays Self-RAG's critics and writers from a table, and small corpora in English and Chinese."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import dspy
from dspy.lm15 import Request

from reflective_rag.programs import SelfRAG
from reflective_rag.signatures.types import Passage
from tests.fakes import FakeLM, asks_for, chat_reply, fake_lm, fields_of

BORN = Passage(id="born", text="Giotto di Bondone was born in 1267 near Florence.", title="Giotto")
WRONG = Passage(id="wrong", text="Giotto di Bondone was born in 1276, says Vasari.", title="Vasari")
FRUIT = Passage(id="fruit", text="Bananas are yellow.", title="Banana")
QUESTION = "When was Giotto born?"
ZH_BORN = Passage(id="zh", text="乔托于1267年出生在佛罗伦萨附近。", title="乔托")
ZH_FRUIT = Passage(id="zh-fruit", text="香蕉是黄色的。", title="香蕉")
ZH_QUESTION = "乔托是哪一年出生的？"

Rule = Mapping[str, Any] | str | int | Callable[[Mapping[str, str]], Any]


@dataclass
class Model:
    """What each role says: a value, or passage/answer fragment → value (`*` is any other), or a function of inputs."""

    retrieve: Rule = "yes"
    relevance: Rule = field(default_factory=lambda: {"born": "relevant", "出生": "relevant", "*": "irrelevant"})
    answer: Rule = field(default_factory=lambda: {"1267": "1267", "1276": "1276", "*": "unknown"})
    support: Rule = "supported"
    usefulness: Rule = "5"
    problem: str = "too short"
    query: Rule = "Giotto date of birth"
    alone: Rule = "1267"
    sentence: Rule = "END"
    raises: frozenset[str] = frozenset()
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)

    def __call__(self, request: Request) -> str:
        """One reply; the log holds the role and its inputs."""
        role, inputs = self.role(request), fields_of(request)
        with self.lock:
            self.asked.append((role, inputs))
        if role in self.raises:
            raise RuntimeError(f"no {role}")
        value = _value(getattr(self, role), inputs)
        if role in ("support", "usefulness"):
            return chat_reply(problem=self.problem, **{role: value})
        if role in ("answer", "sentence"):
            return chat_reply(**{role: value}, cited=[1])
        return chat_reply(**{"answer" if role == "alone" else role: value})

    def role(self, request: Request) -> str:
        """Which signature is asked."""
        roles = ("retrieve", "relevance", "support", "usefulness", "query", "sentence")
        named = next((name for name in roles if asks_for(request, name)), "")
        return named or ("answer" if asks_for(request, "cited") else "alone")

    def roles(self) -> list[str]:
        """The roles asked so far, sorted: those of one batch come in any order."""
        return sorted(role for role, _ in self.asked)

    def count(self, role: str) -> int:
        """How often a role was asked."""
        return self.roles().count(role)

    def inputs(self, role: str) -> list[dict[str, str]]:
        """What a role was given."""
        return [inputs for asked, inputs in self.asked if asked == role]

    @property
    def lm(self) -> FakeLM:
        """A fresh client."""
        return fake_lm(self)


def _value(rule: Any, inputs: Mapping[str, str]) -> Any:
    if callable(rule):
        return rule(inputs)
    if isinstance(rule, Mapping):
        text = " ".join(inputs.get(name, "") for name in ("passages", "passage", "answer", "so_far"))
        return next((value for key, value in rule.items() if key != "*" and key in text), rule.get("*", ""))
    return rule


@dataclass
class Shelf:
    """A retriever with a table: the first key that stands in the query names what is found; logs the queries."""

    table: Mapping[str, list[Passage]]
    queries: list[str] = field(default_factory=list)

    def __call__(self, query: str, k: int) -> list[Passage]:
        """What the table says."""
        self.queries.append(query)
        found = next((passages for key, passages in self.table.items() if key in query), [])
        return found[:k]


def ask(model: Model | None, shelf: Any = None, question: str = QUESTION, **options: Any) -> dspy.Prediction:
    """One question to a fresh SelfRAG, with DSPy's second call after an unreadable reply off."""
    rag = SelfRAG(shelf if shelf is not None else Shelf({"": [BORN, FRUIT]}), **options)
    with dspy.context(lm=model.lm if model else None, adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
        return rag(question=question)


def codes(result: dspy.Prediction) -> set[str]:
    """The codes of a result's warnings."""
    return {warning.code for warning in result.warnings}
