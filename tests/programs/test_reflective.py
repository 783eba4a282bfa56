"""ReflectiveRAG as it is put together: one set of controls for its parts, and a mode in which rules judge."""

import copy
import threading
from collections.abc import Callable
from pathlib import Path

import dspy
import pytest

from reflective_rag.programs import LoopControls, ReflectiveRAG, Weights, load_program, save_program
from reflective_rag.signatures.types import Passage
from tests.fakes import asks_for, chat_reply, fake_lm, field_of

QUESTION = "When was Giotto born?"
TEXTS = ["Giotto was a painter.", "Giotto was born in 1267.", "Bananas are yellow."]
COVERAGE = LoopControls(weights=Weights(relevance=0, consistency=0, coverage=1, freshness=0))
RELEVANCE = LoopControls(weights=Weights(relevance=1, consistency=0, coverage=0, freshness=0))


class LockedLM(dspy.LM):
    """A model that cannot be copied, as one that holds a server or a file; DSPy then copies a program part by part."""

    def __init__(self) -> None:
        super().__init__("fake/locked")
        self.lock = threading.Lock()


def with_locked_model(rag: ReflectiveRAG) -> ReflectiveRAG:
    """The program with such a model on its predictors."""
    rag.set_lm(LockedLM())
    return rag


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda rag, folder: rag, id="new"),
        pytest.param(lambda rag, folder: rag.deepcopy(), id="deepcopy"),
        pytest.param(lambda rag, folder: copy.deepcopy(rag), id="copy.deepcopy"),
        pytest.param(lambda rag, folder: rag.reset_copy(), id="reset copy"),
        pytest.param(lambda rag, folder: with_locked_model(rag).deepcopy(), id="with a model that cannot be copied"),
        pytest.param(lambda rag, folder: load_program(save_program(rag, folder / "artefact")), id="loaded artefact"),
    ],
)
def test_weights_tuned_for_the_loop_count_for_its_assessor(
    made: Callable[[ReflectiveRAG, Path], ReflectiveRAG], tmp_path: Path
) -> None:
    """Loop and assessor share one set of controls, however the program came about; the state holds it once."""
    rag = made(ReflectiveRAG(mode="rules"), tmp_path)
    scores = []
    for values in (COVERAGE, RELEVANCE):
        rag.controls.values = values
        assessment = rag.assessor(question=QUESTION, passages=["Giotto was a painter."])
        scores.append(assessment.evidence_score)
        assert assessment.evidence_score == (assessment.coverage if values is COVERAGE else assessment.relevance)
    assert scores[0] != scores[1]
    assert [name for name in rag.dump_state() if name.endswith("controls")] == ["controls"]


def test_a_copy_has_controls_of_its_own() -> None:
    """What is tuned on a copy leaves the original as it was."""
    rag = ReflectiveRAG()
    twin = rag.deepcopy()
    twin.controls.values = COVERAGE
    assert (rag.controls.values, rag.assessor.controls.values) == (LoopControls(), LoopControls())


def numbered_corpus(count: int) -> list[Passage]:
    """Passages with texts of their own; the last one alone answers the question."""
    noise = [Passage(id=f"p{i}", text=f"Giotto painted wall number {i}.") for i in range(count - 1)]
    return [*noise, Passage(id="born", text="Giotto was born in 1267.")]


def test_rules_judge_the_whole_pool_and_a_model_answers_once() -> None:
    """In mode `rules` judging is free, so everything found is judged; the model reads the best and is asked once."""
    lm = fake_lm(lambda request: chat_reply(answer="1267", cited=[1]))
    rag = ReflectiveRAG(lambda query, k: numbered_corpus(12)[:k], mode="rules", k=12, max_passages=3)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        result = rag(question=QUESTION)
    (request,) = lm.engine.requests
    assessment = result.rounds[0].assessment
    assert asks_for(request, "answer")
    assert field_of(request, "passages").count("\n[") == 3 - 1
    assert "1267" in field_of(request, "passages")
    assert assessment.by_rules
    assert len(assessment.passage_relevance) == 12
    assert (len(result.passages), len(result.dropped)) == (3, 9)
    assert result.answer == "1267"


def test_rules_ask_the_model_once_however_many_rounds() -> None:
    """Rules find the gaps and write the queries too: more rounds cost searches, and no call."""
    searched: list[str] = []

    def search(query: str, k: int) -> list[str]:
        searched.append(query)
        return [f"Giotto painted {query} number {len(searched)}."]

    lm = fake_lm(lambda request: chat_reply(answer="unknown", cited=[]))
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        result = ReflectiveRAG(search, mode="rules", theta=1.0, patience=9, max_rounds=3)(question=QUESTION)
    assert len(result.rounds) > 1
    assert len(searched) > 1
    assert len(lm.engine.calls) == 1
