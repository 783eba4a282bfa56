"""Replay tells the truth: what it says of a stopping rule is what the program does under that rule."""

from typing import Any

import dspy
import pytest

from reflective_rag.data.records import Record
from reflective_rag.optimizers.replay import QuestionRecord, record_pass, replay_question
from reflective_rag.optimizers.replay_rules import grid, simulate
from reflective_rag.programs import LoopControls
from reflective_rag.signatures.errors import ContractError
from tests.programs.worlds import MODES, World, make_world

RULES = list(grid())[::1511]
SEEDS = range(12)


def calm_world(seed: int) -> World:
    """A world whose model may write nonsense but does not fail, and without a budget."""
    world = make_world(seed)
    world.options["budget"], world.broken_model = {}, 0
    return world


def length(example: Any, prediction: Any) -> float:
    """A quality that tells answers apart."""
    return float(len(prediction.answer))


def recorded(world: World) -> QuestionRecord:
    """The recorded pass of the world's question."""
    record = Record.model_validate({"id": "q", "question": world.question, "answers": ["x"], "passages": []})
    (found,) = record_pass(world.program(), [record], length)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_a_simulated_rule_is_what_the_loop_does(seed: int) -> None:
    """Rounds, stop reason, answer, tokens and searches agree with a run under the rule, and with a replay of it."""
    world = calm_world(seed)
    program = world.program()
    with dspy.context(lm=world.lm(), adapter=dspy.ChatAdapter()):
        record = recorded(world)
        for rule in RULES:
            program.controls.values = rule
            stop, real = simulate(record, rule), program(question=world.question)
            replayed = replay_question(program, record, world.question)
            tokens = sum(u.prompt_tokens + u.completion_tokens for u in real.usage.values())
            judged = [turn for turn in real.rounds if turn.assessment]  # without a last search in vain
            seen = (len(judged), real.stop_reason, length(None, real), tokens, real.retrievals)
            assert (stop.index + 1, stop.reason, stop.score, stop.tokens, stop.retrievals) == seen
            assert (replayed.answer, replayed.stop_reason) == (real.answer, real.stop_reason)


def test_the_worlds_differ_in_mode_and_in_where_they_stop() -> None:
    """The comparison above meets every mode, several stop reasons, and rules that disagree on one question."""
    stops = []
    for world in map(calm_world, SEEDS):
        with dspy.context(lm=world.lm(), adapter=dspy.ChatAdapter()):
            record = recorded(world)
        stops.append({(stop.index, stop.reason) for stop in (simulate(record, rule) for rule in RULES)})
    assert {calm_world(seed).mode for seed in SEEDS} == set(MODES)
    assert len({reason for found in stops for _, reason in found}) >= 4
    assert max(map(len, stops)) > 1


def test_a_recorded_pass_leaves_the_program_as_it_was() -> None:
    """The pass runs to the last round on a copy."""
    world = calm_world(0)
    program = world.program()
    before = program.controls.values
    record = Record.model_validate({"id": "q", "question": world.question, "answers": ["x"], "passages": []})
    with dspy.context(lm=world.lm(), adapter=dspy.ChatAdapter()):
        record_pass(program, [record], length, num_threads=2)
    assert program.controls.values == before


def test_a_replay_of_another_question_is_refused() -> None:
    """A step that was not recorded is an error that names it, never an invented reply."""
    world = calm_world(0)
    with dspy.context(lm=world.lm(), adapter=dspy.ChatAdapter()):
        record = recorded(world)
    with pytest.raises(ContractError, match=r"holds no outcome for .*Who else"):
        replay_question(world.program(), record, "Who else?")


def test_the_grid_holds_the_default_rule_once() -> None:
    """Every rule is tried once, and the rule that programs start with is among them."""
    rules = list(grid())
    assert len({rule.model_dump_json() for rule in rules}) == len(rules)
    assert rules.count(LoopControls()) == 1
