"""`better-together`: instructions first, then demos for them (after BetterTogether, Soylu et al., 2024)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reflective_rag.optimizers.strategies.base import Compiled, CompileTask, Plan, Strategy
from reflective_rag.optimizers.strategies.bootstrap_rs import BootstrapRandomSearch
from reflective_rag.optimizers.strategies.gepa import Gepa


class BetterTogether:
    """`gepa` rewrites the instructions, then `bootstrap-rs` looks for demos that help under them.

    This is the prompt side of dspy.BetterTogether alone. The other side finetunes the model's weights: that needs a
    provider that finetunes (or a GPU), and makes a model, which an artefact of prompts cannot hold. dspy.BetterTogether
    itself is not used, since without weights it adds nothing to a sequence and takes three things away: it pins a model
    to every predictor, which is then saved; it swallows the error of a step; and it scores again what its steps have
    scored on the same `val`.
    """

    name = "better-together"
    changes = "instructions and demos"
    asks_model = True
    defaults: Mapping[str, Any] = {**Gepa.defaults, **BootstrapRandomSearch.defaults}
    least: Mapping[str, int] = {**Gepa.least, **BootstrapRandomSearch.least}

    def plan(self, task: CompileTask) -> Plan:
        """Both plans together."""
        plans = [step.plan(_task_for(step, task)) for step in _STEPS]
        return Plan(
            program_runs=sum(plan.program_runs for plan in plans),
            calls_low=sum(plan.calls_low for plan in plans),
            calls_high=sum(plan.calls_high for plan in plans),
            prompt_calls=sum(plan.prompt_calls for plan in plans),
            note="; ".join(f"{step.name}: {plan.note}" for step, plan in zip(_STEPS, plans, strict=True)),
        )

    def compile(self, task: CompileTask) -> Compiled:
        """One after the other; candidates and reports of both are kept under their names."""
        self.plan(task)
        done = [Compiled(program=task.program)]
        for step in _STEPS:
            done.append(step.compile(replace(_task_for(step, task), program=done[-1].program)))
        named = [(step.name, compiled) for step, compiled in zip(_STEPS, done[1:], strict=True)]
        candidates = [replace(one, name=f"{name} {one.name}") for name, c in named for one in c.candidates]
        return Compiled(
            program=done[-1].program,
            candidates=tuple(candidates),
            report={name: dict(compiled.report) for name, compiled in named},
        )


_STEPS: tuple[Strategy, ...] = (Gepa(), BootstrapRandomSearch())


def _task_for(step: Any, task: CompileTask) -> CompileTask:
    return replace(task, options={name: task.options[name] for name in step.defaults})
