"""Fetching a split from the hub: read, converted and written aside, then put into place whole."""

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from reflective_rag.data.datasets.cards import Card
from reflective_rag.data.datasets.converting import to_record
from reflective_rag.data.datasets.places import Fetched, checksum, manifest_path, records_path
from reflective_rag.data.jsonl import LineError, describe
from reflective_rag.data.secrets import scrub
from reflective_rag.signatures.errors import DataError, message_of

Progress = Callable[[int, int], object]
_COMMIT = re.compile(r"[0-9a-f]{40}")


def fetch(card: Card, split: str, *, progress: Progress = lambda done, total: None) -> Fetched:
    """Fetch one split of a data set and keep it as records, in place of an earlier copy.

    Nothing is changed unless all of it was read and converted.

    Raises:
        DataError: The hub cannot be reached, does not have it, breaks off, or has it in another layout; or the cache
            cannot be written.
    """
    path = records_path(card, split)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{split}.", dir=path.parent) as aside:
            return _fetched(card, split, Path(aside), progress)
    except OSError as error:
        raise DataError(
            f"`{path.parent}` cannot be written: {error.strerror or error}; make room, or set RRAG_CACHE to another "
            "folder"
        ) from error
    finally:
        with suppress(OSError):
            path.parent.rmdir()  # where nothing was kept, and nothing was there


def how_to_get(card: Card, split: str) -> str:
    """What a user does to have a split here."""
    return (
        f"With a connection, run `reflective-rag data fetch {card.name}:{split}`; without one, fetch it elsewhere and "
        f"copy `{records_path(card, split).with_suffix('')}.json` and `.jsonl` to the same place here"
    )


def _fetched(card: Card, split: str, aside: Path, progress: Progress) -> Fetched:
    commit = card.revision if _COMMIT.fullmatch(card.revision) else _asking(card, split, lambda: _commit(card))
    rows = _asking(card, split, lambda: _rows(card, split, commit or card.revision))
    records, manifest = aside / "records.jsonl", aside / "manifest.json"
    seen = _write(card, split, rows, records, progress)
    found = Fetched(commit=commit, file_sha256=checksum(records), **seen)
    manifest.write_text(found.model_dump_json(indent=2) + "\n", encoding="utf-8")
    manifest_path(card, split).unlink(missing_ok=True)  # while the two do not belong together there is none
    records.replace(records_path(card, split))
    manifest.replace(manifest_path(card, split))
    return found


def _write(card: Card, split: str, rows: Any, path: Path, progress: Progress) -> dict[str, Any]:
    digest, ids = hashlib.sha256(), []
    seen: set[str] = set()
    total = len(rows)
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for number, row in enumerate(_broken_off(card, split, rows)):
            digest.update(json.dumps(row, sort_keys=True, ensure_ascii=True, default=str).encode() + b"\n")
            try:
                record = to_record(card, row, number)
            except (LineError, ValidationError) as error:
                raise DataError(
                    f"row {number} of `{card.name}:{split}` is not of the layout known here: {describe(error)}. "
                    f"The data set `{card.hub}` has changed since revision {card.revision or 'unknown'}; an earlier "
                    "commit can be named in its card"
                ) from None
            if record.id in seen:
                raise DataError(f"`{card.name}:{split}` has the id {record.id!r} twice, again in row {number}")
            seen.add(record.id)
            ids.append(record.id)
            file.write(record.model_dump_json(exclude_defaults=True) + "\n")
            progress(number + 1, total)
    if not ids:
        raise DataError(f"`{card.name}:{split}` is empty on the hub; there is nothing to keep")
    return {"n": len(ids), "first": ids[0], "last": ids[-1], "sha256": digest.hexdigest()}


def _broken_off(card: Card, split: str, rows: Iterable[Any]) -> Iterable[Mapping[str, Any]]:
    iterator = iter(rows)
    while True:
        try:
            row = next(iterator)
        except StopIteration:
            return
        except Exception as error:
            raise _unreached(card, split, error) from error
        yield row


def _asking(card: Card, split: str, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception as error:
        raise _unreached(card, split, error) from error


def _unreached(card: Card, split: str, error: Exception) -> DataError:
    """What any of the libraries below raises (offline, no such repository, revision or split, a broken file)."""
    reason = scrub((message_of(error).strip().splitlines() or ["no reason given"])[0])[:300]
    at = f" at revision {card.revision}" if card.revision else ""
    return DataError(
        f"`{card.name}:{split}` could not be fetched from `{card.hub}`{at} ({type(error).__name__}: {reason}); nothing "
        f"was kept. {how_to_get(card, split)}. The original is at {card.source}"
    )


def _commit(card: Card) -> str:
    from huggingface_hub import HfApi

    return str(HfApi().dataset_info(card.hub, revision=card.revision or None).sha or "")


def _rows(card: Card, split: str, revision: str) -> Any:
    import datasets

    where = card.splits[split]
    return datasets.load_dataset(card.hub, card.config or None, split=where, revision=revision or None)
