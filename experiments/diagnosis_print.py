"""A diagnosis for a person: kinds of failure with their shares, examples, and what to work on next."""

import re
from collections.abc import Mapping
from typing import Any

from rich.table import Table

from reflective_rag.experiments.console import interval

SHOWN = 160
"""Characters of a text in an example."""


def kinds_table(document: Mapping[str, Any]) -> Table:
    """One row a kind, in the order of the pipeline."""
    wrong = document["wrong"]
    title = f"{wrong['count']} of {document['n']} questions went wrong (right: {document['correct']})"
    table = Table(title=title, title_justify="left")
    for header in ("failure", "n", "share", "what it means"):
        table.add_column(header, overflow="fold")
    for kind, about in document["kinds"].items():
        table.add_row(kind, str(about["count"]), interval(about["share"]), about["means"])
    return table


def example_lines(document: Mapping[str, Any]) -> list[str]:
    """A few questions of each kind."""
    lines = []
    for kind, about in document["kinds"].items():
        lines.append(f"{kind}:")
        for each in about["examples"]:
            lines.append(f"  {each['record_id']}: {_cut(each['question'])}")
            answers = " / ".join(each["answers"]) or "none can be given"
            said = each["error"] or each["answer"] or "no answer"
            lines.append(f"    said {_cut(said)!r}, expected {_cut(answers)!r}, stopped by {each['stop_reason']}")
            if each["missed"]:
                lines.append(f"    not read: {_cut('; '.join(each['missed']))}")
    return lines


def next_words(brief: Mapping[str, Any]) -> str:
    """What to work on next, in a line; empty where nothing went wrong."""
    found = brief["next"]
    if found is None:
        return ""
    count = brief["kinds"][found["kind"]]
    count = count["count"] if isinstance(count, Mapping) else count
    work = [*found["settings"], *(f"predictor {_code(name)}" for name in found["predictors"])]
    listed = ", ".join(each if each.startswith("predictor ") else _code(each) for each in work)
    work_on = f"to work on: {listed}" if listed else "this program has no setting for it"
    return f"the most frequent failure is `{found['kind']}` ({count} of {brief['n']} questions); {work_on}"


def _code(name: str) -> str:
    """A name as code, with what stands in brackets behind it outside; words stay words."""
    return re.sub(r"^(-{0,2}[a-z_.-]+)(?= \(|$)", r"`\1`", name)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
