"""The embedding cache on disk."""

import logging
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from reflective_rag.data.retrieval.cache import CachingEmbedder, VectorCache, cache_folder
from reflective_rag.signatures.errors import DataError
from tests.data.retrieval.helpers import HashEmbedder, run_threads


def cached(embedder, folder):
    """The embedder behind a cache in `folder`."""
    return CachingEmbedder(embedder, embedder.dimensions, VectorCache(folder))


def test_a_text_is_embedded_once(tmp_path):
    """A second embedder of the same name, in another cache object, embeds only what is new, each text once."""
    first = cached(HashEmbedder(), tmp_path).passages(["a", "b"])
    again = HashEmbedder()
    second = cached(again, tmp_path).passages(["b", "c", "a", "c"])
    assert again.embedded == ["c"]
    assert second[[2, 0]].tolist() == first.tolist()
    assert second[1].tolist() == second[3].tolist()


def test_embedders_do_not_share_vectors(tmp_path):
    """The embedder's name is part of the key."""
    cached(HashEmbedder("one"), tmp_path).passages(["a"])
    other = HashEmbedder("two")
    cached(other, tmp_path).passages(["a"])
    assert other.embedded == ["a"]


def test_the_exact_text_is_the_key(tmp_path):
    """Case and white space make another text, since an embedder may see them."""
    embedder = HashEmbedder()
    cached(embedder, tmp_path).passages(["a", "A", "a "])
    assert embedder.embedded == ["a", "A", "a "]


def test_vectors_of_another_width_are_embedded_again(tmp_path):
    """A stored vector that does not fit the index is not used."""
    cached(HashEmbedder(dimensions=8), tmp_path).passages(["a"])
    assert cached(HashEmbedder(dimensions=16), tmp_path).passages(["a"]).shape == (1, 16)


def test_an_embedder_that_changed_its_width_is_refused(tmp_path):
    """Vectors that the index cannot hold are an error that names both widths."""
    with pytest.raises(DataError, match=r"16 numbers.*of 8"):
        CachingEmbedder(HashEmbedder(dimensions=16), 8, VectorCache(tmp_path)).query("a")


@pytest.mark.parametrize(
    "damage", [b"not a database, by far" * 100, b"SQLite format 3\0" + b"\xff" * 5000], ids=["text", "pages"]
)
def test_a_damaged_cache_is_begun_anew(tmp_path, caplog, damage):
    """Damage costs a warning and the old vectors; the next batch is stored and found."""
    path = VectorCache(tmp_path).path
    path.write_bytes(damage)
    with caplog.at_level(logging.WARNING):
        assert cached(HashEmbedder(), tmp_path).passages(["a"]).shape == (1, 16)
    assert "damaged" in caplog.text
    again = HashEmbedder()
    cached(again, tmp_path).passages(["a"])
    assert again.embedded == []


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, caplog):
    """A file where the folder should be costs one warning, not the answer."""
    (tmp_path / "file").write_text("")
    embedder = cached(HashEmbedder(), tmp_path / "file")
    assert embedder.passages(["a"]).shape == embedder.passages(["b"]).shape == (1, 16)
    assert caplog.text.count("cannot be used") == 1


def test_eight_threads_share_it(tmp_path):
    """Concurrent writers leave every vector readable."""
    texts = [str(i) for i in range(40)]
    results = run_threads(lambda: cached(HashEmbedder(), tmp_path).passages(texts), 8)
    assert all(result.tolist() == results[0].tolist() for result in results)
    again = HashEmbedder()
    cached(again, tmp_path).passages(texts)
    assert again.embedded == []


WRITER = """
import sys
from pathlib import Path
from reflective_rag.data.retrieval.cache import VectorCache
cache = VectorCache(Path(sys.argv[1]))
for i in range(30):
    cache.put({f"{sys.argv[2]}-{i}".encode(): b"x" * 64})
"""


def test_two_processes_share_it(tmp_path):
    """What two processes write at once is all there."""
    source = Path(__file__).parents[3] / "src"
    command = [
        sys.executable,
        "-W",
        "error",
        "-c",
        f"import sys; sys.path.insert(0, {str(source)!r})\n{WRITER}",
        str(tmp_path),
    ]
    processes = [subprocess.Popen([*command, name]) for name in ("a", "b")]
    assert [process.wait() for process in processes] == [0, 0]
    with sqlite3.connect(VectorCache(tmp_path).path) as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (60,)
    connection.close()


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        pytest.param({"RRAG_CACHE": "own"}, "own", id="own"),
        pytest.param({"XDG_CACHE_HOME": "xdg"}, "xdg/reflective-rag", id="xdg"),
        pytest.param({"HOME": "home", "USERPROFILE": "home"}, "home/.cache/reflective-rag", id="home"),
    ],
)
def test_where_the_cache_is(monkeypatch, variables, folder):
    """`RRAG_CACHE` wins over the desktop's cache folder, which wins over the home folder."""
    for name in ("RRAG_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(folder)
