"""What the shape of a recipe does not show: names and options that the library does not have."""

from typing import TYPE_CHECKING, Any

from reflective_rag.signatures.errors import ConfigError, ReflectiveRAGError
from reflective_rag.signatures.spelling import check_name, did_you_mean

if TYPE_CHECKING:
    from reflective_rag.experiments.recipes import Recipe


def problems(recipe: "Recipe") -> list[str]:
    """All that cannot work, each under the key that has it."""
    said = {key: _said(check, recipe) for key, check in _CHECKS.items()}
    return [_at(key, problem) for key, problem in said.items() if problem]


def _at(key: str, problem: str) -> str:
    """A problem under the field of the recipe that has it: `program_options.theta`, where it begins with its name."""
    inside = key == "program_options" and problem.startswith("`") and problem.count("`", 0, problem.find(":")) == 2
    return f"`{key}.{problem[1:]}" if inside else f"`{key}`: {problem}"


def _said(check: Any, recipe: "Recipe") -> str:
    try:
        check(recipe)
    except ReflectiveRAGError as error:
        return str(error)
    return ""


def _check_program(recipe: "Recipe") -> None:
    from reflective_rag.programs.registry import PROGRAMS

    check_name("program", recipe.program, sorted(PROGRAMS))


def _check_artifact(recipe: "Recipe") -> None:
    if recipe.artifact is not None and not recipe.artifact.strip():
        raise ConfigError("`artifact` is empty; leave it out to compile a fresh program, or name an artefact's folder")


def _check_options(recipe: "Recipe") -> None:
    from reflective_rag.experiments.systems import build_program
    from reflective_rag.programs.registry import PROGRAMS

    options = _named_options(recipe)
    for name in sorted({"abstain_at_risk", "abstain_rule"} & options.keys()):
        if recipe.artifact is None or recipe.strategy != "none":
            raise ConfigError(
                f"`{name}`: a compile changes the program, which ends the calibration of an `artifact`, and a fresh "
                "program has none; only strategy 'none' on a calibrated `artifact` takes it. Calibrate what was "
                "compiled, and give it to `ask`, `evaluate` or `load_program`"
            )
    if recipe.artifact is None and recipe.program in PROGRAMS:  # else loading or `_check_program` says it
        build_program(recipe.program, options)


def _named_options(recipe: "Recipe") -> dict[str, Any]:
    """`search` and `today` are arguments of a program, not settings of a recipe."""
    for name in ("search", "today"):
        if name in recipe.program_options:
            raise ConfigError(f"`{name}` cannot be set in a recipe")
    return recipe.program_options


def _check_strategy(recipe: "Recipe") -> None:
    from reflective_rag.optimizers.strategies import STRATEGIES
    from reflective_rag.optimizers.strategies.options import check_options

    check_name("strategy", recipe.strategy, STRATEGIES)
    chosen = STRATEGIES[recipe.strategy]
    defaults = chosen.defaults
    for name in recipe.strategy_options:
        if name not in defaults:
            known = ", ".join(f"`{key}`" for key in defaults) or "none"
            meant = did_you_mean(name, defaults)
            raise ConfigError(f"strategy {recipe.strategy!r} has no option {name!r}{meant or ';'} options: {known}")
    check_options(chosen, recipe.strategy_options)


def _check_stage(recipe: "Recipe") -> None:
    from reflective_rag.optimizers.stages import check_stage_name

    check_stage_name(recipe.stage)


def _check_metric(recipe: "Recipe") -> None:
    build_metric(recipe)


def build_metric(recipe: "Recipe") -> Any:
    """The recipe's `AnswerMetric`."""
    from reflective_rag.optimizers.metrics import metric

    return metric(recipe.metric, **recipe.metric_options.model_dump())


_CHECKS = {
    "program": _check_program,
    "artifact": _check_artifact,
    "program_options": _check_options,
    "strategy": _check_strategy,
    "stage": _check_stage,
    "metric": _check_metric,
}
