"""What holds for every strategy: planned calls, what it changes, what it leaves alone, the same result twice."""

import json
from typing import Any

import dspy
import pytest

from reflective_rag.optimizers.strategies import STRATEGIES, strategy
from reflective_rag.programs import NaiveRAG, ReflectiveRAG
from reflective_rag.signatures.errors import ConfigError
from tests.optimizers.strategies.small import RECORDS, Bench, score, search

SMALL: dict[str, dict[str, Any]] = {
    "labeled": {"k": 2},
    "bootstrap": {},
    "bootstrap-rs": {"num_candidate_programs": 2},
    "knn": {"k": 1},
    "mipro": {"num_candidates": 3, "num_trials": 2},
    "gepa": {"max_metric_calls": 12, "reflection_minibatch_size": 2},
    "simba": {"bsize": 3, "num_candidates": 2, "max_steps": 1},
    "copro": {"breadth": 2, "depth": 1},
    "better-together": {"max_metric_calls": 12, "reflection_minibatch_size": 2, "num_candidate_programs": 1},
}
"""Strategy → options that keep it small."""
SEVERAL = ["labeled", "bootstrap", "gepa", "copro"]
"""Planned with several predictors too."""


def program(mode: str) -> ReflectiveRAG:
    """One predictor in mode `rules`, several in the others."""
    return ReflectiveRAG(search, mode=mode, repair=False, k=2)


def states(compiled: Any) -> str:
    """Everything a compile may change, as text."""
    return json.dumps(compiled.dump_state(), sort_keys=True, default=str)


@pytest.mark.parametrize(
    ("name", "mode"), [*((name, "rules") for name in SMALL), *((name, "paired") for name in SEVERAL)]
)
def test_the_plan_bounds_the_calls(name: str, mode: str) -> None:
    """An independent count at both models: no more than planned, of the program's model no fewer; and it helps."""
    bench = Bench()
    options = {**SMALL[name], **({"depth": 2} if (name, mode) == ("copro", "rules") else {})}
    task = bench.task(name, program=program(mode), options=options)
    plan = STRATEGIES[name].plan(task)
    assert not bench.lm.engine.calls
    before = score(bench, task.program)
    asked = len(bench.lm.engine.calls)
    compiled = bench.compile(name, task)
    made, written = len(bench.lm.engine.calls) - asked, len(bench.writer.engine.calls)
    assert plan.calls_low <= made <= plan.calls_high
    assert written <= plan.prompt_calls
    if name != "simba":  # which writes only where the runs of a question differ
        assert (written > 0) is (plan.prompt_calls > 0)
    assert score(bench, compiled.program) > before


@pytest.mark.parametrize("name", SMALL)
def test_it_changes_what_it_says_and_nothing_else(name: str) -> None:
    """Instructions and demos as named in `changes`; the caller's program, settings and controls stay as they were."""
    bench = Bench()
    task = bench.task(name, options=SMALL[name])
    before = states(task.program)
    compiled = bench.compile(name, task).program
    assert states(task.program) == before
    old, new = (dict(p.named_predictors()) for p in (task.program, compiled))
    assert old.keys() == new.keys()
    rewritten = any(new[n].signature.instructions != old[n].signature.instructions for n in new)
    shown = any(predictor.demos for predictor in new.values())
    changes = STRATEGIES[name].changes
    assert not rewritten or "instructions" in changes
    assert not shown or "demos" in changes
    assert rewritten or shown
    assert compiled.settings.model_copy(update={"nearest_demos": 0}) == task.program.settings
    assert compiled.controls.values == task.program.controls.values
    assert all(predictor.lm is None for predictor in new.values())


@pytest.mark.parametrize("name", SMALL)
def test_the_same_seed_gives_the_same_program_on_any_number_of_threads(name: str) -> None:
    """Nothing depends on timing, and seed 0 is a seed."""
    found = []
    for threads in (1, 3):
        bench = Bench()
        found.append(states(bench.compile(name, bench.task(name, options=SMALL[name], num_threads=threads)).program))
    assert found[0] == found[1]


class Outer(dspy.Module):
    """Another module around a compiled program."""

    def __init__(self, rag: Any) -> None:
        super().__init__()
        self.rag = rag

    def forward(self, question: str) -> dspy.Prediction:
        """Ask it."""
        return self.rag(question=question)


@pytest.mark.parametrize("name", SMALL)
def test_a_compiled_program_can_be_nested_saved_and_compiled_again(name: str) -> None:
    """DSPy freezes what an optimizer returned; ours is seen by an outer module and can be a student again."""
    bench = Bench()
    compiled = bench.compile(name, bench.task(name, options=SMALL[name])).program
    assert [n for n, _ in Outer(compiled).named_predictors()] == [f"rag.{n}" for n, _ in compiled.named_predictors()]
    plain = vars(program("rules")).keys() | {"_compiled", "callbacks", "history"}
    assert set(vars(compiled)) <= plain
    again = bench.compile("bootstrap", bench.task("bootstrap", program=compiled)).program
    assert again.named_predictors()


def test_a_child_that_was_compiled_alone_is_not_frozen() -> None:
    """A part that carries DSPy's mark of a compiled program is tuned with the rest."""
    bench = Bench()
    made = program("paired")
    made.assessor._compiled = True
    assert "assessor.assess" not in dict(made.named_predictors())
    compiled = bench.compile("bootstrap", bench.task("bootstrap", program=made)).program
    assert dict(compiled.named_predictors())["assessor.assess"].demos


@pytest.mark.parametrize("name", ["bootstrap", "bootstrap-rs", "mipro", "simba", "better-together"])
def test_a_teacher_answers_the_training_questions(name: str) -> None:
    """Another model makes the demos; the program's own model is what is scored."""
    bench = Bench()
    task = bench.task(name, options=SMALL[name], models=bench.with_teacher)
    settings = dict(bench.teacher.kwargs)
    bench.compile(name, task)
    assert bench.teacher.engine.calls
    assert bench.teacher.kwargs == settings
    if name == "bootstrap":
        assert not bench.lm.engine.calls


@pytest.mark.parametrize("name", ["mipro", "gepa", "simba", "copro"])
def test_without_another_model_the_programs_own_writes(name: str) -> None:
    """`prompt_model` is an option, not a need."""
    bench = Bench()
    task = bench.task(name, options=SMALL[name], models={})
    bench.lm.engine.fn = _either
    bench.compile(name, task)
    assert not bench.writer.engine.calls
    assert bench.lm.engine.calls


def _either(request: Any) -> str:
    from tests.optimizers.strategies.small import reply, writer_reply

    return reply(request) if "question" in (request.messages[-1].text or "")[:40] else writer_reply(request)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        pytest.param("gepa", {"teacher": "x/y"}, "strategy 'gepa' has no option 'teacher'", id="no teacher"),
        pytest.param("labeled", {"max_labeled_demos": 1}, "options: `k`", id="unknown option"),
    ],
)
def test_options_that_are_not_there_are_refused(name: str, options: dict[str, Any], said: str) -> None:
    """With the ones that are."""
    with dspy.context(lm=Bench().lm), pytest.raises(ConfigError, match=said):
        strategy(name, NaiveRAG(search), options)


@pytest.mark.parametrize("name", ["bootstrap", "mipro"])
@pytest.mark.parametrize(
    ("model", "said"), [("rules", "`teacher` must name a language model"), ("gpt", "unknown model")]
)
def test_a_teacher_must_be_a_model(name: str, model: str, said: str) -> None:
    """Its name is resolved as `--lm` is, before anything is asked."""
    bench = Bench()
    with pytest.raises(ConfigError, match=said):
        bench.compile(name, bench.task(name, options={"teacher": model}, models={}))
    assert not bench.lm.engine.calls


@pytest.mark.parametrize("name", [n for n in SMALL if n != "labeled"])
def test_every_strategy_works_on_two_records(name: str) -> None:
    """One to learn from and one to choose on: no minibatch, split or sample is too big for them."""
    bench = Bench()
    options = {**SMALL[name]} | ({"bsize": 32} if name == "simba" else {})
    compiled = bench.compile(name, bench.task(name, options=options, train=RECORDS[1:2], val=RECORDS[3:4]))
    assert compiled.program.named_predictors()
