"""Demos chosen by question: which, in what order, what the model then reads, and that an artefact keeps the choice."""

from pathlib import Path
from typing import Any

import dspy
import pytest

from reflective_rag.programs import NaiveRAG, ReflectiveRAG, load_program
from reflective_rag.programs.artefacts import save_program
from reflective_rag.programs.nearest import nearest
from reflective_rag.signatures.errors import ConfigError
from tests.fakes import FakeLM, chat_reply, fake_lm, prompt_text

QUESTIONS = [
    "When was Giotto born?",
    "Where did Dante die?",
    "Which river flows through Florence?",
    "乔托出生在哪一年？",
    "佛罗伦萨位于哪条河边？",
]
DEMOS = [dspy.Example(question=q, passages="[1] x", answer=f"a{i}", cited=[1]) for i, q in enumerate(QUESTIONS)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When was Boccaccio born?", [0]),
        ("Where did Petrarch die?", [1]),
        ("Which river flows through Pisa?", [2]),
        ("但丁出生在哪一年？", [3]),
        ("比萨位于哪条河边？", [4]),
    ],
)
def test_the_most_similar_question_is_shown(question: str, expected: list[int]) -> None:
    """In both languages, by words."""
    assert [DEMOS.index(demo) for demo in nearest(DEMOS, question, 1)] == expected


def test_the_most_alike_comes_last_and_ties_are_broken_by_order() -> None:
    """So it stands next to the question; a question with no word in common gets the first demos."""
    assert [demo.question for demo in nearest(DEMOS, "When was Dante born?", 2)][-1] == QUESTIONS[0]
    assert [DEMOS.index(demo) for demo in nearest(DEMOS, "ΩΩΩ", 2)] == [1, 0]
    assert nearest([], "q", 2) == []


def program(kind: Any = NaiveRAG, **options: Any) -> Any:
    """A program with five demos for its answer."""
    made = kind(lambda query, k: ["Giotto was born in 1267."], **options)
    made.answer.demos = list(DEMOS)
    return made


def asked(made: Any, question: str) -> FakeLM:
    """The model after one question."""
    lm = fake_lm(lambda request: chat_reply(answer="1267", cited=[1]))
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
        made(question=question)
    return lm


@pytest.mark.parametrize("kind", [NaiveRAG, ReflectiveRAG])
@pytest.mark.parametrize(("k", "shown"), [(0, 5), (2, 2), (9, 5)])
def test_a_call_shows_that_many_demos(kind: Any, k: int, shown: int) -> None:
    """0 shows all, and so does a number that there are not."""
    options = {"mode": "rules"} if kind is ReflectiveRAG else {}
    lm = asked(program(kind, nearest_demos=k, **options), "When was Dante born?")
    text = prompt_text(lm.engine.requests[0])
    assert sum(question in text for question in QUESTIONS) == shown
    assert QUESTIONS[0] in text


def test_copies_and_artefacts_keep_the_choice(tmp_path: Path) -> None:
    """A deep copy shows as few, and a program that is loaded from an artefact too."""
    made = program(nearest_demos=1)
    folder = save_program(made, tmp_path / "art")
    for twin in (made.deepcopy(), made.reset_copy(), load_program(folder, search=lambda query, k: ["x y z."])):
        assert twin.answer.nearest_demos == twin.settings.nearest_demos == 1


def test_a_negative_number_is_refused() -> None:
    """By the setting's name."""
    with pytest.raises(ConfigError, match="`nearest_demos`"):
        NaiveRAG(nearest_demos=-1)
