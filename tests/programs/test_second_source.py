"""A web search beside the program's own: asked for gaps, and allowed to fail."""

from typing import Any

import pytest

from reflective_rag.data.retrieval import web_search
from reflective_rag.programs import CorrectiveRAG, ReflectiveRAG
from reflective_rag.programs.steps import SearchOutcome, as_one
from reflective_rag.signatures.types import Passage
from tests.programs.systems import codes, on_rules

QUESTION = "Who was born earlier, Lorenzo Monaco or Giotto?"
OWN = Passage(id="own", title="Lorenzo Monaco", text="Lorenzo Monaco was born in about 1370.")
WEB = {"url": "https://example.org/giotto", "title": "Giotto", "snippet": "<b>Giotto</b> was born in about 1267."}


class TooManyRequests(Exception):
    """What a client raises at a status of 429."""


def own(query: str, k: int) -> list[Passage]:
    """Half of what is needed."""
    return [OWN]


def reflective(ask_web: Any) -> Any:
    """The loop with a second source for gaps, on rules."""
    return on_rules(ReflectiveRAG(own, gap_search=web_search(ask_web), mode="rules"), QUESTION)


def test_gaps_are_searched_for_in_both_sources() -> None:
    """The question asks the own source alone; what is missing is looked for on the web too, and cited with its link."""
    asked: list[str] = []

    def ask_web(query: str, k: int) -> Any:
        asked.append(query)
        return {"results": [WEB]}

    result = reflective(ask_web)
    assert QUESTION not in asked
    assert asked
    assert {p.source for p in result.passages} == {"", "https://example.org/giotto"}
    assert "Giotto" in result.answer
    assert codes(result) & {"retriever_degraded"} == set()


def raises(query: str, k: int) -> Any:
    """Refused by the service."""
    raise TooManyRequests("429 Too Many Requests, api_key=abcdefghijkl")


@pytest.mark.parametrize(
    ("ask_web", "why"),
    [
        pytest.param(raises, "429 Too Many Requests", id="429"),
        pytest.param(lambda query, k: None, "got NoneType", id="none"),
        pytest.param(lambda query, k: {"error": "out of searches"}, "out of searches", id="error-as-a-reply"),
    ],
)
@pytest.mark.parametrize("program", ["reflective", "corrective"])
def test_a_web_search_that_fails_is_a_warning(program: str, ask_web: Any, why: str) -> None:
    """The program goes on with its own passages, is degraded, and repeats no key."""
    if program == "reflective":
        result = reflective(ask_web)
    else:
        rag = CorrectiveRAG(lambda query, k: [], fallback_search=web_search(ask_web), mode="rules")
        result = on_rules(rag, QUESTION)
    assert "retriever_degraded" in codes(result)
    assert result.degraded
    text = " ".join(map(str, result.warnings))
    assert why in text
    assert "abcdefghijkl" not in text


def test_corrective_takes_a_web_search() -> None:
    """Where its own source has nothing, the web's passage answers, with its link."""
    rag = CorrectiveRAG(lambda query, k: [], fallback_search=web_search(lambda query, k: [WEB]), mode="rules")
    result = on_rules(rag, "When was Giotto born?")
    assert "1267" in result.answer
    assert [p.source for p in result.passages] == ["https://example.org/giotto"]


def test_each_source_counts_as_a_search() -> None:
    """A budget of searches bounds both together."""
    asked: list[str] = []

    def ask_web(query: str, k: int) -> Any:
        asked.append(query)
        return []

    rag = ReflectiveRAG(own, gap_search=web_search(ask_web), mode="rules", budget={"retrievals": 1})
    result = on_rules(rag, QUESTION)
    assert asked == []
    assert result.stop_reason == "budget_retrievals"


def test_outcomes_of_two_sources_are_one() -> None:
    """Results of both, every error once, and the refusal of either."""
    own_part = SearchOutcome(ran=("a", "b"), results=((OWN,), ()), error="x: down")
    web_part = SearchOutcome(ran=("a",), results=((),), refused="retrievals", error="x: down")
    both = as_one([own_part, web_part])
    assert (both.ran, both.refused, both.error) == (("a", "b"), "retrievals", "x: down")
    assert both.passages == [OWN]
