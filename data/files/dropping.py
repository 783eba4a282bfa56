"""Taking a source out of an index again: a folder, a file of it, a data set; also one that does not exist any more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reflective_rag.data.files.manifest import FileEntry, Manifest
from reflective_rag.data.files.report import IndexReport
from reflective_rag.data.retrieval import Retriever
from reflective_rag.signatures.errors import DataError

_SHOWN = 5


def drop_source(
    index: Retriever, manifest: Manifest, name: str, report: IndexReport, *, known: Callable[[str], bool]
) -> None:
    """Remove the passages of a source that no other source has, and forget the source.

    Args:
        name: As it was given to `index`, or a file in a folder that was.
        report: Counts the passages and files.
        known: Whether a name means labelled data by its name, which has no path.

    Raises:
        DataError: The index holds nothing of that source.
    """
    entries = _entries(manifest, name, known)
    if not entries:
        raise DataError(f"the index holds nothing of `{name}`; {_held(manifest)}")
    for entry in entries:
        report.removed += index.delete(manifest.stale(entry.id))
        report.files_removed += 1
        manifest.forget([entry.id])
        manifest.commit()  # killed before this, the next run deletes nothing again and forgets


def holds_source(manifest: Manifest, name: str) -> bool:
    """Whether the index has passages of a source of that name."""
    return bool(_entries(manifest, name, lambda name: False))


def _entries(manifest: Manifest, name: str, known: Callable[[str], bool]) -> list[FileEntry]:
    if entries := manifest.files(name):  # a data set, the sample
        return entries
    if known(name) or not name.strip():
        return []
    try:
        path = Path(name).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):
        return []
    if entries := manifest.files(str(path)):
        return entries
    return [
        entry
        for folder in path.parents
        for entry in manifest.files(str(folder))
        if entry.path and folder / entry.path == path
    ]


def _held(manifest: Manifest) -> str:
    roots = manifest.roots()
    if not roots:
        return "it knows of no source at all"
    more = f" and {len(roots) - _SHOWN} more" if len(roots) > _SHOWN else ""
    return f"it was made from {', '.join(f'`{root}`' for root in roots[:_SHOWN])}{more}"
