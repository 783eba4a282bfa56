"""`gepa`: instructions rewritten after reading what went wrong (dspy.GEPA, Agrawal et al., 2025, arXiv 2507.19457)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from reflective_rag.optimizers.checked import Checked
from reflective_rag.optimizers.feedback import FeedbackMetric
from reflective_rag.optimizers.strategies.base import Candidate, Compiled, CompileTask, Plan, calls_per_run
from reflective_rag.optimizers.strategies.running import finished, prompt_lm, quiet, student
from reflective_rag.signatures.errors import ConfigError

_MERGED = 5
"""Questions that GEPA tries a merge on."""


class Gepa:
    """A model reads questions that went wrong, with our feedback in words, and rewrites one predictor's instructions.

    A rewriting that helps on the few questions it was made from is scored on `val`, and the best candidate there is
    the result. `max_metric_calls` bounds the runs of the program; the round under way when it is reached is finished.
    Upstream faults worked around: a metric without all five parameters is scored 0 in silence, ours has them; it
    updates predictors in turn, and a turn of one that no trace reached (a rewrite that was not needed) is spent for
    nothing, so ours takes the next that was; without a valset it chooses on the training questions.
    """

    name = "gepa"
    changes = "instructions"
    asks_model = True
    defaults: Mapping[str, Any] = {
        "max_metric_calls": 150,
        "reflection_minibatch_size": 3,
        "use_merge": False,
        "prompt_model": "",
    }
    least: Mapping[str, int] = {"max_metric_calls": 1, "reflection_minibatch_size": 1}

    def plan(self, task: CompileTask) -> Plan:
        """`max_metric_calls` runs and one more round, and one call of the writing model a round.

        Raises:
            ConfigError: `max_metric_calls` does not reach for one round.
        """
        low, high = calls_per_run(task.program)
        few, val = int(task.options["reflection_minibatch_size"]), len(task.val)
        budget = int(task.options["max_metric_calls"])
        if budget <= val:
            raise ConfigError(
                f"`max_metric_calls` must be more than the {val} questions of val, which are all asked before the "
                f"first rewriting, got {budget}. Raise it, or make val smaller (`val_share`, `train_limit`)."
            )
        last = max(2 * few, _MERGED if task.options["use_merge"] else 0) + val
        return Plan(
            program_runs=budget - 1 + last,
            calls_low=budget * low,
            calls_high=(budget - 1 + last) * high,
            prompt_calls=math.ceil((budget - val) / (2 * few)),
            note=f"ends with the round that reaches {budget} runs",
        )

    def compile(self, task: CompileTask) -> Compiled:
        """Reflect on `train`, choose on `val`."""
        self.plan(task)
        metric = Checked(FeedbackMetric(task.metric))
        program = student(task)
        optimizer = dspy.GEPA(
            metric=metric,
            max_metric_calls=task.options["max_metric_calls"],
            reflection_minibatch_size=task.options["reflection_minibatch_size"],
            use_merge=task.options["use_merge"],
            reflection_lm=prompt_lm(task),
            component_selector=_Reached(program),
            num_threads=task.num_threads,
            track_stats=True,
            warn_on_score_mismatch=False,
            seed=task.seed,
        )
        with quiet():
            compiled = optimizer.compile(program, trainset=task.train_examples, valset=task.val_examples)
        metric.finish()
        told = compiled.detailed_results
        tried = tuple(
            Candidate(name=f"candidate {number}", score=float(score), details={"instructions": _instructions(one)})
            for number, (one, score) in enumerate(zip(told.candidates, told.val_aggregate_scores, strict=True))
        )
        report = {"metric_calls": told.total_metric_calls, **metric.summary()}
        return Compiled(program=finished(compiled, task), candidates=tried, report=report)


def _instructions(program: Any) -> dict[str, str]:
    return {name: predictor.signature.instructions for name, predictor in program.named_predictors()}


class _Reached:
    """GEPA's choice of the predictor to rewrite: in turn, among those that the runs at hand called."""

    def __init__(self, program: Any) -> None:
        self._names = {_shape(predictor): name for name, predictor in program.named_predictors()}

    def __call__(
        self,
        state: Any,
        trajectories: Sequence[Any],
        subsample_scores: Sequence[float],
        candidate_idx: int,
        candidate: Mapping[str, str],
    ) -> list[str]:
        """One name; the next in turn where no predictor was called."""
        order: list[str] = state.list_of_named_predictors
        turns = state.named_predictor_id_to_update_next_for_program_candidate
        called = {self._names.get(_shape(entry[0])) for one in trajectories for entry in one["trace"]}
        ahead = [(turns[candidate_idx] + step) % len(order) for step in range(len(order))]
        chosen = next((index for index in ahead if order[index] in called), ahead[0])
        turns[candidate_idx] = (chosen + 1) % len(order)
        return [order[chosen]]


def _shape(predictor: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Input and output fields: the copies of a predictor that are made along the way share nothing else."""
    return tuple(predictor.signature.input_fields), tuple(predictor.signature.output_fields)
