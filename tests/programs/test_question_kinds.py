"""Kinds of questions, and a θ of their own."""

import json
from typing import Any

import dspy
import pytest

from reflective_rag.programs import LoopControls, ReflectiveRAG
from reflective_rag.programs.artefacts import load_program, save_program
from reflective_rag.programs.question_kinds import question_kind
from reflective_rag.signatures.errors import ConfigError
from tests.programs.worlds import make_world


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who is the oldest, Sid Haig or Vic Darchinyan?", "comparison"),
        ("Are King Vidor and Géza von Cziffra both American directors?", "comparison"),
        ("《红楼梦》和《水浒传》哪部更早？", "comparison"),
        ("Who is the current mayor of Bern?", "temporal"),
        ("How many people lived in Bern in 1950?", "temporal"),
        ("现任英国首相是谁？", "temporal"),
        ("When was the director of film Bonds Of Honor born?", "bridge"),
        ("What was the birth date of the poker player that wrote Super/System?", "bridge"),
        ("Where did Timothy Shriver's father study?", "bridge"),
        ("《在遥远彼方的小千》的作者曾经获得什么奖项？", "bridge"),
        ("Who was Giotto?", "single"),
        ("珠穆朗玛峰有多高？", "single"),
        ("?", "single"),
        ("", "single"),
    ],
)
def test_the_kind_of_a_question_is_read_off_its_words(question: str, kind: str) -> None:
    """In English and Chinese, without a label; what is no question at all is single."""
    assert question_kind(question) == kind


def test_a_question_has_the_theta_of_its_kind() -> None:
    """Kinds that are not named have the common θ; nothing else changes."""
    rule = LoopControls(theta=0.7, theta_by_kind={"bridge": 0.9})
    assert rule.for_question("When was the director of film Bonds Of Honor born?").theta == 0.9
    assert rule.for_question("Who was Giotto?") is rule
    assert LoopControls().for_question("Who was Giotto?") == LoopControls()


def test_the_loop_stops_by_the_theta_of_the_kind() -> None:
    """A θ of 0 for the kind of this question does what a common θ of 0 does, whatever the common θ is."""
    world = make_world(3)
    kind = question_kind(world.question)
    with dspy.context(lm=world.lm(), adapter=dspy.ChatAdapter()):
        program = world.program()
        seen: list[Any] = []
        for rule in ({"theta": 0.0}, {"theta": 1.0, "theta_by_kind": {kind: 0.0}}, {"theta": 1.0}):
            program.controls.values = LoopControls(respect_verdict=False, **rule)
            result = program(question=world.question)
            seen.append((len(result.rounds), result.stop_reason, result.answer))
    assert seen[0] == seen[1]


def test_an_artefact_keeps_thetas_of_kinds_and_has_none_by_default(tmp_path: Any) -> None:
    """They survive saving and loading; without them the file is what versions without them wrote."""
    program = ReflectiveRAG(mode="rules", theta_by_kind={"bridge": 0.9})
    save_program(program, tmp_path / "a")
    assert load_program(tmp_path / "a").controls.values.theta_by_kind == {"bridge": 0.9}
    save_program(ReflectiveRAG(mode="rules"), tmp_path / "b")
    assert "theta_by_kind" not in json.loads((tmp_path / "b" / "program.json").read_text())["controls"]


@pytest.mark.parametrize("bad", [{"bridge": 1.5}, {"bridges": 0.5}, {"bridge": None}, 0.5])
def test_a_theta_that_cannot_be_is_refused_by_name(bad: Any) -> None:
    """Unknown kinds and numbers out of range are configuration errors that name the setting."""
    with pytest.raises(ConfigError, match="theta_by_kind"):
        ReflectiveRAG(mode="rules", theta_by_kind=bad)
