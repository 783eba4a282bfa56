"""Which reader reads which file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from reflective_rag.data.files.document import Document, Unreadable
from reflective_rag.data.files.markup import read_html, read_markdown, read_text
from reflective_rag.data.files.office import read_docx, read_pptx
from reflective_rag.data.files.pdf import read_pdf
from reflective_rag.signatures.errors import message_of
from reflective_rag.signatures.installing import install_hint

READERS: dict[str, Callable[[Path], Document]] = {
    ".txt": read_text,
    ".text": read_text,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".pptx": read_pptx,
}
DOCUMENTS = tuple(READERS)
ROWS = (".jsonl", ".csv", ".tsv", ".parquet")
"""Files of one passage a line or row."""
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".zst")
_MISSING = {"html_to_markdown": "HTML", "pypdfium2": "PDF", "docx": "Word documents", "pptx": "slides"}


def read_document(path: Path, *, most_bytes: int) -> Document:
    """The document in a file, its title that of the file where it names none, its date the file's as a last resort.

    Raises:
        Unreadable: With the reason; a reader's own error too, whatever it is.
    """
    try:
        about = path.stat()
        if about.st_size > most_bytes:
            raise Unreadable(f"has {about.st_size >> 20} MB, more than the {most_bytes >> 20} that are allowed")
        if not about.st_size:
            raise Unreadable("is empty")
        document = READERS[path.suffix.lower()](path)
    except (Unreadable, MemoryError):
        raise
    except FileNotFoundError:
        raise Unreadable("disappeared while it was read") from None
    except ModuleNotFoundError as error:
        kind = _MISSING.get(error.name or "", "such files")
        raise Unreadable(f"needs `{install_hint('files')}`, which reads {kind} ({error})") from error
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from error
    except Exception as error:  # on damaged files the converters raise whatever their parsers do
        raise Unreadable(
            f"cannot be read, it may be damaged ({type(error).__name__}: {message_of(error)[:200]})"
        ) from error
    if not document.blocks:
        raise Unreadable("holds no text")
    if document.published is None:
        day = datetime.fromtimestamp(about.st_mtime, UTC).date()
        document = document._replace(published=day, date_from="file")
    return document._replace(title=document.title or path.stem)
