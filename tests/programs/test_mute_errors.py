"""A caller's exception whose `__str__` raises is a failure like any other."""

from typing import Any

import dspy
import pytest

from reflective_rag.optimizers.evaluation import evaluate
from reflective_rag.programs import PROGRAMS, ReflectiveRAG, ReflectiveWrapper, make_program, result_of
from reflective_rag.programs.repeats import Meanings
from tests.fakes import fake_lm
from tests.optimizers.strategies.small import RECORDS
from tests.programs.systems import QUESTION, good, search

SAID = "Mute: its message cannot be had"


class Mute(OSError):
    """Has no message to give."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def fails(*args: Any, **kwargs: Any) -> Any:
    """A caller's function."""
    raise Mute


@pytest.mark.parametrize("name", sorted(name for name in PROGRAMS if PROGRAMS[name].needs_search))
def test_a_retriever_that_fails_without_words(name: str) -> None:
    """Every program answers, degraded, and says what it was."""
    with dspy.context(lm=fake_lm(good)):
        result = result_of(make_program(name, fails)(question=QUESTION))
    assert result.degraded
    assert any(SAID in warning.message for warning in result.warnings)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_model_that_fails_without_words(name: str) -> None:
    """The same; by then DSPy has put the words of its own adapter in place."""
    with dspy.context(lm=fake_lm(fails)):
        result = result_of(make_program(name, search)(question=QUESTION))
    assert result.degraded
    assert "model_degraded" in {warning.code for warning in result.warnings}


def test_a_generator_and_a_scorer_that_fail_without_words() -> None:
    """What the caller hands in beside the retriever."""

    class Scorer:
        predict = staticmethod(fails)

    wrapped = result_of(ReflectiveWrapper(lambda query: ["Ada Lane was born in Norburg."], fails)(question=QUESTION))
    critics = {"relevance": "models"}
    own = ReflectiveRAG(search, mode="rules", critics=critics, scorers={"relevance": Scorer()})
    scored = result_of(own(question=QUESTION))
    for result in (wrapped, scored):
        assert any(SAID.removeprefix("Mute: ") in warning.message for warning in result.warnings)


def test_a_metric_and_a_program_that_fail_without_words() -> None:
    """A row says so, and the evaluation goes on."""
    rows = evaluate(make_program("naive", search, mode="rules"), RECORDS[:2], metric=fails).rows
    assert [SAID in (row.error or "") for row in rows] == [True, True]
    rows = evaluate(fails, RECORDS[:2]).rows
    assert [SAID in (row.error or "") for row in rows] == [True, True]


def test_an_embedder_that_fails_without_words() -> None:
    """Repeated queries are found without it."""
    meanings = Meanings(fails)
    assert meanings.cosine("a", "b") is None
    assert SAID in meanings.error
