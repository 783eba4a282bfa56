"""From a document to passages, each with its place in the source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reflective_rag.data.chunking import ChunkSizes, chunked, plain_blocks, size
from reflective_rag.data.chunking.blocks import at, touched
from reflective_rag.data.files.document import Document
from reflective_rag.data.retrieval.windows import Window
from reflective_rag.signatures.types import Passage

STEP = " › "
"""Between two headings of a path."""


def document_passages(document: Document, source: str, sizes: ChunkSizes) -> Iterator[Passage]:
    """The chunks of a document. The title is that of the document and the headings, so that both are searched.

    Metadata: `headings` (the path under the title, joined by `STEP`), `page` (a number, or a list where the chunk runs
    over several pages; a filter matches any of them), `start` and `end` (offsets into the text of the document),
    `date_from` (see `DateFrom`), and the window to read, see `reflective_rag.data.retrieval.windows`.
    """
    windows: dict[int, Window] = {}
    for number, chunk in enumerate(chunked(document.text, document.blocks, sizes)):
        window = windows.get(chunk.window_start)
        if window is None:
            windows = {chunk.window_start: (window := _window(document, source, chunk.window_start, chunk.window_end))}
        headings = [title for title in chunk.headings if title != document.title]
        metadata: dict[str, Any] = {"start": chunk.start, "end": chunk.end, "date_from": document.date_from}
        if headings:
            metadata["headings"] = STEP.join(headings)
        if pages := touched(document.pages, chunk.start, chunk.end):
            metadata["page"] = pages if len(pages) > 1 else pages[0]
        yield Passage(
            id=f"{source}#{number + 1}",
            text=document.text[chunk.start : chunk.end],
            title=STEP.join([document.title, *headings]),
            source=source,
            published=document.published,
            metadata=metadata | window.as_metadata(),
        )


def _window(document: Document, source: str, start: int, end: int) -> Window:
    first = at(document.pages, start)
    pages = [(0, first)] if first is not None else []
    pages += [(offset - start, page) for offset, page in document.pages if start < offset < end]
    return Window(f"{source}@{start}", document.text[start:end], start, pages)


def row_passages(passage: Passage, sizes: ChunkSizes) -> Iterator[Passage]:
    """A passage as it is, or in chunks where it is longer than a window."""
    if size(passage.text) <= sizes.window:
        yield passage
        return
    document = Document(passage.text, plain_blocks(passage.text), passage.title, passage.published)
    for chunk in document_passages(document, passage.id, sizes):
        metadata = {key: value for key, value in chunk.metadata.items() if key != "date_from"}
        yield chunk.model_copy(update={"source": passage.source, "metadata": passage.metadata | metadata})
