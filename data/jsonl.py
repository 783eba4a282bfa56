"""Reading JSON Lines (UTF-8, one object a line) so that a bad file gives one clear error, not a traceback."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from reflective_rag.signatures.errors import DataError

T = TypeVar("T")

MAX_SHOWN = 10
"""How many bad lines an error message lists; the rest are only counted."""

_BOM = b"\xef\xbb\xbf"
_SURROGATE = re.compile("[\ud800-\udfff]")


class LineError(ValueError):
    """What is wrong with one line: the field (or `line`) and a sentence that says what was expected and what came."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")


def read_jsonl(path: str | Path, build: Callable[[dict[str, Any], int], T], *, limit: int | None = None) -> list[T]:
    """Build one value from each line's object and line number; blank lines are skipped, a byte order mark is tolerated.

    Args:
        build: Gets the object and its line number (from 1); for a bad line it raises `LineError` or pydantic's
            `ValidationError`.
        limit: Stop reading after this many good lines; the lines behind them are not looked at.

    Raises:
        DataError: The file is missing, not a file, unreadable or empty, or has bad lines. One error lists the first ten
            as `file:line: field: what was expected, what came`, with the total.
    """
    path = Path(path)
    built: list[T] = []
    shown: list[str] = []
    bad = 0
    for number, raw in _lines(path):
        try:
            built.append(build(_parse(raw), number))
        except (LineError, ValidationError) as error:
            bad += 1
            if len(shown) < MAX_SHOWN:
                shown.append(f"{path}:{number}: {describe(error)}")
        if limit is not None and len(built) >= limit:
            break
    if bad:
        head = f"{bad} line(s) of `{path}` cannot be used" + (f"; the first {MAX_SHOWN} are" if bad > MAX_SHOWN else "")
        raise DataError("\n  ".join([f"{head}:", *shown]) + "\nCorrect or remove these lines.")
    if not built:
        raise DataError(f"`{path}` holds no records. Expected JSON Lines: one JSON object a line, in UTF-8.")
    return built


def describe(error: LineError | ValidationError) -> str:
    """`field: what was expected, what came` for the first fault of a line, and how many more faults the line has."""
    if isinstance(error, LineError):
        return str(error)
    first, *more = error.errors(include_url=False)
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".") or "line"
    message = first["msg"].removeprefix("Value error, ").replace("Input should be", "expected").replace("tuple", "list")
    if first["type"] == "missing":
        message = "expected a value, but the field is missing"
    elif first["type"] != "value_error":  # our own validators name what came themselves
        message = f"{message}, got {brief(first['input'])}"
    return f"{field}: {message}" + (f" (and {len(more)} more in this line)" if more else "")


def brief(value: object) -> str:
    """`repr` cut to 60 characters, for error messages."""
    text = ascii(value) if isinstance(value, str) and _SURROGATE.search(value) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                raw = raw.removeprefix(_BOM) if number == 1 else raw
                if raw.strip():
                    yield number, raw
    except FileNotFoundError:
        raise DataError(f"`{path}` does not exist. Expected a JSON Lines file.") from None
    except IsADirectoryError:
        raise DataError(f"`{path}` is a folder. Expected one JSON Lines file.") from None
    except OSError as error:
        raise DataError(f"`{path}` cannot be read: {error.strerror or error}. Expected a JSON Lines file.") from None


def _parse(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        raise LineError("line", f"expected UTF-8, got byte 0x{byte:02x} at position {error.start + 1}") from None
    except (ValueError, RecursionError) as error:
        raise LineError("line", f"expected a JSON object, got text that is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise LineError("line", f"expected a JSON object, got {brief(value)}")
    # Half of an escaped surrogate pair is legal JSON but no text: it could be neither hashed, stored nor sent.
    if rb"\ud" in raw.lower() and (field := _surrogate_field(value)) is not None:
        raise LineError(field, "expected Unicode text, got half of a surrogate pair (\\ud800 to \\udfff)")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _surrogate_field(value: object, field: str = "") -> str | None:
    if isinstance(value, str):
        return (field or "line") if _SURROGATE.search(value) else None
    parts: list[tuple[str, object]] = []
    if isinstance(value, dict):
        if any(_SURROGATE.search(key) for key in value):
            return field or "line"
        parts = [(f"{field}.{key}" if field else key, item) for key, item in value.items()]
    elif isinstance(value, list):
        parts = [(f"{field}[{index}]", item) for index, item in enumerate(value)]
    return next((found for name, item in parts if (found := _surrogate_field(item, name)) is not None), None)
