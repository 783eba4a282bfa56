"""PDF: text by page, with title, date and outline of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reflective_rag.data.chunking import Block, plain_blocks
from reflective_rag.data.files.document import Document, Unreadable, as_date

_STOP = re.compile(r"[.!?。！？:：;；][\"'”’」』）)]*$")
_ITEM = re.compile(r"\s*(?:[-•·●▪◦*–]\s|\(?\d{1,3}[.)、．]\s*\S|[（(]?[一二三四五六七八九十]{1,3}[)）、．])")
_WIDE_END = re.compile("[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uff65]$")
_WIDE_START = re.compile("[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uff65]")
_HYPHEN = re.compile(r"(?<=[a-z])[-\u00ad\u2010\ufffe\x02]$")
_SHORT_LINE = 0.75
"""A line of less than this share of the page's widest that ends a sentence ends a paragraph."""
_INFO_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")


def read_pdf(path: Path) -> Document:
    """A PDF file; library: pypdfium2 (the PDF engine of Chromium). Lines are joined to paragraphs.

    Bookmarks are headings: of the section, not of the page, they stand before.

    Raises:
        Unreadable: Damaged, under a password, or without any text.
    """
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(path) as pdf:
            pages = [_page_text(pdf, number) for number in range(len(pdf))]
            outline = _outline(pdf)
            about = pdf.get_metadata_dict(skip_empty=True)
    except pypdfium2.PdfiumError as error:
        reason = "needs a password" if "password" in str(error).lower() else f"is damaged ({error})"
        raise Unreadable(f"is a PDF that {reason}") from error
    if not any(page.strip() for page in pages):
        raise Unreadable("is a PDF without text (scanned pages?); run text recognition on it first")
    text, marks, blocks = _joined(pages, outline)
    published = next((day for key in ("ModDate", "CreationDate") if (day := info_date(about.get(key, "")))), None)
    return Document(text, blocks, about.get("Title", "").strip(), published, "document" if published else None, marks)


def _page_text(pdf: Any, number: int) -> str:
    page = pdf[number]
    try:
        words = page.get_textpage()
        try:
            return unwrapped(words.get_text_bounded().replace("\r\n", "\n").replace("\r", "\n"))
        finally:
            words.close()
    finally:
        page.close()


def unwrapped(page: str) -> str:
    """The lines of a page joined to paragraphs, which are parted by a blank line.

    A paragraph ends with a line that ends a sentence and is short, and before an item of a list.
    """
    lines = [line.replace("\0", "").rstrip() for line in page.split("\n")]
    widest = max(map(len, lines), default=0)
    joined = ""
    previous = ""
    for line in lines:
        if not line.strip():
            joined = joined.rstrip("\n") + "\n\n" if joined else ""
        elif not joined or joined.endswith("\n"):
            joined += line.strip()
        elif (_STOP.search(previous) and len(previous) < _SHORT_LINE * widest) or _ITEM.match(line):
            joined += "\n\n" + line.strip()
        elif len(previous) < widest / 2 and not _STOP.search(previous):
            joined += "\n\n" + line.strip()  # a heading, an address, a cell: short, and no sentence
        else:
            joined = _with(joined, line.strip())
        previous = line
    return joined.strip()


def _with(text: str, line: str) -> str:
    if _HYPHEN.search(text) and line[:1].islower():
        return text[:-1] + line
    return text + ("" if _WIDE_END.search(text) or _WIDE_START.match(line) else " ") + line


def _outline(pdf: Any) -> list[tuple[int, int, str]]:
    """(page from 0, level from 1, title) of the bookmarks that name a page."""
    found = []
    for mark in pdf.get_toc():
        destination = mark.get_dest()
        page = destination.get_index() if destination else None
        title = " ".join(mark.get_title().split())
        if page is not None and title:
            found.append((page, mark.level + 1, title))
    return sorted(found, key=lambda item: item[0])


def _joined(pages: list[str], outline: list[tuple[int, int, str]]) -> tuple[str, list[tuple[int, int]], list[Block]]:
    """The pages as one text, a sentence that runs over the end of a page in one piece, with marks and blocks."""
    parts: list[str] = []
    length, starts = 0, dict[int, int]()
    headed = {page for page, _, _ in outline}
    for number, page in enumerate(pages):
        if not page:
            continue
        if parts:
            parts.append(_between(parts[-1], page, number in headed))
            length += len(parts[-1])
        starts[number] = length
        parts.append(page)
        length += len(page)
    text = "".join(parts)
    return text, [(start, number + 1) for number, start in starts.items()], list(_blocks(text, pages, outline, starts))


def _between(before: str, after: str, headed: bool) -> str:
    """What stands between two pages: a blank line, or less where the last sentence runs on."""
    last = before.rpartition("\n")[2]
    if headed or _STOP.search(last) or _ITEM.match(after):
        return "\n\n"
    return "" if _WIDE_END.search(last) and _WIDE_START.match(after) else " "


def _blocks(
    text: str, pages: list[str], outline: list[tuple[int, int, str]], starts: dict[int, int]
) -> Iterator[Block]:
    """Paragraphs, and a heading wherever a bookmark's words stand on its page, else at the top of the page."""
    headings = []
    for page, level, title in outline:
        if page in starts:
            begin, end = _place(text, title, starts[page], starts[page] + len(pages[page]))
            headings.append(Block("heading", begin, end, level, title))
    position = 0
    for heading in sorted(headings, key=lambda block: block.start):
        begin = max(heading.start, position)
        yield from plain_blocks(text, position, begin)
        position = max(heading.end, begin)
        yield heading._replace(start=begin, end=position)
    yield from plain_blocks(text, position)


def _place(text: str, title: str, start: int, end: int) -> tuple[int, int]:
    words = r"\s*".join(map(re.escape, title.split()))
    found = re.compile(words, re.IGNORECASE).search(text, start, end)
    return found.span() if found else (start, start)


def info_date(value: str) -> Any:
    """The day of a date as PDF writes it, `D:20240305…`; None for anything else."""
    found = _INFO_DATE.match(value)
    return as_date("-".join((found[1], found[2] or "01", found[3] or "01")) if found else value)
