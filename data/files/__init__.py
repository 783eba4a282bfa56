"""Files and data sets as passages, and an index that follows them.

See `reflective_rag.data.files.indexing` for how a folder is kept in an index, and `kinds` for what can be read.
"""

from reflective_rag.data.files.document import Document, Unreadable
from reflective_rag.data.files.dropping import drop_source, holds_source
from reflective_rag.data.files.indexing import Indexer
from reflective_rag.data.files.kinds import read_document
from reflective_rag.data.files.manifest import Manifest, manifest_path
from reflective_rag.data.files.passages import document_passages
from reflective_rag.data.files.report import IndexReport
from reflective_rag.data.files.sources import Source, parse_source

__all__ = [
    "Document",
    "IndexReport",
    "Indexer",
    "Manifest",
    "Source",
    "Unreadable",
    "document_passages",
    "drop_source",
    "holds_source",
    "manifest_path",
    "parse_source",
    "read_document",
]
