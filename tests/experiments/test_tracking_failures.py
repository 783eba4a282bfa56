"""What a store that fails, goes away or refuses a write costs: a warning, and never the work."""

import logging
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest

from reflective_rag.experiments import tracking_recorder
from reflective_rag.experiments.tracking import leaderboard, tracked
from reflective_rag.signatures.errors import DataError

if TYPE_CHECKING:
    from mlflow import MlflowClient


def test_a_deleted_experiment_is_an_error_that_says_how_to_restore_it(
    uri: str, client: "MlflowClient", name: str
) -> None:
    """Runs that someone deleted do not come back unasked; the message names the command."""
    client.delete_experiment(number := client.create_experiment(name))
    expected = pytest.raises(DataError, match=f"was deleted.*experiments restore -x {number}")
    with expected, tracked("run", experiment=name, uri=uri, params={}):
        pytest.fail("the block ran")


def test_a_write_that_is_not_taken_is_counted(
    uri: str, client: "MlflowClient", name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A missing folder and a second value of a param are counted, told once and noted on the run; the rest stays."""
    with caplog.at_level(logging.WARNING), tracked("run", experiment=name, uri=uri, params={"a": 1}) as run:
        run.folder("missing folder", "f")
        run.params({"a": 2, "b": 3})
        run.params({"a": 1})
    found = client.get_run(str(run.run_id))
    assert (run.lost, found.data.tags["tracking.lost"], found.data.params) == (2, "2", {"a": "1", "b": "3"})
    assert found.info.status == "FINISHED"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "missing folder" in caplog.text


def test_a_store_that_goes_away_does_not_stop_the_work(
    own_store: Path, name: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """With the store deleted in the middle the block runs to its end; every lost write counts, one warning tells it."""
    done = False
    with tracked("run", experiment=name, uri=f"sqlite:///{own_store}", params={}) as run:
        own_store.unlink()
        run.metrics({"f1": 1.0})
        run.table("t", [{"a": 1}])
        assert run.child("c") is None
        done = True
    assert done
    assert run.lost >= 3
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_store_that_is_slow_to_fail_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a slow failure writes are counted without being tried, except the end of a run; a success resets it."""
    monkeypatch.setattr(tracking_recorder, "_SLOW_SECONDS", -1.0)
    recorder = tracking_recorder.Recorder(MagicMock(), "1")
    tried: list[str] = []

    def broken() -> None:
        tried.append("first")
        raise OSError

    recorder.attempt("broken", broken)
    recorder.attempt("skipped", lambda: tried.append("second"))
    recorder.attempt("end", lambda: tried.append("end"), insist=True)
    recorder.attempt("after", lambda: tried.append("after"))
    assert (tried, recorder.lost) == (["first", "end", "after"], 2)


def test_a_store_that_goes_away_hides_no_exception(own_store: Path, name: str) -> None:
    """The block's own exception comes out, not one of the store that could not take the end of the run."""

    def work() -> None:
        own_store.unlink()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), tracked("run", experiment=name, uri=f"sqlite:///{own_store}", params={}):
        work()


def test_a_store_is_made_anew_after_it_was_deleted(store: Path, own_store: Path, name: str, tmp_path: Path) -> None:
    """A process that used a store can use a new file at the same path: nothing goes into the file that is gone."""
    address = f"sqlite:///{own_store}"
    with tracked("old", experiment=name, uri=address, params={}):
        pass
    own_store.unlink()
    shutil.copy(store, own_store)
    with tracked("new", experiment=name, uri=address, params={}) as run:
        run.metrics({"m": 1})
    assert run.lost == 0
    assert [row["name"] for row in leaderboard(name, address)] == ["new"]
