"""A passage as a row of the index, and back; and the one analyzer that texts and queries go through."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reflective_rag.signatures.errors import ContractError, DataError
from reflective_rag.signatures.text import tokenize
from reflective_rag.signatures.types import Passage

if TYPE_CHECKING:
    import pyarrow as pa

INDEX_VERSION = 1
"""Raised when columns or `analyze` change: an index and its queries must be analyzed alike."""
DEEPEST = 100
"""Levels of nested metadata: what reads it later, at any depth of calls, must be able to."""
_TEXTS, _BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"'), re.compile(r"[\[\]{}]")
STORED = ("id", "text", "title", "source", "published", "metadata")


def analyze(text: str) -> str:
    """The words of `tokenize`, joined by spaces for a whitespace tokenizer: English words, Chinese bigrams, no syntax.

    The index stems English words (Snowball) and folds accents after this, on both sides; it knows only the straight
    apostrophe (Monaco's → monaco).
    """
    return " ".join(tokenize(text.replace("’", "'")))


def embedding_text(passage: Passage) -> str:
    """What of a passage is embedded: the title names what the text often only calls "it"."""
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


def to_row(passage: Passage) -> dict[str, Any]:
    """All columns but the vector. Raises `DataError` for metadata that JSON cannot hold."""
    if not isinstance(passage, Passage):
        raise ContractError(f"`add` takes `Passage` objects, got {type(passage).__name__}: {str(passage)[:80]!r}")
    row: dict[str, Any] = {name: getattr(passage, name) for name in STORED}
    try:
        row["metadata"] = json.dumps(passage.metadata)
    except (TypeError, ValueError) as error:
        raise DataError(f"metadata of passage {passage.id!r} must be JSON values: {error}") from error
    except RecursionError:
        row["metadata"] = "[" * (DEEPEST + 1)
    if _depth(row["metadata"]) > DEEPEST:
        raise DataError(f"metadata of passage {passage.id!r} is nested more than {DEEPEST} levels deep: flatten it")
    content = [row["text"], row["title"], row["source"], str(row["published"]), row["metadata"]]
    row["digest"] = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    row["tokens"] = analyze(f"{passage.title}\n{passage.text}")
    return row


def _depth(text: str) -> int:
    """How deep JSON is nested; 0 where it cannot be deeper than `DEEPEST`."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return 0
    depth = deepest = 0
    for bracket in _BRACKETS.findall(_TEXTS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def to_passage(row: Mapping[str, Any], score: float) -> Passage:
    """The passage as it was added, with the score of this search."""
    fields = {name: row[name] for name in STORED}
    return Passage(**{**fields, "metadata": json.loads(row["metadata"]), "score": score})


def table_schema(embedder: str, dimensions: int | None) -> pa.Schema:
    """Columns of the index; version and embedder travel in the schema, so they cannot part from the data."""
    import pyarrow as pa

    # With the key declared, two processes that add one id at once end with one row.
    key = {"lance-schema:unenforced-primary-key": "true"}
    text = [pa.field("id", pa.string(), nullable=False, metadata=key)]
    text += [pa.field(name, pa.string(), nullable=False) for name in ("text", "title", "source")]
    rest = [pa.field("published", pa.date32())]
    rest += [pa.field(name, pa.string(), nullable=False) for name in ("metadata", "digest", "tokens")]
    vector = [pa.field("vector", pa.list_(pa.float32(), dimensions))] if dimensions else []
    about = json.dumps({"version": INDEX_VERSION, "embedder": embedder})
    return pa.schema(text + rest + vector, metadata={"reflective_rag": about})


def read_about(schema: pa.Schema) -> tuple[int, str] | None:
    """(version, embedder) as `table_schema` wrote them; None for a table that is not ours."""
    try:
        about = json.loads((schema.metadata or {})[b"reflective_rag"])
        return int(about["version"]), str(about["embedder"])
    except (KeyError, TypeError, ValueError):
        return None
