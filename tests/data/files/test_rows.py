import json
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reflective_rag.data.files import csv_records, parse_source
from reflective_rag.data.files.rows import find_columns
from reflective_rag.signatures.errors import ConfigError, DataError, ReflectiveRAGError
from reflective_rag.signatures.types import Passage

ROWS = [
    {"id": "1", "title": "Rhine", "text": "The Rhine is 1230 km long.", "date": "2020-01-02", "lang": "en"},
    {"id": "2", "title": "长江", "text": "长江全长6300公里。", "date": "", "lang": "zh"},
]


def read(name: str) -> tuple[list[Passage], Counter[str]]:
    """The passages of a source, and the reasons of what it skipped."""
    skipped: Counter[str] = Counter()
    rows = parse_source(name).rows(lambda place, reason: skipped.update([reason]))
    return [passage for _, passage in rows], skipped


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    """The rows in the format that the name says."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        separator = "\t" if path.suffix == ".tsv" else ";"
        lines = [separator.join(map(str, row)) for row in (rows[0], *(row.values() for row in rows))]
        path.write_bytes("\n".join(lines).encode("gb18030"))
    return str(path)


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".parquet"])
def test_rows_are_passages(tmp_path: Path, kind: str) -> None:
    """Known columns are fields, the others metadata; separator and encoding of a CSV are found."""
    found, skipped = read(write(tmp_path / f"rivers{kind}", ROWS))
    assert [(p.id, p.title, p.text) for p in found] == [(r["id"], r["title"], r["text"]) for r in ROWS]
    assert found[0].published == date(2020, 1, 2)
    assert found[1].published is None
    assert [p.metadata for p in found] == [{"lang": "en"}, {"lang": "zh"}]
    assert found[0].source == f"rivers{kind}"
    assert not skipped


def test_a_data_set_is_streamed(tmp_path: Path) -> None:
    """A folder is a data set of the library too; the split is the third part of the name."""
    (tmp_path / "set").mkdir()
    write(tmp_path / "set" / "test.parquet", ROWS)
    found, _ = read(f"datasets:{tmp_path / 'set'}::test")
    assert [passage.id for passage in found] == ["1", "2"]


@pytest.mark.parametrize("row", [{"text": ""}, {"text": None}, {"text": "  "}], ids=str)
def test_rows_without_text_are_skipped(tmp_path: Path, row: dict[str, Any]) -> None:
    """And counted; a row without an id has one made of file and row."""
    found, skipped = read(write(tmp_path / "a.parquet", [row, {"text": "Some text."}]))
    assert [passage.id for passage in found] == ["a.parquet#2"]
    assert skipped == {"has no text": 1}


def test_rows_of_a_broken_csv_are_skipped(tmp_path: Path) -> None:
    """Too few fields, too many, bytes that are no text; a quoted field may hold lines."""
    path = tmp_path / "a.csv"
    path.write_bytes(b'id,text\n1,"two\nlines"\n2\n3,a,b\n4,' + "ü".encode() * 600_000 + b"\xff\n5,good\n")
    found, skipped = read(str(path))
    assert [passage.id for passage in found] == ["1", "5"]
    assert skipped == {
        "has not the 2 columns of the first row": 2,
        "has characters that its encoding does not know": 1,
    }


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.parquet", b"PAR1 broken", "may be damaged"),
        ("a.csv", b"id,name\n1,x", "no column of texts: expected one named text, content"),
        ("a.csv", b"", "no column of texts"),
        ("a.jsonl", b'{"id": "1", "text": "x"}\n{"id"', "1 line(s) of"),
        ("a.zip", b"PK", "is an archive; unpack it"),
        ("a.exe", b"MZ", "of a kind that cannot be read; expected one of `.jsonl`"),
    ],
    ids=["parquet", "columns", "empty", "jsonl", "archive", "kind"],
)
def test_a_source_that_cannot_be_read_is_one_error(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    """It names the file and says what was expected."""
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ReflectiveRAGError) as error:
        read(str(tmp_path / name))
    assert message in str(error.value)
    assert name in str(error.value)


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("datasets:", ConfigError, "names no data set"),
        ("datasets:a:b:c:d", ConfigError, "names no data set"),
        ("datasets:./none/here", DataError, "cannot be read"),
        ("", ConfigError, "is empty"),
        ("none/here", DataError, "`none/here` does not exist"),
    ],
)
def test_a_name_that_means_nothing_is_one_error(name: str, kind: type[Exception], message: str) -> None:
    """Of a data set, a file or a folder."""
    with pytest.raises(kind, match=message):
        read(name)


def test_a_link_to_itself_is_no_source(tmp_path: Path) -> None:
    """Loops end in an error, not in a hang."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(DataError, match="loop"):
        parse_source(str(tmp_path / "loop"))


def test_the_best_column_is_taken() -> None:
    """By the order of the known names, in any case."""
    assert find_columns(["Content", "TEXT", "_id"], "x") == {"text": "TEXT", "id": "_id"}


@pytest.mark.parametrize(
    ("rows", "read_ids", "faults"),
    [
        pytest.param(['1,"open', "2,b", "3,c"], ["2", "3"], {"line 2"}, id="never closed"),
        pytest.param(
            ["1,a", '2,"open', "3,b", '4,"c"', "5,d"], ["1", "3", "4", "5"], {"line 3"}, id="closed by another"
        ),
        pytest.param(['1,"open', '2,"open', "3,c", '4,"open'], ["3"], {"line 2", "line 3", "line 5"}, id="several"),
        pytest.param(['1,"two', 'lines"', '2,"open', "3,c"], ["1", "3"], {"line 4"}, id="behind a field of two lines"),
        pytest.param(['1,"a ""b"" c"', "", '2,5" pipe', '3,"a" b'], ["1", "2", "3"], set(), id="sloppy, but whole"),
        pytest.param(['1,"open ""', "2,b", "3,c"], ["2", "3"], {"line 2"}, id="doubled at the end"),
    ],
)
def test_a_quote_that_is_not_closed_costs_its_own_line(
    tmp_path: Path, rows: list[str], read_ids: list[str], faults: set[str]
) -> None:
    """The lines behind it are read, and the line is told by its number."""
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["id,text", *rows]) + "\n")
    told: list[tuple[str, str]] = []
    found = [p for _, p in parse_source(str(path)).rows(lambda place, reason: told.append((place, reason)))]
    assert [passage.id for passage in found] == read_ids
    assert {place for place, _ in told} == faults
    assert all("opens a quote that is not closed" in reason for _, reason in told)


def test_a_field_without_end_is_told_without_reading_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the longest field the quote counts as not closed, and what follows is read."""
    monkeypatch.setattr(csv_records, "LONGEST_FIELD", 1000)
    path = tmp_path / "a.csv"
    path.write_text('id,text\n1,"open\n' + "".join(f"{i},word\n" for i in range(2, 500)))
    found, skipped = read(str(path))
    assert [passage.id for passage in found] == [str(i) for i in range(2, 500)]
    assert sum(skipped.values()) == 1


def test_a_header_with_an_open_quote_is_an_error(tmp_path: Path) -> None:
    """Without names of columns nothing can be read."""
    path = tmp_path / "a.csv"
    path.write_text('"id,text\n1,a\n')
    with pytest.raises(DataError, match="its first line opens a quote"):
        read(str(path))
