"""Data sets by name: what `reflective-rag data` does, and how it is printed."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from reflective_rag.data.datasets import Card, all_cards, card_named, check, facts_of, fetch
from reflective_rag.data.datasets.places import Facts, records_path
from reflective_rag.data.datasets.places import fetched as fetched_facts
from reflective_rag.experiments.console import only_results, out, print_whole, progress_bar

Document = list[dict[str, Any]]


def listed(names: Sequence[str]) -> Document:
    """Every card in short, or those named."""
    cards = [_named(name)[0] for name in names] or list(all_cards().values())
    return [
        {
            "name": card.name,
            "title": card.title,
            "languages": list(card.languages),
            "licence": card.licence,
            "splits": [_split(card, split) for split in card.splits],
        }
        for card in cards
    ]


def shown(names: Sequence[str]) -> Document:
    """Whole cards, with what is known of their splits."""
    cards = [_named(name)[0] for name in names]
    return [card.model_dump(mode="json") | {"splits": [_split(card, s) for s in card.splits]} for card in cards]


def fetched(names: Sequence[str]) -> Document:
    """Fetch each split; a name without one means the default split. Raises as `fetch`."""
    found = []
    with only_results(), progress_bar() as bar:
        for card, split in map(_named, names):
            fetch(card, split, progress=partial(bar, f"converting {card.name}:{split}"))
            found.append({"name": card.name, **_split(card, split)})
    return found


def checked(names: Sequence[str], pins: Path | None) -> Document:
    """Check each split, or pin it. Raises as `check`."""
    found = []
    for card, split in map(_named, names):
        seen, new = check(card, split, pins)
        found.append({"name": card.name, **_split(card, split), **seen.model_dump(), "pinned_now": new})
    return found


def _named(name: str) -> tuple[Card, str]:
    word, _, part = name.partition(":")
    card = card_named(word)
    return card, card.split(part)


def _split(card: Card, split: str) -> dict[str, Any]:
    """What is known of a split: numbers only where they were seen."""
    here = fetched_facts(card, split)
    pin, state = facts_of(card, split)
    seen = pin or here
    facts = {} if seen is None else {key: getattr(seen, key) for key in Facts.model_fields}
    return {"split": split, "pin": state, "path": str(records_path(card, split)) if here else None, **facts}


def print_list(document: Document) -> None:
    """One line a data set."""
    table = Table()
    for header in ("name", "", "lang.", "licence", "splits"):
        table.add_column(header)
    for each in document:
        splits = ", ".join(f"{s['split']} ({s['pin']}{', here' if s['path'] else ''})" for s in each["splits"])
        table.add_row(each["name"], each["title"], ", ".join(each["languages"]), each["licence"], splits)
    print_whole(table)
    out.print("and `file:PATH` (JSONL), `rgb:PATH` (a local copy of a file of RGB), `sample:dev`", markup=False)


def print_cards(document: Document) -> None:
    """Each card in full."""
    labels = ("task", "source", "paper", "licence", "made", "hub", "config", "revision")
    for each in document:
        out.print(f"{each['name']}: {each['title']} ({', '.join(each['languages'])})", style="bold", markup=False)
        for label in labels:
            if each[label]:
                out.print(f"  {label:<10}{each[label]}", markup=False)
        for fault in each["faults"]:
            out.print(f"  {'fault':<10}{fault}", markup=False)
        for split in each["splits"]:
            out.print(f"  {'split':<10}{_line(split)}", markup=False)


def print_splits(document: Document) -> None:
    """One line a split."""
    for each in document:
        new = "" if "pinned_now" not in each else "; pinned now" if each["pinned_now"] else "; as it was pinned"
        out.print(f"{each['name']}:{_line(each)}{new}", markup=False)


def _line(split: dict[str, Any]) -> str:
    if "n" not in split:
        return f"{split['split']}: {split['pin']}, not fetched"
    facts = f"{split['n']:,} records, {split['first']!r} to {split['last']!r}, sha256 {split['sha256'][:12]}"
    commit = f", commit {split['commit'][:12]}" if split["commit"] else ""
    return f"{split['split']}: {split['pin']}; {facts}{commit}{', ' + split['path'] if split['path'] else ''}"
