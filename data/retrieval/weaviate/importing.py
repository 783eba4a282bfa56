"""Batches of passages into a collection, and out of it: what is new is sent, what is refused is reported."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from reflective_rag.data.retrieval.adding import embed_texts
from reflective_rag.data.retrieval.rows import embedding_text
from reflective_rag.data.retrieval.weaviate.connection import WRITE_SECONDS
from reflective_rag.data.retrieval.weaviate.objects import to_properties, uuid_of
from reflective_rag.data.retrieval.weaviate.schema import Schema, add_properties
from reflective_rag.data.retrieval.weaviate.session import Opened, Session
from reflective_rag.signatures.types import Passage

IMPORT_BATCH = 200
"""Passages sent at once."""
DELETE_BATCH = 500


class Imported(NamedTuple):
    """What became of a batch: passages written, and the server's reason by id for those that it refused."""

    written: int
    failures: dict[str, str]


def import_batch(session: Session, passages: Sequence[Passage], tick: Callable[[int], None]) -> Imported:
    """Write the passages that are new or changed; of two with one id the later. Embedding has no deadline."""
    opened = session.handle()
    rows = {passage.id: (passage, to_properties(passage, opened.schema.about.chinese)) for passage in passages}
    stored = session.run(lambda: stored_digests(opened, list(rows)), WRITE_SECONDS)
    changed = [pair for name, pair in rows.items() if stored.get(name) != pair[1]["digest"]]
    tick(len(passages) - len(changed))
    vectors = embed_texts(opened.embedder, [embedding_text(passage) for passage, _ in changed], tick)
    if not changed:
        return Imported(0, {})

    def send() -> dict[str, str]:
        schema = add_properties(opened.collection, opened.schema, {name for _, row in changed for name in row})
        session.remember(schema)
        return _send(opened.collection, schema, [row for _, row in changed], vectors)

    failures = session.run(send, WRITE_SECONDS)
    return Imported(len(changed) - len(failures), failures)


def delete_ids(opened: Opened, ids: Sequence[str]) -> int:
    """Remove objects; the number that were there."""
    from weaviate.classes.query import Filter

    found = opened.collection.data.delete_many(where=Filter.by_id().contains_any([uuid_of(name) for name in ids]))
    return int(found.successful)


def stored_digests(opened: Opened, ids: Sequence[str]) -> dict[str, str]:
    """Id → digest of the content, of those that are stored."""
    found = opened.collection.query.fetch_objects_by_ids(
        [uuid_of(name) for name in ids], limit=len(ids), return_properties=["passage_id", "digest"]
    )
    return {item.properties["passage_id"]: item.properties["digest"] for item in found.objects}


def _send(collection: Any, schema: Schema, rows: Sequence[dict[str, Any]], vectors: Any) -> dict[str, str]:
    """Send objects in one request; the server's reason by id for each that it refused."""
    from weaviate.classes.data import DataObject
    from weaviate.exceptions import WeaviateInsertManyAllFailedError

    objects = [
        DataObject(
            uuid=uuid_of(row["passage_id"]),
            properties={name: value for name, value in row.items() if name in schema.properties},
            vector=None if vectors is None else vectors[i].tolist(),
        )
        for i, row in enumerate(rows)
    ]
    with _quiet():
        try:
            errors = collection.data.insert_many(objects).errors
        except WeaviateInsertManyAllFailedError as error:
            reason = str(error.message).partition("all errors: ")[2] or str(error.message)
            return {row["passage_id"]: reason for row in rows}
    return {rows[i]["passage_id"]: error.message for i, error in errors.items()}


@contextmanager
def _quiet() -> Iterator[None]:
    """The client logs refused objects with all of their texts; they are reported by `ImportFailures` instead."""
    logger = logging.getLogger("weaviate-client")
    logger.addFilter(_nothing)
    try:
        yield
    finally:
        logger.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return "objects in a batch" not in str(record.msg)
