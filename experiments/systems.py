"""Programs for the command line: by name or from an artefact, fitted to the model at hand, with options as typed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Self

from reflective_rag.programs.artefacts import load_program, read_manifest
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.registry import PROGRAMS, make_program
from reflective_rag.programs.searching import SearchFunction, SearchHandle
from reflective_rag.signatures.errors import ConfigError, DataError


@dataclass(frozen=True)
class System:
    """A program with the name it goes by in reports, and what its user should know."""

    name: str
    program: RagModule
    notes: tuple[str, ...] = ()

    def searching(self, search: SearchFunction) -> Self:
        """The same system over `search`; programs are built before an index is, so that bad options are found first."""
        self.program.search = SearchHandle(search)
        return self


def named_system(
    name: str, model: Model, *, options: Mapping[str, Any] | None = None, today: date | None = None
) -> System:
    """A fresh program. On rules its mode is `rules`, unless `options` name another."""
    chosen = {"mode": "rules", **(options or {})} if model.is_rules else dict(options or {})
    return System(name, make_program(name, None, today=today or model.today, **chosen))


def loaded_system(
    folder: str | Path,
    model: Model,
    *,
    options: Mapping[str, Any] | None = None,
    today: date | None = None,
) -> System:
    """The program of an artefact, with `options` in place of its own settings.

    Raises:
        ConfigError: An option that would change which predictors the program has.
        DataError: The artefact cannot be used.
    """
    manifest = read_manifest(folder)
    program = load_program(folder, None, today=today or model.today, **(options or {}))
    return System(str(folder), program, tuple(_notes(program, manifest.model, model)))


def any_system(source: str, model: Model, **kwargs: Any) -> System:
    """A program by its name, else the artefact in that folder."""
    if source in PROGRAMS:
        return named_system(source, model, **kwargs)
    if not Path(source).is_dir():
        known = ", ".join(map(repr, sorted(PROGRAMS)))
        raise DataError(f"{source!r} is neither a program ({known}) nor the folder of an artefact")
    return loaded_system(source, model, **kwargs)


def parse_options(words: Sequence[str] | None, **named: Any) -> dict[str, Any]:
    """`["theta=0.8", "mode=fused"]` as a dictionary; a value that is JSON is read as such, else it is a text.

    Args:
        named: Options that have a switch of their own; None is "not given", anything else wins over `words`.

    Raises:
        ConfigError: A word without `=`.
    """
    options: dict[str, Any] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"`--option` expects `name=value`, such as `theta=0.8`, got {word!r}")
        try:
            options[name.strip()] = json.loads(value)
        except ValueError:
            options[name.strip()] = value
    if reserved := {"search", "today"} & options.keys():
        raise ConfigError(f"`--option` cannot set {', '.join(map(repr, sorted(reserved)))}")
    return options | {name: value for name, value in named.items() if value is not None}


def _notes(program: RagModule, compiled_with: str, model: Model) -> list[str]:
    asks = bool(program.predictors())
    if compiled_with and model.is_rules:
        return [
            f"the artefact was compiled with {compiled_with!r}, but no model is given: it runs on rules (use `--lm`)"
        ]
    if not asks and not model.is_rules:
        return [f"the artefact runs on rules; {model.name!r} is not asked"]
    return []


def pick_system(program: str | None, artifact: Path | None, model: Model, **kwargs: Any) -> System:
    """The system that `--program` and `--artifact` mean; ReflectiveRAG when neither is given.

    Raises:
        ConfigError: Both are given, or the program is unknown.
    """
    if artifact is None:
        return named_system(program or "reflective", model, **kwargs)
    if program is not None:
        raise ConfigError("`--program` and `--artifact` exclude each other: an artefact knows its program")
    return loaded_system(artifact, model, **kwargs)
