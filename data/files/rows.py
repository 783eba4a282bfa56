"""Files and data sets of one passage a row: JSON Lines, CSV, Parquet, `datasets`."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from reflective_rag.data.files.csv_records import CsvRecord, csv_records
from reflective_rag.data.files.decoding import SAMPLED, guessed
from reflective_rag.data.files.document import as_date
from reflective_rag.data.jsonl import parsed_lines, read_jsonl
from reflective_rag.data.records import is_record, line_passages
from reflective_rag.signatures.errors import DataError, message_of
from reflective_rag.signatures.types import Passage

Skip = Callable[[str, str], None]
"""Told of a row and why it is left out."""
Rows = Iterator[tuple[str, Passage]]
"""(where it stands, such as `row 3`; passage)"""

COLUMNS: dict[str, tuple[str, ...]] = {
    "text": ("text", "content", "passage", "context", "document", "body", "article", "contents", "正文", "内容"),
    "id": ("id", "_id", "docid", "doc_id", "pid", "passage_id"),
    "title": ("title", "headline", "name", "标题"),
    "source": ("source", "url", "link", "来源"),
    "published": ("published", "date", "published_at", "publish_date", "timestamp", "created_at", "日期"),
}
"""Names under which a column is looked for, the best first, in any case."""
_BATCH = 1024


def jsonl_rows(path: Path) -> Rows:
    """The passages of records or bare passages, see `records.load_corpus`; every line is checked first.

    Raises:
        DataError: As `read_jsonl`.
    """

    def check(value: dict[str, Any], number: int) -> None:
        line_passages(value)

    read_jsonl(path, check)
    for number, value in parsed_lines(path):
        for passage in line_passages(value):
            yield f"line {number}", passage if passage.source else passage.model_copy(update={"source": path.name})


def csv_rows(path: Path, skip: Skip) -> Rows:
    """The rows of a CSV or TSV file with a header; the separator and the encoding are guessed.

    Raises:
        DataError: The file cannot be read, or has no column of texts.
    """
    with _Naming(path), path.open("rb") as sample:
        data = sample.read(SAMPLED)
    encoding = _encoding(data)
    with _Naming(path), path.open(encoding=encoding, errors="replace", newline="") as file:
        head = next((line for line in file if line.strip()), "")
        file.seek(0)
        separator = max("\t,;|", key=head.count) if path.suffix.lower() != ".tsv" else "\t"
        records = csv_records(file, separator)
        head_record = next(records, CsvRecord(1, []))
        if head_record.fault:
            raise DataError(f"`{path}` cannot be read: its first line {head_record.fault}")
        names = head_record.fields
        columns = find_columns(names, str(path))
        for number, record in enumerate(records, 2):
            if record.fault:
                skip(f"line {record.line}", record.fault)
            elif len(record.fields) != len(names):
                skip(f"row {number}", f"has not the {len(names)} columns of the first row")
            else:
                yield from _row(dict(zip(names, record.fields, strict=True)), columns, f"row {number}", path.name, skip)


def parquet_rows(path: Path, skip: Skip) -> Rows:
    """The rows of a Parquet file, a batch at a time. Raises `DataError` as `csv_rows`."""
    import pyarrow.parquet

    with _Naming(path):
        file = pyarrow.parquet.ParquetFile(path)
        columns = find_columns(file.schema_arrow.names, str(path))
        number = 0
        for batch in file.iter_batches(_BATCH):
            for row in batch.to_pylist():
                number += 1
                yield from _row(row, columns, f"row {number}", path.name, skip)


def dataset_rows(name: str, skip: Skip) -> Rows:
    """The rows of `NAME[:config[:split]]` of the library `datasets`, streamed; the split is `train` unless named.

    Raises:
        DataError: There is no such data set here, or it has no column of texts.
    """
    import datasets
    from datasets.exceptions import DatasetsError

    parts = name.split(":")
    path, config, split = [*parts, "", ""][:3]
    try:
        stream = datasets.load_dataset(path, config or None, split=split or "train", streaming=True)
        columns: dict[str, str] | None = None
        for number, row in enumerate(stream, 1):
            columns = columns or find_columns(list(row), f"datasets:{name}")
            yield from _row(row, columns, f"row {number}", path, skip)
    except (OSError, DatasetsError, ValueError, RuntimeError) as error:  # what the library raises, see its `load`
        reason = (message_of(error).splitlines() or [type(error).__name__])[0][:300]
        raise DataError(
            f"the data set `{name}` cannot be read: {reason}. Expected NAME, NAME:CONFIG or NAME:CONFIG:SPLIT."
        ) from error


def find_columns(names: Sequence[str], where: str) -> dict[str, str]:
    """Field of `Passage` → name of the column. Raises `DataError` where none holds the text."""
    lower = {name.strip().lower().removeprefix("\ufeff"): name for name in reversed(names)}
    found = {field: lower[name] for field, known in COLUMNS.items() for name in reversed(known) if name in lower}
    if "text" not in found:
        raise DataError(
            f"`{where}` has no column of texts: expected one named {', '.join(COLUMNS['text'])}; "
            f"got {', '.join(map(repr, names)) or 'no columns'}. Rename the one that holds the texts."
        )
    return found


def _row(row: Mapping[str, Any], columns: Mapping[str, str], where: str, source: str, skip: Skip) -> Rows:
    if isinstance(row.get("passages"), list) and is_record(row):
        try:
            yield from ((where, passage) for passage in line_passages(dict(row)))
        except ValidationError:
            skip(where, "has `passages` that are not those of a record")
        return
    text = row[columns["text"]]
    if not isinstance(text, str) or not text.strip():
        skip(where, "has no text")
        return
    if "\ufffd" in text:
        skip(where, "has characters that its encoding does not know")
        return
    fields = {field: row[name] for field, name in columns.items()}
    published = fields.get("published")
    rest = {key: value for key, value in row.items() if key not in columns.values()}
    yield (
        where,
        Passage(
            id=str(fields["id"]) if fields.get("id") not in (None, "") else f"{source}#{where.partition(' ')[2]}",
            text=text,
            title=str(fields.get("title") or ""),
            source=str(fields.get("source") or source),
            published=as_date(published),
            metadata={
                key: value
                for key, value in rest.items()
                if isinstance(value, str | int | float | bool) and value == value
            },
        ),
    )


def _encoding(data: bytes) -> str:
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start < len(data) - 4:
            return "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else guessed(data) or "utf-8-sig"
    return "utf-8-sig"


class _Naming:
    """Turns what reading a file raises into a `DataError` that names it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import pyarrow

        if isinstance(error, OSError | csv.Error | UnicodeError | pyarrow.ArrowException) and not isinstance(
            error, DataError
        ):
            reason = (
                getattr(error, "strerror", None) or (message_of(error).splitlines() or [type(error).__name__])[0][:200]
            )
            raise DataError(f"`{self._path}` cannot be read, it may be damaged: {reason}") from error
