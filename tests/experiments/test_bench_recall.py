"""`bench recall`: what is counted as found, by which search, in which pool."""

from pathlib import Path
from typing import Any

import pytest

from reflective_rag.experiments.bench.recall import Files, run
from tests.data.retrieval.helpers import HashEmbedder
from tests.experiments.helpers import records, run_json, write_jsonl
from tests.experiments.helpers import run as command


def _row(report: dict[str, Any], pool: str, data: str) -> Any:
    (row,) = [row for row in report["rows"] if (row["pool"], row["data"]) == (pool, data)]
    return row


def measured(folder: Path, **options: Any) -> dict[str, Any]:
    """Two files of questions, and one of passages alone."""
    more = [{"id": f"n{n}", "text": f"Born, born, born: where was number {n} born?"} for n in range(12)]
    one = write_jsonl(folder / "one.dev.jsonl", records(0, 3))
    two = write_jsonl(folder / "two.dev.jsonl", records(3, 2))
    files = Files(asked=[str(one), str(two)], more=[write_jsonl(folder / "noise.jsonl", more)])
    return run(files, embedder=HashEmbedder(), progress=lambda done, total: None, **options)


def test_each_search_has_a_recall_with_an_interval(tmp_path: Path) -> None:
    """Keyword, dense and hybrid search at 5 and 10, for every file, language and all, with the number of questions."""
    report = measured(tmp_path)
    assert [row["data"] for row in report["rows"] if row["pool"] == "all"] == ["one", "two", "all en", "all zh", "all"]
    row = _row(report, "all", "all")
    assert row["n"] == 5
    assert list(row["recall"]) == ["BM25@5", "BM25@10", "dense@5", "dense@10", "hybrid@5", "hybrid@10"]
    assert all(value["low"] <= value["mean"] <= value["high"] for value in row["recall"].values())
    assert report["embedder"] == "hash"


def test_the_pools_differ(tmp_path: Path) -> None:
    """Five passages of a file are all among the first five; in the whole corpus the noise pushes some out."""
    report = measured(tmp_path)
    assert report["passages"] == {"all": 17, "own": 5}
    assert _row(report, "own", "one")["recall"]["dense@5"]["mean"] == 1
    assert _row(report, "all", "all")["recall"]["dense@5"]["mean"] < 1


def test_recall_is_the_share_of_the_supporting_passages(tmp_path: Path) -> None:
    """One of two supporting texts found is a half; a text counts under any id; without a label there is no score."""
    (record,) = records(0, 1)
    other = {"id": "x", "text": "Nothing of it.", "supporting": True}
    both = {**record, "id": "a", "passages": [*record["passages"], other]}
    unlabelled = {**record, "id": "b", "passages": [{"id": "same", "text": record["passages"][0]["text"]}]}
    data = write_jsonl(tmp_path / "d.jsonl", [both, unlabelled])
    report = run_json("bench", "recall", "--data", data, "--embedder", "none", "--pool", "own")
    (row,) = report["rows"]
    assert (row["n"], row["unlabelled"]) == (1, 1)
    assert row["recall"]["BM25@5"]["mean"] == 0.5
    assert set(row["recall"]) == {"BM25@5", "BM25@10"}


def test_tables_are_printed_in_markdown() -> None:
    """A person reads whole lines, ready for a results file, and what was left out."""
    done = command("bench", "recall", "--data", "sample:dev", "--embedder", "none", "--pool", "all")
    assert done.exit_code == 0
    assert "| data | n | BM25@5 | BM25@10 |" in done.stdout
    assert "without a supporting passage left out" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--shared", "nowhere"), "--shared DIR", id="no-folder"),
        pytest.param(("--data", "nowhere.jsonl"), "nowhere.jsonl", id="no-file"),
        pytest.param(("--data", "sample"), "`sample:dev`", id="no-split"),
        pytest.param(("--data", "sample:dev", "--embedder", "bert"), "unknown embedder", id="embedder"),
    ],
)
def test_bad_input_is_one_clear_line(workplace: Path, arguments: tuple[str, ...], message: str) -> None:
    """What cannot be measured says what was expected."""
    done = command("bench", "recall", *arguments)
    assert done.exit_code != 0
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
