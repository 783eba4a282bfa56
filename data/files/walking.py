"""The files of a folder that can be read, and why the others cannot."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from reflective_rag.data.files.kinds import ARCHIVES, DOCUMENTS, ROWS

Skip = Callable[[str, str], None]
"""Told of a path, relative to the folder, and why it is left out."""


def documents_in(folder: Path, skip: Skip) -> Iterator[tuple[str, Path]]:
    """(path relative to `folder`, with `/`; path) of every document below it, in the order of their names.

    Links are not followed, so no loop is endless and nothing outside the folder is read. Hidden files and folders are
    left out without a word.
    """

    def failed(error: OSError) -> None:
        name = os.path.relpath(error.filename, folder) if error.filename else "."
        skip(Path(name).as_posix() + "/", f"cannot be listed: {error.strerror or error}")

    for root, folders, names in os.walk(folder, onerror=failed):
        for name in [name for name in sorted(folders) if Path(root, name).is_symlink()]:
            skip(_relative(folder, root, name), LINK)
            folders.remove(name)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            if name.startswith((".", "~$")):  # `~$` marks what Office keeps beside an open document
                continue
            if reason := _refused(path):
                skip(_relative(folder, root, name), reason)
            else:
                yield _relative(folder, root, name), path


LINK = "is a symbolic link; name its target as a source of its own"


def _relative(folder: Path, root: str, name: str) -> str:
    return Path(root, name).relative_to(folder).as_posix().encode(errors="replace").decode()


def _refused(path: Path) -> str:
    if path.is_symlink():
        return LINK
    if not path.is_file():
        return "is no ordinary file"
    return kind_refused(path)


def kind_refused(path: Path) -> str:
    """Why a file of this kind is not read from a folder; empty where it is."""
    kind = path.suffix.lower()
    if kind in DOCUMENTS:
        return ""
    if kind in ROWS:
        return f"is data (`{kind}`); name it as a source of its own"
    if kind in ARCHIVES:
        return "is an archive; unpack it first"
    return f"is of an unknown kind (`{kind}`)" if kind else "is of an unknown kind (no ending)"
