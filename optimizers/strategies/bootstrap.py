"""`bootstrap`: demos from the program's own successful runs (dspy.BootstrapFewShot)."""

import contextlib
import io
from collections.abc import Mapping
from typing import Any

import dspy

from reflective_rag.optimizers.examples import to_examples
from reflective_rag.optimizers.strategies.base import Compiled, CompileTask, Plan, calls_per_run


class Bootstrap:
    """Run the training questions, keep the traces of those that the metric accepts, make them demos.

    Labelled demos are off by default: a label is an answer to a question, and no predictor of a loop has only these
    fields.
    """

    name = "bootstrap"
    changes = "demos"
    asks_model = True
    defaults: Mapping[str, Any] = {
        "max_bootstrapped_demos": 2,
        "max_labeled_demos": 0,
        "max_rounds": 1,
        "max_errors": 10,
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
        optimizer = dspy.BootstrapFewShot(metric=task.metric, **task.options)
        with contextlib.redirect_stdout(io.StringIO()):  # it prints progress bars and a summary
            compiled = optimizer.compile(task.program.deepcopy(), trainset=to_examples(task.train))
        return Compiled(program=compiled, report={"demos": demo_counts(compiled)})


def demo_counts(program: dspy.Module) -> dict[str, int]:
    """Predictor name → number of demos."""
    return {name: len(predictor.demos) for name, predictor in program.named_predictors()}
