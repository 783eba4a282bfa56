"""Shared by the tests of this folder: an empty place to work in, and an MLflow store that each module makes once."""

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reflective_rag.experiments.tracking import tracked
from reflective_rag.experiments.tracking_store import open_store, parse_address

if TYPE_CHECKING:
    from mlflow import MlflowClient


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A command sets the levels of loggers for its process, which here is that of all tests."""
    names = ("dspy", "optuna", "mlflow", "alembic", "LiteLLM", "reflective_rag", "httpx")
    levels = {name: logging.getLogger(name).level for name in names}
    disabled = logging.root.manager.disable
    yield
    logging.disable(disabled)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder; the commands' defaults are keyword search and no tracking."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RRAG_EMBEDDER", "none")
    monkeypatch.setenv("RRAG_TRACKING", "off")
    monkeypatch.setenv("TQDM_DISABLE", "1")
    return tmp_path


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SQLite file of an empty store, made once: MLflow takes seconds for its tables."""
    path = tmp_path_factory.mktemp("tables") / "存 储" / "empty.db"
    open_store(parse_address(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, tables: Path) -> Path:
    """The SQLite file of a store of this module, with an experiment; its folder has a space and Chinese characters."""
    path = tmp_path_factory.mktemp("tracking") / "运行 runs" / "store.db"
    path.parent.mkdir()
    shutil.copy(tables, path)
    with tracked("first", experiment="made", uri=f"sqlite:///{path}", params={}):
        pass
    return path


@pytest.fixture
def uri(store: Path) -> str:
    """The address of the shared store."""
    return f"sqlite:///{store}"


@pytest.fixture
def client(uri: str) -> "MlflowClient":
    """MLflow's own view of the shared store."""
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=uri)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """An experiment for this test alone."""
    return str(request.node.name)


@pytest.fixture
def own_store(store: Path, tmp_path: Path) -> Path:
    """A copy of the store that a test may break."""
    return Path(shutil.copy(store, tmp_path / "own.db"))
