"""The same program under other settings: built anew, with the instructions, demos and objects that it had."""

from typing import Any

from reflective_rag.programs.module import RagModule
from reflective_rag.programs.registry import CLASSES, make_program
from reflective_rag.programs.scorers.handle import Scorers
from reflective_rag.programs.searching import SearchHandle
from reflective_rag.signatures.errors import ConfigError


def with_options(program: RagModule, **options: Any) -> RagModule:
    """A copy of a program with some settings or controls changed, even those that decide which predictors it has.

    Predictors that both have keep instructions, demos and model; the searches, and small models that are
    not changed, are the same objects. A calibration is left behind: it holds for the settings it was fitted with.

    Raises:
        ConfigError: An option is unknown, out of range, or does not go with another; or the program is none of the
            registry's (a wrapper around callables, a class of your own).
    """
    if program.name not in CLASSES:
        raise ConfigError(
            f"program {program.name or type(program).__name__!r} cannot be built anew under other settings; this works "
            f"for {', '.join(map(repr, CLASSES))}"
        )
    controls = getattr(program, "controls", None)
    # What nobody set stays unset: a mode that was asked for insists on its model, the default does not.
    known = {**program.settings.model_dump(exclude_unset=True), **(controls.values.model_dump() if controls else {})}
    made = make_program(program.name, None, today=program.today, **{**known, **options})
    models = getattr(program.settings, "critic_models", None) == getattr(made.settings, "critic_models", None)
    for name, part in vars(program).items():
        if isinstance(part, SearchHandle) or (models and isinstance(part, Scorers)):
            setattr(made, name, part)
    if (assessor := getattr(made, "assessor", None)) is not None:
        assessor.scorers = made.scorers
    old = dict(program.named_predictors())
    for name, predictor in made.named_predictors():
        if name in old and list(old[name].signature.fields) == list(predictor.signature.fields):
            predictor.signature, predictor.demos, predictor.lm = old[name].signature, old[name].demos, old[name].lm
    return made
