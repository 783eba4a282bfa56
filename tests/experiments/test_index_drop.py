"""`index --drop`: a source, or a file of it, leaves the index; and what happens to sources that vanish."""

import json
import shutil
from pathlib import Path

import pytest

from tests.experiments.helpers import run, run_json


@pytest.fixture
def indexed(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two texts in a folder and rows in a file, one of which is the same text."""
    monkeypatch.setenv("RRAG_EMBEDDER", "none")
    Path("docs").mkdir()
    Path("docs/a.txt").write_text("The Rhine is 1230 kilometres long.")
    Path("docs/b.txt").write_text("The Danube is 2850 kilometres long.")
    rows = [
        {"id": "r1", "text": "长江全长6300公里。"},
        {"id": "docs/a.txt#1", "text": "The Rhine is 1230 kilometres long."},
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("index", "docs", "rows.jsonl", "--to", "local:idx")
    assert done.exit_code == 0, done.stderr
    return workplace


@pytest.mark.parametrize(
    ("name", "removed", "left"),
    [
        pytest.param("rows.jsonl", 1, 2, id="a-file-of-rows"),
        pytest.param("docs/b.txt", 1, 2, id="a-file-of-a-folder"),
        pytest.param("docs", 1, 2, id="a-folder"),
        pytest.param("docs/../docs/", 1, 2, id="by-another-path"),
        pytest.param("docs/a.txt", 0, 3, id="what-another-source-has-too"),
    ],
)
def test_a_source_leaves_the_index(indexed: Path, name: str, removed: int, left: int) -> None:
    """Its passages go, but for those that another source has too; a second time there is nothing of it."""
    document = run_json("index", name, "--drop", "--to", "local:idx")
    assert (document["removed"], document["count"]) == (removed, left)
    again = run("index", name, "--drop", "--to", "local:idx")
    assert again.exit_code == 2
    assert f"holds nothing of `{name}`" in again.stderr


def test_all_sources_leave_and_come_back(indexed: Path) -> None:
    """What was dropped is read again when it is indexed again."""
    done = run("index", "docs", "rows.jsonl", "--drop", "--to", "local:idx")
    assert "3 passage(s) of 3 file(s) removed; local:idx holds 0" in " ".join(done.stdout.split())
    assert run_json("index", "docs", "--to", "local:idx")["count"] == 2


def test_a_source_that_is_gone_can_be_dropped(indexed: Path) -> None:
    """Indexing it says what to do; nothing is removed without being told."""
    shutil.rmtree("docs")
    done = run("index", "docs", "--to", "local:idx")
    assert done.exit_code == 2
    assert "`reflective-rag index docs --drop --to local:idx` removes it" in " ".join(done.stderr.split())
    assert run_json("index", "rows.jsonl", "--to", "local:idx")["count"] == 3
    assert run_json("index", "docs", "--drop", "--to", "local:idx")["count"] == 2


def test_a_file_that_vanished_from_its_folder_is_named(indexed: Path) -> None:
    """Indexing the folder again removes its passages and says so, in JSON too."""
    Path("docs/b.txt").unlink()
    done = run("index", "docs", "--to", "local:idx")
    assert "removed 1 file(s) that are gone: docs/b.txt" in " ".join(done.stderr.split())
    Path("docs/c.txt").write_text("The Nile is longer.")
    Path("docs/a.txt").unlink()
    assert run_json("index", "docs", "--to", "local:idx")["gone"] == ["docs/a.txt"]


def test_an_emptied_folder_keeps_its_passages(indexed: Path) -> None:
    """A disk that is not mounted looks like one: the run fails and removes nothing."""
    for path in Path("docs").iterdir():
        path.unlink()
    done = run("index", "docs", "--to", "local:idx")
    assert done.exit_code == 2
    assert "holds no document" in done.stderr
    assert run_json("index", "rows.jsonl", "--to", "local:idx")["count"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("other", "--to", "local:idx"), "it was made from", id="unknown-source"),
        pytest.param(("", "--to", "local:idx"), "holds nothing of ``", id="empty-name"),
        pytest.param(("docs", "--to", "local:nowhere"), "there is no index", id="no-index"),
        pytest.param(("docs", "--to", "memory:"), "gone at once", id="memory"),
        pytest.param(("a\0b", "--to", "local:idx"), "holds nothing of", id="nul"),
        pytest.param(("sample", "--to", "local:idx"), "holds nothing of `sample`", id="sample"),
    ],
)
def test_what_is_not_there_is_one_clear_line(indexed: Path, arguments: tuple[str, ...], message: str) -> None:
    """Nothing is removed."""
    done = run("index", *arguments, "--drop")
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert run_json("index", "rows.jsonl", "--to", "local:idx")["count"] == 3


def test_an_index_that_does_not_know_its_sources(indexed: Path) -> None:
    """One that was filled from Python, or whose list of sources is on another machine."""
    Path("idx/sources.sqlite3").unlink()
    done = run("index", "docs", "--drop", "--to", "local:idx")
    assert done.exit_code == 2
    assert "it is not known what 'local:idx' was made from" in " ".join(done.stderr.split())
