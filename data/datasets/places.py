"""Where fetched data sets are: `datasets/NAME/SPLIT.jsonl` in the cache, with what was seen when it was fetched."""

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from reflective_rag.data.datasets.cards import Card
from reflective_rag.data.retrieval.cache import cache_folder


class Facts(BaseModel):
    """What was seen of one split of the source; what a pin holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    commit: str
    """Of the hub's repository; empty where the hub did not say."""
    n: int
    first: str
    last: str
    """Ids of the first and last record."""
    sha256: str
    """Of the source's rows, as JSON with sorted keys, one a line."""


class Fetched(Facts):
    """The facts of a split that is here, and the checksum of the converted file."""

    file_sha256: str


def folder() -> Path:
    """The folder of all data sets."""
    return cache_folder() / "datasets"


def records_path(card: Card, split: str) -> Path:
    """The converted file of a split."""
    return folder() / card.name / f"{split}.jsonl"


def manifest_path(card: Card, split: str) -> Path:
    """What was seen; written last, so that a split with it is whole."""
    return folder() / card.name / f"{split}.json"


def fetched(card: Card, split: str) -> Fetched | None:
    """What was seen of a split that is here; None where it is not."""
    try:
        found: Any = json.loads(manifest_path(card, split).read_text(encoding="utf-8"))
        return Fetched.model_validate(found) if records_path(card, split).is_file() else None
    except (OSError, ValueError, ValidationError):
        return None


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
