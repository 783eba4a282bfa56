"""A size of `bench retrieval --growth`: time, disk and memory of an index without vectors, in a process of its own."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import reflective_rag
from reflective_rag.signatures.errors import ContractError

ADDED, K = 100, 5


def measured(size: int, shared: Path) -> dict[str, Any]:
    """What `python -m reflective_rag.experiments.bench.growth SIZE SHARED` prints: memory is the process's own."""
    command = [sys.executable, "-m", "reflective_rag.experiments.bench.growth", str(size), str(shared)]
    places = [str(Path(reflective_rag.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise ContractError(f"indexing {size:,} passages failed: {done.stderr.strip()[-500:]}")
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def measure(size: int, shared: Path) -> dict[str, Any]:
    """Seconds, megabytes on disk and in memory at most, a query's p50 and the time to add passages afterwards.

    `before_mb` is what the process took with the libraries and the source loaded and nothing indexed.
    """
    from reflective_rag.data.retrieval import open_retriever
    from reflective_rag.experiments.bench.retrieval_data import gather_words

    material = gather_words(shared, 50)
    with tempfile.TemporaryDirectory() as folder:
        with open_retriever(f"local:{folder}/index", embedder="none", create=True) as index:
            index.add(material.passages(size, size + ADDED))
            before = _peak_mb()
            started = time.perf_counter()
            index.add(material.passages(0, size))
        with open_retriever(f"local:{folder}/index") as index:
            seconds, peak = time.perf_counter() - started, _peak_mb()
            queries = [_seconds(partial(index.search, question, K)) for question in material.questions]
            adding = _seconds(lambda: index.add(list(material.passages(size + ADDED, size + 2 * ADDED))))
        disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return {
        "passages": size,
        "seconds": round(seconds, 1),
        "disk_mb": round(disk / 1e6),
        "before_mb": before,
        "peak_mb": peak,
        "query_ms": round(statistics.median(queries) * 1000, 1),
        "add_seconds": round(adding, 3),
    }


def _seconds(work: Any) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _peak_mb() -> int | None:
    """The most memory that the process has had; None where the system does not say."""
    if os.name == "nt":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1e6 if sys.platform == "darwin" else 1e3))


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), Path(sys.argv[2]))))
