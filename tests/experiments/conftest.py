"""Every test of this folder runs in an empty folder, with keyword search alone, and leaves logging as it was."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current folder; the commands' defaults are keyword search and no tracking."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RRAG_EMBEDDER", "none")
    monkeypatch.setenv("RRAG_TRACKING", "off")
    monkeypatch.setenv("TQDM_DISABLE", "1")
    names = ("dspy", "optuna", "mlflow", "alembic", "LiteLLM", "reflective_rag", "httpx")
    levels = {name: logging.getLogger(name).level for name in names}
    yield tmp_path
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
