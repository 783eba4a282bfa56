"""`bootstrap-rs`: several sets of bootstrapped demos, the best on val (dspy.BootstrapFewShotWithRandomSearch)."""

import random
from collections.abc import Mapping
from typing import Any

import dspy

from reflective_rag.optimizers.strategies.base import Compiled, CompileTask, Plan, calls_per_run
from reflective_rag.optimizers.strategies.running import (
    candidates_of,
    demo_counts,
    finished,
    metric_for,
    quiet,
    student,
    teacher_settings,
)


class BootstrapRandomSearch:
    """Bootstrap demos from shuffled training questions again and again, and keep the set that scores best on `val`.

    One candidate has no demos, one takes the training questions in order, `num_candidate_programs` take them shuffled.
    Upstream faults worked around: without a valset it would score on the training questions themselves, so `val` is
    always given; without labelled demos its candidate "labels only" is the one without demos again, so it is left out;
    its shuffles are always the same, so the recipe's seed shuffles the questions first.
    """

    name = "bootstrap-rs"
    changes = "demos"
    asks_model = True
    defaults: Mapping[str, Any] = {
        "num_candidate_programs": 4,
        "max_bootstrapped_demos": 2,
        "max_labeled_demos": 0,
        "max_rounds": 1,
        "max_errors": 10,
        "teacher": "",
    }
    least: Mapping[str, int] = {"max_bootstrapped_demos": 1}

    def plan(self, task: CompileTask) -> Plan:
        """Every candidate once on `val`, and all but the first (or two) bootstrapped on `train`."""
        low, high = calls_per_run(task.program)
        drawn = int(task.options["num_candidate_programs"]) + 1
        evaluations = len(_candidates(task)) * len(task.val)
        most = drawn * len(task.train) * int(task.options["max_rounds"])
        return Plan(
            program_runs=evaluations + most,
            calls_low=(evaluations + drawn) * low,
            calls_high=(evaluations + most) * high,
            note="bootstrapping stops early when it has enough demos",
        )

    def compile(self, task: CompileTask) -> Compiled:
        """Bootstrap on `train`, choose on `val`."""
        metric = metric_for(task)
        options = {name: value for name, value in task.options.items() if name != "teacher"}
        train = task.train_examples
        random.Random(task.seed).shuffle(train)
        with quiet():
            optimizer = dspy.BootstrapFewShotWithRandomSearch(
                metric=metric, teacher_settings=teacher_settings(task), num_threads=task.num_threads, **options
            )
            compiled = optimizer.compile(
                student(task), trainset=train, valset=task.val_examples, restrict=_candidates(task)
            )
        metric.finish()
        tried = candidates_of(compiled.candidate_programs, scale=0.01)
        compiled = finished(compiled, task)
        return Compiled(program=compiled, candidates=tried, report={"demos": demo_counts(compiled), **metric.summary()})


def _candidates(task: CompileTask) -> list[int]:
    """The optimizer's names for its candidates: -3 no demos, -2 labels only, -1 in order, from 0 on shuffled."""
    labels = [-2] if task.options["max_labeled_demos"] else []
    return [-3, *labels, -1, *range(int(task.options["num_candidate_programs"]))]
