"""Artefacts for people: what is in one, and what differs between two."""

import json
from collections.abc import Mapping
from typing import Any

from rich.table import Table

from reflective_rag.experiments.artefact_views import flat
from reflective_rag.experiments.console import interval, out, print_whole

SHOWN = 300
"""Characters of an instruction or a demo that are printed without `--full`."""


def print_contents(found: Mapping[str, Any], *, full: bool = False) -> None:
    """An artefact, part by part; `full` cuts no text."""
    by = {name: value for name, value in found["made_by"].items() if value not in ("", {})}
    corpus, started = by.pop("corpus", ()), by.pop("started_from", "")
    _line("program", f"{found['program']}, compiled with {found['model']}")
    if started:
        _line("goes on from", _plain(started))
    _line("made by", ", ".join(f"{name} {_plain(value)}" for name, value in by.items()) or "unknown")
    if corpus:
        _line("corpus", ", ".join(map(_plain, corpus)) if isinstance(corpus, list) else _plain(corpus))
    _line("format", f"{found['format']}; " + ", ".join(f"{name} {text}" for name, text in found["versions"].items()))
    _line("loads", found["loads"] or "yes, with this version")
    for part in ("settings", "controls"):
        _line(
            part,
            ", ".join(f"{name} {_plain(value)}" for name, value in flat(found[part]).items() if name)
            or "as by default",
        )
    for part, about in found["data"].items():
        _line(f"data {part}", _data(about))
    if found["scores"]:
        print_whole(_scores(found["scores"]))
    _line("calibration", _calibration(found["calibration"]))
    for name, predictor in found["predictors"].items():
        out.print(f"\n{name}: {len(predictor['demos'])} demos", style="bold", markup=False)
        for line in _lines(predictor["instructions"], full=full):
            out.print(f"  {line}", markup=False)
        for demo in predictor["demos"]:
            out.print(f"  - {_short(_demo(demo), full=full)}", markup=False, style="dim")


def print_differences(found: Mapping[str, Any], before: str, after: str, *, full: bool = False) -> None:
    """Two artefacts, part by part; only what differs. `full` cuts no text."""
    out.print(f"before  {before}\nafter   {after}", markup=False)
    if not found:
        out.print("\nno difference: program, model, instructions, demos, controls, scores and data are the same")
        return
    for part, changes in found.items():
        if part == "instructions":
            _print_instructions(changes)
        elif part == "demos":
            _print_demos(changes, full=full)
        else:
            _print_changes(part, {"": changes} if part in ("program", "model") else changes, full=full)


def _print_instructions(changes: Mapping[str, Any]) -> None:
    for name, change in changes.items():
        out.print(f"\ninstructions of {name}", style="bold", markup=False)
        for line in change["diff"][2:]:
            style = {"+": "green", "-": "red"}.get(line[:1], "dim")
            out.print(f"  {line}", markup=False, style=style)


def _print_demos(changes: Mapping[str, Any], *, full: bool) -> None:
    for name, change in changes.items():
        out.print(f"\ndemos of {name}", style="bold", markup=False)
        for mark, demos, style in (("+", change["added"], "green"), ("-", change["removed"], "red")):
            for demo in demos:
                out.print(f"  {mark} {_short(_demo(demo), full=full)}", markup=False, style=style)


def _print_changes(part: str, changes: Mapping[str, Any], *, full: bool) -> None:
    table = Table(title=part, title_justify="left")
    for header in ("", "before", "after"):
        table.add_column(header, overflow="fold")
    for name, change in changes.items():
        table.add_row(name, _cell(change["before"], full=full), _cell(change["after"], full=full))
    out.print()
    print_whole(table)


def _line(label: str, text: str) -> None:
    out.print(f"{label:<12} {text}", markup=False)


def _data(about: Any) -> str:
    if not isinstance(about, Mapping):
        return _plain(about)
    return f"{about.get('file', '?')}, {about.get('n', '?')} questions, fingerprint {about.get('fingerprint', '?')}"


def _scores(scores: Mapping[str, Any]) -> Table:
    """One column a split and time, the scores that have an interval."""
    columns: dict[str, Mapping[str, Any]] = {}
    for split, times in scores.items():
        nested = isinstance(times, Mapping) and all(isinstance(value, Mapping) for value in times.values())
        columns |= {f"{split} {when}": value for when, value in times.items()} if nested else {split: {"": times}}
    table = Table(title="scores", title_justify="left")
    for header in ("", *columns):
        table.add_column(header, overflow="fold")
    names = dict.fromkeys(name for column in columns.values() for name in column)
    for name in names:
        cells = [column.get(name) for column in columns.values()]
        if all(cell is None or (isinstance(cell, Mapping) and "mean" not in cell) for cell in cells):
            continue
        table.add_row(name, *(_cell(cell) for cell in cells))
    return table


def _calibration(kept: Mapping[str, Any] | None) -> str:
    if kept is None:
        return "none: `confidence` is a heuristic, no probability (`reflective-rag calibrate`)"
    return f"{kept['kind']} on {kept['n']} answers of {kept['model'] or 'rules'}, right by {kept['correct'] or '?'}"


def _cell(value: Any, *, full: bool = False) -> str:
    if isinstance(value, Mapping) and {"mean", "low", "high"} <= value.keys():
        return interval(dict(value))
    return "–" if value is None else _short(_plain(value), full=full)


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _demo(demo: Mapping[str, Any]) -> str:
    names = sorted(demo.keys() - {"augmented"}, key=lambda name: (name != "question", name))
    return " · ".join(f"{name}: {_plain(demo[name])}" for name in names)


def _lines(text: str | None, *, full: bool) -> list[str]:
    """In full the lines as they are, else one line that says what it leaves out."""
    return (text or "").splitlines() if full else [_short(text)]


def _short(text: str | None, *, full: bool = False) -> str:
    line = " ".join((text or "").split())
    if full or len(line) <= SHOWN:
        return line
    return f"{line[:SHOWN]}… {len(line) - SHOWN} characters more; --full shows all"
