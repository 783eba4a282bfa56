"""What a data name means: `NAME[:SPLIT]` of a data set with a card, `file:PATH`, `rgb:PATH`."""

from pathlib import Path
from typing import Any

from reflective_rag.data.datasets.cards import all_cards
from reflective_rag.data.datasets.converting import rgb_record
from reflective_rag.data.datasets.fetching import how_to_get
from reflective_rag.data.datasets.places import fetched, records_path
from reflective_rag.data.jsonl import LineError, brief, read_jsonl
from reflective_rag.data.records import Record, chosen, load_corpus, load_records, pool
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Passage

FILE, RGB = "file:", "rgb:"
PATHS = (FILE, RGB)
"""Forms that hold a path."""


def is_data_set(name: str) -> bool:
    """Whether a name is one of these forms. A file that is called like a data set is `file:NAME`."""
    return name.startswith(PATHS) or name.partition(":")[0] in all_cards()


def load_named(name: str, *, limit: int | None = None, seed: int | None = None) -> list[Record]:
    """The records that a name of one of these forms means; `limit` and `seed` as in `load_records`.

    Raises:
        ConfigError: The split does not exist, or no path is given.
        DataError: It has not been fetched, or a file cannot be used.
    """
    if name.startswith(RGB):
        return chosen(_rgb(_path(name, RGB)), limit, seed)
    return load_records(_records(name), limit=limit, seed=seed)


def named_passages(name: str) -> list[Passage]:
    """The passages of a name of one of these forms, each text once. Raises as `load_named`."""
    return pool(_rgb(_path(name, RGB))) if name.startswith(RGB) else load_corpus(_records(name))


def _records(name: str) -> Path:
    if name.startswith(FILE):
        return _path(name, FILE)
    word, _, part = name.partition(":")
    card = all_cards()[word]
    split = card.split(part)
    if fetched(card, split) is None:
        raise DataError(f"the data set `{word}:{split}` is not here. {how_to_get(card, split)}")
    return records_path(card, split)


def _path(name: str, prefix: str) -> Path:
    text = name.removeprefix(prefix)
    if not text.strip():
        raise ConfigError(f"`{name}` names no file; give `{prefix}PATH`")
    return Path(text).expanduser()


def _rgb(path: Path) -> list[Record]:
    if path.is_dir():
        inside = ", ".join(f"`{RGB}{file}`" for file in sorted(path.rglob("*.json"))[:12])
        raise DataError(f"`{path}` is a folder; name one of RGB's files{': ' if inside else ''}{inside}")
    lines: dict[str, int] = {}

    def build(row: dict[str, Any], number: int) -> Record:
        record = rgb_record(row, path.name.removesuffix(".json"))
        if (line := lines.setdefault(record.id, number)) != number:
            raise LineError("id", f"expected ids that differ, got {brief(row['id'])}, which line {line} has")
        return record

    return read_jsonl(path, build)
