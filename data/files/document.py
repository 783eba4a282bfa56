"""What every reader of a kind of file makes of it."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any, Literal, NamedTuple

from reflective_rag.data.chunking import Block

DateFrom = Literal["front matter", "page", "document", "file"]
"""Where a date was found: front matter of Markdown, a meta tag of a page, the properties of a document, the file."""
_DATE = re.compile(r"\b(\d{4})[-/.年](\d{1,2})(?:[-/.月](\d{1,2}))?")


class Unreadable(Exception):
    """Why a file is left out, as a reader of the report should read it."""


class Document(NamedTuple):
    """The text of a file in blocks. Offsets count in `text`, which for plain text and Markdown is the file itself."""

    text: str
    blocks: list[Block]
    title: str = ""
    published: date | None = None
    date_from: DateFrom | None = None
    pages: list[tuple[int, int]] = []  # noqa: RUF012 - never changed
    """(offset, number of the page or slide that begins there), in order; none where the kind has no pages."""


def as_date(value: Any) -> date | None:
    """The day that a date, a datetime or a text begins with; None for anything else, and for days still to come.

    A day of the future is a mistake of whoever wrote it, and would pass for the freshest evidence.
    """
    if isinstance(value, datetime):
        found: date | None = value.date()
    elif isinstance(value, date):
        found = value
    else:
        found = _in_text(str(value)) if value is not None else None
    return found if found and date(1000, 1, 1) <= found <= datetime.now(UTC).date() else None


def _in_text(text: str) -> date | None:
    match = _DATE.search(text)
    try:
        return date(int(match[1]), int(match[2]), int(match[3] or 1)) if match else None
    except ValueError:
        return None
