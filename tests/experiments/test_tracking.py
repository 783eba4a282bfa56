"""Runs in MLflow: what is written, how a run ends, and what a failing store costs. One store for the whole module."""

import contextlib
import json
import math
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reflective_rag.experiments.tracking import TrackedRun, leaderboard, tracked
from reflective_rag.optimizers.statistics import Interval
from reflective_rag.signatures.errors import DataError

if TYPE_CHECKING:
    from mlflow import MlflowClient

KEY = "s" + "k-fake-0123456789abcdef"


@pytest.fixture
def active_run(uri: str) -> Iterator[Any]:
    """A run of the caller, active in this thread and in the shared store."""
    import mlflow

    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(uri)
    with mlflow.start_run(run_name="caller") as run:
        yield run
    mlflow.set_tracking_uri(before)
    os.environ.pop("MLFLOW_TRACKING_URI", None)


def artifact(client: "MlflowClient", run_id: str | None, path: str, folder: Path) -> str:
    """The text of an artifact as MLflow hands it out."""
    return Path(client.download_artifacts(run_id or "", path, str(folder))).read_text(encoding="utf-8")


def runs_of(client: "MlflowClient", experiment: str) -> list[Any]:
    """All runs of an experiment."""
    found = client.get_experiment_by_name(experiment)
    return list(client.search_runs([found.experiment_id])) if found else []


def test_a_new_store_keeps_everything_beside_its_file(store: Path) -> None:
    """A store that did not exist is made at the path given; without artifacts the folder holds the file alone."""
    assert sorted(path.name for path in store.parent.iterdir()) == ["store.db"]


def test_artifacts_lie_beside_the_database(
    store: Path, uri: str, client: "MlflowClient", name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Artifacts of a store given by an absolute path go to `mlartifacts` beside it; the current folder stays empty."""
    monkeypatch.chdir(tmp_path)
    with tracked("run", experiment=name, uri=uri, params={}) as run:
        run.text("note", "x")
    assert (store.parent / "mlartifacts" / str(run.run_id) / "artifacts" / "note.txt").read_text() == "x"
    assert list(tmp_path.iterdir()) == []


def test_a_relative_store_is_in_the_current_folder(
    own_store: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`sqlite:///mlflow.db` names a file in the folder that is current now, not the one of an earlier run."""
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        shutil.copy(own_store, folder / "mlflow.db")
        monkeypatch.chdir(folder)
        with tracked("run", experiment=name, uri="sqlite:///mlflow.db", params={}) as run:
            run.text("note", "x")
        assert [path.name for path in (folder / "mlartifacts").iterdir()] == [run.run_id]


def test_params_metrics_and_tags_are_written(uri: str, client: "MlflowClient", name: str) -> None:
    """Strings and numbers as they print, everything else as JSON; Chinese survives; names are made acceptable."""
    params = {"策略": "自动", "seed": 0, "top": [1, 2], "recall@5": True, "recall#5": None, "rate": math.inf}
    with tracked("运行", experiment=name, uri=uri, params=params, tags={"语言": "中文"}) as run:
        run.metrics({"f1": 0.5}, step=3)
        run.tags({"later": "yes"})
        assert client.get_run(str(run.run_id)).info.status == "RUNNING"
    found = client.get_run(str(run.run_id))
    assert found.data.params == {
        "策略": "自动", "seed": "0", "top": "[1, 2]", "recall_5": "True", "recall_5_": "None", "rate": "inf"
    }  # fmt: skip
    assert (found.info.run_name, found.info.status) == ("运行", "FINISHED")
    assert (found.data.tags["语言"], found.data.tags["later"]) == ("中文", "yes")
    assert [(m.value, m.step) for m in client.get_metric_history(str(run.run_id), "f1")] == [(0.5, 3)]
    assert run.lost == 0


def test_more_fields_than_one_write_takes(uri: str, client: "MlflowClient", name: str) -> None:
    """MLflow takes 100 params at once; 250 arrive all the same, as do 250 metrics."""
    with tracked("many", experiment=name, uri=uri, params={f"p{i}": i for i in range(250)}) as run:
        run.metrics({f"m{i}": i for i in range(250)})
    data = client.get_run(str(run.run_id)).data
    assert (len(data.params), len(data.metrics), run.lost) == (250, 250, 0)


def test_only_finite_numbers_become_metrics(uri: str, client: "MlflowClient", name: str) -> None:
    """None, NaN, infinity and text are left out, not logged as 0; nested numbers get dotted names."""
    import numpy as np

    with tracked("run", experiment=name, uri=uri, params={}) as run:
        run.metrics(
            {"none": None, "nan": math.nan, "inf": math.inf, "text": "0.5", "zero": 0, "numpy": np.float32(0.5)}
        )
        run.metrics({"f1": Interval(0.4, None, 0.9, 7), "em": {"mean": 1.0}, "ok": True})
    found = client.get_run(str(run.run_id)).data.metrics
    assert found == {"zero": 0, "numpy": 0.5, "f1.mean": 0.4, "f1.high": 0.9, "f1.n": 7, "em.mean": 1.0, "ok": 1.0}
    assert run.lost == 0


def test_a_long_param_is_cut_and_kept_whole_as_an_artifact(
    uri: str, client: "MlflowClient", name: str, tmp_path: Path
) -> None:
    """Beyond 6,000 characters a param says that it is cut and where the whole text is."""
    whole = "指令 instruction " * 500
    with tracked("run", experiment=name, uri=uri, params={"program/instruction": whole, "fits": "x" * 6000}) as run:
        pass
    params = client.get_run(str(run.run_id)).data.params
    assert len(params["program/instruction"]) == 6000
    assert params["program/instruction"].endswith("whole text: params/program_instruction.txt]")
    assert artifact(client, run.run_id, "params/program_instruction.txt", tmp_path) == whole
    assert params["fits"] == "x" * 6000


def test_tables_keep_their_cells(uri: str, client: "MlflowClient", name: str, tmp_path: Path) -> None:
    """Cells keep type and text (Chinese, leading zeros, integers beside a gap); a second table gets its own name."""
    rows = [{"问题": "谁？", "n": 1, "id": "007"}, {"问题": "何时？", "score": 0.25, "cites": [{"id": "一"}]}]
    with tracked("run", experiment=name, uri=uri, params={}) as run:
        run.table("题目", rows)
        run.table("题目", [])
    table = json.loads(artifact(client, run.run_id, "题目.json", tmp_path))
    assert table["columns"] == ["问题", "n", "id", "score", "cites"]
    assert table["data"] == [["谁？", 1, "007", None, None], ["何时？", None, None, 0.25, [{"id": "一"}]]]
    assert json.loads(artifact(client, run.run_id, "题目-2.json", tmp_path))["data"] == []
    listed = json.loads(client.get_run(str(run.run_id)).data.tags["mlflow.loggedArtifacts"])
    assert listed == [{"path": "题目.json", "type": "table"}, {"path": "题目-2.json", "type": "table"}]


@pytest.mark.parametrize(
    ("given", "written"),
    [
        pytest.param("report", "report.txt", id="no suffix"),
        pytest.param("报告.md", "报告.md", id="own suffix"),
        pytest.param("dev/a.txt", "dev/a.txt", id="in a folder"),
        pytest.param("../../up", "up.txt", id="leads out"),
        pytest.param("/etc/x", "etc/x.txt", id="absolute"),
        pytest.param("a:b?c%2e", "a_b_c_2e.txt", id="special characters"),
        pytest.param("", "unnamed.txt", id="empty"),
        pytest.param("长" * 300, "长" * 60 + ".txt", id="too long"),
    ],
)
def test_names_of_artifacts_stay_inside_the_run(
    uri: str, client: "MlflowClient", tmp_path: Path, given: str, written: str
) -> None:
    """An artifact's name becomes a path inside the run that every file system takes."""
    with tracked("run", experiment="names", uri=uri, params={}) as run:
        run.text(given, "文")
    assert artifact(client, run.run_id, written, tmp_path) == "文"


def test_folders_and_files_are_copied(uri: str, client: "MlflowClient", name: str, tmp_path: Path) -> None:
    """A folder keeps its tree under the name given; a file goes into a folder of that name."""
    (tmp_path / "artefact" / "deep").mkdir(parents=True)
    (tmp_path / "artefact" / "deep" / "程序.json").write_text("{}", encoding="utf-8")
    with tracked("run", experiment=name, uri=uri, params={}) as run:
        run.folder(tmp_path / "artefact", "program")
        run.folder(tmp_path / "artefact" / "deep" / "程序.json", "single")
    (tmp_path / "out").mkdir()
    assert artifact(client, run.run_id, "program/deep/程序.json", tmp_path / "out") == "{}"
    assert artifact(client, run.run_id, "single/程序.json", tmp_path / "out") == "{}"


def test_children_are_nested_and_finished(uri: str, client: "MlflowClient", name: str, tmp_path: Path) -> None:
    """A child is a run of its own in the same experiment, tagged with its parent and closed at once."""
    with tracked("parent", experiment=name, uri=uri, params={}) as run:
        child = run.child("候选", params={"k": 1}, metrics={"f1": 1}, tables={"t": [{"a": 1}]}, texts={"x": "文"})
        found = client.get_run(str(child))
        assert (found.info.status, found.info.run_name) == ("FINISHED", "候选")
    assert found.info.experiment_id == client.get_run(str(run.run_id)).info.experiment_id
    assert found.data.tags["mlflow.parentRunId"] == run.run_id
    assert (found.data.params, found.data.metrics) == ({"k": "1"}, {"f1": 1.0})
    assert artifact(client, child, "x.txt", tmp_path) == "文"
    assert json.loads(artifact(client, child, "t.json", tmp_path)) == {"columns": ["a"], "data": [[1]]}


def test_threads_open_no_stray_runs(uri: str, client: "MlflowClient", name: str) -> None:
    """Metrics and children logged from worker threads land in this run; the experiment holds nothing else."""
    with tracked("parent", experiment=name, uri=uri, params={}) as run, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: run.metrics({f"m{i}": i}), range(8)))
        children = list(pool.map(lambda i: run.child(f"c{i}", metrics={"m": i}), range(8)))
    assert {found.info.run_id for found in runs_of(client, name)} == {run.run_id, *children}
    assert len(client.get_run(str(run.run_id)).data.metrics) == 8
    assert run.lost == 0


@pytest.mark.parametrize(
    ("error", "status"),
    [
        pytest.param(ValueError("坏 input\nsecond line"), "FAILED", id="exception"),
        pytest.param(KeyboardInterrupt(), "KILLED", id="Ctrl-C"),
        pytest.param(SystemExit(1), "KILLED", id="exit"),
    ],
)
def test_what_ends_the_block_ends_the_run(uri: str, client: "MlflowClient", error: BaseException, status: str) -> None:
    """The exception passes through unchanged; the run is closed with its class and first line in tags."""
    with pytest.raises(type(error)) as caught, tracked("run", experiment="ends", uri=uri, params={}) as run:
        raise error
    assert caught.value is error
    found = client.get_run(str(run.run_id))
    assert (found.info.status, found.data.tags["error.type"]) == (status, type(error).__name__)
    assert found.info.end_time is not None
    assert "second line" not in found.data.tags["error.message"]


def test_an_active_run_becomes_the_parent_and_stays_active(
    uri: str, client: "MlflowClient", name: str, active_run: Any
) -> None:
    """A run that the caller has active is the parent of ours, is neither ended nor written to, and is active after."""
    import mlflow

    with tracked("ours", experiment=name, uri=uri, params={"p": 1}) as run:
        run.child("child", metrics={"m": 1})
        inside = mlflow.active_run()
    assert client.get_run(str(run.run_id)).data.tags["mlflow.parentRunId"] == active_run.info.run_id
    caller = client.get_run(active_run.info.run_id)
    assert (caller.info.status, caller.data.params, caller.data.metrics) == ("RUNNING", {}, {})
    after = mlflow.active_run()
    assert inside is active_run
    assert after is active_run


def test_an_active_run_of_another_store_is_not_the_parent(own_store: Path, name: str, active_run: Any) -> None:
    """A parent that the store does not know would hide our run in MLflow's list."""
    from mlflow import MlflowClient

    address = f"sqlite:///{own_store}"
    with tracked("ours", experiment=name, uri=address, params={}) as run:
        pass
    tags = MlflowClient(tracking_uri=address).get_run(str(run.run_id)).data.tags
    assert "mlflow.parentRunId" not in tags
    assert active_run.info.status == "RUNNING"


def test_no_run_is_left_active(uri: str, name: str) -> None:
    """Neither inside nor after the block has MLflow an active run that the caller did not start."""
    import mlflow

    with tracked("run", experiment=name, uri=uri, params={}):
        assert mlflow.active_run() is None
    assert mlflow.active_run() is None


def test_no_key_reaches_the_store(
    store: Path, uri: str, client: "MlflowClient", name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key from the environment is in no file of the store, wherever it was handed in; a note stands in its place."""
    monkeypatch.setenv("FAKE_API_KEY", KEY)
    (tmp_path / "artefact").mkdir()
    (tmp_path / "artefact" / "recipe.toml").write_text(f"key = '{KEY}'\n")
    params = {"api_key": KEY, "note": f"called with {KEY}!", "lm": {"headers": {"Authorization": f"Bearer {KEY}"}}}
    params |= {KEY: "as a name", "long": "x" * 5990 + KEY}
    failing = contextlib.suppress(RuntimeError)
    with failing, tracked(f"run {KEY}", experiment=f"{name} {KEY}", uri=uri, params=params, tags={"t": KEY}) as run:
        run.table("table", [{"cell": KEY, KEY: 1, "nested": [{"deep": KEY}]}])
        run.text(f"text {KEY}", f"export FAKE_API_KEY={KEY}")
        run.folder(tmp_path / "artefact", "folder")
        run.child(f"child {KEY}", params=params, tables={"t": [{"c": KEY}]}, texts={"x": KEY})
        raise RuntimeError(f"401: wrong key {KEY}")
    leaks = [
        path
        for path in store.parent.rglob("*")
        if KEY in path.name or (path.is_file() and KEY.encode() in path.read_bytes())
    ]
    assert leaks == []
    found = client.get_run(str(run.run_id)).data
    assert (found.params["api_key"], found.params["note"]) == ("[removed]", "called with [removed]!")
    assert found.tags["error.message"] == "401: wrong key [removed]"
    assert artifact(client, run.run_id, "folder/recipe.toml", tmp_path) == "key = '[removed]'\n"
    assert (tmp_path / "artefact" / "recipe.toml").read_text() == f"key = '{KEY}'\n"
    assert run.lost == 0


def test_off_does_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `off` the run is of the same type, has no id, takes every call and leaves no file."""
    monkeypatch.chdir(tmp_path)
    with tracked("run", experiment="e", uri="off", params={"a": 1}, tags={"t": "v"}) as run:
        run.params({"b": object()})
        run.metrics({"m": 1})
        run.tags({"t": "v"})
        run.table("t", [{"a": 1}])
        run.text("t", "x")
        run.folder("missing", "f")
        child = run.child("c", params={"a": 1})
    assert isinstance(run, TrackedRun)
    assert (run.run_id, child, run.lost, list(tmp_path.iterdir())) == (None, None, 0, [])
    assert leaderboard("e", "off") == []
    with pytest.raises(KeyError), tracked("run", experiment="e", uri="off", params={}):
        raise KeyError


def test_the_leaderboard_reads_runs_back(uri: str, name: str) -> None:
    """Parents and children with params, metrics, status and times; an unknown experiment lists those that exist."""
    with tracked("parent", experiment=name, uri=uri, params={"seed": 1}) as run:
        run.child("child", metrics={"f1": 0.5})
        running = {row["name"]: row for row in leaderboard(name, uri)}
    rows = {row["name"]: row for row in leaderboard(name, uri)}
    assert (running["parent"]["status"], running["parent"]["seconds"]) == ("RUNNING", None)
    assert (rows["parent"]["status"], rows["parent"]["params"]) == ("FINISHED", {"seed": "1"})
    assert (rows["parent"]["parent_run_id"], rows["child"]["parent_run_id"]) == (None, run.run_id)
    assert rows["child"]["metrics"] == {"f1": 0.5}
    assert rows["parent"]["seconds"] >= 0
    with pytest.raises(DataError, match=r"no experiment 'unknown'.*`made`"):
        leaderboard("unknown", uri)


def test_reading_makes_no_store(tmp_path: Path) -> None:
    """A leaderboard of a store that does not exist is an error and makes none."""
    with pytest.raises(DataError, match="there is no MLflow store"):
        leaderboard("e", f"sqlite:///{tmp_path / 'none.db'}")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_printed(uri: str, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A run prints nothing: `--json` output stays JSON."""
    with tracked("run", experiment=name, uri=uri, params={"a": 1}) as run:
        run.child("c", metrics={"m": 1})
    assert "".join(capfd.readouterr()) == ""


def test_an_abandoned_run_is_closed_by_the_one_that_goes_on(uri: str, client: "MlflowClient", name: str) -> None:
    """A killed process leaves RUNNING for ever; one that ended keeps its status, and an unknown id is only counted."""
    with tracked("ended", experiment=name, uri=uri, params={}) as ended:
        pass
    killed = client.create_run(client.get_run(str(ended.run_id)).info.experiment_id).info.run_id
    with tracked("next", experiment=name, uri=uri, params={}, abandoned=[killed, str(ended.run_id), "0" * 32]) as run:
        assert client.get_run(killed).info.status == "KILLED"
    assert client.get_run(str(ended.run_id)).info.status == "FINISHED"
    assert run.lost == 1
