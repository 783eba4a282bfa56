"""`evaluate --tracking`: an evaluation as an MLflow run."""

from pathlib import Path
from typing import Any

import pytest

from tests.experiments.helpers import records, run, run_json, write_jsonl


@pytest.fixture
def data(workplace: Path) -> Path:
    """Six questions."""
    return write_jsonl(workplace / "dev.jsonl", records())


def test_an_evaluation_is_logged_where_a_store_is_named(data: Path) -> None:
    """Scores with intervals, the rows, and why answers were wrong; the id of the run stands in JSON."""
    from mlflow import MlflowClient

    uri = "sqlite:///store.db"
    document: Any = run_json("evaluate", "--program", "naive", "--data", data, "--lm", "rules", "--tracking", uri)
    client = MlflowClient(tracking_uri=uri)
    found = client.get_run(document["run_id"])
    assert (found.info.status, found.data.tags["kind"]) == ("FINISHED", "evaluate")
    assert found.data.metrics["f1"] == pytest.approx(document["f1"]["mean"])
    assert found.data.metrics["f1_low"] == pytest.approx(document["f1"]["low"])
    assert (found.data.params["program"], found.data.params["n"]) == ("naive", "6")
    failures = {name: value for name, value in found.data.metrics.items() if name.startswith("failures.")}
    assert sum(failures.values()) == sum(document["diagnosis"]["kinds"].values())


def test_without_a_store_nothing_is_logged(data: Path) -> None:
    """The default; a store that cannot be written is one clear error after the scores are kept."""
    document = run_json("evaluate", "--program", "naive", "--data", data, "--lm", "rules", "--rows", "rows.jsonl")
    assert "run_id" not in document
    assert not Path("mlflow.db").exists()
    Path("bad.db").write_text("no database " * 200, encoding="utf-8")
    done = run("evaluate", "--program", "naive", "--data", data, "--lm", "rules", "--tracking", "sqlite:///bad.db")
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
