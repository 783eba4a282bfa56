"""Whether a store can be written: found out within seconds, said in one sentence, with nothing left behind."""

import os
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from reflective_rag.experiments import tracking_checks
from reflective_rag.experiments.tracking import check_store, tracked
from reflective_rag.experiments.tracking_store import parse_address
from reflective_rag.signatures.errors import DataError


@contextmanager
def server(status: int, body: bytes) -> Iterator[str]:
    """A loopback server that answers every request alike."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def database(path: Path, table: str) -> Path:
    """A SQLite file with one table."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"CREATE TABLE {table} (x)")
        db.commit()
    return path


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        pytest.param("", "the address is empty", id="empty"),
        pytest.param("mongodb://h/x", "the scheme 'mongodb' is unknown", id="unknown scheme"),
        pytest.param("runs.db", "a plain path has no scheme", id="plain path"),
        pytest.param("./mlruns", "a plain path has no scheme", id="folder"),
        pytest.param("file:///x/mlruns", "MLflow gave up stores made of plain files", id="file store"),
        pytest.param("sqlite://x.db", "three slashes", id="two slashes"),
        pytest.param("sqlite:x.db", "three slashes", id="no slashes"),
        pytest.param("sqlite:///", "would be gone with the process", id="no path"),
        pytest.param("sqlite:///:memory:", "would be gone with the process", id="memory"),
        pytest.param("OFF", "a plain path has no scheme", id="off in capitals"),
        pytest.param("postgresql+nodriver://h/x", "has no valid address", id="unknown driver"),
        pytest.param("http://", "cannot be reached", id="no host"),
        pytest.param("http://[::1", "cannot be reached", id="broken host"),
    ],
)
def test_an_address_that_cannot_work_is_explained(uri: str, said: str) -> None:
    """The message says what is wrong with the address and is one line."""
    with pytest.raises(DataError, match=said) as caught:
        check_store(uri)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        pytest.param("folder", "is a folder where a file was expected", id="folder in place of the file"),
        pytest.param("file/x.db", "takes no files", id="file in place of the folder"),
        pytest.param("file/deeper/x.db", "takes no files", id="file above the folder"),
        pytest.param("text.db", "no SQLite database", id="not SQLite"),
        pytest.param("other.db", "database of another program", id="another program's database"),
        pytest.param("taken/x.db", "where a file is", id="file in place of mlartifacts"),
        pytest.param("x" * 300 + ".db", "cannot be used", id="name too long"),
    ],
)
def test_a_place_that_cannot_hold_a_store_is_explained(tmp_path: Path, place: str, said: str) -> None:
    """Check and run refuse alike, before the block begins, and leave everything as it was."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "taken").mkdir()
    for name in ("file", "taken/mlartifacts"):
        (tmp_path / name).write_text("")
    (tmp_path / "text.db").write_text("not a database, but long enough to be one " * 10)
    database(tmp_path / "other.db", "customers")
    before = sorted(tmp_path.rglob("*"))
    uri = f"sqlite:///{tmp_path}/{place}"
    with pytest.raises(DataError, match=said):
        check_store(uri)
    with pytest.raises(DataError, match=said), tracked("run", experiment="e", uri=uri, params={}):
        pytest.fail("the block ran")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_read_only_place_is_explained(tmp_path: Path, kind: str) -> None:
    """Neither a read-only folder nor a read-only file holds a store."""
    path = database(tmp_path / "x.db", "experiments")
    locked = tmp_path if kind == "folder" else path
    mode = locked.stat().st_mode
    locked.chmod(0o555 if kind == "folder" else 0o444)
    try:
        with pytest.raises(DataError, match="takes no files" if kind == "folder" else "read-only"):
            check_store(f"sqlite:///{path}")
    finally:
        locked.chmod(mode)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs Linux's /proc, where nobody can make a file")
def test_a_file_system_that_takes_no_files_is_explained() -> None:
    """Permissions alone do not tell: even root cannot write there."""
    with pytest.raises(DataError, match="takes no files"):
        check_store("sqlite:////proc/self/mlflow.db")


def test_a_locked_store_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store whose write lock another program keeps is an error after a wait of seconds, and fine afterwards."""
    monkeypatch.setattr(tracking_checks, "LOCK_SECONDS", 0.1)
    path = database(tmp_path / "x.db", "experiments")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DataError, match="another program has held its lock"):
            check_store(f"sqlite:///{path}")
    content = path.read_bytes()
    check_store(f"sqlite:///{path}")
    assert path.read_bytes() == content


@pytest.mark.parametrize("place", ["new.db", "new/deeper/存 储.db", "empty.db"])
def test_a_store_that_can_be_made_passes_and_is_not_made(tmp_path: Path, place: str) -> None:
    """The check creates neither the file nor its folders."""
    (tmp_path / "empty.db").write_text("")
    check_store(f"sqlite:///{tmp_path}/{place}")
    assert [path.name for path in tmp_path.rglob("*")] == ["empty.db"]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        pytest.param(503, b"", "answers with HTTP 503", id="broken"),
        pytest.param(200, b"<html>hello</html>", "is not an MLflow server", id="another site"),
    ],
)
def test_a_server_that_is_no_store_is_explained(status: int, body: bytes, said: str) -> None:
    """What answers has to answer as MLflow does."""
    with server(status, body) as address, pytest.raises(DataError, match=said):
        check_store(address)


def test_a_server_that_answers_passes() -> None:
    """MLflow says OK at /health; a gateway that hides that page is left to the first request."""
    with server(200, b"OK") as address:
        check_store(address)
    with server(404, b"") as address:
        assert parse_address(address).scheme == "http"
        check_store(address)


def test_a_server_that_refuses_runs_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server without MLflow's interface ends in a DataError that names it without the password."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
    expected = pytest.raises(DataError, match="cannot be used")
    with server(404, b"") as address, expected as caught:
        check_store(uri := address.replace("//", "//me:hunter22@"))
        with tracked("run", experiment="e", uri=uri, params={}):
            pytest.fail("the block ran")
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["http", "postgresql+psycopg2"])
def test_an_unreachable_server_is_explained_without_its_password(scheme: str) -> None:
    """Nothing listens: said at once, with the address but not the password in it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DataError, match=r"cannot be reached|needs the package") as caught:
        check_store(f"{scheme}://me:hunter22@127.0.0.1:{port}/db")
    assert "hunter22" not in str(caught.value)


def test_a_silent_server_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes the connection and never answers is an error after the longest wait."""
    monkeypatch.setattr(tracking_checks, "WAIT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(DataError, match="cannot be reached"):
        check_store(f"http://127.0.0.1:{silent.getsockname()[1]}")
