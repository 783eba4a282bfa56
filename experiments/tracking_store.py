"""Where runs are kept: the address of an MLflow store, whether it can be written, and opening it.

`off` keeps nothing. `sqlite:///runs.db` is a file (relative to the current folder; four slashes: absolute) with its
artifacts in `mlartifacts` beside it. `http(s)://host:port` is an MLflow server, `postgresql://`, `mysql://`, `mssql://`
a database; there the server or MLflow's own default says where artifacts go.
"""

import contextlib
import logging
import os
import re
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reflective_rag.experiments.tracking_checks import check_database, check_server, check_sqlite, reason
from reflective_rag.signatures.errors import DataError

if TYPE_CHECKING:
    from mlflow import MlflowClient

logger = logging.getLogger(__name__)

OFF = "off"
"""The address that keeps nothing."""
DEFAULT_URI = "sqlite:///mlflow.db"
"""A file in the current folder; MLflow's own default."""

_SQLITE = re.compile(r"(sqlite(?:\+\w+)?):///(.*)", re.DOTALL)
_DATABASES = ("postgresql", "mysql", "mssql")
_EXPECTED = f"use `{DEFAULT_URI}`, `sqlite:////absolute/path.db`, `http://host:port`, a database address, or `off`"
_building = threading.Lock()
_quiet: ContextVar[bool] = ContextVar("reflective_rag_mlflow_quiet", default=False)


class Address(NamedTuple):
    """A store's address: `uri` as MLflow takes it, `shown` without a password, `path` of a SQLite file."""

    uri: str
    shown: str
    scheme: str
    path: Path | None = None

    @property
    def artifacts(self) -> str | None:
        """Where a new experiment keeps its artifacts, as a `file:` URI; None leaves it to the store."""
        return (self.path.parent / "mlartifacts").as_uri() if self.path else None


def parse_address(uri: str) -> Address:
    """Read a store's address. A relative SQLite path is resolved now: MLflow would keep that of its first use for ever.

    Raises:
        DataError: no store can be meant by it.
    """
    shown = re.sub(r"//[^/@]*@", "//", uri)
    if match := _SQLITE.fullmatch(uri):
        name, mark, options = match[2].partition("?")
        if name in ("", ":memory:"):
            raise DataError(f"the MLflow store {shown!r} would be gone with the process; {_EXPECTED}")
        path = Path(name).expanduser().absolute()
        return Address(f"{match[1]}:///{path}{mark}{options}", shown, "sqlite", path)
    scheme = re.split(r"[:+]", uri, maxsplit=1)[0].lower() if ":" in uri or uri.startswith("databricks") else ""
    if scheme in (*_DATABASES, "http", "https", "databricks", "databricks-uc") or scheme in _plugins():
        return Address(uri, shown, scheme)
    if scheme in ("", "file") and os.environ.get("MLFLOW_ALLOW_FILE_STORE", "").lower() in ("true", "1") and uri:
        return Address(uri, shown, "file")
    raise DataError(f"an MLflow store cannot be {shown!r}: {_fault(uri, scheme)}; {_EXPECTED}")


def _fault(uri: str, scheme: str) -> str:
    if not uri:
        return "the address is empty"
    if scheme == "sqlite":
        return "a SQLite address has three slashes before a relative path and four before an absolute one"
    if scheme == "file":
        return "MLflow gave up stores made of plain files"
    return f"the scheme {scheme!r} is unknown" if scheme else "a plain path has no scheme"


def _plugins() -> set[str]:
    from importlib.metadata import entry_points

    return {point.name for point in entry_points(group="mlflow.tracking_store")}


def check_store(uri: str) -> None:
    """See whether runs can be written to the store, within seconds and before anything is spent.

    Creates nothing: a SQLite file that does not exist yet is judged by its folder. What only a login or a write on a
    server shows, opening the store will tell.

    Raises:
        DataError: it cannot be written; the message says why and what to do.
    """
    if uri == OFF:
        return
    address = parse_address(uri)
    with refusals(address):
        if address.path:
            check_sqlite(address.path)
        elif address.scheme in ("http", "https"):
            check_server(address.uri, address.shown)
        elif address.scheme in _DATABASES:
            check_database(address.uri, address.shown)


def open_store(address: Address) -> "MlflowClient":
    """A client of a store that has been checked; the tables of a new SQLite file are made first (about ten seconds).

    Raises:
        DataError: the store refuses.
    """
    # Nothing about a run should leave for anyone but the store; MLflow reads this when it is imported.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    if address.scheme in ("http", "https"):
        # A dead server would be asked for four minutes for each value, and a link printed into the output of `--json`.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
    with refusals(address), quiet_mlflow():
        from mlflow import MlflowClient

        if address.path:
            _create(address, address.path)
            # Connections of this process to a file that was replaced since would go on with the one that is gone.
            _open_and_close(address.uri, address.artifacts)
        return MlflowClient(tracking_uri=address.uri)


def experiment_id(client: "MlflowClient", name: str, address: Address) -> str:
    """Id of the experiment, which is made if there is none.

    Raises:
        DataError: it was deleted. Restoring it silently would bring back runs that someone put away on purpose.
    """
    from mlflow.exceptions import MlflowException

    with refusals(address), quiet_mlflow():
        found = client.get_experiment_by_name(name)
        if found is None:
            try:
                return str(client.create_experiment(name, artifact_location=address.artifacts))
            except MlflowException as error:
                if error.error_code != "RESOURCE_ALREADY_EXISTS":
                    raise
                found = client.get_experiment_by_name(name)  # another process was faster
    if found is None or found.lifecycle_stage != "active":
        number = found.experiment_id if found else "ID"
        raise DataError(
            f"the experiment {name!r} was deleted in the MLflow store `{address.shown}`: choose another name, or bring "
            f"it back with `MLFLOW_TRACKING_URI={address.shown} mlflow experiments restore -x {number}`"
        )
    return str(found.experiment_id)


@contextlib.contextmanager
def refusals(address: Address) -> Iterator[None]:
    """Turn whatever the store raises into one DataError."""
    try:
        yield
    except Exception as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"the MLflow store `{address.shown}` cannot be used ({reason(error)}); mend it, choose another one, or "
            "switch tracking off with `off`"
        ) from error


def _create(address: Address, path: Path) -> None:
    """Make the tables of a new store under another name and move the whole file into place.

    MLflow makes them in some fifty steps on the file itself. Stopped in the middle (Ctrl-C), or begun by two processes
    at once, that leaves a file that no MLflow can open.
    """
    with _building:
        if path.exists() and path.stat().st_size:
            return
        logger.info("making the MLflow store `%s`, once, for about ten seconds", address.shown)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            new = Path(folder, uuid.uuid4().hex)  # MLflow keeps its connections by path, for ever
            _open_and_close(f"sqlite:///{new}", address.artifacts)
            _move(new, path)


def _open_and_close(uri: str, artifacts: str | None) -> None:
    """Open the store, which makes its tables if there are none, and close its connections."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    store: Any = SqlAlchemyStore(uri, artifacts)  # type: ignore[no-untyped-call]  # MLflow does not annotate it
    store.engine.dispose()


def _move(new: Path, path: Path) -> None:
    """Put the file into place, unless another process was faster."""
    if path.exists() and path.stat().st_size == 0:
        new.replace(path)
        return
    try:
        path.hardlink_to(new)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        new.replace(path)


class _Quiet(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not _quiet.get()


_filter = _Quiet()


@contextlib.contextmanager
def quiet_mlflow() -> Iterator[None]:
    """Keep what MLflow and Alembic would log in this thread to ourselves: errors reach the user in our words, once.

    The filter sits on MLflow's own handlers and acts inside this block alone; other users of MLflow see what they saw.
    """
    import mlflow  # noqa: F401 - puts its handlers into place

    for name in ("mlflow", "alembic", "sqlalchemy.engine"):
        for handler in logging.getLogger(name).handlers:
            handler.addFilter(_filter)
    logging.getLogger("urllib3.connectionpool").addFilter(_filter)  # "Retrying …", for each retry
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)
