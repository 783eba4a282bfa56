"""Checks of a recording's lines: what is damaged or something else is told by field and line before it is used."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from reflective_rag.data.line_file import parsed
from reflective_rag.signatures.errors import DataError

FORMAT = 1
_OWN_ARGUMENTS = {"model", "engine", "async_engine"}


def checked(path: Path, lines: list[tuple[int, bytes]]) -> list[dict[str, Any]]:
    """The header and the calls of a recording.

    Args:
        lines: Number and content of each line that is not blank.

    Raises:
        DataError: The lines are no recording, one of another format, or damaged; the message names line and field.
    """
    header = _parsed(path, *lines[0]) if lines else None
    if not isinstance(header, dict) or header.get("kind") != "header":
        raise DataError(f"`{path}` is not a recording: its first line is no header")
    _check_header(path, header)
    return [header, *(_call(path, number, line) for number, line in lines[1:])]


def _parsed(path: Path, number: int, line: bytes) -> Any:
    try:
        return parsed(line)
    except ValueError as error:
        raise DataError(f"the recording `{path}` is damaged: line {number} is no JSON ({error})") from None


def _check_header(path: Path, header: dict[str, Any]) -> None:
    if header.get("format") != FORMAT:
        raise DataError(f"`{path}`: `format` must be {FORMAT}, got {header.get('format')!r:.80}")
    if missing := [name for name in ("model", "kwargs", "adapter", "today", "capabilities") if name not in header]:
        raise DataError(f"the recording `{path}` is damaged: its header lacks {', '.join(f'`{k}`' for k in missing)}")
    for name, (wanted, fits) in _HEADER.items():
        outer, _, inner = name.partition(".")
        value = header[outer].get(inner) if inner else header[outer]
        if not fits(value):
            raise DataError(
                f"the recording `{path}` is damaged: in its header `{name}` must be {wanted}, got {value!r:.80}"
            )


def _call(path: Path, number: int, line: bytes) -> dict[str, Any]:
    call = _parsed(path, number, line)
    if not (isinstance(call, dict) and {"key", "request", "reply"} <= call.keys()):
        raise DataError(
            f"the recording `{path}` is damaged: line {number} is not a call with `key`, `request`, `reply`"
        )
    for name, kind, wanted in (("key", str, "a text"), ("request", dict, "an object"), ("reply", dict, "an object")):
        if not isinstance(call[name], kind):
            raise DataError(
                f"the recording `{path}` is damaged: in line {number} `{name}` must be {wanted}, got {call[name]!r:.80}"
            )
    return call


def _is_date(value: Any) -> bool:
    try:
        date.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return True


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_HEADER: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "model": ("the name of a model", lambda value: isinstance(value, str) and bool(value.strip())),
    "kwargs": (
        f"an object of settings without {', '.join(sorted(_OWN_ARGUMENTS))}",
        lambda value: isinstance(value, dict) and not _OWN_ARGUMENTS & value.keys(),
    ),
    "adapter": ("'chat' or 'json'", lambda value: value in ("chat", "json")),
    "today": ("a date such as '2026-11-30'", _is_date),
    "capabilities": ("an object", lambda value: isinstance(value, dict)),
    "capabilities.response_schema": ("true or false", lambda value: isinstance(value, bool)),
    "capabilities.params": ("a list of texts", _are_texts),
}
"""Field → what it must be. An outer field stands before its inner ones."""
