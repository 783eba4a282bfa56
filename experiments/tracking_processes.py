"""Runs of processes that were killed: they say RUNNING for ever, until the next command finds them and closes them.

Each run carries the machine and the process that writes it. A run is closed only where both are known for certain: it
is of this machine, and its process (by number and start, since numbers are given again) is gone.
"""

import hashlib
import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow import MlflowClient

HOST_TAG, PROCESS_TAG = "reflective_rag.host", "reflective_rag.process"
_MOST = 1000
"""Runs that are looked at; more than MLflow's default page, and no store has so many that were killed."""


def process_tags() -> dict[str, str]:
    """What a run of this process is tagged with; nothing where the process cannot be told from a later one."""
    started = _started(os.getpid())
    return {HOST_TAG: _host(), PROCESS_TAG: f"{os.getpid()} {started}"} if started else {}


def close_killed(client: "MlflowClient", experiment: str) -> list[str]:
    """Mark runs of the experiment as KILLED whose process on this machine is no more; their ids. Raises as MLflow."""
    wanted = f"attributes.status = 'RUNNING' and tags.`{HOST_TAG}` = '{_host()}'"
    gone = []
    for run in client.search_runs([experiment], filter_string=wanted, max_results=_MOST):
        number, _, started = run.data.tags.get(PROCESS_TAG, "").partition(" ")
        if number.isdecimal() and started and _is_gone(int(number), started):
            client.set_terminated(run.info.run_id, "KILLED")
            gone.append(str(run.info.run_id))
    return gone


def _is_gone(number: int, started: str) -> bool:
    """Whether the process has ended, or its number belongs to another one by now; False where that cannot be known."""
    try:
        os.kill(number, 0) if os.name == "posix" else None
    except ProcessLookupError:
        return True
    except OSError:  # it is somebody else's: it is there, or the number was given again
        pass
    now = _started(number)
    return bool(now) and now != started


@cache
def _host() -> str:
    """A digest for the machine, or the container on it: names of machines are nobody else's business."""
    parts = [platform.node(), *map(_read, ("/etc/machine-id", "/var/lib/dbus/machine-id"))]
    if not any(parts[1:]):  # names alone may be the same: then only until the machine starts anew
        parts.append(_read("/proc/sys/kernel/random/boot_id"))
    with suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))  # noqa: PTH115 - no path, but a name in brackets
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _started(number: int) -> str:
    """When a process began, in words that differ for any two processes of one number; empty where nobody knows."""
    if stat := _read(f"/proc/{number}/stat"):
        fields = stat.rpartition(")")[2].split()  # the name before it may hold spaces and brackets
        if fields[0] == "Z":
            return "ended"  # nobody has fetched its exit code yet
        return f"{_read('/proc/sys/kernel/random/boot_id')[:8]}-{fields[19]}"
    if os.name != "posix":
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        asked = ["ps", "-o", "lstart=", "-p", str(number)]
        return subprocess.run(asked, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    return ""


def _read(path: str) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return Path(path).read_text(encoding="utf-8").strip()
    return ""
