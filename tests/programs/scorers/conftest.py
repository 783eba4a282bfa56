"""Tiny models for the tests of this folder, built once."""

from pathlib import Path

import pytest

from tests.programs.scorers import tiny

LABELS = {"0": "CONTRADICTION", "1": "entailment", "2": "neutral"}


@pytest.fixture(scope="session")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a cross-encoder of one column."""
    tiny.require()
    return tiny.build(tmp_path_factory.mktemp("reranker"), 1)


@pytest.fixture(scope="session")
def nli_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an inference model, its columns in an order of its own, its graph in a folder below."""
    tiny.require()
    return tiny.build(tmp_path_factory.mktemp("nli"), 3, file="onnx/model.onnx", config={"id2label": LABELS})
