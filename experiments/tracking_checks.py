"""Whether an MLflow store can be written: a SQLite file, a server, a database. Nothing is left behind."""

import contextlib
import http.client
import os
import socket
import sqlite3
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from reflective_rag.signatures.errors import DataError

WAIT_SECONDS = 5.0
"""Longest wait for a server's answer."""
LOCK_SECONDS = 3.0
"""Longest wait for another program to let go of a SQLite file."""

_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}


def check_sqlite(path: Path) -> None:
    """A SQLite file that MLflow can write, or a place where one can be made.

    Raises:
        DataError: neither.
    """
    artifacts = path.parent / "mlartifacts"
    if path.is_dir():
        raise DataError(f"the MLflow store `{path}` is a folder where a file was expected; add a file name to it")
    if artifacts.is_file():
        raise DataError(f"the MLflow store needs the folder `{artifacts}`, where a file is; choose another path")
    folder = next(parent for parent in path.parents if parent.exists())
    for place in (folder, artifacts):
        if place.exists():
            _check_folder(place)
    if path.exists() and path.stat().st_size:
        _check_tables(path)


def _check_folder(folder: Path) -> None:
    try:
        tempfile.TemporaryFile(dir=folder).close()  # asking for permissions is not enough on a read-only disk
    except OSError as error:
        raise DataError(
            f"the MLflow store cannot be written: `{folder}` takes no files ({error.strerror or error}); "
            "make it a folder you may write to, choose another path, or switch tracking off with `off`"
        ) from error


def _check_tables(path: Path) -> None:
    if not os.access(path, os.W_OK):  # SQLite opens it all the same, for reading
        raise DataError(f"the MLflow store `{path}` is read-only; make the file writable, or choose another one")
    address = f"{path.as_uri()}?mode=rw"  # never makes a file
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=LOCK_SECONDS, isolation_level=None)) as db:
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            db.execute("BEGIN IMMEDIATE")  # takes the lock that a write takes
            db.execute("ROLLBACK")
    except sqlite3.Error as error:
        raise DataError(f"the MLflow store `{path}` cannot be written: {_reason(str(error))}") from error
    if tables and not {"experiments", "alembic_version"} & tables:
        raise DataError(f"`{path}` is the database of another program, not an MLflow store; choose another path")


def _reason(message: str) -> str:
    if "locked" in message:
        return f"another program has held its lock for {LOCK_SECONDS:g} s; close that program, or choose another store"
    if "not a database" in message or "malformed" in message:
        return f"it is no SQLite database ({message}); choose another path, or remove the file"
    return f"{message}; choose another store"


def check_server(uri: str, shown: str) -> None:
    """An MLflow server answers at `/health` within `WAIT_SECONDS`; 4xx passes, since a gateway may hide that page.

    Raises:
        DataError: no answer, or that of something else.
    """
    todo = "start it (`mlflow server`), mend the address, or switch tracking off with `off`"
    try:
        status, text = _get(f"{uri.rstrip('/')}/health")
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(
            f"the MLflow server `{shown}` cannot be reached within {WAIT_SECONDS:g} s ({reason}); {todo}"
        ) from error
    if status >= 500:
        raise DataError(f"the MLflow server `{shown}` answers with HTTP {status}; {todo}")
    if status < 400 and text.strip() != b"OK":
        raise DataError(f"what answers at `{shown}` is not an MLflow server; {todo}")


def _get(address: str) -> tuple[int, bytes]:
    parts = urlsplit(address)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()  # urllib takes a password for a port
    try:
        with urllib.request.urlopen(bare, timeout=WAIT_SECONDS) as answer:
            return answer.status, answer.read(100)
    except urllib.error.HTTPError as error:
        return error.code, b""


def check_database(uri: str, shown: str) -> None:
    """The driver is installed and the host takes connections.

    Raises:
        DataError: one of them is missing.
    """
    from sqlalchemy import make_url
    from sqlalchemy.exc import SQLAlchemyError

    try:
        url = make_url(uri)
        url.get_dialect().import_dbapi()
        port = url.port or _PORTS[url.get_backend_name()]
        socket.create_connection((url.host or "localhost", port), timeout=WAIT_SECONDS).close()
    except SQLAlchemyError as error:
        raise DataError(f"the MLflow store `{shown}` has no valid address ({first_line(error)})") from error
    except ModuleNotFoundError as error:
        raise DataError(f"the MLflow store `{shown}` needs the package `{error.name}`; install it") from error
    except OSError as error:
        raise DataError(
            f"the database of the MLflow store `{shown}` cannot be reached within {WAIT_SECONDS:g} s ({error}); "
            "start it, mend the address, or switch tracking off with `off`"
        ) from error


def reason(error: BaseException) -> str:
    """What a store's error says, in one line; where SQLAlchemy wraps the database's own words, those."""
    return first_line(getattr(error.__cause__, "orig", None) or getattr(error, "orig", None) or error)


def first_line(error: BaseException) -> str:
    """The first line of an error's message, at most 300 characters; its class when it has none."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
