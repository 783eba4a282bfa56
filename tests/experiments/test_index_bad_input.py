"""`index` on what goes wrong: files that cannot be read, ids twice, two runs at once, a full disk, a kill."""

import json
import os
import random
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.data.files import Indexer, Manifest, manifest, manifest_path, parse_source
from reflective_rag.data.retrieval import open_retriever
from reflective_rag.signatures.errors import DataError
from reflective_rag.signatures.types import Passage
from tests.data.files.documents import pdf_bytes, write_docx, write_pptx
from tests.data.retrieval.helpers import run_threads
from tests.experiments.helpers import run, run_json, write_jsonl


@pytest.fixture(autouse=True)
def keywords(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, and no embedder."""
    monkeypatch.setenv("RRAG_EMBEDDER", "none")


def rows(name: str, count: int) -> Path:
    """A file of passages, each another text."""
    return write_jsonl(Path(name), [{"id": f"{name}{n}", "text": f"{name} is passage {n}."} for n in range(count)])


def test_encodings_may_be_mixed() -> None:
    """Each file is read in its own; one that is in two is left out with the reason."""
    Path("docs").mkdir()
    for name, data in (
        ("utf8.txt", "长江很长。".encode()),
        ("gb.txt", "黄河也很长，全长五千四百六十四公里。".encode("gb18030")),
        ("utf16.txt", "The Rhine is long.".encode("utf-16")),
        ("two.txt", "前半是一种编码。".encode() * 20 + "后半是国标码，中文内容。".encode("gb18030") * 20),
    ):
        Path("docs", name).write_bytes(data)
    report = run_json("index", "docs", "--to", "local:idx")
    assert report["count"] == 3
    assert [(s["places"], "no text in any encoding" in s["reason"]) for s in report["skipped"]] == [
        (["docs/two.txt"], True)
    ]


def test_a_scan_among_documents_is_named() -> None:
    """A PDF without text is left out, the others are read."""
    Path("docs").mkdir()
    Path("docs/scan.pdf").write_bytes(pdf_bytes())
    Path("docs/b.txt").write_text("Fine.")
    done = run("index", "docs", "--to", "local:idx")
    assert done.exit_code == 0
    assert "is a PDF without text (scanned pages?)" in " ".join(done.stderr.split())


def test_a_table_damaged_in_the_middle_is_one_error() -> None:
    """What was read before is kept, and a whole file takes its place."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"text": [f"This is row {n}, {'x' * 40}." for n in range(3000)]})
    pyarrow.parquet.write_table(table, "rows.parquet", row_group_size=500)
    whole = Path("rows.parquet").read_bytes()
    middle = len(whole) // 2
    Path("rows.parquet").write_bytes(
        whole[:middle] + bytes(b ^ 0x5A for b in whole[middle : middle + 900]) + whole[middle + 900 :]
    )
    done = run("index", "rows.parquet", "--to", "local:idx")
    assert done.exit_code == 2
    assert "`rows.parquet` cannot be read, it may be damaged" in " ".join(done.stderr.split())
    Path("rows.parquet").write_bytes(whole)
    assert run_json("index", "rows.parquet", "--to", "local:idx")["count"] == 3000


def test_links_that_go_round_are_left_out() -> None:
    """A folder inside itself ends, and is said."""
    Path("docs/a").mkdir(parents=True)
    Path("docs/a/back").symlink_to("..")
    Path("docs/self.txt").symlink_to("self.txt")
    Path("docs/x.txt").write_text("In the loop.")
    report = run_json("index", "docs", "--to", "local:idx")
    assert report["count"] == 1
    assert sorted(report["skipped"][0]["places"]) == ["docs/a/back", "docs/self.txt"]


def test_names_in_an_archive_lead_nowhere() -> None:
    """Office files are archives: nothing of them is unpacked onto the disk, whatever its parts are called."""
    Path("docs").mkdir()
    write_docx(Path("docs/a.docx"))
    write_pptx(Path("docs/b.pptx"))
    for name in ("docs/a.docx", "docs/b.pptx"):
        with zipfile.ZipFile(name, "a") as archive:
            archive.writestr("../evil.txt", "evil")
            archive.writestr(str(Path("absolute.txt").resolve()), "evil")
            archive.writestr("word/../../evil.txt", "evil")
    report = run_json("index", "docs", "--to", "local:idx")
    assert report["files"]["read"] == 2
    assert not [path for path in Path().rglob("*") if path.name in ("evil.txt", "absolute.txt")]


def test_one_id_for_several_texts_keeps_them_all() -> None:
    """In one file and over two; the same run again changes nothing."""
    write_jsonl(Path("a.jsonl"), [{"id": "same", "text": text} for text in ("First.", "Second.", "First.")])
    write_jsonl(Path("b.jsonl"), [{"id": "same", "text": "Third."}])
    first = run_json("index", "a.jsonl", "b.jsonl", "--to", "local:idx")
    assert (first["count"], first["renamed"], first["duplicates"]) == (3, 2, 1)
    again = run_json("index", "a.jsonl", "b.jsonl", "--to", "local:idx")
    assert (again["added"], again["removed"], again["count"]) == (0, 0, 3)


def test_a_document_beyond_the_limit_is_left_out() -> None:
    """500 MB that take no room on the disk, and none in memory."""
    with Path("huge.txt").open("wb") as file:
        file.truncate(500 << 20)
    done = run("index", "huge.txt", "--to", "local:idx")
    assert done.exit_code == 2
    assert "has 500 MB, more than the 100 that are allowed" in " ".join(done.stderr.split())


def test_rows_are_never_held_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the file, no more than a batch of its passages waits to be written."""
    monkeypatch.setattr("reflective_rag.data.files.indexing.FLUSH", 100)
    batches: list[int] = []
    index = open_retriever("local:idx", embedder="none", create=True)
    write = index.add

    def add(passages: Iterable[Passage], **options: Any) -> int:
        kept = list(passages)
        batches.append(len(kept))
        return write(kept, **options)

    monkeypatch.setattr(index, "add", add)
    indexer = Indexer(lambda: index, lambda: Manifest(manifest_path("local:idx")))
    indexer.add(parse_source(str(rows("long.jsonl", 950))))
    assert index.count() == 950
    indexer.close()
    assert max(batches) == 100


def test_two_runs_at_once_index_both() -> None:
    """Two sources into one index at the same time, and one source twice."""
    names = [str(rows(name, 300)) for name in ("p.jsonl", "q.jsonl")]

    def work() -> None:
        name = names.pop() if len(names) > 1 else names[0]
        indexer = Indexer(
            lambda: open_retriever("local:idx", embedder="none", create=True),
            lambda: Manifest(manifest_path("local:idx")),
        )
        indexer.add(parse_source(name))
        indexer.close()

    run_threads(work, 3)
    with open_retriever("local:idx") as index:
        assert index.count() == 600
    assert run_json("index", "p.jsonl", "q.jsonl", "--to", "local:idx")["added"] == 0


def test_an_index_in_use_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that holds the list of files too long is not taken for damage."""
    run_json("index", rows("p.jsonl", 3), "--to", "local:idx")
    monkeypatch.setattr(manifest, "LOCK_SECONDS", 0.01)
    other = sqlite3.connect("idx/sources.sqlite3")
    other.execute("BEGIN EXCLUSIVE")
    done = run("index", rows("q.jsonl", 3), "--to", "local:idx")
    other.close()
    assert done.exit_code == 2
    assert "another run is indexing into the same index" in " ".join(done.stderr.split())
    assert "damaged" not in done.stderr


def in_a_process(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command after `code` in a process of its own."""
    program = (
        f"import sys\n{code}\nfrom reflective_rag.experiments.cli import main\nsys.argv[0] = 'reflective-rag'\nmain()"
    )
    path = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )


KILLED = """
import os, signal
from reflective_rag.data.retrieval import lance, store
lance.WRITE_BATCH = 300
write, writes = store.LanceStore.upsert, []
def upsert(self, rows, vectors):
    write(self, rows, vectors)
    writes.append(len(rows))
    if len(writes) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
store.LanceStore.upsert = upsert
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_after_kill_9_it_goes_on() -> None:
    """The index can be searched, and the next run writes only what is missing."""
    rows("p.jsonl", 1500)
    done = in_a_process(KILLED, "index", "p.jsonl", "--to", "local:idx")
    assert done.returncode == -9, done.stderr
    with open_retriever("local:idx") as index:
        there = index.count()
        assert index.search("passage", 3)
    assert 0 < there < 1500
    report = run_json("index", "p.jsonl", "--to", "local:idx")
    assert (report["added"], report["count"]) == (1500 - there, 1500)


FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of this kind")
def test_a_full_disk_is_one_error_and_loses_nothing() -> None:
    """No file may grow beyond a limit: the run ends with one line, and goes on when there is room."""
    noise = random.Random(0)
    texts = [f"Passage {n}: {noise.randbytes(900).hex()}" for n in range(400)]
    write_jsonl(Path("p.jsonl"), [{"id": str(n), "text": text} for n, text in enumerate(texts)])
    done = in_a_process(FULL, "index", "p.jsonl", "--to", "local:idx")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "Make room" in " ".join(done.stderr.split())
    assert run_json("index", "p.jsonl", "--to", "local:idx")["count"] == 400


@pytest.mark.parametrize(
    "said", ["No space left on device (os error 28)", "database or disk is full", "Disk quota exceeded"]
)
def test_every_way_to_say_that_the_disk_is_full_is_known(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system, SQLite and LanceDB each have their own; none is taken for damage."""
    path = Path("idx/sources.sqlite3")
    kept = Manifest(path)
    with pytest.raises(DataError, match="Make room") as caught, kept._telling():
        raise sqlite3.OperationalError(said)
    assert "damaged" not in str(caught.value)
    kept.close()


def test_json_lines_cut_in_the_middle_name_the_line() -> None:
    """Nothing of the file is indexed."""
    Path("cut.jsonl").write_text(json.dumps({"id": "1", "text": "whole"}) + '\n{"id": "2", "te')
    done = run("index", "cut.jsonl", "--to", "local:idx")
    assert done.exit_code == 2
    assert "cut.jsonl:2: not valid JSON" in " ".join(done.stderr.split())
    assert not Path("idx").exists()
