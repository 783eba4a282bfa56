"""Programs for the command line: by name or from an artefact, fitted to the model at hand, with options as typed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Self

from reflective_rag.experiments.registry import is_registered, local_artefact
from reflective_rag.programs.artefacts import Manifest, load_program, read_manifest
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.registry import PROGRAMS, make_program
from reflective_rag.programs.searching import SearchFunction, SearchHandle
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.spelling import check_name, did_you_mean


@dataclass(frozen=True)
class System:
    """A program with the name it goes by in reports, and what its user should know."""

    name: str
    program: RagModule
    notes: tuple[str, ...] = ()
    manifest: Manifest | None = None
    """Of the artefact that it was loaded from."""

    def searching(self, search: SearchFunction) -> Self:
        """The same system over `search`; programs are built before an index is, so that bad options are found first."""
        self.program.search = SearchHandle(search)
        return self


def named_system(
    name: str, model: Model, *, options: Mapping[str, Any] | None = None, today: date | None = None
) -> System:
    """A fresh program. On rules its mode is `rules` where it has one, unless `options` name another.

    Raises:
        ConfigError: The name or an option is unknown.
    """
    check_name("program", name, sorted(PROGRAMS))
    chosen = dict(options or {})
    if model.is_rules and "mode" in _setting_names(PROGRAMS[name]()):
        chosen = {"mode": "rules", **chosen}
    return System(name, build_program(name, chosen, today or model.today))


def build_program(name: str, options: Mapping[str, Any], today: date | None = None) -> RagModule:
    """A fresh program without a search. Raises `ConfigError`, which says what a misspelt name or option may mean."""
    check_name("program", name, sorted(PROGRAMS))
    with _spelt(name, options):
        return make_program(name, None, today=today, **options)


@contextmanager
def _spelt(program: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Errors about options gain the setting that was probably meant."""
    try:
        yield
    except ConfigError as error:
        told = str(error)
        if program not in PROGRAMS or "unknown" not in told or "did you mean" in told:
            raise
        known = _setting_names(PROGRAMS[program]())
        meant = [did_you_mean(name, known) for name in options if name not in known]
        raise ConfigError(f"{error}{''.join(meant)}") from None


def _setting_names(program: RagModule) -> set[str]:
    controls = getattr(program, "controls", None)
    tuned = type(controls.values).model_fields if controls is not None else {}
    return {"preset", *type(program.settings).model_fields, *tuned}


def loaded_system(
    folder: str | Path,
    model: Model,
    *,
    options: Mapping[str, Any] | None = None,
    today: date | None = None,
) -> System:
    """The program of an artefact (or of a registered model), with `options` in place of its own settings.

    Raises:
        ConfigError: An option that would change which predictors the program has.
        DataError: The artefact cannot be used.
    """
    with local_artefact(folder) as local:
        manifest = read_manifest(local)
        with _spelt(manifest.program, options or {}):
            program = load_program(local, None, today=today or model.today, **(options or {}))
    notes = [*_notes(program, manifest.model, model), *filter(None, [manifest.note])]
    return System(str(folder), program, tuple(notes), manifest)


def any_system(source: str, model: Model, **kwargs: Any) -> System:
    """A program by its name, else the artefact in that folder.

    Raises:
        DataError: It is neither; the message says what could have been meant.
    """
    if source in PROGRAMS:
        return named_system(source, model, **kwargs)
    if not is_registered(source) and (not Path(source).is_dir() or not source):
        programs = ", ".join(map(repr, sorted(PROGRAMS)))
        raise DataError(
            f"{source!r} is neither a program ({programs}) nor an artefact: {_no_folder(source)}"
            f"{_meant(source, sorted(PROGRAMS))}"
        )
    return loaded_system(source, model, **kwargs)


def _no_folder(source: str | Path) -> str:
    path = Path(source)
    if path.is_file():
        return f"`{path}` is a file, and an artefact is a folder (the one that holds manifest.json)"
    return f"the folder `{path}` does not exist" if str(source) else "the name is empty"


def _meant(source: str | Path, names: Sequence[str] = ()) -> str:
    """The name or artefact that was probably meant, and the artefacts that lie where one was looked for."""
    found = _artefacts_near(Path(source))
    meant = did_you_mean(str(source), [*names, *found])
    there = f"{'' if meant else ';'} artefacts here: {', '.join(f'`{name}`' for name in found)}" if found else ""
    return meant + there


def _artefacts_near(path: Path) -> list[str]:
    """Artefacts beside `path`, above it, in the current folder and in ./artifacts; at most ten."""
    folders = dict.fromkeys([path.parent, path, Path("artifacts"), Path()])
    found: dict[str, None] = {}
    for folder in folders:
        with suppress(OSError):
            manifests = (*folder.glob("manifest.json"), *folder.glob("*/manifest.json"))
            found |= dict.fromkeys(sorted(str(manifest.parent) for manifest in manifests))
    once = {str(Path(name).resolve()): name for name in reversed(found)}  # the first of several names for one folder
    return [name for name in found if name in once.values()][:10]


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
        *outer, inner = name.strip().split(".")  # critics.relevance=models is a setting inside a setting
        holder = options
        for part in outer:
            holder = holder.setdefault(part, {})
            if not isinstance(holder, dict):
                raise ConfigError(f"`--option {word}`: `{part}` has a value already")
        holder[inner] = _typed(value)
    if reserved := {"search", "today", "scorers", "fallback_search", "gap_search"} & options.keys():
        names = ", ".join(map(repr, sorted(reserved)))
        raise ConfigError(
            f"`--option` cannot set {names}: an object of Python's; `critic_models.relevance=…` takes names"
        )
    return options | {name: value for name, value in named.items() if value is not None}


def _typed(value: str) -> Any:
    """JSON where it is some, a number however it is written (`.1`), else the text."""
    for read in (json.loads, float):
        with suppress(ValueError):
            return read(value)
    return value


def _notes(program: RagModule, compiled_with: str, model: Model) -> list[str]:
    asks = bool(program.predictors())
    if compiled_with and model.is_rules:
        return [
            f"the artefact was compiled with {compiled_with!r}, but no model is given: it runs on rules (use `--lm`)"
        ]
    if not asks and not model.is_rules:
        return [f"the artefact runs on rules; {model.name!r} is not asked"]
    return []


def searches(name: str) -> bool:
    """Whether the system of that name takes a `k`: all do but a program that does not search."""
    return name not in PROGRAMS or PROGRAMS[name].needs_search


def why_not_available(system: System, model: Model) -> str:
    """Why a system cannot run with this model; empty where it can."""
    if not (system.program.needs_model and model.is_rules):
        return ""
    return f"`{system.name}` is n/a on rules: it needs a language model, name one with `--lm`"


def pick_system(program: str | None, artifact: Path | None, model: Model, **kwargs: Any) -> System:
    """The system that `--program` and `--artifact` mean; ReflectiveRAG when neither is given.

    Raises:
        ConfigError: Both are given, the program is unknown, or it cannot run on rules.
        DataError: There is no artefact in that folder; the message lists those that lie near.
    """
    system = _picked(program, artifact, model, **kwargs)
    if reason := why_not_available(system, model):
        raise ConfigError(reason)
    return system


def _picked(program: str | None, artifact: Path | None, model: Model, **kwargs: Any) -> System:
    if artifact is None:
        return named_system(program or "reflective", model, **kwargs)
    if program is not None:
        raise ConfigError("`--program` and `--artifact` exclude each other: an artefact knows its program")
    if not is_registered(artifact) and not artifact.is_dir():
        raise DataError(
            f"there is no artefact at `{artifact}`: {_no_folder(artifact)} (`reflective-rag compile` makes one)"
            f"{_meant(artifact)}"
        )
    return loaded_system(artifact, model, **kwargs)
