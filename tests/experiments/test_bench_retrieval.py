"""`bench retrieval`: what it measures is what it says; how fast it is, no test asks."""

import os
from pathlib import Path

import pytest

from reflective_rag.data.retrieval.rows import analyze
from reflective_rag.experiments.bench import growth, retrieval, retrieval_data
from reflective_rag.experiments.bench.retrieval_data import Known, gather, made_vectors
from tests.experiments.helpers import run


@pytest.fixture(autouse=True)
def without_embedder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The source that every machine has, and a cache of its own."""
    monkeypatch.setattr(retrieval_data, "resolve_embedder", lambda name: None)
    monkeypatch.setenv("RRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(retrieval, "QUESTIONS", 5)


def test_every_measurement_has_a_ratio_a_target_and_its_size(tmp_path: Path) -> None:
    """Five lines of two times or a share each, what the vectors are like, and how dense search went."""
    report = retrieval.run(3, passages=300, shared=tmp_path)
    assert [row["target"] for row in report["rows"]] == ["<= 1", "<= 1.2", ">= 0.95", "<= 1", "<= .01"]
    assert all(row["lowest"] <= row["ratio"] <= row["highest"] for row in report["rows"])
    assert report["rows"][2]["ratio"] == 1  # so few are compared exactly
    assert report["source"].endswith("the bundled sample, sums of random word directions, no embedder being installed")
    assert report["dense"]["kind"] == "exact"
    assert os.environ["RRAG_CACHE"] == str(tmp_path / "cache")
    assert not (tmp_path / "cache" / "embeddings.sqlite3").exists()


def test_both_sides_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our query and LanceDB's own two searches, fused, bring the same passages: the ratio compares the same work."""
    monkeypatch.setenv("RRAG_CACHE", str(tmp_path / "own"))
    material = gather(tmp_path, 5)
    known = Known(made_vectors(material, 300), material)
    with retrieval._opened(f"local:{tmp_path}/index", known, create=True) as index:
        index.add(material.passages(0, 300))
        table = retrieval._table(f"{tmp_path}/index")
        for question, vector in zip(material.questions, material.vectors, strict=True):
            bare = retrieval._bare(table, analyze(question), vector)
            assert {row["id"] for row in bare} == {passage.id for passage in index.search(question, 5)}


def test_made_vectors_are_like_those_they_are_made_of(tmp_path: Path) -> None:
    """Of length 1, as far from one another as the originals are, none of them twice, and the same every time."""
    material = gather(tmp_path, 5)
    made = made_vectors(material, 500)
    spread = [1 - float((some @ some.T).mean()) for some in (made, material.originals)]
    assert abs((made**2).sum(axis=1) - 1).max() < 1e-5
    assert spread[0] == pytest.approx(spread[1], rel=0.1)
    assert len({row.tobytes() for row in made}) == 500
    assert (made == made_vectors(material, 500)).all()


def test_made_passages_are_found_by_their_number(tmp_path: Path) -> None:
    """Each has a vector of its own, whatever its text is; both languages are there."""
    material = gather(tmp_path, 5)
    known = Known(made_vectors(material, 60), material)
    passages = list(material.passages(0, 60))
    vectors = known.passages([f"{passage.title}\n{passage.text}" for passage in reversed(passages)])
    assert (vectors == known.made[::-1]).all()
    assert {passage.text.isascii() for passage in passages} == {True, False}


def test_growth_tells_time_disk_and_memory(tmp_path: Path) -> None:
    """One size in this process; the process of its own prints the same."""
    row = growth.measure(200, tmp_path)
    assert row["passages"] == 200
    assert set(row) >= {"seconds", "disk_mb", "before_mb", "peak_mb", "query_ms", "add_seconds"}
    assert retrieval.growth([150], shared=tmp_path)[0].keys() == row.keys()


@pytest.mark.parametrize("sizes", ["", "many", "10,-5", "0"])
def test_sizes_that_are_none_are_refused(sizes: str) -> None:
    """Before anything is measured."""
    done = run("bench", "retrieval", "--growth", sizes)
    assert done.exit_code == 2
    assert "numbers of passages with commas" in done.stderr
