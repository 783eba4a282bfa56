"""A calibration in two tables: how good the confidence is, and where to abstain."""

from typing import Any

from rich.table import Table

from reflective_rag.experiments.console import interval, number

_MEASURES = {"auroc": "AUROC ↑", "ece": "ECE ↓", "brier": "Brier ↓", "aurc": "AURC ↓", "augrc": "AUGRC ↓"}
_RULES = {"selective": "of the answers, wrong (selective)", "joint": "of all questions, answered and wrong (joint)"}


def quality_table(document: dict[str, Any]) -> Table:
    """One row a kind of confidence, on the same answers; intervals of 95 %."""
    title = (
        f"{document['program']} ({document['lm']}): {document['answered']} answers, {document['right']} right "
        f"({document['correct']}), {document['abstained']} abstained, {document['failed']} failed"
    )
    table = Table(title=title, title_justify="left")
    table.add_column("confidence")
    for label in _MEASURES.values():
        table.add_column(label, overflow="fold")
    rows = {f"calibrated ({document['method']})": document["after"], **document["baselines"]}
    for name, measured in rows.items():
        table.add_row(name, *(interval(measured[key]) for key in _MEASURES))
    table.add_row("calibrated - confidence", *(interval(document["differences"][key]) for key in _MEASURES))
    for name, without in document["ablation"].items():
        table.add_row(f"without {name}: change", *(interval(without.get(key)) for key in _MEASURES))
    return table


def risk_table(document: dict[str, Any]) -> Table:
    """One row a wanted risk and rule."""
    table = Table(title="where to abstain", title_justify="left")
    for header in ("risk", "of what", "abstain below", "coverage", "seen", "labels"):
        table.add_column(header, overflow="fold")
    for each in document["risks"]:
        table.add_row(
            f"{each['risk']:g}",
            _RULES[each["rule"]],
            "cannot be kept" if each["abstain_below"] is None else f"{each['abstain_below']:.3f}",
            number(each["coverage"], 2),
            number(each["observed"], 3),
            str(each["n"]),
        )
    return table
