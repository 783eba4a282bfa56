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


def show(report: dict[str, Any]) -> None:
    """Print the lines of a report, and what it ran on."""
    from rich.table import Table

    from reflective_rag.experiments.console import out, print_whole

    table = Table("measurement", "ours s", "bare s", "ratio", "range", "target", "met", "n")
    for row in report["rows"]:
        table.add_row(
            row["name"],
            f"{row['ours_seconds']:.4f}",
            f"{row['bare_seconds']:.4f}",
            _ratio(row["ratio"]),
            f"{_ratio(row['lowest'])}-{_ratio(row['highest'])}",
            row["target"],
            "yes" if row["met"] else "NO",
            str(row["n"]),
        )
    print_whole(table)
    out.print(", ".join(f"{key} {value}" for key, value in report["machine"].items()), style="dim")


def _ratio(value: float) -> str:
    """Two digits after the point, of small ones the first two that say something."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
