"""`knn`: a pool of bootstrapped demos, of which each question is shown the nearest (after dspy.KNNFewShot)."""

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
from reflective_rag.programs.nearest import show_nearest
from reflective_rag.signatures.errors import ConfigError


class Knn:
    """Bootstrap every training question once, keep all demos, and show each call the `k` of most similar questions.

    Prompts stay as short as with `k` fixed demos. The setting `nearest_demos` of the program holds `k`, so an artefact
    keeps it; where DSPy's own `.save` and `.load` are used, give it to the program that loads. Upstream faults worked
    around: dspy.KNNFewShot bootstraps its k neighbours anew for every question that is asked (k more runs each), cannot
    be saved, since it puts a function in the place of `forward`, and needs an embedder; similarity is by words here.
    """

    name = "knn"
    changes = "demos"
    asks_model = True
    defaults: Mapping[str, Any] = {"k": 3, "max_rounds": 1, "max_errors": 10, "teacher": ""}
    least: Mapping[str, int] = {"k": 1}

    def plan(self, task: CompileTask) -> Plan:
        """Every training question at least once.

        Raises:
            ConfigError: A program of your own whose settings have no `nearest_demos`.
        """
        if "nearest_demos" not in type(task.program.settings).model_fields:
            raise ConfigError(
                "strategy 'knn' needs a program that chooses demos by question: its settings must have the field "
                f"`nearest_demos`, and those of {task.program.name!r} have not"
            )
        low, high = calls_per_run(task.program)
        runs = len(task.train)
        rounds = int(task.options["max_rounds"])
        return Plan(program_runs=runs * rounds, calls_low=runs * low, calls_high=runs * rounds * high)

    def compile(self, task: CompileTask) -> Compiled:
        """Bootstrap on all of `train`; `val` is not used."""
        self.plan(task)
        metric, k = metric_for(task), int(task.options["k"])
        options = {name: value for name, value in task.options.items() if name not in ("teacher", "k")}
        optimizer = dspy.BootstrapFewShot(
            metric=metric,
            teacher_settings=teacher_settings(task),
            max_bootstrapped_demos=len(task.train),
            max_labeled_demos=0,
            **options,
        )
        with quiet():
            compiled = finished(optimizer.compile(student(task), trainset=task.train_examples), task)
        metric.finish()
        compiled.settings = compiled.settings.model_copy(update={"nearest_demos": k})
        show_nearest(compiled, k)
        return Compiled(program=compiled, report={"demos": demo_counts(compiled), "shown": k, **metric.summary()})
