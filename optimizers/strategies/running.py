"""What every strategy around one of DSPy's optimizers needs: a student, a quiet run, other models, a clean result."""

import contextlib
import io
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import dspy

from reflective_rag.optimizers.checked import Checked
from reflective_rag.optimizers.loop_demos import LoopAware
from reflective_rag.optimizers.strategies.base import Candidate, CompileTask
from reflective_rag.programs.lm.resolve import Model, resolve_model
from reflective_rag.signatures.errors import ConfigError

logger = logging.getLogger(__name__)
P = TypeVar("P", bound=dspy.Module)

ROLES = ("teacher", "prompt_model")
"""Options that name other models."""


def student(task: CompileTask) -> Any:
    """A copy of the program for an optimizer to work on."""
    return released(task.program.deepcopy())


def released(program: P) -> P:
    """The program with nothing in it marked as compiled.

    DSPy freezes a child that an optimizer returned: an outer program neither optimizes nor saves it, and
    BootstrapFewShot refuses it as a student.
    """
    for _, module in program.named_sub_modules(type_=dspy.Module):
        if getattr(module, "_compiled", False):
            module._compiled = False
    return program


def finished(program: P, task: CompileTask) -> P:
    """The optimizer's result, fit to be saved, nested and compiled again.

    Optimizers leave their scores and every program that they tried on it, which a deep copy or save would carry along.
    """
    for name in vars(program).keys() - vars(task.program).keys() - {"_compiled"}:
        delattr(program, name)
    return released(program)


def metric_for(task: CompileTask) -> Checked:
    """The task's metric for an optimizer: bootstrapped demos come from useful rounds, and its failures are counted."""
    return Checked(LoopAware(task.metric))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """DSPy's optimizers print prompts and progress; it goes into our log at level DEBUG."""
    talk = io.StringIO()
    try:
        with contextlib.redirect_stdout(talk):
            yield
    finally:
        logger.debug("%s", talk.getvalue())


def other_model(task: CompileTask, role: str) -> Model | None:
    """The model that plays `teacher` or `prompt_model`; None for the program's own.

    Raises:
        ConfigError: The name is unknown, or `rules`.
    """
    if role in task.models:
        return task.models[role]
    name = str(task.options.get(role) or "")
    return named_model(role, name) if name else None


def named_model(role: str, name: str) -> Model:
    """The model of that name for a role. Raises `ConfigError` for an unknown name, and for `rules`."""
    model = resolve_model(name)
    if model.lm is None:
        raise ConfigError(f"`{role}` must name a language model such as 'openai/gpt-4o', got {name!r}")
    return model


def prompt_lm(task: CompileTask) -> Any:
    """The model that writes instructions: `prompt_model`, else the program's own."""
    model = other_model(task, "prompt_model")
    return dspy.settings.lm if model is None else model.lm


def teacher_settings(task: CompileTask) -> dict[str, Any]:
    """DSPy's settings while a teacher bootstraps; empty for the program's own model.

    The model is a copy: SIMBA writes a `rollout_id` into it.
    """
    model = other_model(task, "teacher")
    if model is None or model.lm is None:
        return {}
    adapter = dspy.JSONAdapter() if model.adapter == "json" else dspy.ChatAdapter()
    return {"lm": model.lm.copy(), "adapter": adapter}


def demo_counts(program: dspy.Module) -> dict[str, int]:
    """Predictor name → number of demos."""
    return {name: len(predictor.demos) for name, predictor in program.named_predictors()}


def candidates_of(tried: Sequence[Mapping[str, Any]], *, scale: float = 1.0) -> tuple[Candidate, ...]:
    """The variants that an optimizer scored, as it left them: dicts with `score` and `program`.

    Args:
        scale: What their scores are to be multiplied with; most of DSPy's are percentages.
    """
    found = []
    for number, one in enumerate(tried):
        program = one["program"]
        details = {
            "instructions": {name: p.signature.instructions for name, p in program.named_predictors()},
            "demos": demo_counts(program),
        }
        found.append(Candidate(name=f"candidate {number}", score=float(one["score"]) * scale, details=details))
    return tuple(found)
