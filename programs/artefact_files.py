"""Folders of a few files that are whole or not there: a reader sees the old ones or the new ones, never a mixture."""

import errno
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

TRIES = 40
"""How often a folder is read again while another process puts a new one in its place."""
PAUSE = 0.02
"""Seconds between two of them."""
MISSES = 5
"""How often in turn a folder must be missing, with no sign that one is being put there, before it is not there."""


def write_file(target: Path, text: str) -> None:
    """Write beside the target, flush, then rename over it. Raises `OSError`."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(encoded(text))
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(target)
    finally:
        Path(name).unlink(missing_ok=True)


def write_folder(target: Path, files: Mapping[str, str]) -> None:
    """Write beside the target, flush, then put the new folder in its place, if need be of an older one.

    Where several processes do so at once, the last one wins, and each of the folders was whole. Raises `OSError`.
    """
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        for name, text in files.items():
            with (temporary / name).open("wb") as file:
                file.write(encoded(text))
                file.flush()
                os.fsync(file.fileno())
        temporary.chmod(0o755)
        _put(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def encoded(text: str) -> bytes:
    """UTF-8 with a final newline. Lone surrogates, which models do write, become JSON's escapes."""
    data = text.encode("utf-8", "backslashreplace")
    return data if data.endswith(b"\n") else data + b"\n"


def _put(new: Path, target: Path) -> None:
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE / 4)
        if target.exists():
            if exchange(new, target) or _swap(new, target):
                return
            continue  # another process is swapping too
        try:
            new.rename(target)
        except OSError as error:
            if not _is_taken(error):
                raise
        else:
            return
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _is_taken(error: BaseException) -> bool:
    """Whether a rename failed because a full folder is there already."""
    return isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST)


def exchange(a: Path, b: Path) -> bool:
    """Exchange two folders in one step; False where the system cannot (only Linux can)."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return rename is not None and rename(here, os.fsencode(a), here, os.fsencode(b), swap) == 0


def _swap(new: Path, target: Path) -> bool:
    """Put `new` in the place of `target` in two steps; False when another process was faster.

    POSIX cannot rename onto a full folder, so the old one steps aside, and back on failure.
    """
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
    try:
        try:
            old = target.rename(aside / "artefact")
        except FileNotFoundError:
            return False
        try:
            new.rename(target)
        except BaseException as error:
            if _is_taken(error):  # another process has put its own there meanwhile
                return False
            if not target.exists():
                old.rename(target)
            raise
        return True
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def read_folder(folder: Path, names: Sequence[str]) -> dict[str, bytes | None]:
    """Name → content, all from one state of the folder; None for a file that is not there.

    Raises:
        NotADirectoryError: There is no such folder.
        OSError: A file cannot be read.
    """
    misses = 0
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE)
        before = _identity(folder)
        if before is None:
            # Between this look and the next one a writer may have ended its replacement, so one miss proves nothing.
            misses = 0 if _is_being_put(folder) else misses + 1
            if misses == MISSES:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
            continue
        misses = 0
        found = {name: _content(folder / name) for name in names}
        if _identity(folder) == before:
            return found
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(folder))


def _is_being_put(folder: Path) -> bool:
    """Whether the folder has stepped aside for a new one."""
    with suppress(OSError):  # the folder above is not there, or may not be listed
        return any(entry.name.startswith(f".{folder.name}.old.") for entry in folder.parent.iterdir())
    return False


def _identity(folder: Path) -> tuple[int, int, int] | None:
    try:
        about = folder.stat()
    except OSError:
        return None
    # The time too: the number of a folder that was removed may be given to a new one.
    return (about.st_dev, about.st_ino, about.st_mtime_ns) if stat.S_ISDIR(about.st_mode) else None


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
