"""Stock DSPy, unchanged: its optimizers, evaluation, saving and nesting work on our programs as on any module."""

import copy
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from reflective_rag.programs import LoopControls, NaiveRAG, ReflectiveRAG
from reflective_rag.signatures.errors import DataError
from reflective_rag.signatures.types import Passage
from tests.fakes import FakeLM, asks_for, chat_reply, fake_lm, field_of, fields_of, prompt_text

YEARS = {"Giotto": 1267, "Dante": 1265, "Petrarch": 1304, "Boccaccio": 1313, "Duccio": 1255, "Cimabue": 1240}
TRAIN = [
    dspy.Example(question=f"When was {name} born?", answer=str(year)).with_inputs("question")
    for name, year in YEARS.items()
]


def search(query: str, k: int) -> list[Passage]:
    """The passage of the person in the query, and noise."""
    named = [Passage(id=n, text=f"{n} was born in {y}.") for n, y in YEARS.items() if n in query]
    return [*named, Passage(id="noise", text="Bananas are yellow.")][:k]


def reply(request: Request) -> str:
    """Right for some of the people until a demo or a better instruction stands in the prompt; proposes one."""
    fields: dict[str, Any] = {
        "needs": [{"need": "year", "passages": [1]}],
        "relevant": [1],
        "contradictions": [],
        "outdated": [],
        "gaps": [],
        "sufficient": "yes",
        "query": "year of birth",
    }
    if asks_for(request, "cited"):
        question = fields_of(request).get("question", "")
        name = next((n for n in YEARS if n in question), "nobody")
        helped = "exact year" in prompt_text(request) or len(request.messages) > 1
        right = helped or YEARS.get(name, 0) % 2 == 1
        return chat_reply(answer=str(YEARS[name]) if right and name in YEARS else "unknown", cited=[1])
    known = {name: value for name, value in fields.items() if asks_for(request, name)}
    return chat_reply(**known) if known else _proposal(request)


def _proposal(request: Request) -> str:
    names = ("observations", "summary", "program_description", "module_description", "proposed_instruction", "tip")
    return chat_reply(**{n: "Give the exact year." for n in names if asks_for(request, n)})


def metric(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None) -> bool:
    """A metric of one's own."""
    return bool(example.answer == prediction.answer)


@pytest.fixture(autouse=True)
def model() -> Iterator[FakeLM]:
    """The model, with DSPy's and optuna's progress reports off."""
    levels = {name: logging.getLogger(name).level for name in ("dspy", "optuna")}
    for name in levels:
        logging.getLogger(name).setLevel(logging.ERROR)
    lm = fake_lm(reply)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
        yield lm
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def scored(program: dspy.Module, threads: int = 1) -> float:
    """The score in percent by DSPy's own evaluation."""
    evaluate = dspy.Evaluate(devset=TRAIN, metric=metric, num_threads=threads, display_progress=False)
    return float(evaluate(program).score)


@pytest.mark.parametrize("program", [ReflectiveRAG, NaiveRAG])
def test_evaluate_gives_one_score_for_any_number_of_threads(program: Any) -> None:
    """`dspy.Evaluate` on 1 and on 4 threads agrees, and the scores are what the metric says."""
    assert scored(program(search), 1) == scored(program(search), 4) == 66.67


def demos(program: dspy.Module) -> dict[str, list[Any]]:
    """Predictor name → its demos, as plain dicts."""
    return {name: [dict(d) for d in p.demos] for name, p in program.named_predictors()}


def test_bootstrap_few_shot_fills_demos_from_traces() -> None:
    """Every predictor that a trace reached gets demos; the student is left as it was; the score rises."""
    student = ReflectiveRAG(search, theta=0.5)
    teacher = dspy.BootstrapFewShot(metric=metric, max_bootstrapped_demos=2, max_labeled_demos=0)
    compiled = teacher.compile(student, trainset=TRAIN)
    found = demos(compiled)
    assert len(found["answer"]) == len(found["assessor.assess"]) == 2
    assert found["answer"][0]["answer"] in {str(y) for y in YEARS.values()}
    assert found["rewrite"] == []
    assert not any(demos(student).values())
    assert compiled.controls.values.theta == 0.5
    assert scored(compiled) > scored(student)


def test_a_demo_carries_short_passages() -> None:
    """A bootstrapped demo shows the best sentences of each passage, not the whole text that the call itself saw."""
    long = "Filler about nothing at all. " * 60 + "Giotto was born in 1267. " + "More filler follows here. " * 30
    student = ReflectiveRAG(lambda query, k: [Passage(id="a", text=long)])
    compiled = dspy.BootstrapFewShot(metric=None, max_bootstrapped_demos=1).compile(student, trainset=TRAIN[:1])
    shown = demos(compiled)["answer"][0]["passages"]
    assert "Giotto was born in 1267." in shown
    assert len(shown) < 400 < len(long)


def test_mipro_changes_instructions(capsys: pytest.CaptureFixture[str]) -> None:
    """MIPROv2 proposes instructions and demos for our predictors and keeps the better ones."""
    student = ReflectiveRAG(search)
    optimizer = dspy.MIPROv2(metric=metric, auto=None, num_candidates=3, num_threads=1, seed=9)
    compiled = optimizer.compile(student, trainset=TRAIN[:4], valset=TRAIN[2:], num_trials=3, minibatch=False)
    before = {name: p.signature.instructions for name, p in student.named_predictors()}
    after = {name: p.signature.instructions for name, p in compiled.named_predictors()}
    assert before.keys() == after.keys()
    assert "Give the exact year." in after.values() or any(demos(compiled).values())
    assert scored(compiled) > scored(student)
    assert compiled.search is student.search
    capsys.readouterr()


def tuned() -> ReflectiveRAG:
    """A program with a θ, an instruction and a demo of its own."""
    rag = ReflectiveRAG(search, theta=0.55, patience=3)
    rag.answer.demos = [dspy.Example(question="谁？", passages="[1] 乔托", answer="乔托", cited=[1])]
    rag.answer.signature = rag.answer.signature.with_instructions("Give the exact year.")
    return rag


def is_tuned(rag: ReflectiveRAG) -> bool:
    """Whether all of it is there."""
    return (
        rag.controls.values == LoopControls(theta=0.55, patience=3)
        and [d["answer"] for d in rag.answer.demos] == ["乔托"]
        and rag.answer.signature.instructions == "Give the exact year."
    )


def test_save_and_load_keep_controls_and_demos(tmp_path: Path) -> None:
    """DSPy's own JSON state holds θ too, and the loaded program answers the same."""
    rag, file = tuned(), tmp_path / "program.json"
    rag.save(file)
    loaded = ReflectiveRAG(search)
    loaded.load(file)
    assert is_tuned(loaded)
    assert loaded(question=TRAIN[0].question).answer == rag(question=TRAIN[0].question).answer == "1267"


def test_a_damaged_threshold_in_dspys_file_is_one_clear_error(tmp_path: Path) -> None:
    """θ outside 0..1 in a saved state is refused, and the program keeps what it had."""
    file = tmp_path / "program.json"
    tuned().save(file)
    file.write_text(file.read_text().replace("0.55", "5.5"))
    rag = ReflectiveRAG(search)
    with pytest.raises(DataError, match="`theta`"):
        rag.load(file)
    assert rag.controls.values.theta == 0.7


class Outer(dspy.Module):
    """Another module around ours."""

    def __init__(self, rag: ReflectiveRAG) -> None:
        super().__init__()
        self.rag = rag
        self.polish = dspy.Predict("question, answer -> cited: list[int]")

    def forward(self, question: str) -> dspy.Prediction:
        """Ask, then hand the answer on."""
        result = self.rag(question=question)
        self.polish(question=question, answer=result.answer)
        return dspy.Prediction(answer=result.answer)


def test_a_nested_program_is_optimized_and_saved_with_the_outer_one(tmp_path: Path) -> None:
    """Inside another module our predictors and controls are seen, tuned, saved and loaded."""
    outer = Outer(tuned())
    names = {name for name, _ in outer.named_predictors()}
    assert {"rag.answer", "rag.assessor.assess", "polish"} <= names
    outer.save(tmp_path / "outer.json")
    loaded = Outer(ReflectiveRAG(search))
    loaded.load(tmp_path / "outer.json")
    assert is_tuned(loaded.rag)
    assert scored(loaded, 2) == 100.0


def test_deep_copies_share_the_search_function_only() -> None:
    """A copy has its own demos and controls, and the caller's retriever itself."""
    rag = tuned()
    for twin in (copy.deepcopy(rag), rag.deepcopy(), rag.reset_copy()):
        assert twin.search is rag.search
        assert twin.answer is not rag.answer
        assert twin.controls.values == rag.controls.values
        twin.controls.values = LoopControls(theta=0.1)
    assert is_tuned(rag)


def test_batch_and_parallel_run_our_programs() -> None:
    """`module.batch` gives the answers in order."""
    results = NaiveRAG(search).batch(TRAIN, num_threads=3, disable_progress_bar=True)
    assert [r.answer for r in results] == [NaiveRAG(search)(question=e.question).answer for e in TRAIN]


def test_inputs_of_a_call_reach_the_prompt_whole() -> None:
    """The call itself reads the whole passage, whatever the demo shows."""
    lm = fake_lm(reply)
    with dspy.context(lm=lm):
        NaiveRAG(search)(question=TRAIN[0].question)
    assert "[1] Giotto was born in 1267." in field_of(lm.engine.requests[0], "passages")
