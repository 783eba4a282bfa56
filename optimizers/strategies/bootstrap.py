"""`bootstrap`: demos from the program's own successful runs (dspy.BootstrapFewShot)."""

from collections.abc import Mapping
from typing import Any

import dspy

from reflective_rag.optimizers.strategies.base import Compiled, CompileTask, Plan, calls_per_run
from reflective_rag.optimizers.strategies.running import (
    demo_counts,
    finished,
    metric_for,
    quiet,
    student,
    teacher_settings,
)


class Bootstrap:
    """Run the training questions, keep the traces of those that the metric accepts, make their useful rounds demos.

    Labelled demos are off by default: a label is an answer to a question, and no predictor of a loop has only these
    fields (strategy `labeled` writes whole ones). With `teacher` another model answers the training questions.
    """

    name = "bootstrap"
    changes = "demos"
    asks_model = True
    defaults: Mapping[str, Any] = {
        "max_bootstrapped_demos": 2,
        "max_labeled_demos": 0,
        "max_rounds": 1,
        "max_errors": 10,
        "teacher": "",
    }

    def plan(self, task: CompileTask) -> Plan:
        """At most every training question once per round; it ends as soon as there are enough demos."""
        low, high = calls_per_run(task.program)
        most = len(task.train) * int(task.options["max_rounds"])
        fewest = min(most, int(task.options["max_bootstrapped_demos"]))
        return Plan(
            program_runs=most,
            calls_low=fewest * low,
            calls_high=most * high,
            note=f"stops after {task.options['max_bootstrapped_demos']} accepted questions",
        )

    def compile(self, task: CompileTask) -> Compiled:
        """Bootstrap on `train`; `val` is not used."""
        metric = metric_for(task)
        options = {name: value for name, value in task.options.items() if name != "teacher"}
        optimizer = dspy.BootstrapFewShot(metric=metric, teacher_settings=teacher_settings(task), **options)
        with quiet():
            compiled = finished(optimizer.compile(student(task), trainset=task.train_examples), task)
        metric.finish()
        return Compiled(program=compiled, report={"demos": demo_counts(compiled), **metric.summary()})
