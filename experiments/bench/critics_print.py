"""`bench critics` for a person: Markdown tables of the critics and of the contradictions, and what was asked."""

from collections.abc import Iterable, Sequence
from typing import Any

from reflective_rag.experiments.console import interval, number, out

_HEAD = (
    "judgement",
    "by",
    "lang",
    "data",
    "n",
    "AUROC",
    "accuracy",
    "precision",
    "recall",
    "seconds",
    "calls",
    "tokens",
)


def show(report: dict[str, Any]) -> None:
    """Print both tables on stdout, each line whole: they go into `RESULTS.md` as they are."""
    table(_HEAD, map(_cells, report["rows"]))
    if report["contradictions"]:
        table(
            ("contradictions", "lang", "swapped", "n", "called", "precision", "recall"),
            map(_contradiction, report["contradictions"]),
        )
    out.print(report["about"], style="dim", markup=False)
    out.print(", ".join(f"{key} {value}" for key, value in report["machine"].items()), style="dim")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A Markdown table on stdout."""
    lines = [head, ["---"] * len(head), *rows]
    out.print("\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n", markup=False)


def _contradiction(row: dict[str, Any]) -> tuple[str, ...]:
    cells = (row["by"], row["lang"], row["kind"], str(row["n"]), str(row["called"]))
    return (*cells, interval(row["precision"]), number(row["recall"], 2))


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    if row.get("none"):
        return row["judgement"], row["by"], "", "", *["n/a"] * 8
    cost = row["cost"]
    tokens = cost["prompt_tokens"] + cost["completion_tokens"]
    return (
        row["judgement"],
        row["by"],
        row["lang"],
        row["dataset"],
        f"{row['n']}" + (f" (+{row['unread']} unread)" if row["unread"] else ""),
        interval(row["auroc"]),
        interval(row.get("accuracy")),
        number(row.get("precision"), 2),
        number(row.get("recall"), 2),
        number(cost["seconds"], 3),
        number(cost["calls"], 1),
        number(tokens, 0),
    )
