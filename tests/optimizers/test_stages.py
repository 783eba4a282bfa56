"""Stages of a compile: the critics alone on labels that come free, or the answerer alone."""

from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from reflective_rag.data.records import Record
from reflective_rag.optimizers.critic_cases import CriticProgram, critic_task
from reflective_rag.optimizers.stages import Hidden, hidden, shown, staged
from reflective_rag.optimizers.strategies import STRATEGIES
from reflective_rag.programs import NaiveRAG, ReflectiveRAG
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.fakes import asks_for, fields_of
from tests.optimizers.strategies.small import YEARS, Bench, reply, score, search

OTHERS = ["Bananas are yellow and grow in bunches.", "Lake Baikal is very deep and cold.", "Trains run on rails."]


def record(name: str) -> Record:
    """As in the small world, with more passages that say nothing."""
    passages = [{"id": name, "text": f"{name} was born in {YEARS[name]}.", "supporting": True}]
    passages += [{"id": f"n{i}", "text": text} for i, text in enumerate(OTHERS)]
    question = f"When was {name} born?"
    return Record.model_validate(
        {"id": name, "question": question, "answers": [str(YEARS[name])], "passages": passages}
    )


RECORDS = [record(name) for name in YEARS]
DATA = {"train": RECORDS[:3], "val": RECORDS[3:]}


def judge(request: Request) -> str:
    """Right about evidence that names the year, and about passages that do."""
    fields = fields_of(request)
    text = fields.get("passages") or fields.get("passage") or ""
    name = next((n for n in YEARS if n in fields.get("question", "")), "nobody")
    there = str(YEARS.get(name)) in text
    if asks_for(request, "sufficient") and not asks_for(request, "needs"):
        return f"[[ ## sufficient ## ]]\n{'yes' if there else 'no'}\n\n[[ ## completed ## ]]"
    if asks_for(request, "relevance"):
        return f"[[ ## relevance ## ]]\n{'relevant' if there else 'irrelevant'}\n\n[[ ## completed ## ]]"
    return reply(request)


def bench() -> Bench:
    """The small world with that judge."""
    made = Bench()
    made.lm.engine.fn = judge
    return made


def separate() -> ReflectiveRAG:
    """One predictor for each judgement."""
    return ReflectiveRAG(search, mode="separate", critics={"consistency": "rules", "freshness": "rules"}, k=2)


def changed(before: Any, after: Any) -> set[str]:
    """Names of the predictors with other demos or instructions than before."""
    old = dict(before.named_predictors())
    return {
        n for n, p in after.named_predictors() if p.demos or p.signature.instructions != old[n].signature.instructions
    }


@pytest.mark.parametrize("name", ["bootstrap", "mipro"])
def test_critics_are_compiled_on_labels_that_come_free(name: str) -> None:
    """Only critics with such labels get demos or instructions, from right verdicts of both kinds; calls as planned."""
    made = bench()
    options = {"num_trials": 1, "program_aware_proposer": False} if name == "mipro" else {"max_bootstrapped_demos": 4}
    program = separate()
    task = made.task(name, program=program, options=options, **DATA)
    strategy = staged(STRATEGIES[name], "critics", program)
    plan = strategy.plan(task)
    with made.use():
        compiled = strategy.compile(task)
    assert plan.calls_low <= len(made.lm.engine.calls) <= plan.calls_high
    assert not changed(program, program)
    assert changed(program, compiled.program) <= {"assessor.relevance", "assessor.sufficiency"}
    assert compiled.report["critic_cases"]["train"] >= len(DATA["train"])
    if name == "bootstrap":
        demos = dict(compiled.program.named_predictors())["assessor.relevance"].demos
        assert {demo["relevance"] for demo in demos} == {"relevant", "irrelevant"}


def test_critics_of_one_call_are_compiled_too() -> None:
    """In mode `paired` the one judgement of many fields gets its demos; the answerer gets none."""
    made, program = bench(), ReflectiveRAG(search, k=2)
    task = made.task("bootstrap", program=program, **DATA)
    with made.use():
        compiled = staged(STRATEGIES["bootstrap"], "critics", program).compile(task)
    assert changed(program, compiled.program) == {"assessor.assess"}


def test_a_support_critic_is_asked_for_one_verdict() -> None:
    """Right answers against answers of other records."""
    program = ReflectiveRAG(search, mode="rules", critics={"support": "lm"})
    task = critic_task(bench().task("bootstrap", program=program, **DATA))
    assert isinstance(task.program, CriticProgram)
    assert task.program.judgements == ("support",)
    made = bench()
    with made.use():
        verdicts = [task.program(**example.inputs()).verdict for example in task.train_examples]
    assert verdicts == [True] * len(task.train)
    assert len(made.lm.engine.calls) == len(task.train)


@pytest.mark.parametrize("name", ["bootstrap", "gepa", "copro"])
def test_the_answerer_alone(name: str) -> None:
    """Judges and queries stay as they are and are not counted as predictors to work on; the caller's program too."""
    made, program = Bench(), ReflectiveRAG(search, k=2)
    options = {"gepa": {"max_metric_calls": 10}, "copro": {"breadth": 2, "depth": 1}}.get(name, {})
    task = made.task(name, program=program, options=options)
    strategy = staged(STRATEGIES[name], "answer", program)
    plan = strategy.plan(task)
    with made.use():
        compiled = strategy.compile(task).program
    assert plan.calls_low <= len(made.lm.engine.calls) <= plan.calls_high
    assert len(made.writer.engine.calls) <= plan.prompt_calls
    assert changed(program, compiled) == {"answer"}
    assert [n for n, _ in compiled.named_predictors()] == [n for n, _ in program.named_predictors()]
    assert score(made, compiled) > score(made, program)


def test_a_hidden_predictor_works_and_is_not_seen() -> None:
    """It answers, survives deep copies and resets with its demos, and comes back as it was."""
    program = ReflectiveRAG(search, k=2)
    program.assessor.assess.demos = [dspy.Example(question="kept")]
    made = hidden(program.deepcopy(), ["answer"]).reset_copy()
    assert [name for name, _ in made.named_predictors()] == ["answer"]
    assert isinstance(made.assessor.assess, Hidden)
    bench_ = Bench()
    with bench_.use():
        assert made(question=RECORDS[1].question).stop_reason == "sufficient"
    back = shown(made)
    assert [n for n, _ in back.named_predictors()] == [n for n, _ in program.named_predictors()]
    assert back.assessor.assess.demos[0].question == "kept"
    assert back.assessor.assess is not program.assessor.assess


@pytest.mark.parametrize(
    ("name", "stage", "program", "said"),
    [
        pytest.param("gepa", "critics", separate(), "works with 'bootstrap', 'bootstrap-rs', 'mipro'", id="strategy"),
        pytest.param("controls", "answer", separate(), "has no stages", id="controls"),
        pytest.param("bootstrap", "critics", NaiveRAG(search), "needs critics that a language model", id="no critics"),
        pytest.param("bootstrap", "critics", ReflectiveRAG(search, mode="fused"), "needs critics", id="fused critics"),
        pytest.param("bootstrap", "answer", ReflectiveRAG(search, mode="fused"), "that answers and does", id="fused"),
    ],
)
def test_stages_that_a_program_has_not_are_refused(name: str, stage: Any, program: Any, said: str) -> None:
    """One clear error before anything is asked."""
    with pytest.raises(ConfigError, match=said):
        staged(STRATEGIES[name], stage, program)


def test_records_without_labels_for_the_critics() -> None:
    """No supporting passage, no case: it says so instead of compiling nothing."""
    bare = [Record(id="a", question="q?", answers=("x",), passages=())]
    program = separate()
    task = bench().task("bootstrap", program=program, train=bare, val=bare)
    with pytest.raises(DataError, match="finds no labelled case for relevance, sufficiency"):
        staged(STRATEGIES["bootstrap"], "critics", program).plan(task)


def test_stage_all_is_the_strategy_itself() -> None:
    """Nothing is wrapped."""
    assert staged(STRATEGIES["mipro"], "all", separate()) is STRATEGIES["mipro"]
