"""`copro`: instructions searched one predictor after the other (dspy.COPRO, after OPRO, Yang et al., 2023)."""

from collections.abc import Mapping
from typing import Any

import dspy

from reflective_rag.optimizers.strategies.base import Compiled, CompileTask, Plan, calls_per_run
from reflective_rag.optimizers.strategies.running import candidates_of, finished, metric_for, prompt_lm, quiet, student


class Copro:
    """A model proposes `breadth` instructions for each predictor, and `depth` − 1 times more after seeing the scores.

    It reads no questions, only instructions and scores, and what it scores on is what it chooses on: that is `val`.
    Every instruction of every predictor costs a whole pass over it. Upstream faults worked around: its defaults cost
    thousands of calls, so ours are small; it leaves every candidate on the program.
    """

    name = "copro"
    changes = "instructions"
    asks_model = True
    defaults: Mapping[str, Any] = {"breadth": 3, "depth": 2, "init_temperature": 1.0, "prompt_model": ""}
    least: Mapping[str, int] = {"breadth": 2, "depth": 1}

    def plan(self, task: CompileTask) -> Plan:
        """Passes over `val`: with one predictor `breadth` a step, with several all instructions so far each step."""
        low, high = calls_per_run(task.program)
        breadth, depth = int(task.options["breadth"]), int(task.options["depth"])
        predictors = len(task.program.predictors())
        passes = sum(breadth * (step if predictors > 1 else 1) for step in range(1, depth + 1)) * predictors
        runs = passes * len(task.val)
        return Plan(
            program_runs=runs,
            calls_low=runs * low,
            calls_high=runs * high,
            prompt_calls=predictors * (breadth - 1 + breadth * (depth - 1)),
        )

    def compile(self, task: CompileTask) -> Compiled:
        """Search on `val`; `train` is not used."""
        metric = metric_for(task)
        optimizer = dspy.COPRO(
            metric=metric,
            prompt_model=prompt_lm(task),
            breadth=task.options["breadth"],
            depth=task.options["depth"],
            init_temperature=task.options["init_temperature"],
        )
        with quiet():
            compiled = optimizer.compile(
                student(task),
                trainset=task.val_examples,
                eval_kwargs={"num_threads": task.num_threads, "display_progress": False},
            )
        metric.finish()
        tried = candidates_of(compiled.candidate_programs, scale=0.01)
        return Compiled(program=finished(compiled, task), candidates=tried, report=metric.summary())
