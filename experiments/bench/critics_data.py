"""The labelled cases of `bench critics`: which files, which cases of them, and how many."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from reflective_rag.data.records import Record, load_records
from reflective_rag.data.twins import Case, Judged, Unit, units_of
from reflective_rag.experiments.corpora import data_path
from reflective_rag.signatures.errors import ConfigError

T = TypeVar("T")

TRAIN, DEV = ".train.jsonl", ".dev.jsonl"
SAMPLE = "sample"


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Units of every judgement: `train` to tune thresholds on, `dev` to report."""

    train: Mapping[Judged, Sequence[Unit]]
    dev: Mapping[Judged, Sequence[Unit]]


def load(files: Sequence[str] | None, shared: Path | None, judgements: Iterable[Judged], *, seed: int = 0) -> Labelled:
    """The units of the data, each split made of its own records alone.

    Args:
        files: `NAME.train.jsonl` and `NAME.dev.jsonl` files, or `sample`; instead of them
        shared: a folder that holds such files.

    Raises:
        ConfigError: Nothing to read, a name that belongs to no split, or one of the splits is missing.
        DataError: A file cannot be used.
    """
    parts = _files(files, shared)
    records: dict[str, list[Record]] = {
        split: [record for path in paths for record in load_records(path)] for split, paths in parts.items()
    }
    units = {
        split: {judgement: units_of(judgement, found, seed=seed) for judgement in judgements}
        for split, found in records.items()
    }
    return Labelled(train=units["train"], dev=units["dev"])


def _files(files: Sequence[str] | None, shared: Path | None) -> dict[str, list[Path]]:
    if files == [SAMPLE]:
        return {"train": [data_path("sample:train")], "dev": [data_path("sample:dev")]}
    if files:
        paths = [Path(name) for name in files]
    elif shared is not None and shared.is_dir():
        paths = sorted(path for path in shared.iterdir() if path.name.endswith((TRAIN, DEV)))
    else:
        raise ConfigError(
            f"no labelled data: the folder {str(shared or '')!r} does not exist. Give `--shared DIR` with files named "
            f"`NAME{TRAIN}` and `NAME{DEV}`, `--data FILE` for single ones (repeatable), or `--data {SAMPLE}`"
        )
    parts = {"train": [p for p in paths if p.name.endswith(TRAIN)], "dev": [p for p in paths if p.name.endswith(DEV)]}
    if others := [str(p) for p in paths if not p.name.endswith((TRAIN, DEV))]:
        raise ConfigError(f"{others[0]!r} belongs to no split; expected names that end in `{TRAIN}` or `{DEV}`")
    for split, found in parts.items():
        if not found:
            raise ConfigError(
                f"no {split} data: thresholds are tuned on `*{TRAIN}` and reported on `*{DEV}`, so both are needed; "
                f"got {', '.join(p.name for p in paths) or 'an empty folder'}"
            )
    return parts


def sampled(units: Sequence[Unit], limit: int, *, seed: int = 0) -> list[Case]:
    """At most `limit` cases a language, whole units: kinds of cases in turn, within a kind data sets in turn.

    A smaller limit takes a part of what a larger one takes, so back ends with different limits share cases.
    """
    chosen: list[Case] = []
    for lang in sorted({unit[0].lang for unit in units}):
        strata: dict[str, dict[str, list[Unit]]] = {}
        for unit in sorted((u for u in units if u[0].lang == lang), key=lambda u: u[0].id):
            strata.setdefault(unit[0].kind, {}).setdefault(unit[0].dataset, []).append(unit)
        rng = random.Random(f"{seed} {lang}")
        for sets in strata.values():
            for stratum in sets.values():
                rng.shuffle(stratum)
        ordered = _in_turn([_in_turn(list(sets.values())) for sets in strata.values()])
        count = 0
        for unit in ordered:
            if count + len(unit) > limit:
                break
            count += len(unit)
            chosen += unit
    return chosen


def _in_turn(lists: Sequence[Sequence[T]]) -> list[T]:
    turns = max(map(len, lists), default=0)
    return [items[turn] for turn in range(turns) for items in lists if turn < len(items)]
