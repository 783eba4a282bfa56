"""Everything that can be known to fail is found before anything is spent, and reported at once."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from reflective_rag.signatures.errors import ConfigError, ReflectiveRAGError

T = TypeVar("T")


class Preflight:
    """Collects the problems of several checks.

    checks = Preflight()
    data = checks.run(load)          # None when it failed
    checks.finish()                  # raises what was found
    """

    def __init__(self) -> None:
        self.problems: list[ReflectiveRAGError] = []

    def run(self, check: Callable[[], T]) -> T | None:
        """The check's result; None when it raised one of our errors, which is kept."""
        try:
            return check()
        except ReflectiveRAGError as error:
            self.problems.append(error)
            return None

    def finish(self) -> None:
        """Raise the one problem as it is, or several as one `ConfigError`."""
        if len(self.problems) == 1:
            raise self.problems[0]
        if self.problems:
            lines = [f"  - {problem}".replace("\n", "\n    ") for problem in self.problems]
            raise ConfigError("\n".join([f"{len(self.problems)} problems; nothing was started:", *lines]))


def check_output(folder: Path) -> None:
    """Raise `ConfigError` unless an artefact can be written at `folder`, new or in place of an older artefact."""
    if folder.exists() and not (folder / "manifest.json").is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"`{folder}` exists and is not an artefact; choose another folder with `--out`, or remove it")
    parent = folder.absolute().parent
    while not parent.exists():
        parent = parent.parent
    try:
        with tempfile.TemporaryDirectory(dir=parent, prefix=".reflective-rag-"):
            pass
    except OSError as error:
        raise ConfigError(f"the output folder `{folder}` cannot be written: {error.strerror or error}") from None
