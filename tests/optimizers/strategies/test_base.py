"""The plan of a compile: what a question may cost is told before anything is asked."""

import dspy
import pytest

from reflective_rag.optimizers.strategies.base import calls_per_run
from reflective_rag.programs import NaiveRAG, RagModule, ReflectiveRAG
from tests.programs.worlds import make_world


@pytest.mark.parametrize(
    ("program", "fewest", "most"),
    [
        pytest.param(NaiveRAG(), 1, 1, id="naive"),
        pytest.param(NaiveRAG(mode="rules"), 0, 0, id="naive, rules"),
        pytest.param(ReflectiveRAG(), 2, 3 * 2 + 2 + 1, id="paired"),
        pytest.param(ReflectiveRAG(mode="fused", max_rounds=1), 1, 1 + 1, id="fused, one round"),
        pytest.param(ReflectiveRAG(mode="separate", max_passages=4), 9, 3 * 9 + 2 * 2 + 1, id="separate"),
        pytest.param(ReflectiveRAG(mode="rules"), 1, 1 + 1, id="rules judge, a model answers"),
        pytest.param(
            ReflectiveRAG(critics={"support": "lm"}), 3, 3 * 2 + 2 + 12 + 1 + 12, id="claims checked by the model"
        ),
        pytest.param(ReflectiveRAG(repair=False), 2, 3 * 2 + 2, id="no repair"),
    ],
)
def test_calls_of_one_question(program: RagModule, fewest: int, most: int) -> None:
    """One round that suffices, or every round with its rewrite, and a repair with its check."""
    assert calls_per_run(program) == (fewest, most)


@pytest.mark.parametrize("seed", range(24))
def test_no_question_costs_more_than_was_told(seed: int) -> None:
    """With replies that can be read, no run of any world asks more often than the plan allows for."""
    world = make_world(seed)
    world.options["budget"], world.broken_model, world.malformed = {}, 0, 0
    program, lm = world.program(), world.lm()
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        program(question=world.question)
    assert len(lm.engine.calls) <= calls_per_run(program)[1]
