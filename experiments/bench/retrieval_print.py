"""`bench retrieval` for a person."""

from typing import Any

from reflective_rag.experiments.bench import pairs
from reflective_rag.experiments.bench.critics_print import table
from reflective_rag.experiments.console import out

_COLUMNS = {
    "passages": "passages",
    "seconds": "seconds",
    "disk_mb": "on disk, MB",
    "before_mb": "memory before, MB",
    "peak_mb": "at most, MB",
    "query_ms": "query p50, ms",
    "add_seconds": "adding 100, s",
}


def show(report: dict[str, Any]) -> None:
    """The measurements and what they were made on, or the table of sizes."""
    if "growth" in report:
        table(tuple(_COLUMNS.values()), [tuple(_cell(row[key]) for key in _COLUMNS) for row in report["growth"]])
        out.print(", ".join(f"{key} {value}" for key, value in report["machine"].items()), style="dim")
        return
    pairs.show(report)
    out.print(f"vectors like those of {report['source']}", style="dim", markup=False)
    if report["dense"]:
        out.print(report["dense"]["says"], style="dim", markup=False)


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:,}"
