"""`mipro`: instructions and demos searched together (dspy.MIPROv2, Opsahl-Ong et al., 2024, arXiv 2406.11695)."""

import contextlib
import importlib.util
import io
import logging
from collections.abc import Mapping
from typing import Any

import dspy

from reflective_rag.optimizers.examples import to_examples
from reflective_rag.optimizers.strategies.base import Candidate, Compiled, CompileTask, Plan, calls_per_run
from reflective_rag.optimizers.strategies.bootstrap import demo_counts
from reflective_rag.signatures.errors import ConfigError

logger = logging.getLogger(__name__)


class Mipro:
    """Propose instructions, bootstrap demo sets, search the combinations on `val`.

    Sizes are set by hand (auto=None), so that the cost is known before the run. Upstream faults worked around: seed 0
    is taken for "no seed" (dspy #10321), so seeds are shifted by one; the minibatch default fails on small sets, so
    every trial is scored on all of `val`.
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
    }

    def plan(self, task: CompileTask) -> Plan:
        """Trials × val, the default program once, the final choice, bootstrapping, and the calls for instructions."""
        low, high = calls_per_run(task.program)
        candidates, trials = int(task.options["num_candidates"]), int(task.options["num_trials"])
        evaluations = (trials + 1) * len(task.val)
        bootstraps = max(0, candidates - 2) * len(task.train)
        predictors = len(task.program.predictors())
        return Plan(
            program_runs=evaluations + bootstraps,
            calls_low=evaluations * low + max(0, candidates - 2) * int(task.options["max_bootstrapped_demos"]) * low,
            calls_high=(evaluations + bootstraps) * high,
            prompt_calls=4 + predictors * candidates * 3,
            note="bootstrapping stops early when it has enough demos",
        )

    def compile(self, task: CompileTask) -> Compiled:
        """Search on `val` with demos from `train`."""
        if importlib.util.find_spec("optuna") is None:
            raise ConfigError("strategy 'mipro' needs the package `optuna`: pip install optuna")
        options = dict(task.options)
        optimizer = dspy.MIPROv2(
            metric=task.metric,
            auto=None,
            num_candidates=options["num_candidates"],
            num_threads=task.num_threads,
            seed=task.seed + 1,
            init_temperature=options["init_temperature"],
            max_bootstrapped_demos=options["max_bootstrapped_demos"],
            max_labeled_demos=options["max_labeled_demos"],
        )
        talk = io.StringIO()  # MIPROv2 prints prompts and progress bars
        with contextlib.redirect_stdout(talk):
            compiled = optimizer.compile(
                task.program.deepcopy(),
                trainset=to_examples(task.train),
                valset=to_examples(task.val),
                num_trials=options["num_trials"],
                minibatch=False,
                program_aware_proposer=options["program_aware_proposer"],
            )
        logger.debug("%s", talk.getvalue())
        return Compiled(program=compiled, candidates=_candidates(compiled), report={"demos": demo_counts(compiled)})


def _candidates(compiled: Any) -> tuple[Candidate, ...]:
    """Every trial scored on all of `val`; MIPROv2 leaves them on the program, and a save would carry them along."""
    found = []
    for number, tried in enumerate(getattr(compiled, "candidate_programs", ())):
        program = tried["program"]
        details = {
            "instructions": {name: p.signature.instructions for name, p in program.named_predictors()},
            "demos": demo_counts(program),
        }
        found.append(Candidate(name=f"candidate {number}", score=float(tried["score"]) / 100, details=details))
    for leftover in ("candidate_programs", "mb_candidate_programs", "trial_logs"):
        if hasattr(compiled, leftover):
            delattr(compiled, leftover)
    return tuple(found)
