"""Failures of a metric are counted as errors, never as a score."""

import copy
from typing import Any

import dspy
import pytest

from reflective_rag.optimizers.checked import Checked, number_of
from reflective_rag.signatures.errors import ContractError, ReflectiveRAGError

NONSENSE = [None, "0.5", float("nan"), float("inf"), [1.0], dspy.Prediction(feedback="good")]


@pytest.mark.parametrize("value", NONSENSE, ids=["none", "text", "nan", "inf", "list", "no score"])
def test_nonsense_is_an_error(value: Any) -> None:
    """What is no finite number is refused by name, and counted."""
    judge = Checked(lambda *_: value)
    with pytest.raises(ContractError, match="must return a finite number"):
        judge(dspy.Example(), dspy.Prediction())
    assert (judge.scored, judge.errors) == (0, 1)
    assert "must return a finite number" in judge.summary()["first_metric_error"]


@pytest.mark.parametrize("value", [True, 0, 0.5, dspy.Prediction(score=0.5, feedback="x")])
def test_numbers_pass_as_they_are(value: Any) -> None:
    """Bools, numbers, and predictions with a score."""
    judge = Checked(lambda *_: value)
    assert judge(dspy.Example(), dspy.Prediction()) is value
    assert number_of(value) == float(getattr(value, "score", value))
    judge.finish()
    assert judge.summary() == {}


def test_what_a_metric_raises_is_counted_apart_from_a_program_that_crashed() -> None:
    """Optimizers call some metrics with no prediction at all; that is no fault of the metric."""

    def broken(example: Any, prediction: Any, *rest: Any) -> float:
        raise KeyError("gold")

    judge = Checked(broken)
    for prediction in (dspy.Prediction(), None):
        with pytest.raises(KeyError):
            judge(dspy.Example(), prediction)
    assert (judge.errors, judge.crashed) == (1, 1)


def test_a_metric_that_never_works_ends_the_compile() -> None:
    """One error that says how often it failed and how; one score is enough to go on."""
    judge = Checked(lambda example, prediction, *_: float(example.gold))
    with pytest.raises(AttributeError):
        judge(dspy.Example(), dspy.Prediction())
    with pytest.raises(ReflectiveRAGError, match=r"the metric failed 1 time.*First error: AttributeError"):
        judge.finish()
    judge(dspy.Example(gold=1), dspy.Prediction())
    judge.finish()


def test_copies_share_the_counts() -> None:
    """Optimizers copy metrics."""
    judge = Checked(lambda *_: 1.0)
    copy.deepcopy(judge)(dspy.Example(), dspy.Prediction())
    assert judge.scored == 1
