"""What is in an artefact, and what differs between two: for `inspect` and `diff`. No program is built or run."""

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reflective_rag.programs.artefact_manifest import Manifest
from reflective_rag.programs.artefacts import load_program, read_state
from reflective_rag.signatures.errors import ReflectiveRAGError

State = Mapping[str, Any]


def contents(folder: str | Path) -> dict[str, Any]:
    """Everything that an artefact holds, ready for JSON.

    `loads` is empty where this library can load it, else the reason.

    Raises:
        DataError: It is missing, damaged, or of a newer format.
    """
    manifest, state = read_state(folder)
    return {
        "artifact": str(folder),
        "format": manifest.schema_version,
        "program": manifest.program,
        "model": manifest.model or "rules",
        "made_by": {name: manifest.notes[name] for name in _MADE_BY if manifest.notes.get(name) is not None},
        "settings": manifest.settings,
        "controls": _controls(state),
        "predictors": {name: _predictor(part) for name, part in _predictors(state).items()},
        "calibration": _calibration(manifest),
        "scores": manifest.scores,
        "data": manifest.data,
        "signatures": manifest.signatures,
        "versions": manifest.versions,
        "loads": _why_not(folder),
        "notes": [manifest.note] if manifest.note else [],
    }


_MADE_BY = ("recipe", "started_from", "corpus", "strategy", "stage", "strategy_options", "metric", "seed")


def differences(before: str | Path, after: str | Path) -> dict[str, Any]:
    """What differs: part → name → {`before`, `after`}, ready for JSON; a part without differences is left out.

    What a program does comes first, then its scores, then where it comes from.

    The `seconds` of the scores are: they are the machine's, and differ between two compiles that did the same.

    For instructions there is also the unified `diff` of their lines; demos are listed as `added` and `removed`.

    Raises:
        DataError: One of them is missing, damaged, or of a newer format.
    """
    old, new = contents(before), contents(after)
    found: dict[str, Any] = {
        part: {"before": old[part], "after": new[part]} for part in ("program", "model") if old[part] != new[part]
    }
    found["instructions"] = _instructions(old["predictors"], new["predictors"])
    found["demos"] = _demos(old["predictors"], new["predictors"])
    for part in ("settings", "controls", "scores", "made_by", "calibration", "data", "signatures", "versions"):
        found[part] = _changed(flat(old[part] or {}), flat(new[part] or {}))
    found["scores"] = {name: both for name, both in found["scores"].items() if name.rpartition(".")[2] != "seconds"}
    return {part: changes for part, changes in found.items() if changes}


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, with dotted names; an interval stays together."""
    if not isinstance(value, Mapping) or "mean" in value:
        return {prefix: value}
    pairs: dict[str, Any] = {}
    for name, item in value.items():
        pairs |= flat(item, f"{prefix}.{name}" if prefix else str(name))
    return pairs


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    names = dict.fromkeys([*old, *new])
    return {name: {"before": old.get(name), "after": new.get(name)} for name in names if old.get(name) != new.get(name)}


def _instructions(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name in dict.fromkeys([*old, *new]):
        texts = [part.get(name, {}).get("instructions") for part in (old, new)]
        if texts[0] != texts[1]:
            before, after = ((text or "").splitlines() for text in texts)
            diff = list(difflib.unified_diff(before, after, "before", "after", lineterm="", n=1))
            found[name] = {"before": texts[0], "after": texts[1], "diff": diff}
    return found


def _demos(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name in dict.fromkeys([*old, *new]):
        before, after = ({_text(demo): demo for demo in part.get(name, {}).get("demos", [])} for part in (old, new))
        if before.keys() != after.keys():
            found[name] = {
                "added": [demo for text, demo in after.items() if text not in before],
                "removed": [demo for text, demo in before.items() if text not in after],
            }
    return found


def _text(demo: Any) -> str:
    return json.dumps(demo, sort_keys=True, ensure_ascii=False)


def _predictors(state: State) -> dict[str, Any]:
    return {name: part for name, part in state.items() if isinstance(part, Mapping) and "signature" in part}


def _predictor(part: Mapping[str, Any]) -> dict[str, Any]:
    signature = part["signature"] if isinstance(part["signature"], Mapping) else {}
    return {"instructions": signature.get("instructions"), "demos": list(part.get("demos") or [])}


def _controls(state: State) -> dict[str, Any]:
    controls = state.get("controls")
    return dict(controls) if isinstance(controls, Mapping) else {}


def _calibration(manifest: Manifest) -> dict[str, Any] | None:
    return None if manifest.calibration is None else manifest.calibration.model_dump(mode="json")


def _why_not(folder: str | Path) -> str:
    try:
        load_program(folder)
    except ReflectiveRAGError as error:
        return str(error)
    return ""
