"""Pins: what each split held when it was first seen. A change upstream then is an error, not another table.

Pins that ship are in `pins.json` beside this file, those made here in `pins.json` beside the fetched data sets.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from reflective_rag.data.datasets.cards import Card
from reflective_rag.data.datasets.fetching import how_to_get
from reflective_rag.data.datasets.places import Facts, checksum, fetched, folder, records_path
from reflective_rag.signatures.errors import DataError

PINS = "pins.json"
State = Literal["unverified", "shipped", "here"]


class Checked(NamedTuple):
    """The outcome of a check: what was seen, and whether the pin was made just now."""

    facts: Facts
    pinned_now: bool


def facts_of(card: Card, split: str) -> tuple[Facts | None, State]:
    """The pin of a split and where it is kept; `unverified` without one."""
    key = f"{card.name}:{split}"
    shipped = _read_text(files("reflective_rag.data.datasets").joinpath(PINS).read_text(encoding="utf-8"), PINS)
    if key in shipped:
        return shipped[key], "shipped"
    own = _read(folder() / PINS)
    return (own[key], "here") if key in own else (None, "unverified")


def check(card: Card, split: str, pins: Path | None = None) -> Checked:
    """Compare a fetched split with its pin; where there is none, pin what is seen.

    Args:
        pins: The file to read and write pins in, instead of those above.

    Raises:
        DataError: It is not here, its file was changed, or it differs from the pin.
    """
    name = f"{card.name}:{split}"
    seen = fetched(card, split)
    if seen is None:
        raise DataError(f"`{name}` is not here. {how_to_get(card, split)}")
    path = records_path(card, split)
    if checksum(path) != seen.file_sha256:
        raise DataError(f"`{path}` is not what was fetched; run `reflective-rag data fetch {name}` again")
    facts = Facts.model_validate(seen.model_dump(exclude={"file_sha256"}))
    pin = _read(pins).get(name) if pins is not None else facts_of(card, split)[0]
    if pin is None:
        _add(pins or folder() / PINS, name, facts)
        return Checked(facts, pinned_now=True)
    if changed := [key for key in Facts.model_fields if getattr(pin, key) != getattr(facts, key)]:
        was = "; ".join(f"`{key}` was {getattr(pin, key)!r}, now it is {getattr(facts, key)!r}" for key in changed)
        raise DataError(
            f"`{name}` is not what was pinned: {was}. The source has moved: scores on it cannot be compared with "
            "earlier ones. Name the pinned commit as the card's revision and fetch again, or remove the pin"
        )
    return Checked(facts, pinned_now=False)


def _add(path: Path, name: str, facts: Facts) -> None:
    known = _read(path) | {name: facts}
    text = json.dumps({key: known[key].model_dump() for key in sorted(known)}, indent=2, ensure_ascii=False)
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise DataError(f"`{path}` cannot be written: {error.strerror or error}; give another file") from None


def _read(path: Path) -> dict[str, Facts]:
    try:
        return _read_text(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise DataError(f"`{path}` cannot be read: {error.strerror or error}") from None


def _read_text(text: str, name: str) -> dict[str, Facts]:
    try:
        return {key: Facts.model_validate(value) for key, value in json.loads(text).items()}
    except (ValueError, ValidationError, AttributeError) as error:
        first = str(error).splitlines()[0]
        raise DataError(f"`{name}` holds no pins: {first}. Mend it, or remove it and check again") from None
