"""`bench recall` for a person: one Markdown table a pool, ready for `RESULTS.md`."""

from typing import Any

from reflective_rag.experiments.bench.critics_print import table
from reflective_rag.experiments.bench.recall import AT
from reflective_rag.experiments.console import interval, out


def show(report: dict[str, Any]) -> None:
    """Print a table of each pool and what was searched."""
    for name, passages in report["passages"].items():
        rows = [row for row in report["rows"] if row["pool"] == name]
        methods = list(dict.fromkeys(column.partition("@")[0] for row in rows for column in row["recall"]))
        columns = [f"{method}@{k}" for k in AT for method in methods]
        what = "all files as one corpus" if name == "all" else "each file's own passages"
        out.print(f"{what}, {passages:,} passages\n", markup=False)
        cells = [
            (row["data"], str(row["n"]), *(interval(row["recall"][c]) if c in row["recall"] else "" for c in columns))
            for row in rows
        ]
        table(("data", "n", *columns), cells)
    left = max((row["unlabelled"] for row in report["rows"]), default=0)
    about = f"embedder {report['embedder']}, seed {report['seed']}, {left} question(s)"
    about += " without a supporting passage left out"
    out.print(about, style="dim", markup=False)
    out.print(", ".join(f"{key} {value}" for key, value in report["machine"].items()), style="dim")
