"""The models beside the program's own that a strategy may ask: `teacher` and `prompt_model` in a recipe."""

from collections.abc import Mapping
from typing import Any

from reflective_rag.experiments.models import open_model
from reflective_rag.optimizers.strategies.running import ROLES
from reflective_rag.programs.lm.capped import SpendingCap, cap_model
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.signatures.errors import ConfigError


def other_models(options: Mapping[str, Any], model: Model, cap: SpendingCap | None = None) -> dict[str, Model]:
    """Role → model, for the roles that the strategy's options name; one name for two roles is one model.

    Args:
        options: Of the strategy.
        model: The program's own.
        cap: The limit on what all models together may cost.

    Raises:
        ConfigError: A name is unknown or `rules`, its price is unknown under a limit, or a recording is made or played:
            that holds the calls of one model.
    """
    named = {role: str(options[role]) for role in ROLES if options.get(role)}
    if named and model.recording is not None:
        raise ConfigError(
            f"a recording holds the calls of one model, but the strategy names others ({_listed(named)}); "
            "leave out `--record` and `--replay`, or these options"
        )
    opened = {name: _opened(name, named, cap) for name in dict.fromkeys(named.values())}
    return {role: opened[name] for role, name in named.items()}


def _opened(name: str, named: Mapping[str, str], cap: SpendingCap | None) -> Model:
    model = open_model(name)
    if model.lm is None:
        roles = " and ".join(f"`{role}`" for role, other in named.items() if other == name)
        raise ConfigError(f"{roles} must name a language model such as 'openai/gpt-4o', got {name!r}")
    return model if cap is None else cap_model(model, cap.limit, cap)[0]


def _listed(named: Mapping[str, str]) -> str:
    return ", ".join(f"`{role}` {name!r}" for role, name in named.items())
