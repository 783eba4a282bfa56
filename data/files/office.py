"""Word documents and PowerPoint slides."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from reflective_rag.data.chunking import Block
from reflective_rag.data.files.document import Document, Unreadable, as_date

MAX_UNPACKED = 256 << 20
"""Bytes that a document may unpack to; more is an archive made to fill memory, of which it takes several times that."""
MAX_RATIO, SMALL = 200, 16 << 20
"""How many times its packed size a part may unpack to, once it is larger than `SMALL`: texts pack to a tenth or so."""
_HEADING = re.compile(r"(?:heading|标题)\s*(\d)$", re.IGNORECASE)


TEMPLATES = ("2013-12-23T23:15:00", "2013-01-27T09:14:16", "2013-01-27T09:15:58")
"""When the templates of python-docx and python-pptx were made: a file written with them has no date of its own."""


class _Writer:
    """Puts blocks under one another, a blank line between them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.blocks: list[Block] = []
        self.length = 0

    def add(self, text: str, kind: Any = "text", level: int = 0) -> None:
        text = "\n".join(line.rstrip() for line in text.replace("\v", "\n").split("\n")).strip()
        if not text:
            return
        title = " ".join(text.split()) if kind == "heading" else ""
        self.blocks.append(Block(kind, self.length, self.length + len(text), level, title))
        self.parts.append(text)
        self.length += len(text) + 2

    def document(self, about: Any, pages: list[tuple[int, int]]) -> Document:
        days = (day for day in (about.modified, about.created) if day and day.isoformat()[:19] not in TEMPLATES)
        published = next(filter(None, map(as_date, days)), None)
        title = (about.title or "").strip()
        if title in ("PowerPoint Presentation", "PowerPoint 演示文稿", "Word Document"):  # nobody chose these
            title = ""
        if not title:
            title = next((block.title for block in self.blocks if block.kind == "heading"), "")
        text = "\n\n".join(self.parts)
        return Document(text, self.blocks, title, published, "document" if published else None, pages)


def read_docx(path: Path) -> Document:
    """A Word document: headings by their styles, paragraphs, tables; library: python-docx."""
    import docx
    from docx.table import Table

    _check_size(path)
    found = docx.Document(str(path))
    styles = _paragraph_styles(found)
    writer = _Writer()
    for item in found.iter_inner_content():
        if isinstance(item, Table):
            writer.add(_table(_cells(row.cells) for row in item.rows), "table")
            continue
        style = styles.get(item._p.style) or styles[None]
        level = 1 if style == "Title" else int(match[1]) if (match := _HEADING.match(style)) else 0
        bullet = "- " if style.startswith("List") and item.text.strip() else ""
        writer.add(bullet + item.text, "heading" if level else "text", level)
    return writer.document(found.core_properties, [])


def _paragraph_styles(found: Any) -> dict[str | None, str]:
    """Name by id, under None that of a paragraph without one: the library looks through all styles for each."""
    from docx.enum.style import WD_STYLE_TYPE

    default = found.styles.default(WD_STYLE_TYPE.PARAGRAPH)
    names: dict[str | None, str] = {None: (default.name or "") if default is not None else ""}
    for style in found.styles:
        if style.type == WD_STYLE_TYPE.PARAGRAPH:
            names.setdefault(style.style_id, style.name or "")
    return names


def read_pptx(path: Path) -> Document:
    """Slides: the title of each as its heading, then its texts, tables and notes; library: python-pptx."""
    import pptx

    _check_size(path)
    found = pptx.Presentation(str(path))
    writer = _Writer()
    pages = []
    for number, slide in enumerate(found.slides, 1):
        pages.append((writer.length, number))
        title = slide.shapes.title
        if title is not None:
            writer.add(title.text_frame.text, "heading", 1)
        for kind, text in _texts(slide.shapes):
            if title is None or text is not title.text_frame.text:
                writer.add(text, kind)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            writer.add(slide.notes_slide.notes_text_frame.text)
    return writer.document(found.core_properties, pages)


def _texts(shapes: Any) -> Iterator[tuple[str, str]]:
    for shape in shapes:
        if hasattr(shape, "shapes"):  # a group
            yield from _texts(shape.shapes)
        elif getattr(shape, "has_table", False):
            yield "table", _table(_cells(row.cells) for row in shape.table.rows)
        elif shape.has_text_frame and shape != getattr(shapes, "title", None):
            yield "text", shape.text_frame.text


def _cells(cells: Iterable[Any]) -> list[str]:
    """The texts of a row; a merged cell, which the libraries repeat, once."""
    texts: list[str] = []
    last = None
    for cell in cells:
        element = cell._tc
        if element is not last:
            texts.append(" ".join(cell.text.split()).replace("|", "\\|"))
        last = element
    return texts


def _table(rows: Iterable[list[str]]) -> str:
    """A table as Markdown writes it."""
    lines = [f"| {' | '.join(row)} |" for row in rows if any(row)]
    if len(lines) > 1:
        lines.insert(1, "|" + " --- |" * lines[0].replace("\\|", "").count(" | ") + " --- |")
    return "\n".join(lines)


def _check_size(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except zipfile.BadZipFile as error:
        raise Unreadable(f"is damaged, or no Office document ({error})") from error
    unpacked = sum(part.file_size for part in parts)
    for part in parts:
        if part.file_size > max(SMALL, MAX_RATIO * part.compress_size):
            raise Unreadable(
                f"has a part that unpacks to {part.file_size >> 20} MB, more than {MAX_RATIO} times its packed size: "
                "it is made to fill memory"
            )
    if unpacked > MAX_UNPACKED:
        raise Unreadable(f"unpacks to {unpacked >> 20} MB, more than the {MAX_UNPACKED >> 20} MB that are allowed")
