"""Files of lines that one process appends to: nobody else's file changes, and no line is half."""

import errno
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.data.line_file import LineFile, parsed
from reflective_rag.signatures.errors import DataError

FULL = Path("/dev/full")


@pytest.fixture(params=["lines.jsonl", "lines.jsonl.gz"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A plain and a compressed file, in a folder that is not there yet."""
    return tmp_path / "new" / str(request.param)


def write(path: Path, *lines: Any) -> None:
    """Append lines and close."""
    file = LineFile(path, "`it`")
    file.lines()
    file.mend()
    for line in lines:
        file.append(line)
    file.close()


def read(path: Path) -> list[Any]:
    """The values that a new opening finds."""
    file = LineFile(path, "`it`")
    found = [parsed(line) for _, line in file.lines()]
    file.close()
    return found


def test_lines_come_back(path: Path) -> None:
    """Over several openings, with Chinese unescaped and lone surrogates as they were."""
    write(path, {"a": "山"}, {"a": "lone \ud800"})
    write(path)
    write(path, {"a": 3})
    assert read(path) == [{"a": "山"}, {"a": "lone \ud800"}, {"a": 3}]
    data = path.read_bytes()
    assert "山" in (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def test_opening_and_reading_change_nothing(tmp_path: Path) -> None:
    """A half last line stays until `mend` is called."""
    path = tmp_path / "mine.txt"
    path.write_bytes(b'{"a": 1}\nmy precious tail')
    file = LineFile(path, "`it`")
    assert file.lines() == [(1, b'{"a": 1}')]
    file.abandon()
    assert path.read_bytes() == b'{"a": 1}\nmy precious tail'


@pytest.mark.parametrize(
    ("end", "kept"),
    [
        pytest.param('{"a": 2', [1, 3], id="half"),
        pytest.param('{"a": "山'.encode()[:-1], [1, 3], id="half a character"),
        pytest.param('{"a": 2}', [1, 2, 3], id="whole without its end"),
        pytest.param("  ", [1, 3], id="blanks"),
        pytest.param("", [1, 3], id="nothing"),
    ],
)
def test_a_killed_writer_loses_at_most_its_last_line(end: str | bytes, kept: list[int], tmp_path: Path) -> None:
    """What is whole stays, and the next line stands on its own."""
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"a": 1}\n' + (end if isinstance(end, bytes) else end.encode()))
    write(path, {"a": 3})
    assert [line["a"] for line in read(path)] == kept


class _Filling:
    """A disk that takes some bytes and then is full, until there is room again."""

    def __init__(self, file: Any, room: int) -> None:
        self.file, self.room = file, room

    def write(self, data: bytes) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        part = data[: self.room]
        self.room -= len(part)
        return int(self.file.write(part))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def test_a_line_that_does_not_fit_leaves_nothing_behind(path: Path) -> None:
    """The error says what and why; the file goes on when there is room again, and is never half."""
    file = LineFile(path, "the recording `x`")
    file.append({"a": 1})
    disk = file._file = _Filling(file._file, room=5)  # type: ignore[assignment]  # a disk that fills up
    with pytest.raises(DataError, match="the recording `x` cannot be written: No space left on device"):
        file.append({"a": "too long"})
    disk.room = 10_000
    file.append({"a": 3})
    file.close()
    assert read(path) == [{"a": 1}, {"a": 3}]


@pytest.mark.skipif(not FULL.exists(), reason="needs the device that is always full")
def test_a_real_full_disk() -> None:
    """The same with the system's own error, and closing does not try again."""
    file = LineFile(FULL, "`it`")
    with pytest.raises(DataError, match="No space left on device"):
        file.append({"a": 1})
    file.close()
    file.abandon()
    assert FULL.exists()


def test_a_file_that_was_made_for_nothing_is_removed(tmp_path: Path) -> None:
    """An empty file that was there before stays."""
    (tmp_path / "there").touch()
    for name in ("there", "new"):
        LineFile(tmp_path / name, "`it`").abandon()
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_what_cannot_be_opened_is_a_data_error(tmp_path: Path) -> None:
    """A folder, and a path through a file."""
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "x"):
        with pytest.raises(DataError, match="`it` cannot be written"):
            LineFile(path, "`it`")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"no gzip", id="not compressed"),
        pytest.param(gzip.compress(b'{"a": 1}\n')[:-9], id="cut short"),
        pytest.param(gzip.compress(b"1")[:12] + b"\xff" * 30, id="rubbish after the header"),
    ],
)
def test_a_damaged_compressed_file_is_a_data_error(data: bytes, tmp_path: Path) -> None:
    """Whatever the decompressor calls it; the file stays."""
    path = tmp_path / "x.gz"
    path.write_bytes(data)
    file = LineFile(path, "`it`")
    with pytest.raises(DataError, match="`it` is damaged"):
        file.lines()
    file.abandon()
    assert path.read_bytes() == data


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
def test_one_writer_at_a_time(tmp_path: Path) -> None:
    """A second process is refused while the first has the file open, and not after it ended, even by a kill."""
    path = tmp_path / "lines.jsonl"
    code = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, 2); print('locked', flush=True); input()"
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(DataError, match="`it` is being written by another run"):
            LineFile(path, "`it`")
        assert path.exists()
        other.kill()
    write(path, {"a": 1})
    assert read(path) == [{"a": 1}]


def test_lines_that_are_nested_too_deeply_are_a_value_error() -> None:
    """Like any other text that is no JSON."""
    with pytest.raises(ValueError, match="too deeply"):
        parsed(b"[" * 100_000)
    with pytest.raises(json.JSONDecodeError):
        parsed(b"{")
