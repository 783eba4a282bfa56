"""Reading JSON Lines (UTF-8, one object a line) so that a bad file gives one clear error, not a traceback."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from reflective_rag.signatures.errors import DataError

T = TypeVar("T")

MAX_SHOWN = 10
"""How many bad lines an error message lists, and how many faults of one line; the rest are only counted."""
_ONE_OBJECT = 'write one whole object a line, such as {"id": "1", …}, names and texts in double quotes'

_BOM = b"\xef\xbb\xbf"
_SURROGATE = re.compile("[\ud800-\udfff]")


class LineError(ValueError):
    """What is wrong with one line: the field and a sentence that says what was expected and what came.

    Without a field (empty) it is wrong with the line as a whole.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)


def read_jsonl(path: str | Path, build: Callable[[dict[str, Any], int], T], *, limit: int | None = None) -> list[T]:
    """Build one value from each line's object and line number; blank lines are skipped, a byte order mark is tolerated.

    Args:
        build: Gets the object and its line number (from 1); for a bad line it raises `LineError` or pydantic's
            `ValidationError`.
        limit: Stop reading after this many good lines; the lines behind them are not looked at.

    Raises:
        DataError: The file is missing, not a file, unreadable or empty, or has bad lines. One error lists the first ten
            as `file:line: field: what was expected, what came`, every bad field of a line, with the total.
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


def parsed_lines(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and object of each line that is not blank, one at a time. Raises `LineError` and `DataError`."""
    for number, raw in _lines(Path(path)):
        yield number, _parse(raw)


def describe(error: LineError | ValidationError) -> str:
    """`field: what was expected, what came` for every bad field of a line, the first ten of many."""
    if isinstance(error, LineError):
        return str(error)
    faults = [_fault(fault) for fault in error.errors(include_url=False)]
    more = len(faults) - MAX_SHOWN
    return "; ".join(faults[:MAX_SHOWN]) + (f" (and {more} more in this line)" if more > 0 else "")


def _fault(fault: Mapping[str, Any]) -> str:
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
    message = fault["msg"].removeprefix("Value error, ").replace("Input should be", "expected").replace("tuple", "list")
    if fault["type"] == "missing":
        message = "expected a value, but the field is missing"
    elif fault["type"] != "value_error":  # our own validators name what came themselves
        message = f"{message}, got {brief(fault['input'])}"
    return str(LineError(field, message))


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
        value = json.loads(raw.decode("utf-8").rstrip(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        raise LineError(
            "", f"expected UTF-8, got byte 0x{byte:02x} at position {error.start + 1}; save the file as UTF-8"
        ) from None
    except (ValueError, RecursionError) as error:
        raise LineError("", f"not valid JSON{_where(error)}; {_ONE_OBJECT}") from None
    if not isinstance(value, dict):
        raise LineError("", f"expected a JSON object, got {brief(value)}; {_ONE_OBJECT}")
    # Half of an escaped surrogate pair is legal JSON but no text: it could be neither hashed, stored nor sent.
    if rb"\ud" in raw.lower() and (field := _surrogate_field(value)) is not None:
        raise LineError(field, "expected Unicode text, got half of a surrogate pair (\\ud800 to \\udfff)")
    return value


def _where(error: Exception) -> str:
    """Position and reason; the line is one that the caller knows."""
    if isinstance(error, json.JSONDecodeError):
        reason = f"{error.msg[0].lower()}{error.msg[1:]}".removesuffix(" at")
        return f" ({reason} at character {error.pos + 1})"
    return " (nested too deeply)" if isinstance(error, RecursionError) else f" ({error})"


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _surrogate_field(value: object, field: str = "") -> str | None:
    if isinstance(value, str):
        return field if _SURROGATE.search(value) else None
    parts: list[tuple[str, object]] = []
    if isinstance(value, dict):
        if any(_SURROGATE.search(key) for key in value):
            return field
        parts = [(f"{field}.{key}" if field else key, item) for key, item in value.items()]
    elif isinstance(value, list):
        parts = [(f"{field}[{index}]", item) for index, item in enumerate(value)]
    return next((found for name, item in parts if (found := _surrogate_field(item, name)) is not None), None)
