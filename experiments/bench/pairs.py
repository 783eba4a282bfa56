"""Two ways of doing the same work, timed in turn in one run: their ratio is what a benchmark reports."""

import statistics
import time
from collections.abc import Callable
from typing import Any


def alternate(
    ours: Callable[[], Any], bare: Callable[[], Any], repeats: int, *, inner: int
) -> list[tuple[float, float]]:
    """Seconds per call of both, in turn so that a busy machine slows both; the first pair warms up and is left out."""

    def timed(work: Callable[[], Any]) -> float:
        started = time.perf_counter()
        for _ in range(inner):
            work()
        return (time.perf_counter() - started) / inner

    return [(timed(ours), timed(bare)) for _ in range(repeats + 1)][1:]


def row_of(name: str, pairs: list[tuple[float, float]], target: str, met: Callable[[float], bool]) -> dict[str, Any]:
    """One line of the report: medians in seconds, the median ratio with its range, and whether it meets the target."""
    ratios = [ours / bare for ours, bare in pairs]
    ratio = statistics.median(ratios)
    return {
        "name": name,
        "ours_seconds": round(statistics.median(ours for ours, _ in pairs), 5),
        "bare_seconds": round(statistics.median(bare for _, bare in pairs), 5),
        "ratio": round(ratio, 3),
        "lowest": round(min(ratios), 3),
        "highest": round(max(ratios), 3),
        "target": target,
        "met": met(ratio),
        "n": len(pairs),
    }
