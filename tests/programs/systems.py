"""What the tests of the systems to compare with share: a small corpus, and a model that plays every part well."""

import json
from typing import Any

import dspy
from dspy.lm15 import Request

from reflective_rag.programs import PROGRAMS, RagModule, make_program
from reflective_rag.signatures.types import Passage
from tests.fakes import FakeLM, asks_for, chat_reply, fake_lm, field_of, prompt_text

QUESTION = "Where was the director of Falling Leaves born?"
ZH = "《落叶》的导演出生在哪里？"
CORPUS = [
    Passage(id="film", text="Falling Leaves was directed by Ada Lane in 1931.", title="Falling Leaves"),
    Passage(id="ada", text="Ada Lane was born in Norburg. She died in Estwick.", title="Ada Lane"),
    Passage(id="fruit", text="Bananas are yellow.", title="Banana"),
    Passage(id="zh-film", text="《落叶》由林安执导，1931年上映。", title="落叶"),
    Passage(id="zh-ada", text="林安出生在北堡。", title="林安"),
]
OTHERS = ("always", "react", "agentic", "corrective", "none")
"""The programs under test here."""
ON_RULES = ("naive", "always", "corrective")
PLAN = [
    {"question": "Who directed Falling Leaves?", "depends_on": []},
    {"question": "Where was #1 born?", "depends_on": [1]},
]
PLAN_ZH = [{"question": "《落叶》的导演是谁？"}, {"question": "#1出生在哪里？", "depends_on": [1]}]


def search(query: str, k: int) -> list[Passage]:
    """The passages whose title stands in the query, else the films."""
    named = [p for p in CORPUS if p.title in query]
    return (named or [CORPUS[0], CORPUS[2]])[:k]


def good(request: Request) -> str:
    """A model that plays every part as it should."""
    text = prompt_text(request)
    chinese = "落叶" in text
    if asks_for(request, "next_tool_name"):
        return _turn(request, chinese)
    asked = field_of(request, "question")
    short = asked in ("Who directed Falling Leaves?", "《落叶》的导演是谁？")
    towns = ("Ada Lane", "林安") if short else ("Norburg", "北堡")
    values: dict[str, Any] = {
        "reasoning": "The passages tell.",
        "sub_questions": PLAN_ZH if chinese else PLAN,
        "relevance": "relevant" if "Banana" not in text else "irrelevant",
        "query": _new_query(request, chinese),
        "answer": towns[chinese],
        "cited": [1] if "[1]" in text else [],
    }
    return chat_reply(**{name: value for name, value in values.items() if asks_for(request, name)})


def _new_query(request: Request, chinese: bool) -> str:
    """Another one for every number of tried queries."""
    number = field_of(request, "tried").count(";") if asks_for(request, "query") else 0
    return (["林安 出生", "北堡 导演", "落叶 影片"] if chinese else ["Ada Lane birthplace", "Norburg", "Leaves film"])[
        number
    ]


def _turn(request: Request, chinese: bool) -> str:
    """Search for the film, then for its director, then finish."""
    seen = prompt_text(request)
    if "observation_0" not in seen:
        query = "《落叶》" if chinese else "Falling Leaves"
    elif "observation_1" not in seen:
        query = "林安" if chinese else "Ada Lane"
    else:
        return chat_reply(next_thought="Enough.", next_tool_name="finish", next_tool_args={})
    return turn(query)


def turn(query: str, tool: str = "search", thought: str = "I need this.") -> str:
    """One turn of ReAct."""
    return chat_reply(next_thought=thought, next_tool_name=tool, next_tool_args=json.dumps({"query": query}))


def program(name: str, search_with: Any = search, **options: Any) -> RagModule:
    """A program by name."""
    return make_program(name, search_with, **options)


def ask(rag: RagModule, lm: FakeLM | None = None, question: str = QUESTION) -> dspy.Prediction:
    """One question, to a model that plays well unless another is given."""
    with dspy.context(lm=lm or fake_lm(good), adapter=dspy.ChatAdapter()):
        return rag(question=question)


def on_rules(rag: RagModule, question: str = QUESTION) -> dspy.Prediction:
    """One question without any model."""
    with dspy.context(lm=None):
        return rag(question=question)


def codes(result: dspy.Prediction) -> set[str]:
    """The codes of its warnings."""
    return {w.code for w in result.warnings}


__all__ = [
    "CORPUS", "ON_RULES", "OTHERS", "PLAN", "PROGRAMS", "QUESTION", "ZH", "ask", "codes", "good", "on_rules", "program",
    "search", "turn",
]  # fmt: skip
