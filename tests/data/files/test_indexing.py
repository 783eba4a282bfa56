from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.data.files import Indexer, IndexReport, Manifest, parse_source
from reflective_rag.data.files import indexing as module
from reflective_rag.data.retrieval import Retriever, open_retriever
from reflective_rag.signatures.errors import DataError
from reflective_rag.signatures.types import Passage

Index = Callable[..., IndexReport]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Three texts of a paragraph each, one in a folder below."""
    folder = tmp_path / "docs"
    (folder / "b").mkdir(parents=True)
    for name, text in (
        ("a.txt", "The Rhine is long."),
        ("b/c.md", "# Danube\n\nThe Danube is longer."),
        ("d.txt", "长江更长。"),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """Index sources into the one index of a test, as the command does."""

    def run(*names: Path | str, wrap: Callable[[Retriever], Any] = lambda found: found, **options: Any) -> IndexReport:
        indexer = Indexer(
            lambda: wrap(open_retriever(f"local:{tmp_path / 'idx'}", embedder="none", create=True)),
            lambda: Manifest(tmp_path / "idx" / "sources.sqlite3"),
            exists=(tmp_path / "idx").exists(),
            **options,
        )
        try:
            for name in names:
                indexer.add(parse_source(str(name)))
        finally:
            indexer.close()
        return indexer.report

    return run


def stored(tmp_path: Path) -> dict[str, str]:
    """Id → text of all that the index finds."""
    with open_retriever(f"local:{tmp_path / 'idx'}") as found:
        passages = found.search("the is long longer longest Rhine Danube Nile 长江更长 new text row", 100)
        assert len(passages) == found.count()
    return {passage.id: passage.text for passage in passages}


def test_only_what_changed_is_read_again(docs: Path, tmp_path: Path, index: Index) -> None:
    """New, changed, unchanged and deleted files in one run; a touched file has not changed."""
    assert index(docs).added == 3
    (docs / "a.txt").write_text("The Nile is the longest.")
    (docs / "d.txt").unlink()
    (docs / "e.txt").write_text("A new text.")
    (docs / "b" / "c.md").touch()
    report = index(docs)
    assert (report.files_read, report.files_unchanged, report.files_removed) == (2, 1, 1)
    assert (report.passages, report.added, report.removed) == (3, 2, 1)
    assert stored(tmp_path) == {
        "docs/a.txt#1": "The Nile is the longest.",
        "docs/b/c.md#1": "# Danube\n\nThe Danube is longer.",
        "docs/e.txt#1": "A new text.",
    }


def test_a_shorter_file_leaves_nothing_behind(docs: Path, tmp_path: Path, index: Index) -> None:
    """Passages that a file no longer holds go."""
    (docs / "a.txt").write_text("The Rhine is long. " * 400)
    index(docs)
    before = len(stored(tmp_path))
    (docs / "a.txt").write_text("The Rhine is long.")
    assert index(docs).removed == before - 3
    assert len(stored(tmp_path)) == 3


class _Killed(BaseException):
    """What a kill looks like from inside."""


class _Killing:
    """An index whose process is killed at the nth write."""

    def __init__(self, found: Retriever, writes: int) -> None:
        self._found, self._writes = found, writes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)

    def add(self, passages: Iterable[Passage], **options: Any) -> int:
        if not self._writes:
            raise _Killed
        self._writes -= 1
        return self._found.add(passages, **options)


@pytest.mark.parametrize("writes", [0, 1, 3])
def test_a_killed_run_goes_on(
    docs: Path, tmp_path: Path, index: Index, writes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written stays; the file that was under way, even if it then changes, leaves nothing behind."""
    monkeypatch.setattr(module, "FLUSH", 2)
    (docs / "z.txt").write_text("The Rhine is long. " * 400)
    with pytest.raises(_Killed):
        index(docs, wrap=lambda found: _Killing(found, writes))
    (docs / "z.txt").write_text("A new text.")
    index(docs)
    assert set(stored(tmp_path)) == {"docs/a.txt#1", "docs/b/c.md#1", "docs/d.txt#1", "docs/z.txt#1"}
    assert index(docs).files_unchanged == 4


def test_what_is_left_out_is_counted_with_the_reason(docs: Path, tmp_path: Path, index: Index) -> None:
    """Links are not followed, so loops end; hidden files are no documents; data is named by itself."""
    (docs / "loop").symlink_to(docs, target_is_directory=True)
    (docs / "link.txt").symlink_to(docs / "a.txt")
    for name in ("x.zip", "y.csv", "z.xyz", "noending", ".hidden.txt", "~$a.docx", "empty.md"):
        (docs / name).touch()
    report = index(docs)
    reasons = {reason.partition(" (")[0].partition(";")[0]: group.places for reason, group in report.skipped.items()}
    assert reasons == {
        "is a symbolic link": ["docs/loop", "docs/link.txt"],
        "is an archive": ["docs/x.zip"],
        "is data": ["docs/y.csv"],
        "is of an unknown kind": ["docs/noending"],
        "is empty": ["docs/empty.md"],
    } | {key: value for key, value in reasons.items() if value == ["docs/z.xyz"]}
    assert len(stored(tmp_path)) == 3


def test_a_file_that_can_no_longer_be_read_keeps_its_passages(docs: Path, tmp_path: Path, index: Index) -> None:
    """The report says so; a file that disappears while it is read is gone with the next run."""
    index(docs)
    (docs / "a.txt").write_bytes(bytes(range(256)))
    report = index(docs)
    assert any("the passages of its earlier content stay" in reason for reason in report.skipped)
    assert len(stored(tmp_path)) == 3


def test_an_empty_folder_is_an_error_and_removes_nothing(docs: Path, tmp_path: Path, index: Index) -> None:
    """It may be a disk that is not mounted."""
    index(docs)
    for path in sorted(docs.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    with pytest.raises(DataError, match="holds no document that can be read"):
        index(docs)
    assert len(stored(tmp_path)) == 3


def test_nothing_to_index_makes_no_index(docs: Path, tmp_path: Path, index: Index) -> None:
    """Unreadable documents alone leave no folder behind."""
    for path in docs.rglob("*.*"):
        path.write_bytes(b"\x00")
    assert index(docs).passages == 0
    assert not (tmp_path / "idx").exists()


def test_folders_of_one_name_do_not_mix(docs: Path, tmp_path: Path, index: Index) -> None:
    """The second is called by another name, and keeps it."""
    other = tmp_path / "other" / "docs"
    other.mkdir(parents=True)
    (other / "a.txt").write_text("The Nile is the longest.")
    index(docs, other)
    assert stored(tmp_path)["docs-2/a.txt#1"] == "The Nile is the longest."
    assert stored(tmp_path)["docs/a.txt#1"] == "The Rhine is long."
    assert index(other, docs).added == 0


def test_ids_of_rows_stand_for_one_text(tmp_path: Path, index: Index) -> None:
    """Another text gets another id, the same text comes once a file; a row goes with its last file."""
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("id,text\n1,The Rhine is long.\n1,The Danube is longer.\n3,The Rhine is long.\n4,row\n")
    second.write_text("id,text\n1,The Nile is the longest.\n4,row\n")
    report = index(first, second)
    assert (report.duplicates, report.renamed, report.passages) == (1, 2, 5)
    assert sorted(name.partition("~")[0] for name in stored(tmp_path)) == ["1", "1", "1", "4"]
    assert index(first, second).added == 0
    first.write_text("id,text\n1,The Rhine is long.\n")
    assert index(first, second).removed == 1
    assert sorted(stored(tmp_path).values()) == ["The Nile is the longest.", "The Rhine is long.", "row"]


def test_a_long_row_comes_in_chunks(tmp_path: Path, index: Index) -> None:
    """A passage longer than a window is cut as a document is; its metadata stays."""
    (tmp_path / "a.csv").write_text("id,text,lang\n7," + "The Rhine is long. " * 300 + ",en\n")
    assert index(tmp_path / "a.csv").added > 3
    with open_retriever(f"local:{tmp_path / 'idx'}") as found:
        passage = found("Rhine", 1)[0]
    assert passage.id.startswith("7@")
    assert passage.metadata["lang"] == "en"


def test_an_emptied_index_is_filled_again(docs: Path, tmp_path: Path, index: Index) -> None:
    """What is remembered of the files counts only while the index has passages; `everything` reads all again."""
    index(docs)
    with open_retriever(f"local:{tmp_path / 'idx'}") as found:
        found.delete([f"docs/{name}#1" for name in ("a.txt", "b/c.md", "d.txt")])
    assert index(docs).added == 3
    assert index(docs, everything=True).files_read == 3


def test_a_damaged_list_of_files_is_one_error(docs: Path, tmp_path: Path, index: Index) -> None:
    """It names the file and says that it may be removed."""
    index(docs)
    (tmp_path / "idx" / "sources.sqlite3").write_bytes(b"no database" * 1000)
    with pytest.raises(DataError, match="remove it"):
        index(docs)


@pytest.mark.parametrize("kind", ["folder", "rows"])
def test_passages_that_the_index_has_lost_come_back(docs: Path, tmp_path: Path, index: Index, kind: str) -> None:
    """A file is unchanged only where all of its passages are there, whoever took them and whatever came instead."""
    source = docs
    if kind == "rows":
        source = tmp_path / "rows.csv"
        source.write_text("id,text\n" + "".join(f"r{n},text of row {n}\n" for n in range(1200)))
    assert index(source).added
    before = stored(tmp_path) if kind == "folder" else {}
    with open_retriever(f"local:{tmp_path / 'idx'}", embedder="none") as found:
        lost = "docs/a.txt#1" if kind == "folder" else "r7"
        assert found.delete(lost) == 1
        found.add([Passage(id="foreign", text="the new text")])
    report = index(source)
    assert (report.files_read, report.added, report.removed) == (1, 1, 0)
    with open_retriever(f"local:{tmp_path / 'idx'}", embedder="none") as found:
        assert found.stored([lost, "foreign", "nobody"]) == {lost, "foreign"}
    assert not before or stored(tmp_path) == before | {"foreign": "the new text"}
    assert index(source).files_read == 0
