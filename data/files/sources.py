"""What can be named as a source: folders, documents, files of rows, data sets; known before anything is read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from reflective_rag.data.chunking import ChunkSizes
from reflective_rag.data.files.kinds import ARCHIVES, DOCUMENTS, ROWS
from reflective_rag.data.files.rows import Rows, csv_rows, dataset_rows, jsonl_rows, parquet_rows
from reflective_rag.signatures.errors import ConfigError, DataError

DATASETS = "datasets:"
CONVERSION = 2
"""Raised when readers or chunking give other passages for the same file, so that every file is read again."""
Skip = Callable[[str, str], None]


class Source(NamedTuple):
    """`root` tells it from every other one; ids and citations call it `label`; `path` is None for a data set."""

    name: str
    root: str
    label: str
    path: Path | None

    @property
    def is_folder(self) -> bool:
        """Whether documents are looked for in it."""
        return self.path is not None and self.path.is_dir()

    @property
    def is_rows(self) -> bool:
        """Whether its passages are rows."""
        return self.path is None or self.path.suffix.lower() in ROWS

    def rows(self, skip: Skip) -> Rows:
        """The passages of a source of rows. Raises `DataError` where it cannot be read."""
        if self.path is None:
            return dataset_rows(self.name.removeprefix(DATASETS), skip)
        kind = self.path.suffix.lower()
        if kind == ".parquet":
            return parquet_rows(self.path, skip)
        return jsonl_rows(self.path) if kind == ".jsonl" else csv_rows(self.path, skip)


def parse_source(name: str) -> Source:
    """The source that a name means.

    Raises:
        ConfigError: The name is empty, or of a kind that cannot be read.
        DataError: There is no such file or folder.
    """
    if name.startswith(DATASETS):
        wanted = name.removeprefix(DATASETS)
        if not wanted.partition(":")[0].strip() or wanted.count(":") > 2:
            raise ConfigError(f"{name!r} names no data set; expected `datasets:NAME`, `datasets:NAME:CONFIG:SPLIT`")
        return Source(name, name, wanted.replace(":", "/"), None)
    if not name.strip():
        raise ConfigError("the name of a source is empty; give a file, a folder, `datasets:NAME`, or `sample`")
    try:
        path = Path(name).expanduser()
        root = path.resolve()  # through links; their loops are an error
        found = path.is_dir() or path.is_file()
    except (OSError, RuntimeError, ValueError) as error:
        raise DataError(f"`{name}` cannot be read: {error}") from error
    if not found:
        what = "is no file and no folder" if path.exists() else "does not exist"
        raise DataError(f"`{name}` {what}. Expected a file, a folder of documents, or `datasets:NAME`.")
    if path.is_file():
        _check_kind(name, path.suffix.lower())
    return Source(name, str(root), root.name or "root", path)


def _check_kind(name: str, kind: str) -> None:
    if kind in ARCHIVES:
        raise ConfigError(f"`{name}` is an archive; unpack it and name the folder")
    if kind not in DOCUMENTS and kind not in ROWS:
        known = ", ".join(f"`{ending}`" for ending in (*ROWS, *DOCUMENTS))
        raise ConfigError(f"`{name}` is of a kind that cannot be read; expected one of {known}")


def file_digest(path: Path, sizes: ChunkSizes) -> str:
    """SHA-256 of the content and of what decides how it is read. Raises `OSError`."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(f"{CONVERSION} {tuple(sizes)} {path.suffix.lower()}".encode())
    return digest.hexdigest()
