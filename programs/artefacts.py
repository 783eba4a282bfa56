"""Artefacts: a compiled program as a folder that any app can load. JSON only; nothing is ever unpickled.

    program.json    DSPy's state: instructions, demos, the controls
    manifest.json   what it is: schema version, program, settings, signature fingerprints, versions, scores, and the
                    digest of program.json; see `artefact_manifest`

The folder is written under a temporary name and renamed last, so its presence means that it is whole. Loading checks
everything before it changes anything.
"""

import hashlib
import json
import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from reflective_rag.data.secrets import map_texts, without_secrets
from reflective_rag.programs.artefact_files import MISSES, PAUSE, write_file, write_folder
from reflective_rag.programs.artefact_fit import check_fit, check_options, override_controls
from reflective_rag.programs.artefact_manifest import (
    ARTEFACT_VERSION,
    MANIFEST,
    PROGRAM,
    Manifest,
    artefact_file,
    library_versions,
    parsed_manifest,
    read_artefact,
    read_manifest,
)
from reflective_rag.programs.calibration import Calibration, RiskRule
from reflective_rag.programs.fingerprints import program_digest, program_fingerprints, state_of
from reflective_rag.programs.module import RagModule
from reflective_rag.signatures.errors import ConfigError, DataError, ReflectiveRAGError

__all__ = [
    "ARTEFACT_VERSION",
    "Manifest",
    "load_program",
    "read_manifest",
    "read_state",
    "save_program",
    "set_calibration",
]

logger = logging.getLogger(__name__)


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

    Of a model only its name is written, never an API key; nor one that stands in a demo. A calibration in use is kept
    where it still holds: not after a compile has changed what it was fitted on.

    Raises:
        ConfigError: `folder` exists and is not an artefact, or the program cannot be built again from one.
        DataError: it cannot be written.
    """
    from reflective_rag.programs.registry import PROGRAMS

    if not isinstance(program, RagModule):
        raise ConfigError(f"`program` must be a program such as `ReflectiveRAG()`, got {program!r:.80}")
    if program.name not in PROGRAMS:
        raise ConfigError(
            f"{type(program).__name__} cannot be kept as an artefact: what it is built from (your own callables, say) "
            'cannot be written to a file. Keep its compiled state with `program.save("state.json")`, and put it back '
            'with `.load("state.json")` on a program that you build as before'
        )
    target = _real(_folder(folder))
    if not isinstance(model, str):
        raise ConfigError(f"`model` must be the name of a model, got {model!r:.80}")
    _check_notes(data=data, scores=scores, notes=notes)
    if not _is_free(target):
        raise ConfigError(f"`{target}` exists and is not an artefact; choose another folder, or remove it")
    text = json.dumps(map_texts(state_of(program), without_secrets), ensure_ascii=False, indent=2, sort_keys=True)
    manifest = Manifest(
        schema_version=ARTEFACT_VERSION,
        program=program.name,
        settings=map_texts(program.settings.model_dump(mode="json", exclude_defaults=True), without_secrets),
        signatures=program_fingerprints(program),
        versions=library_versions(),
        digest=_digest(text.encode("utf-8", "backslashreplace")),
        model=without_secrets(model),
        data=map_texts(dict(data or {}), without_secrets),
        scores=map_texts(dict(scores or {}), without_secrets),
        notes=map_texts(dict(notes or {}), without_secrets),
        calibration=_calibration_of(program),
    )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_folder(target, {PROGRAM: text, MANIFEST: manifest.text()})
    except OSError as error:
        raise DataError(f"the artefact cannot be written to `{target}`: {error.strerror or error}") from None
    return target


def _folder(folder: object) -> Path:
    """The folder as a path. Raises `ConfigError` for anything else."""
    if not isinstance(folder, str | os.PathLike):
        raise ConfigError(f"`folder` must be the path of an artefact's folder, got {folder!r:.80}")
    return Path(folder)


def _check_notes(**parts: object) -> None:
    """Raise `ConfigError` for what a manifest cannot keep beside the program."""
    for name, part in parts.items():
        if part is not None and not isinstance(part, Mapping):
            raise ConfigError(f"`{name}` must be a dict, got {part!r:.80}")
        try:
            json.dumps(dict(part or {}))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"`{name}` must be plain JSON values: {error}") from None


def set_calibration(folder: str | Path, calibration: Calibration | None) -> Path:
    """Put a calibration into an artefact, in place of an older one; None takes it out. All or nothing.

    Raises:
        DataError: There is no artefact, or it cannot be written.
    """
    manifest = read_manifest(folder).model_copy(update={"calibration": calibration})
    target = Path(folder) / MANIFEST
    try:
        write_file(target, manifest.text())
    except OSError as error:
        raise DataError(f"the calibration cannot be written to `{folder}`: {error.strerror or error}") from None
    return target


def _calibration_of(program: RagModule) -> Calibration | None:
    kept = program.calibrated.calibration if program.calibrated else None
    return kept if kept is not None and kept.program == program_digest(program) else None


def is_artefact(folder: str | Path) -> bool:
    """Whether an artefact stands there, which `save_program` would replace."""
    return (Path(folder) / MANIFEST).is_file()


def _real(folder: Path) -> Path:
    """The folder itself, or what a link points to: an artefact behind a link is replaced where it lies.

    Raises:
        DataError: It is a link to nothing, or no name that a folder can have.
    """
    try:
        if folder.is_symlink() and not folder.exists():
            raise DataError(f"`{folder}` is a link to `{folder.readlink()}`, which does not exist; remove the link")
        os.lstat(folder)
    except FileNotFoundError:
        return folder
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        raise DataError(f"the artefact cannot be written to `{str(folder)[:80]}`: {told}") from None
    return folder.resolve() if folder.is_symlink() else folder


def _is_free(target: Path) -> bool:
    """Whether `target` may be written: nothing is there, an artefact, or an empty folder.

    Looked at a few times: another process may be putting a new artefact there, in two steps.
    """
    for attempt in range(MISSES):
        if attempt:
            time.sleep(PAUSE)
        with suppress(OSError):
            if (target / MANIFEST).is_file() or not target.exists() or (target.is_dir() and not any(target.iterdir())):
                return True
    return False


def _digest(text: bytes) -> str:
    """Without the final newline, and whatever ends a line: git may have changed that on its way."""
    return hashlib.sha256(text.replace(b"\r\n", b"\n").removesuffix(b"\n")).hexdigest()


def read_state(folder: str | Path) -> tuple[Manifest, dict[str, Any]]:
    """Manifest and DSPy's state of an artefact, checked against each other, without building its program.

    Raises:
        DataError: The artefact is missing, damaged, or of another format.
    """
    files = read_artefact(folder)
    manifest = parsed_manifest(folder, artefact_file(folder, files, MANIFEST))
    state = artefact_file(folder, files, PROGRAM)
    if _digest(files[PROGRAM] or b"") != manifest.digest:
        raise DataError(
            f"`{Path(folder) / PROGRAM}` is damaged: its content does not match `digest` in manifest.json; "
            "compile it again"
        )
    return manifest, state


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
        abstain_at_risk: Withhold answers so that a risk is this at most, such as 0.1; it needs the artefact's
            calibration, with the model and the settings that it was fitted with.
        abstain_rule: Which risk: `selective`, of the answers that are given the share that is wrong, or `joint`, of all
            questions the share that is answered and wrong (see `RiskRule`).
        options: `today`, or settings and controls that override the artefact's (such as `budget` or `theta`). With any
            but `budget` a calibration does not hold any more, and results say so.

    Raises:
        ConfigError: An option is unknown, out of range, or would change which predictors the program has; or the risk
            cannot be kept.
        DataError: The artefact is missing, damaged, of another version, or does not fit this library's signatures.
    """
    from reflective_rag.programs.registry import make_program

    _folder(folder)
    check_options(options)
    manifest, state = read_state(folder)
    path = Path(folder) / PROGRAM
    try:
        make_program(manifest.program, None, **manifest.settings)
    except (ConfigError, TypeError) as error:  # TypeError: a setting named like an argument of the program
        raise DataError(f"`{folder}`: the artefact's settings cannot be used: {error}") from None
    program = make_program(manifest.program, search, **{**manifest.settings, **options})
    check_fit(program, manifest, state, path)
    try:
        program.load_state(state)
    except ReflectiveRAGError as error:
        raise type(error)(f"`{path}`: {error}") from None
    override_controls(program, options)
    program.use_calibration(manifest.calibration, abstain_at_risk=abstain_at_risk, abstain_rule=abstain_rule)
    if manifest.note:
        logger.info("%s (`%s`)", manifest.note, folder)
    return program
