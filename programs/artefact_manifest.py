"""What an artefact says of itself: `manifest.json`, its checks, and how older formats are read."""

import hashlib
import json
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError

from reflective_rag import __version__
from reflective_rag.programs.artefact_files import read_folder
from reflective_rag.programs.calibration import Calibration
from reflective_rag.programs.settings import describe
from reflective_rag.signatures.errors import DataError

ARTEFACT_VERSION = 2
"""1 had no `seals`."""
MANIFEST, PROGRAM = "manifest.json", "program.json"
_LIBRARIES = ("dspy", "pydantic")
_UNSEALED = ("schema_version", "seals")


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
    seals: dict[str, str] = {}
    """Every other field → 16 hex digits over its value, so that damage is found and its place named."""

    _migrated_from: int | None = PrivateAttr(default=None)

    @property
    def note(self) -> str:
        """What a user should know about the format; empty for the present one."""
        if self._migrated_from is None:
            return ""
        return (
            f"the artefact is of format {self._migrated_from}, and this version writes {ARTEFACT_VERSION}: it was read "
            "as it is; saving it again brings it up to date"
        )

    def text(self) -> str:
        """As it is written, sealed."""
        # Not `model_dump_json`: half characters, which models do write, are no UTF-8. What is not finite becomes null.
        plain = json.loads(json.dumps(self.model_dump(mode="json")), parse_constant=lambda _: None)
        plain |= {"schema_version": ARTEFACT_VERSION, "seals": seals_of(plain)}
        return json.dumps(plain, ensure_ascii=False, indent=2)


def seals_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The seals of a manifest's fields, as plain JSON."""
    return {name: _seal(value) for name, value in manifest.items() if name not in _UNSEALED}


def _seal(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def read_manifest(folder: str | Path) -> Manifest:
    """The manifest of an artefact, of this format or an older one.

    Raises:
        DataError: It is missing, damaged, of something else, or newer than this library; the message names the field.
    """
    return parsed_manifest(folder, artefact_file(folder, read_artefact(folder), MANIFEST))


def read_artefact(folder: str | Path) -> dict[str, bytes | None]:
    """Both files, from one state of the folder, also while another process replaces it. Raises `DataError`."""
    try:
        return read_folder(Path(folder), (MANIFEST, PROGRAM))
    except NotADirectoryError:
        raise DataError(f"there is no artefact at `{folder}`; `reflective-rag compile` makes one") from None
    except OSError as error:
        raise DataError(f"`{error.filename or folder}` cannot be read: {error.strerror}") from None


def artefact_file(folder: str | Path, files: Mapping[str, bytes | None], name: str) -> dict[str, Any]:
    """The JSON object of one of the files. Raises `DataError` where it is missing or damaged."""
    path, data = Path(folder) / name, files[name]
    if data is None:
        raise DataError(f"`{folder}` is not a whole artefact: `{name}` is missing")
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise DataError(f"`{path}` is damaged, it is not valid JSON: {reason}") from None
    if not isinstance(value, dict):
        raise DataError(f"`{path}` is damaged: expected a JSON object, got {type(value).__name__}")
    return value


def parsed_manifest(folder: str | Path, raw: dict[str, Any]) -> Manifest:
    """The manifest in `manifest.json`'s content. Raises as `read_manifest`."""
    path, found = Path(folder) / MANIFEST, raw.get("schema_version")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise DataError(
            f"`{path}`: `schema_version` must be a whole number from 1 to {ARTEFACT_VERSION}, got {found!r:.80}; "
            "it is no manifest of an artefact"
        )
    if found > ARTEFACT_VERSION:
        raise DataError(
            f"`{path}`: `schema_version` must be at most {ARTEFACT_VERSION}, got {found!r}; "
            "it was written by a newer reflective-rag: upgrade to load it"
        )
    for older in range(found, ARTEFACT_VERSION):
        raw = _MIGRATIONS[older](raw)
    try:
        manifest = Manifest(**raw)
    except ValidationError as error:
        raise DataError(f"`{path}`: {describe(error, Manifest)}") from None
    _check_seals(path, raw, manifest.seals)
    if found < ARTEFACT_VERSION:
        manifest._migrated_from = found
    return manifest


def _check_seals(path: Path, raw: Mapping[str, Any], seals: Mapping[str, str]) -> None:
    expected = seals_of(raw)
    for name in sorted(expected.keys() | seals.keys()):
        if expected.get(name) != seals.get(name):
            raise DataError(
                f"`{path}` is damaged: `{name}` is not as it was written (its seal does not fit). Compile it again; "
                "other settings are given to `load_program`, not written into the file"
            )


def _from_1(raw: dict[str, Any]) -> dict[str, Any]:
    """Format 1 had no seals: nothing shows whether its manifest was damaged, only whether its program was."""
    return {**raw, "schema_version": 2, "seals": seals_of(raw)}


_MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _from_1}
"""Format → what makes the next one of it."""


def library_versions() -> dict[str, str]:
    """Of the libraries that an artefact depends on."""
    return {"reflective-rag": __version__, **{name: _version(name) for name in _LIBRARIES}}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
