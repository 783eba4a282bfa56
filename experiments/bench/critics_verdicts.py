"""Verdicts of critics, one a case, in a file that is written as they come, so that a killed run goes on."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reflective_rag.data.line_file import LineFile, parsed
from reflective_rag.signatures.errors import DataError

HEADER = {"kind": "header", "bench": "critics", "version": 1}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What one critic said of one case, and its share of what the asking cost."""

    case: str
    by: str
    """The column of the report: `rules`, `embedder`, `lm hard`, `lm soft`."""
    score: float | None
    """The higher, the truer; None where the critic gave nothing that can be read."""
    model: str = ""
    """Which model, or which version of the rules; a verdict of another one is not used again."""
    seconds: float = 0.0
    calls: float = 0.0
    """A call that judges two cases counts one half for each; likewise the rest."""
    cached: float = 0.0
    prompt_tokens: float = 0.0
    completion_tokens: float = 0.0
    error: str = ""
    """Why there is no reply at all; such a case is asked again by the next run."""


class VerdictFile:
    """A JSON Lines file of verdicts; without a path nothing is kept.

    Raises:
        DataError: The file holds something else (it is left untouched), or cannot be read or written.
    """

    def __init__(self, path: Path | None) -> None:
        self.done: dict[tuple[str, str, str], Verdict] = {}
        """(case, column, model) → verdict. A case's name changes with what a critic reads, so old ones never match."""
        self._path = path
        self._file = LineFile(path, f"`--rows {path}`") if path is not None else None
        if self._file is None:
            return
        try:
            self._begin(self._file.lines())
        except BaseException:
            self._file.abandon()
            raise

    def add(self, verdict: Verdict) -> None:
        """Append a verdict and write it out at once."""
        if self._file is not None:
            self._file.append({"kind": "verdict", **asdict(verdict)})

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _begin(self, lines: list[tuple[int, bytes]]) -> None:
        assert self._file is not None
        if self._file.empty:
            self._file.append(HEADER)
            return
        if not lines or self._object(*lines[0]) != HEADER:
            raise DataError(
                f"`--rows {self._path}` is no file of critics' verdicts: its first line should be "
                f"{json.dumps(HEADER)}. Give another file."
            )
        for number, line in lines[1:]:
            value = self._object(number, line)
            try:
                verdict = Verdict(**{key: item for key, item in value.items() if key != "kind"})
            except (TypeError, AttributeError):
                raise DataError(
                    f"`{self._path}:{number}` is no verdict. Remove that line, or give another file."
                ) from None
            if not verdict.error:
                self.done[verdict.case, verdict.by, verdict.model] = verdict
        self._file.mend()

    def _object(self, number: int, line: bytes) -> Any:
        try:
            return parsed(line)
        except ValueError as error:
            raise DataError(f"`{self._path}:{number}` is damaged: {error}. Give another file.") from None


@contextmanager
def open_verdicts(path: Path | None) -> Iterator[VerdictFile]:
    """The file, closed at the end of the block."""
    file = VerdictFile(path)
    try:
        yield file
    finally:
        file.close()
