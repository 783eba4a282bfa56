"""Compile strategies by name. One line adds one."""

from collections.abc import Mapping
from typing import Any

from reflective_rag.optimizers.strategies.base import Candidate, Compiled, CompileTask, Plan, Strategy
from reflective_rag.optimizers.strategies.better_together import BetterTogether
from reflective_rag.optimizers.strategies.bootstrap import Bootstrap
from reflective_rag.optimizers.strategies.bootstrap_rs import BootstrapRandomSearch
from reflective_rag.optimizers.strategies.controls import TuneControls
from reflective_rag.optimizers.strategies.copro import Copro
from reflective_rag.optimizers.strategies.gepa import Gepa
from reflective_rag.optimizers.strategies.knn import Knn
from reflective_rag.optimizers.strategies.labeled import Labeled
from reflective_rag.optimizers.strategies.mipro import Mipro
from reflective_rag.optimizers.strategies.none import NoCompile
from reflective_rag.optimizers.strategies.options import check_options
from reflective_rag.optimizers.strategies.settings import TuneSettings
from reflective_rag.optimizers.strategies.simba import Simba
from reflective_rag.programs.module import RagModule
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.spelling import check_name

STRATEGIES: dict[str, Strategy] = {
    s.name: s
    for s in (
        NoCompile(),
        TuneControls(),
        TuneSettings(),
        Labeled(),
        Bootstrap(),
        BootstrapRandomSearch(),
        Knn(),
        Mipro(),
        Gepa(),
        Simba(),
        Copro(),
        BetterTogether(),
    )
}


def strategy(name: str, program: RagModule, options: Mapping[str, Any]) -> tuple[Strategy, dict[str, Any]]:
    """The strategy and its full options.

    Raises:
        ConfigError: Unknown name or option, a value that the option cannot have, or a prompt strategy for a program
            that asks no model.
    """
    check_name("strategy", name, STRATEGIES)
    if program.needs_model and not program.uses_model():
        raise ConfigError(f"program {program.name!r} is n/a on rules: it needs a language model, name one with `--lm`")
    chosen = STRATEGIES[name]
    if unknown := set(options) - set(chosen.defaults):
        known = ", ".join(f"`{key}`" for key in chosen.defaults) or "none"
        raise ConfigError(f"strategy {name!r} has no option {', '.join(map(repr, sorted(unknown)))}; options: {known}")
    check_options(chosen, options)
    if chosen.asks_model and not program.uses_model():
        raise ConfigError(
            f"strategy {name!r} changes {chosen.changes}, but this program runs on rules and has none; "
            'use `strategy = "controls"` or "settings", or give a model with `--lm`'
        )
    return chosen, {**chosen.defaults, **options}


__all__ = ["STRATEGIES", "Candidate", "CompileTask", "Compiled", "Plan", "Strategy", "strategy"]
