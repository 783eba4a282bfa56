"""A comparison's cost and selective answering for people."""

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from reflective_rag.experiments.console import number, short
from reflective_rag.experiments.efficiency import cost_column

COSTS = (
    ("retrievals", "retrievals", 2),
    ("lm_calls", "model calls", 2),
    ("prompt_tokens", "prompt tokens", 0),
    ("completion_tokens", "completion tokens", 0),
    ("tokens", "tokens", 0),
    ("read_tokens", "tokens read", 0),
    ("seconds", "seconds / question", 2),
)
"""Name, label, digits."""
MODEL = ("lm_calls", "prompt_tokens", "completion_tokens", "tokens")
"""Costs of asking a model, left out where none was asked."""


def tables(systems: Sequence[dict[str, Any]], baseline: str, *, recorded: bool = False) -> list[Table]:
    """Efficiency, phases, selective answering, and equal cost where it was measured."""
    asked = cost_column(systems) == "tokens"
    found = [_costs(systems, baseline, asked, recorded), _phases(systems, asked, recorded)]
    found.append(_selective(systems, baseline))
    if any("equal_cost" in each for each in systems):
        found.append(_equal_cost(systems, baseline))
    return found


def _table(title: str, headers: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE)
    for header in headers:
        table.add_column(header, no_wrap=True)
    return table


def _costs(systems: Sequence[dict[str, Any]], baseline: str, asked: bool, recorded: bool) -> Table:
    table = _table(f"cost a question ({baseline} = 100 %)", ["", *(each["system"] for each in systems)])
    for name, label, digits in COSTS:
        if (name in MODEL and not asked) or (name == "seconds" and recorded):
            continue
        costs = [each["efficiency"][name] for each in systems]
        shares = ["" if cost["percent"] is None else f" ({cost['percent']:.0f} %)" for cost in costs]
        table.add_row(label, *(short(cost, digits) + share for cost, share in zip(costs, shares, strict=True)))
    return table


def _phases(systems: Sequence[dict[str, Any]], asked: bool, recorded: bool) -> Table:
    table = _table("by phase, means a question", ["phase", *(each["system"] for each in systems)])
    for phase in dict.fromkeys(name for each in systems for name in each["efficiency"]["phases"]):
        table.add_row(phase, *(_phase(each["efficiency"]["phases"].get(phase), asked, recorded) for each in systems))
    return table


def _phase(cost: dict[str, float] | None, asked: bool, recorded: bool) -> str:
    if cost is None:
        return "–"
    tokens = f"{number(cost['calls'], 2)} calls, {cost['prompt_tokens']:.0f} + {cost['completion_tokens']:.0f} tokens"
    seconds = f"{cost['seconds']:.3f} s"
    return ", ".join([*([tokens] if asked else []), *([] if recorded else [seconds])]) or "–"


def _selective(systems: Sequence[dict[str, Any]], baseline: str) -> Table:
    coverages = list(systems[0]["selective"]["selective_accuracy"])
    headers = ["system", "ranked by", "AURC", f"− {baseline}"]
    for coverage in coverages:
        headers += [f"accuracy at {coverage}", f"− {baseline}"]
    table = _table("selective answering: the surest first, those without an answer last and wrong", headers)
    for each in systems:
        unsure = each["selective"]
        row = [unsure["by"].replace("_", " "), short(unsure["aurc"], 3)]
        row.append(short(unsure["differences"].get("aurc"), 3, "+"))
        for coverage in coverages:
            row.append(short(unsure["selective_accuracy"][coverage], 2))
            row.append(short(unsure["differences"].get(f"accuracy at {coverage}"), 2, "+"))
        table.add_row(each["system"], *row)
    return table


def _equal_cost(systems: Sequence[dict[str, Any]], baseline: str) -> Table:
    told = [each for each in systems if "equal_cost" in each]
    what = "tokens" if told[0]["equal_cost"]["cost"] == "tokens" else "tokens read"
    headers = ("system", what, f"{baseline} spends", "at k", "F1 there", "F1 − that", "as good at", "for")
    table = _table(f"{baseline} at equal {what}, and what it needs to be as good", headers)
    for each in told:
        both, same, good = each["equal_cost"], each["equal_cost"]["equal_cost"], each["equal_cost"]["equal_quality"]
        spent = [number(both["spent"], 0), number(same["spent"], 0), str(same["k"])]
        scores = [short(same["f1"], 2), short(same["differences"].get("f1"), 2, "+")]
        table.add_row(each["system"], *spent, *scores, *_needs(good))
    return table


def over_data_table(rows: Sequence[dict[str, Any]], baseline: str) -> Table:
    """On how many data sets a system is better or worse than the baseline, figure by figure, and where it is worst."""
    headers = ("figure", "system", "better", "unclear", "worse", "worst on")
    table = _table(f"against {baseline}, data sets counted: better and worse mean an interval without 0", headers)
    for row in rows:
        worst = f"{row['worst']['data']} {short(row['worst'], 2, '+')}"
        table.add_row(row["figure"], row["system"], *(str(row[name]) for name in ("better", "unclear", "worse")), worst)
    return table


def _needs(good: dict[str, Any]) -> tuple[str, str]:
    if good["k"] is None:
        return "never", f"best {good['best']['f1']:.2f} at k {good['best']['k']}"
    percent = "" if good["percent"] is None else f" ({good['percent']:.0f} %)"
    return f"k {good['k']}", f"{number(good['spent'], 0)}{percent}"
