"""A JSON Lines file that one process at a time appends to, so that what was paid for survives kills and full disks."""

import gzip
import json
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from reflective_rag.signatures.errors import DataError


class LineFile:
    """Opens or makes the file, locked against other processes until it is closed. Opening changes nothing in it.

    Read `lines`, recognise them as your own, call `mend`, then `append`. A line is written whole or not at all. With a
    name in `.gz` the lines are compressed; such a file is whole only after `close`.

    Args:
        path: Folders above it are made.
        name: How messages call the file.

    Raises:
        DataError: It cannot be opened, or another process is writing it.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self._made = not path.exists()
        self._cut: int | None = None
        self._open_end = False
        self._packer = zlib.compressobj(wbits=31) if path.suffix == ".gz" else None
        self._packed = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: what could not be written must not come again when the file is closed.
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise DataError(f"{name} cannot be written: {error.strerror or error}. Give another file.") from None
        about = os.fstat(self._file.fileno())
        self._size = about.st_size
        if stat.S_ISREG(about.st_mode):  # a device such as /dev/null may be shared
            self._lock()

    @property
    def empty(self) -> bool:
        """Whether nothing is in it yet."""
        return not self._size

    def lines(self) -> list[tuple[int, bytes]]:
        """Number and content of the lines that are not blank. A last line that a killed writer left half is left out.

        Raises:
            DataError: The file cannot be read.
        """
        try:
            self._file.seek(0)
            data = unpacked(self._file.readall(), self.path) if self._size else b""
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self.name} is damaged: {error}. Give another file.") from None
        whole = data.rfind(b"\n") + 1
        self._open_end = len(data) > whole
        if self._open_end and self._packer is None and not _is_json(data[whole:]):
            self._cut, self._open_end = whole, False
            data = data[:whole]
        return numbered(data)

    def mend(self) -> None:
        """End an open last line, or cut off a half one. Only for a file that is known to be one's own."""
        if self._cut is not None:
            with _writing(self.name):
                self._file.truncate(self._cut)
            self._size, self._cut = self._cut, None
        if self._open_end:
            self._append(b"\n")
            self._open_end = False

    def append(self, line: Mapping[str, Any]) -> None:
        """Write a line out at once.

        Raises:
            DataError: It could not be written; the file is as it was before.
        """
        # Lone surrogates, which models do write, become JSON's \udXXX, and come back as what they were.
        text = json.dumps(line, ensure_ascii=False)
        self._append(text.encode("utf-8", "backslashreplace") + b"\n")

    def close(self) -> None:
        """Close and unlock; safe to call twice. Raises `DataError` when the end could not be written."""
        if self._file.closed:
            return
        with _writing(self.name):
            try:
                if self._packer is not None and self._packed:
                    self._write(self._packer.flush())
            finally:
                self._file.close()

    def abandon(self) -> None:
        """Close after an error, and remove the file if it was made here and holds nothing."""
        self._file.close()
        with suppress(OSError):
            if self._made and not self._size:
                self.path.unlink()

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise DataError(
                f"{self.name} is being written by another run. Wait until that has ended, or give another file."
            ) from None
        except OSError:
            return  # a file system without locks

    def _append(self, data: bytes) -> None:
        packer = None
        if self._packer is not None:
            packer = self._packer.copy()  # so that after a failure the stream goes on where the file ends
            data = packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)
        with _writing(self.name):
            self._write(data)
        if packer is not None:
            self._packer, self._packed = packer, True

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        except BaseException:  # a full disk or Ctrl-C in the middle: half a line would spoil the next one
            with suppress(OSError):
                self._file.truncate(self._size)
            raise
        self._size += len(data)


@contextmanager
def _writing(name: str) -> Iterator[None]:
    """Turns what the system says about a write into a `DataError`."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{name} cannot be written: {error.strerror or error}; what it holds already is safe. "
            "Mend that (or make room) and run the same command again to go on, or give another file."
        ) from error


def unpacked(data: bytes, path: Path) -> bytes:
    """The bytes of a file, decompressed when its name ends in .gz. Raises `OSError`, `EOFError` or `zlib.error`."""
    return gzip.decompress(data) if path.suffix == ".gz" else data


def numbered(data: bytes) -> list[tuple[int, bytes]]:
    """Lines that are not blank, with their numbers from 1."""
    return [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]


def parsed(line: bytes) -> Any:
    """The JSON value of a line. Raises `ValueError`, also for one that is nested too deeply to be read."""
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _is_json(line: bytes) -> bool:
    try:
        parsed(line)
    except ValueError:
        return False
    return True
