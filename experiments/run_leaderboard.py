"""A leaderboard of runs that are in MLflow: ranked by F1, with paired differences to the first, and what each cost."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reflective_rag.experiments.console import interval
from reflective_rag.experiments.run_entries import COSTS, COUNTS, SCORES, Entry, entries_of
from reflective_rag.optimizers.statistics import paired_difference
from reflective_rag.programs.artefact_files import write_file
from reflective_rag.signatures.errors import DataError

PAIRED = ("f1", "em", "containment", "tokens", "retrievals")
"""Columns of the rows whose differences are shown."""


def ranking(runs: Sequence[str], *, experiment: str, split: str, uri: str) -> dict[str, Any]:
    """The leaderboard as JSON: `entries` by F1, `candidates` of the compiles by their score on val, `notes`.

    The baseline is the first system of all: of the first run, the program before its compile, or the first one of its
    comparison. Differences are paired on the questions that both were asked; `n` says how many.

    Raises:
        DataError: The store, experiment or a run does not exist, or nothing in them has scores.
    """
    found, notes = entries_of(runs, experiment, split, uri)
    measured = _without_repeats([entry for entry in found if entry.role != "candidate"])
    if not measured:
        what = "these runs have" if runs else f"the experiment {experiment!r} has"
        raise DataError(f"{what} no scores on {split!r}; `compile` and `compare` log some")
    base = measured[0]
    entries = [_line(entry, base) for entry in measured]
    if alone := [line["name"] for line in entries if not line["baseline"] and not line["differences"]]:
        notes.append(f"no question in common with the baseline: {', '.join(alone)}")
    if len({frozenset(_asked(entry)) for entry in measured if entry.rows}) > 1:
        notes.append("these were not all asked the same questions: the means do not compare, the differences do")
    candidates = [entry for entry in found if entry.role == "candidate"]
    return {
        "experiment": None if runs else experiment,
        "split": split,
        "baseline": base.name,
        "entries": sorted(entries, key=lambda line: -(line["scores"].get("f1") or {}).get("mean", 0.0)),
        "candidates": [_candidate(entry) for entry in sorted(candidates, key=lambda entry: -(entry.val or 0.0))],
        "notes": notes,
    }


def _without_repeats(entries: Sequence[Entry]) -> list[Entry]:
    """Compiles of one program have one baseline: later ones that gave the same answers are left out."""
    kept, seen = [], set()
    for entry in entries:
        key = tuple((row.get("record_id"), row.get("answer"), row.get("tokens")) for row in entry.rows)
        if entry.role == "baseline" and key and key in seen:
            continue
        seen.add(key)
        kept.append(entry)
    return kept


def _line(entry: Entry, base: Entry) -> dict[str, Any]:
    params = {name: entry.params.get(name) for name in ("program", "strategy", "lm")}
    return {
        "name": entry.name,
        "role": entry.role,
        "baseline": entry is base,
        "run_id": entry.run_id,
        **params,
        "scores": dict(entry.scores),
        **dict(entry.numbers),
        "differences": {} if entry is base else _differences(entry, base),
        "spent": dict(entry.spent),
    }


def _differences(entry: Entry, base: Entry) -> dict[str, Any]:
    """Column → mean of (entry − baseline) with its interval, over the questions that both were asked."""
    other, mine = _asked(base), _asked(entry)
    pairs = [(row, other[key]) for key, row in mine.items() if key in other]
    found = {}
    for column in PAIRED:
        told = [(a[column], b[column]) for a, b in pairs if _number(a.get(column)) and _number(b.get(column))]
        if told:
            found[column] = paired_difference([float(a) for a, _ in told], [float(b) for _, b in told]).to_dict()
    return found


def _asked(entry: Entry) -> dict[tuple[Any, Any], Mapping[str, Any]]:
    """Id and question → row."""
    return {(row.get("record_id"), row.get("question")): row for row in entry.rows}


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and value == value


def _candidate(entry: Entry) -> dict[str, Any]:
    return {"name": entry.name, "run_id": entry.run_id, "val": entry.val, "params": dict(entry.params)}


HEADERS = ("", "program", "model", "n", "F1", "difference", "EM", "tokens", "calls", "searches", "failed", "compile")


def cells(document: Mapping[str, Any]) -> list[list[str]]:
    """The lines of the table for people, under `HEADERS`."""
    return [_cells(line) for line in document["entries"]]


def _cells(line: Mapping[str, Any]) -> list[str]:
    gain = "baseline" if line["baseline"] else _signed(line["differences"].get("f1"), line.get("n"))
    numbers = [_shown(line.get(name), digits) for name, digits in zip(COSTS, (0, 1, 1), strict=True)]
    scores = line["scores"]
    return [
        line["name"],
        " by ".join(
            part for part in (line["program"], line["strategy"] if line["role"] == "compiled" else None) if part
        ),
        line["lm"] or "",
        _shown(line.get("n"), 0),
        interval(scores.get("f1")),
        gain,
        interval(scores.get("em")),
        *numbers,
        _shown(line.get("failed"), 0),
        _spent(line["spent"]),
    ]


def _signed(value: Mapping[str, Any] | None, n: float | None) -> str:
    """A difference with its sign; on how many questions, where that is not all of them."""
    if not value or value["mean"] is None:
        return "n/a"
    ends = "" if value["low"] is None else f" [{value['low']:+.3f}, {value['high']:+.3f}]"
    return f"{value['mean']:+.3f}{ends}" + ("" if value["n"] == n else f" (n {value['n']})")


def _shown(value: float | None, digits: int) -> str:
    return "n/a" if value is None else f"{value:,.{digits}f}"


def _spent(spent: Mapping[str, float]) -> str:
    if not spent.get("calls"):
        return ""
    tokens = spent.get("prompt_tokens", 0) + spent.get("completion_tokens", 0)
    money = f", ${spent['dollars']:.2f}" if "dollars" in spent else ""
    return f"{spent['calls']:,.0f} calls, {tokens:,.0f} tokens{money}"


def markdown(document: Mapping[str, Any]) -> str:
    """The leaderboard, and the candidates where there are some, as Markdown."""
    lines = [_row(HEADERS), _row(["---"] * len(HEADERS)), *(_row(row) for row in cells(document))]
    text = [f"Differences are to {document['baseline']}, paired on the same questions; intervals at 95 %.", ""]
    if document["candidates"]:
        lines += ["", _row(("candidate", "score on val")), _row(("---", "---"))]
        lines += [_row((each["name"], f"{each['val']:.3f}")) for each in document["candidates"]]
    return "\n".join([*text, *lines, ""])


def _row(values: Sequence[str]) -> str:
    return "| " + " | ".join(str(value).replace("|", "\\|").replace("\n", " ") for value in values) + " |"


def as_csv(document: Mapping[str, Any]) -> str:
    """One line an entry and candidate, every number in a column of its own; what is not known is empty."""
    ends = ("mean", "low", "high")
    names = ["name", "role", "baseline", "run_id", "program", "strategy", "lm", *COUNTS]
    names += [f"{score}_{end}" for score in SCORES for end in ends] + list(COSTS)
    names += [f"difference_{column}_{end}" for column in PAIRED for end in (*ends, "n")]
    names += ["spent_calls", "spent_prompt_tokens", "spent_completion_tokens", "spent_dollars", "val"]
    out = io.StringIO()
    writer = csv.DictWriter(out, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for line in document["entries"]:
        flat = {f"{score}_{end}": values[end] for score, values in line["scores"].items() for end in ends}
        flat |= {
            f"difference_{name}_{end}": value for name, of in line["differences"].items() for end, value in of.items()
        }
        flat |= {f"spent_{name}": value for name, value in line["spent"].items()}
        writer.writerow({**line, **flat})
    for each in document["candidates"]:
        writer.writerow({**each, "role": "candidate", "baseline": False})
    return out.getvalue()


def export(document: Mapping[str, Any], *, to_markdown: Path | None, to_csv: Path | None) -> list[str]:
    """Write the files that are asked for, whole or not at all; their paths.

    Raises:
        DataError: One cannot be written.
    """
    written = []
    for path, text in ((to_markdown, markdown), (to_csv, as_csv)):
        if path is None:
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, text(document))
        except OSError as error:
            raise DataError(f"`{path}` cannot be written: {error.strerror or error}; give another file") from None
        written.append(str(path))
    return written
