"""Artefacts: a compiled program as a folder that any app can load. JSON only; nothing is ever unpickled.

    program.json    DSPy's state: instructions, demos, the controls
    manifest.json   what it is: schema version, program, settings, signature fingerprints, versions, scores, and the
                    digest of program.json

The folder is written under a temporary name and renamed last, so its presence means that it is whole. Loading checks
everything before it changes anything.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from reflective_rag.programs.calibration import Calibration, RiskRule
from reflective_rag.programs.fingerprints import program_digest, program_fingerprints, state_of
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.settings import build, describe
from reflective_rag.signatures.errors import ConfigError, DataError, ReflectiveRAGError

ARTEFACT_VERSION = 1
_FIXED = {
    "mode", "preset", "soft_verdicts", "repair", "critics", "critic", "retrieval", "long_form", "answer_from_memory",
}  # fmt: skip
"""Options that decide which predictors a program has, or that stand for several settings at once."""
_LIBRARIES = ("reflective-rag", "dspy", "pydantic")


class Manifest(BaseModel):
    """What `manifest.json` holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int
    program: str
    settings: dict[str, Any]
    signatures: dict[str, str]
    """Predictor name → fingerprint of its signature."""
    versions: dict[str, str]
    digest: str
    """SHA-256 of program.json."""
    model: str = ""
    """Name of the model it was compiled with; empty for rules."""
    data: dict[str, Any] = {}
    """Data sets used, with fingerprints."""
    scores: dict[str, Any] = {}
    notes: dict[str, Any] = {}
    calibration: Calibration | None = None
    """Makes `confidence` a probability; `set_calibration` adds it."""


def save_program(
    program: RagModule,
    folder: str | Path,
    *,
    model: str = "",
    data: Mapping[str, Any] | None = None,
    scores: Mapping[str, Any] | None = None,
    notes: Mapping[str, Any] | None = None,
) -> Path:
    """Write a program as an artefact folder, replacing an older artefact there.

    Of a model only its name is written, never an API key. A calibration in use is kept where it still holds: not
    after a compile has changed what it was fitted on.

    Raises:
        ConfigError: `folder` exists and is not an artefact, or the program cannot be built again from one.
        DataError: it cannot be written.
    """
    from reflective_rag.programs.registry import PROGRAMS

    if program.name not in PROGRAMS:
        raise ConfigError(
            f"{type(program).__name__} cannot be kept as an artefact: what it is built from (your own callables, say) "
            'cannot be written to a file. Keep its compiled state with `program.save("state.json")`, and put it back '
            'with `.load("state.json")` on a program that you build as before'
        )
    target = Path(folder)
    if target.exists() and not _is_free(target):
        raise ConfigError(f"`{target}` exists and is not an artefact; choose another folder, or remove it")
    text = json.dumps(state_of(program), ensure_ascii=False, indent=2, sort_keys=True)
    manifest = Manifest(
        schema_version=ARTEFACT_VERSION,
        program=program.name,
        settings=program.settings.model_dump(mode="json", exclude_defaults=True),
        signatures=program_fingerprints(program),
        versions={name: _version(name) for name in _LIBRARIES},
        digest=hashlib.sha256(text.encode()).hexdigest(),
        model=model,
        data=dict(data or {}),
        scores=dict(scores or {}),
        notes=dict(notes or {}),
        calibration=_calibration_of(program),
    )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_folder(target, {"program.json": text, "manifest.json": manifest.model_dump_json(indent=2)})
    except OSError as error:
        raise DataError(f"the artefact cannot be written to `{target}`: {error.strerror or error}") from None
    return target


def set_calibration(folder: str | Path, calibration: Calibration | None) -> Path:
    """Put a calibration into an artefact, in place of an older one; None takes it out. All or nothing.

    Raises:
        DataError: There is no artefact, or it cannot be written.
    """
    manifest = read_manifest(folder).model_copy(update={"calibration": calibration})
    target = Path(folder) / "manifest.json"
    try:
        _write_file(target, manifest.model_dump_json(indent=2))
    except OSError as error:
        raise DataError(f"the calibration cannot be written to `{folder}`: {error.strerror or error}") from None
    return target


def _calibration_of(program: RagModule) -> Calibration | None:
    kept = program.calibrated.calibration if program.calibrated else None
    return kept if kept is not None and kept.program == program_digest(program) else None


def _write_file(target: Path, text: str) -> None:
    """Write beside the target, flush, then rename over it."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(target)
    finally:
        Path(name).unlink(missing_ok=True)


def _is_free(target: Path) -> bool:
    """Whether what exists at `target` may be replaced: an artefact, or an empty folder."""
    return (target / "manifest.json").is_file() or (target.is_dir() and not any(target.iterdir()))


def _write_folder(target: Path, files: Mapping[str, str]) -> None:
    """Write beside the target, flush, then swap by rename. A reader sees the old folder or the new one."""
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        for name, text in files.items():
            with (temporary / name).open("w", encoding="utf-8") as file:
                file.write(text + "\n" if not text.endswith("\n") else text)
                file.flush()
                os.fsync(file.fileno())
        temporary.chmod(0o755)
        if target.exists():
            _swap(temporary, target)
        else:
            temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _swap(new: Path, target: Path) -> None:
    """Put `new` in the place of `target`.

    POSIX cannot rename onto a full folder, so the old one steps aside, and back on failure.
    """
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
    try:
        old = target.rename(aside / "artefact")
        try:
            new.rename(target)
        except BaseException:
            old.rename(target)
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def read_manifest(folder: str | Path) -> Manifest:
    """The manifest of an artefact. Raises `DataError` when it is missing, damaged or newer than this library."""
    path = Path(folder) / "manifest.json"
    raw = _read_json(path, folder)
    found = raw.get("schema_version")
    if not isinstance(found, int) or found > ARTEFACT_VERSION:
        raise DataError(
            f"`{path}`: `schema_version` must be at most {ARTEFACT_VERSION}, got {found!r}; "
            "it was written by a newer reflective-rag: upgrade to load it"
        )
    try:
        return Manifest(**raw)
    except ValidationError as error:
        raise DataError(f"`{path}`: {describe(error, Manifest)}") from None


def load_program(
    folder: str | Path,
    search: Any = None,
    *,
    abstain_at_risk: float | None = None,
    abstain_rule: RiskRule = "selective",
    **options: Any,
) -> RagModule:
    """Build the program that an artefact holds.

    Args:
        folder: The artefact.
        search: The app's `search(query, k)`.
        abstain_at_risk: Withhold answers so that this share of those given is wrong at most, such as 0.1; it needs the
            artefact's calibration, with the model and the settings that it was fitted with.
        abstain_rule: `joint` bounds the share of all questions that are answered and wrong instead (see `RiskRule`).
        options: `today`, or settings and controls that override the artefact's (such as `budget` or `theta`). With any
            but `budget` a calibration does not hold any more, and results say so.

    Raises:
        ConfigError: An option is unknown, out of range, or would change which predictors the program has; or the risk
            cannot be kept.
        DataError: The artefact is missing, damaged, of another version, or does not fit this library's signatures.
    """
    from reflective_rag.programs.registry import make_program

    _check_options(options)
    manifest = read_manifest(folder)
    path = Path(folder) / "program.json"
    state = _read_json(path, folder)
    if hashlib.sha256(_without_final_newline(path).encode()).hexdigest() != manifest.digest:
        raise DataError(f"`{path}` is damaged: its content does not match `digest` in manifest.json; compile it again")
    try:
        make_program(manifest.program, None, **manifest.settings)
    except (ConfigError, TypeError) as error:  # TypeError: a setting named like an argument of the program
        raise DataError(f"`{folder}`: the artefact's settings cannot be used: {error}") from None
    program = make_program(manifest.program, search, **{**manifest.settings, **options})
    _check_fit(program, manifest, state, path)
    try:
        program.load_state(state)
    except ReflectiveRAGError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"`{path}` cannot be loaded: {type(error).__name__}: {error}") from None
    _override_controls(program, options)
    program.use_calibration(manifest.calibration, abstain_at_risk=abstain_at_risk, abstain_rule=abstain_rule)
    return program


def _check_options(options: Mapping[str, Any]) -> None:
    if fixed := sorted(_FIXED & options.keys()):
        names = ", ".join(f"`{name}`" for name in fixed)
        raise ConfigError(
            f"{names} cannot be changed on an artefact, since its predictors depend on it; compile it that way"
        )


def _override_controls(program: RagModule, options: Mapping[str, Any]) -> None:
    """The state has just put the artefact's own controls in place; those that the caller names come on top."""
    holder = getattr(program, "controls", None)
    if holder is None:
        return
    kind = type(holder.values)
    if named := {k: v for k, v in options.items() if k in kind.model_fields}:
        holder.values = build(kind, {**holder.values.model_dump(), **named})


def _check_fit(program: RagModule, manifest: Manifest, state: Mapping[str, Any], path: Path) -> None:
    """Compare every predictor first: DSPy loads a state into other fields silently and shifts the descriptions."""
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


def _read_json(path: Path, folder: str | Path) -> dict[str, Any]:
    if not Path(folder).is_dir():
        raise DataError(f"there is no artefact at `{folder}`; `reflective-rag compile` makes one")
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"`{folder}` is not a whole artefact: `{path.name}` is missing") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"`{path}` is damaged, it is not valid JSON: {error}") from None
    except OSError as error:
        raise DataError(f"`{path}` cannot be read: {error.strerror}") from None
    if not isinstance(value, dict):
        raise DataError(f"`{path}` is damaged: expected a JSON object, got {type(value).__name__}")
    return value


def _without_final_newline(path: Path) -> str:
    return path.read_text(encoding="utf-8").removesuffix("\n")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
