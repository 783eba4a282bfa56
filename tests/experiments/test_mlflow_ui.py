"""The README's command shows what was logged. It takes half a minute, so it runs where it is asked for."""

import json
import os
import shlex
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from reflective_rag.experiments.tracking import tracked

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.live
@pytest.mark.skipif(not os.environ.get("RRAG_TEST_UI"), reason="takes half a minute: set RRAG_TEST_UI=1 to run it")
def test_the_command_of_the_readme_starts_the_user_interface(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its page loads, and its interface lists the experiment of a run that was logged before."""
    monkeypatch.chdir(tmp_path)
    with tracked("one", experiment="shown", uri="sqlite:///mlflow.db", params={}):
        pass
    line = next(line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("mlflow ui"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", *shlex.split(line, comments=True), "--port", str(port), "--workers", "1"]
    with (tmp_path / "ui.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            assert "<html" in _fetched(f"http://127.0.0.1:{port}/", server)
            found = _fetched(
                f"http://127.0.0.1:{port}/api/2.0/mlflow/experiments/search", server, b'{"max_results": 9}'
            )
            assert "shown" in {each["name"] for each in json.loads(found)["experiments"]}
        finally:
            server.terminate()


def _fetched(url: str, server: "subprocess.Popen[bytes]", body: bytes | None = None) -> str:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    for _ in range(600):
        assert server.poll() is None, "the server has ended"
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                return str(reply.read().decode())
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"{url} does not answer")
