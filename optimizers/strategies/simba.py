"""`simba`: demos and advice from questions on which runs differ most (dspy.SIMBA)."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import dspy

from reflective_rag.optimizers.loop_demos import useful_calls
from reflective_rag.optimizers.strategies.base import Candidate, Compiled, CompileTask, Plan, TaskMetric, calls_per_run
from reflective_rag.optimizers.strategies.running import (
    demo_counts,
    finished,
    metric_for,
    prompt_lm,
    quiet,
    student,
    teacher_settings,
)

logger = logging.getLogger(__name__)


class Simba:
    """Run a minibatch several times, and learn a demo or a piece of advice from where good and bad runs part most.

    Upstream faults worked around: it asserts that a minibatch fits into train, so ours shrinks; of a predictor that is
    called once a round it keeps the last call as a demo, ours the last useful one; it writes into the traced inputs
    and into the teacher's settings, so it gets copies; it chooses on the questions it learned from, so its winners are
    scored once more, on `val`.
    """

    name = "simba"
    changes = "instructions and demos"
    asks_model = True
    defaults: Mapping[str, Any] = {
        "bsize": 8,
        "num_candidates": 3,
        "max_steps": 3,
        "max_demos": 2,
        "teacher": "",
        "prompt_model": "",
    }
    least: Mapping[str, int] = {"bsize": 1, "max_steps": 1, "num_candidates": 2}

    def plan(self, task: CompileTask) -> Plan:
        """Each step samples a minibatch and scores the candidates on it; the winners run over train and val once."""
        low, high = calls_per_run(task.program)
        size, steps = _batch(task), int(task.options["max_steps"])
        sampled = int(task.options["num_candidates"])
        winners = min(steps, sampled) + 1
        tried = min(sampled + 1, size)
        final = winners * (len(task.train) + len(task.val))
        runs = steps * size * (sampled + tried) + final
        return Plan(
            program_runs=runs,
            calls_low=(steps * size * sampled + len(task.train) + len(task.val)) * low,
            calls_high=runs * high,
            prompt_calls=steps * tried,
            note="a step whose runs do not differ makes no candidate",
        )

    def compile(self, task: CompileTask) -> Compiled:
        """Learn on `train`, choose on `val`."""
        metric = metric_for(task)
        optimizer = dspy.SIMBA(
            metric=metric,
            bsize=_batch(task),
            num_candidates=task.options["num_candidates"],
            max_steps=task.options["max_steps"],
            max_demos=task.options["max_demos"],
            prompt_model=prompt_lm(task),
            teacher_settings=teacher_settings(task) or None,
            num_threads=task.num_threads,
        )
        if task.options["max_demos"]:
            optimizer.strategies[0] = _with_useful_calls(optimizer.strategies[0], task.metric)
        with quiet():
            compiled = optimizer.compile(student(task), trainset=task.train_examples, seed=task.seed)
            metric.finish()
            winners = _scored(task, metric, [one["program"] for one in compiled.candidate_programs])
        best, _ = max(winners, key=lambda pair: pair[1])
        tried = tuple(
            Candidate(name=f"candidate {number}", score=score, details={"demos": demo_counts(program)})
            for number, (program, score) in enumerate(winners)
        )
        best = finished(best, task)
        return Compiled(program=best, candidates=tried, report={"demos": demo_counts(best), **metric.summary()})


def _batch(task: CompileTask) -> int:
    return min(int(task.options["bsize"]), len(task.train))


def _scored(task: CompileTask, metric: Any, programs: list[Any]) -> list[tuple[Any, float]]:
    evaluate = dspy.Evaluate(
        devset=task.val_examples, metric=metric, num_threads=task.num_threads, display_progress=False
    )
    return [(program, float(evaluate(program).score) / 100) for program in programs]


def _with_useful_calls(append: Callable[..., bool], metric: TaskMetric) -> Callable[..., bool]:
    """SIMBA's "append a demo" over the best run's useful calls, with inputs that it may write into."""

    def append_a_useful_demo(bucket: list[dict[str, Any]], system: Any, **about: Any) -> bool:
        good = bucket[0]
        example, prediction = good["example"], good["prediction"]

        def right(draft: str) -> bool:
            other = type(prediction)(**{**dict(prediction.items()), "answer": draft, "abstained": not draft})
            return metric.score(example, other) >= metric.threshold

        trace = good["trace"] if prediction is None else useful_calls(good["trace"], example, prediction, right)
        copied = [(predictor, dict(inputs), outputs) for predictor, inputs, outputs in trace]
        return append([{**good, "trace": copied}, *bucket[1:]], system, **about)

    return append_a_useful_demo
