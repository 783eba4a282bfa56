"""Runs of killed processes are closed by the next command; living ones and other machines keep theirs."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reflective_rag.experiments.tracking import tracked
from reflective_rag.experiments.tracking_processes import HOST_TAG, PROCESS_TAG

if TYPE_CHECKING:
    from mlflow import MlflowClient

WORKER = """
import sys, time
from reflective_rag.experiments.tracking import tracked
with tracked("long", experiment=sys.argv[2], uri=sys.argv[1], params={}) as run:
    print(run.run_id, flush=True)
    time.sleep(600)
"""


def _next_command(uri: str, name: str) -> None:
    with tracked("next", experiment=name, uri=uri, params={}):
        pass


def _status(client: "MlflowClient", run_id: str) -> str:
    return str(client.get_run(run_id).info.status)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_killed_process_leaves_no_run_that_says_running(uri: str, client: "MlflowClient", name: str) -> None:
    """While it lives its run is left alone; after kill -9 the next command of the experiment closes it as KILLED."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", WORKER, uri, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            run_id = process.stdout.readline().strip()
            _next_command(uri, name)
            assert _status(client, run_id) == "RUNNING"
        finally:
            process.send_signal(signal.SIGKILL)
    _next_command(uri, name)
    assert _status(client, run_id) == "KILLED"


@pytest.mark.parametrize(
    "tags",
    [
        pytest.param({HOST_TAG: "another", PROCESS_TAG: "1 long-ago"}, id="another machine"),
        pytest.param({}, id="somebody else's run"),
        pytest.param({PROCESS_TAG: "nonsense"}, id="a process that cannot be read"),
    ],
)
def test_runs_of_which_nothing_is_known_are_left_alone(
    uri: str, client: "MlflowClient", name: str, tags: dict[str, str]
) -> None:
    """They may be at work somewhere."""
    _next_command(uri, name)
    experiment = client.get_experiment_by_name(name)
    assert experiment is not None
    run_id = client.create_run(experiment.experiment_id, tags=tags).info.run_id
    _next_command(uri, name)
    assert _status(client, run_id) == "RUNNING"


def test_a_number_that_was_given_again_is_another_process(uri: str, client: "MlflowClient", name: str) -> None:
    """The number of this process with another start: whoever wrote the run is gone."""
    with tracked("now", experiment=name, uri=uri, params={}) as run:
        tags = client.get_run(run.run_id or "").data.tags
        experiment = client.get_experiment_by_name(name)
        assert experiment is not None
        old = {HOST_TAG: tags[HOST_TAG], PROCESS_TAG: f"{os.getpid()} before"}
        run_id = client.create_run(experiment.experiment_id, tags=old).info.run_id
        _next_command(uri, name)
        assert (_status(client, run_id), _status(client, run.run_id or "")) == ("KILLED", "RUNNING")
