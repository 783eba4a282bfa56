"""Rules for every test: no network, no keys, nothing left over from the test before, files only in a temporary folder.

The environment is set before anything imports DSPy, since DSPy and LiteLLM read it while they are imported.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_TEMPORARY = tempfile.TemporaryDirectory(prefix="reflective-rag-tests-", ignore_cleanup_errors=True)
# Where the user's own cache is, read before `RRAG_CACHE` is pointed elsewhere: downloaded models stay usable. A worker
# of pytest-xdist inherits the environment that its controller has changed, so the controller leaves it a note.
_OWN_CACHE = os.environ.setdefault("RRAG_TEST_OWN_CACHE", os.environ.get("RRAG_CACHE", "~/.cache/reflective-rag"))
_USER_CACHES = [
    Path(_OWN_CACHE).expanduser(),
    Path(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "reflective-rag").expanduser(),
]


def _prepare_environment() -> None:
    """Take away keys, addresses and settings of the user; make every library quiet and local."""
    personal = re.compile(
        r".*_(API_KEY|API_BASE|BASE_URL|API_TOKEN|ACCESS_KEY|SECRET_KEY)|HF_TOKEN|HUGGING_FACE_HUB_TOKEN|MLFLOW_.*|RRAG_.*"
        r"|LANGCHAIN_.*|LANGSMITH_.*"
    )
    meant_for_tests = re.compile(r"RRAG_SHARED|RRAG_TINY_GGUF|RRAG_TEST_.*")
    for name in [name for name in os.environ if personal.fullmatch(name) and not meant_for_tests.fullmatch(name)]:
        del os.environ[name]
    os.environ.update(
        DO_NOT_TRACK="true",
        DSPY_CACHEDIR=str(Path(_TEMPORARY.name, "dspy")),
        HAYSTACK_TELEMETRY_ENABLED="false",
        HF_HOME=str(Path(_TEMPORARY.name, "huggingface")),
        HF_HUB_OFFLINE="1",  # otherwise a hub data set takes 23 s to fail
        LITELLM_LOCAL_MODEL_COST_MAP="True",  # otherwise DSPy and LiteLLM fetch a price list
        MLFLOW_DISABLE_TELEMETRY="true",
        RRAG_CACHE=str(Path(_TEMPORARY.name, "cache")),
        RUST_LOG="error",  # LanceDB warns about score columns at every query
    )


_prepare_environment()
# `python -m pytest` puts the checkout on the path, which would make bare `data`, `programs`, … importable.
sys.path[:] = [entry for entry in sys.path if Path(entry or os.curdir).resolve() != ROOT]

import copy
import importlib
import ipaddress
import logging
import random
import socket
from collections.abc import Iterator
from typing import Any

import dspy
import pytest

# The module; the attribute of the same name in its package is the object `dspy.settings`.
dspy_settings: Any = importlib.import_module("dspy.dsp.utils.settings")


def pytest_sessionfinish() -> None:
    """Remove the session's temporary folder."""
    _TEMPORARY.cleanup()


def _is_local(host: Any) -> bool:
    if host in (None, "", b"", "localhost", b"localhost", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host).partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Refuse every look-up and connection that leaves this machine, unless the test is marked `live`.

    The failure passes through `except Exception`; where a thread swallows it, the test fails at its end. Sockets of
    compiled libraries (gRPC, LanceDB) are out of reach. Yields the refused addresses; a test may clear the list.
    """
    refused: list[str] = []
    if request.node.get_closest_marker("live"):
        yield refused
        return

    def check(host: Any, what: str) -> None:
        if not _is_local(host):
            refused.append(f"{what} {host!r}")
            pytest.fail(
                f"network use in a test ({what} {host!r}): use `fake_lm` or a loopback server, or mark it `live`"
            )

    def guard_address(name: str) -> None:
        real = getattr(socket.socket, name)

        def guarded(self: socket.socket, *args: Any) -> Any:
            address = args[-1]
            if self.family in (socket.AF_INET, socket.AF_INET6) and isinstance(address, tuple):
                check(address[0], name)
            return real(self, *args)

        monkeypatch.setattr(socket.socket, name, guarded)

    def guard_lookup(name: str) -> None:
        real = getattr(socket, name)

        def guarded(host: Any, *args: Any, **kwargs: Any) -> Any:
            check(host, name)
            return real(host, *args, **kwargs)

        monkeypatch.setattr(socket, name, guarded)

    for name in ("connect", "connect_ex", "sendto"):
        guard_address(name)
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
        guard_lookup(name)
    yield refused
    if refused:
        pytest.fail(f"network use in a test, in another thread or caught: {'; '.join(refused)}")


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Fail a test that leaves the process silenced: the tests after it in the same worker would miss warnings."""
    ours = logging.getLogger("reflective_rag")
    before = logging.root.manager.disable, ours.level, ours.propagate
    yield
    after = logging.root.manager.disable, ours.level, ours.propagate
    logging.disable(before[0])
    ours.setLevel(before[1])
    ours.propagate = before[2]
    if after != before:
        pytest.fail(f"the test changed logging for the whole process: (disabled up to, level, propagate) {after}")


@pytest.fixture(autouse=True)
def fresh_dspy() -> Iterator[None]:
    """Give each test DSPy's default settings and an empty cache in memory, none on disk; seed `random`."""
    _reset_dspy()
    random.seed(0)
    yield
    _reset_dspy()


def _reset_dspy() -> None:
    # Whoever calls `dspy.configure` first owns it; the owner may have been a thread or task of an earlier test.
    dspy_settings.config_owner_thread_id = None
    dspy_settings.config_owner_async_task = None
    dspy_settings.main_thread_config.clear()
    dspy.configure(**copy.deepcopy(dspy_settings.DEFAULT_CONFIG))
    dspy_settings.config_owner_thread_id = None
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)


@pytest.fixture
def shared_data() -> Path:
    """The labelled data in `shared/data` beside the checkout (or under `RRAG_SHARED`); skips where it is missing."""
    shared = Path(os.environ.get("RRAG_SHARED") or ROOT.parent / "shared")
    if not (shared / "data").is_dir():
        pytest.skip(f"needs the labelled data of `{shared.name}/data`, set RRAG_SHARED to the folder that holds `data`")
    return shared / "data"


@pytest.fixture(scope="session")
def tiny_gguf() -> Path:
    """A tiny GGUF model for tests marked `model`: `RRAG_TINY_GGUF`, else SmolLM2 in the user's cache; skips without."""
    if named := os.environ.get("RRAG_TINY_GGUF"):
        return Path(named)
    found = [path for cache in _USER_CACHES for path in sorted((cache / "models").glob("*.gguf"))]
    for path in found:
        if "smollm2" in path.name.lower():
            return path
    pytest.skip("needs a tiny GGUF model: run `make test-model`, or set RRAG_TINY_GGUF to a file")
