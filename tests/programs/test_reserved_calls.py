"""A call kept for the answer is not spent: the stop reason is what really ended the run."""

from typing import Any

import dspy
import pytest

from reflective_rag.programs import make_program, result_of
from reflective_rag.signatures.types import Passage
from tests.fakes import fake_lm
from tests.programs.systems import QUESTION, good, search


def empty(query: str, k: int) -> list[Passage]:
    """Finds nothing."""
    return []


def fails(query: str, k: int) -> list[Passage]:
    """A retriever that is down."""
    raise OSError("down")


def ended(name: str, retriever: Any, budget: dict[str, int], **options: Any) -> Any:
    """The result of a run with a model that plays every part."""
    with dspy.context(lm=fake_lm(good)):
        return result_of(make_program(name, retriever, budget=budget, **options)(question=QUESTION))


@pytest.mark.parametrize("name", ["agentic", "self-rag", "always", "corrective"])
@pytest.mark.parametrize(("retriever", "reason"), [(fails, "retriever_error"), (empty, "no_passages")])
def test_a_search_that_brings_nothing_is_why_the_run_ended(name: str, retriever: Any, reason: str) -> None:
    """The only call was kept for an answer that there was nothing to write from."""
    assert ended(name, retriever, {"lm_calls": 1}).stop_reason == reason


def test_long_answers_too() -> None:
    """Written segment by segment."""
    assert ended("self-rag", fails, {"lm_calls": 1}, long_form=True).stop_reason == "retriever_error"


@pytest.mark.parametrize("name", ["react", "agentic", "always", "self-rag"])
def test_tokens_that_refuse_the_kept_call_are_why(name: str) -> None:
    """The call limit alone would have let it go."""
    assert ended(name, search, {"lm_calls": 1, "tokens": 0}).stop_reason == "budget_tokens"


@pytest.mark.parametrize("name", ["react", "agentic", "always", "self-rag"])
def test_a_run_cut_short_by_the_call_limit_says_so(name: str) -> None:
    """Steps were left out, and the kept call wrote the answer."""
    result = ended(name, search, {"lm_calls": 1})
    assert (result.stop_reason, sum(used.calls for used in result.usage.values())) == ("budget_calls", 1)


def test_a_limit_of_no_calls_is_spent_from_the_start() -> None:
    """Nothing was kept."""
    assert ended("agentic", empty, {"lm_calls": 0}).stop_reason == "budget_calls"
