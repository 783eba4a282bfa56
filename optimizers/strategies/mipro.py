"""`mipro`: instructions and demos searched together (dspy.MIPROv2, Opsahl-Ong et al., 2024, arXiv 2406.11695)."""

import importlib.util
import math
from collections.abc import Mapping
from typing import Any

import dspy

from reflective_rag.optimizers.strategies.base import Compiled, CompileTask, Plan, calls_per_run
from reflective_rag.optimizers.strategies.running import (
    candidates_of,
    demo_counts,
    finished,
    metric_for,
    prompt_lm,
    quiet,
    student,
    teacher_settings,
)
from reflective_rag.signatures.errors import ConfigError

_UNSHUFFLED = 3
"""Demo sets that MIPROv2 makes before it draws any: none, labels only, bootstrapped in order."""
_VIEWED = 10
"""Training questions that one call for the data summary shows."""


class Mipro:
    """Propose instructions, bootstrap demo sets, search the combinations on `val`.

    Sizes are set by hand (auto=None), so that the cost is known before the run. Upstream faults worked around: seed 0
    is taken for "no seed" (dspy #10321), so seeds are shifted by one; the minibatch default fails on small sets, so
    every trial is scored on all of `val`; without a valset most of the training questions would become one, so it is
    always given; labelled demos alone crash from the fourth candidate on (dspy #9938), so then there are three demo
    sets, whatever the number of instructions. `teacher` bootstraps, `prompt_model` writes the instructions.
    """

    name = "mipro"
    changes = "instructions and demos"
    asks_model = True
    defaults: Mapping[str, Any] = {
        "num_candidates": 3,
        "num_trials": 6,
        "max_bootstrapped_demos": 2,
        "max_labeled_demos": 0,
        "init_temperature": 1.0,
        "program_aware_proposer": True,
        "teacher": "",
        "prompt_model": "",
    }

    def plan(self, task: CompileTask) -> Plan:
        """Trials × val, the default program once, bootstrapping, and the calls for instructions."""
        low, high = calls_per_run(task.program)
        candidates, trials = int(task.options["num_candidates"]), int(task.options["num_trials"])
        evaluations = (trials + 1) * len(task.val)
        drawn = _bootstrapped_sets(task.options)
        data = min(10, math.ceil(len(task.train) / _VIEWED)) + 1
        each = 3 if task.options["program_aware_proposer"] else 1
        return Plan(
            program_runs=evaluations + drawn * len(task.train),
            calls_low=(evaluations + drawn) * low,
            calls_high=(evaluations + drawn * len(task.train)) * high,
            prompt_calls=data + len(task.program.predictors()) * candidates * each,
            note="bootstrapping stops early when it has enough demos",
        )

    def compile(self, task: CompileTask) -> Compiled:
        """Search on `val` with demos from `train`."""
        if importlib.util.find_spec("optuna") is None:
            raise ConfigError("strategy 'mipro' needs the package `optuna`: pip install optuna")
        options = dict(task.options)
        metric = metric_for(task)
        optimizer = dspy.MIPROv2(
            metric=metric,
            auto=None,
            num_candidates=options["num_candidates"],
            num_threads=task.num_threads,
            seed=task.seed + 1,
            init_temperature=options["init_temperature"],
            max_bootstrapped_demos=options["max_bootstrapped_demos"],
            max_labeled_demos=options["max_labeled_demos"],
            prompt_model=prompt_lm(task),
            teacher_settings=teacher_settings(task),
        )
        if options["max_labeled_demos"] and not options["max_bootstrapped_demos"]:
            optimizer.num_fewshot_candidates = min(_UNSHUFFLED, options["num_candidates"])
        with quiet():
            compiled = optimizer.compile(
                student(task),
                trainset=task.train_examples,
                valset=task.val_examples,
                num_trials=options["num_trials"],
                minibatch=False,
                program_aware_proposer=options["program_aware_proposer"],
            )
        metric.finish()
        tried = candidates_of(getattr(compiled, "candidate_programs", ()), scale=0.01)
        compiled = finished(compiled, task)
        return Compiled(program=compiled, candidates=tried, report={"demos": demo_counts(compiled), **metric.summary()})


def _bootstrapped_sets(options: Mapping[str, Any]) -> int:
    """Of the demo sets, how many are bootstrapped: not the empty one, nor the one of labels where there are labels.

    Without demos at all they are bootstrapped too, for the model that writes instructions to see.
    """
    labels, own = int(options["max_labeled_demos"]), int(options["max_bootstrapped_demos"])
    if labels and not own:
        return 0
    return max(0, int(options["num_candidates"]) - (2 if labels else 1))
