"""Whether an artefact fits the program that this library builds, and what an app may change about it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reflective_rag.programs.artefact_manifest import Manifest
from reflective_rag.programs.fingerprints import program_fingerprints
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.settings import build
from reflective_rag.signatures.errors import ConfigError, DataError

_FIXED = {
    "mode", "preset", "soft_verdicts", "repair", "critics", "critic", "retrieval", "long_form", "answer_from_memory",
}  # fmt: skip
"""Options that decide which predictors a program has, or that stand for several settings at once."""


def check_options(options: Mapping[str, Any]) -> None:
    """Raise `ConfigError` for an option that an artefact has fixed."""
    if fixed := sorted(_FIXED & options.keys()):
        names = ", ".join(f"`{name}`" for name in fixed)
        raise ConfigError(
            f"{names} cannot be changed on an artefact, since its predictors depend on it; compile it that way"
        )


def override_controls(program: RagModule, options: Mapping[str, Any]) -> None:
    """The state has just put the artefact's own controls in place; those that the caller names come on top."""
    holder = getattr(program, "controls", None)
    if holder is None:
        return
    kind = type(holder.values)
    if named := {k: v for k, v in options.items() if k in kind.model_fields}:
        holder.values = build(kind, {**holder.values.model_dump(), **named})


def check_fit(program: RagModule, manifest: Manifest, state: Mapping[str, Any], path: Path) -> None:
    """Compare every predictor first: DSPy loads a state into other fields silently and shifts the descriptions.

    Raises:
        DataError: A predictor or a part of the state does not fit; the message names it.
    """
    here = program_fingerprints(program)
    for name in sorted(here.keys() | manifest.signatures.keys()):
        if here.get(name) != manifest.signatures.get(name):
            what = "is not part of this program" if name not in here else "has other fields than when it was compiled"
            if name not in manifest.signatures:
                what = "is missing in the artefact"
            raise DataError(f"`{path}`: predictor `{name}` {what}; compile again with this version")
    wanted = {name for name, _ in program.named_parameters()}
    if wanted != set(state):
        odd = sorted(wanted ^ set(state))
        raise DataError(f"`{path}`: its parts do not match the program; differing: {', '.join(odd)}")
    for name, part in state.items():
        demos = part.get("demos", []) if isinstance(part, dict) else None
        if not isinstance(demos, list) or not all(isinstance(demo, dict) for demo in demos):
            raise DataError(f"`{path}`: `{name}.demos` must be a list of objects, got {demos!r:.80}")
