"""Corpus names: what each means, how several become one retriever, and which of them are refused."""

import asyncio
import shutil
from pathlib import Path

import pytest

from reflective_rag.data.partial import failed_part
from reflective_rag.data.records import Record, pool
from reflective_rag.data.retrieval import RetrieverUnavailable, open_retriever
from reflective_rag.experiments.corpora import data_path, load_passages, open_search, search_note
from reflective_rag.experiments.filtering import FilteredRetriever
from reflective_rag.programs import ReflectiveRAG
from reflective_rag.programs.registry import PROGRAMS, make_program
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Passage
from tests.experiments.helpers import records, write_jsonl

OWN = pool(Record.model_validate(line) for line in records())
QUERY = "Where was Marie Curie born?"


def test_own_is_the_pool_of_the_data() -> None:
    """`own` searches the data's passages; the index is gone when it is closed."""
    with open_search(["own"], OWN, embedder="none") as search:
        assert search.count() == len(OWN)
        assert search(QUERY, 1)[0].title == "Marie Curie"
    with pytest.raises(DataError, match="is gone"):
        search(QUERY, 1)


def test_files_and_own_are_pooled(tmp_path: Path) -> None:
    """Records give their passages, bare passages are taken as they are, and a text comes once."""
    more = write_jsonl(
        tmp_path / "more.jsonl", [*records(0, 2), {"id": "x", "text": "Lise Meitner was born in Vienna."}]
    )
    with open_search(["own", str(more)], OWN, embedder="none") as search:
        assert search.count() == len(OWN) + 1
        assert search("Lise Meitner", 1)[0].text.endswith("Vienna.")


def test_indexes_and_files_are_fused(tmp_path: Path) -> None:
    """Several addresses and files are one retriever that gives each text once and closes all of them."""
    for name, passages in (("a", OWN[:3]), ("b", [*OWN[2:4], Passage(id="v", text="Lise Meitner, Vienna")])):
        with open_retriever(f"local:{tmp_path / name}", embedder="none", create=True) as index:
            index.add(passages)
    with open_search([f"local:{tmp_path / 'a'}", f"local:{tmp_path / 'b'}", "own"], OWN, embedder="none") as search:
        texts = [passage.text for passage in search("born Vienna", 20)]
        assert len(set(texts)) == len(texts)
        assert "Lise Meitner, Vienna" in texts
        assert search.mode == "keyword"
        with pytest.raises(ConfigError, match="several corpora"):
            search.add(OWN)


def test_the_sample_is_all_its_splits() -> None:
    """`sample` holds more than any one split, and `sample:dev` is one."""
    assert len(load_passages(["sample"])) > len(load_passages(["sample:dev"])) > 50


@pytest.mark.parametrize(
    ("corpora", "own", "error", "match"),
    [
        pytest.param(
            ["own"], [], ConfigError, "`own` is the passages of the data, and there are none", id="own-of-none"
        ),
        pytest.param([], OWN, ConfigError, "names nothing to search", id="none"),
        pytest.param(["memory:"], [], DataError, "no passages at all", id="empty-index"),
        pytest.param(["local:"], [], ConfigError, "names no folder", id="no-folder"),
        pytest.param(["ftp:x"], [], ConfigError, "unknown address 'ftp:x'", id="scheme"),
        pytest.param(["missing.jsonl"], [], DataError, "`missing.jsonl` does not exist", id="missing"),
        pytest.param(["sample:foo"], [], ConfigError, "`sample:foo` names no data", id="split"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    workplace: Path, corpora: list[str], own: list[Passage], error: type[Exception], match: str
) -> None:
    """Each is one error that says what to do."""
    with pytest.raises(error, match=match):
        open_search(corpora, own, embedder="none")


def test_the_sample_has_no_data_without_a_split() -> None:
    """`--data sample` says which splits there are."""
    with pytest.raises(ConfigError, match="`sample:train`, `sample:dev`, `sample:test`"):
        data_path("sample")


def test_keyword_search_is_said() -> None:
    """A user who wanted dense search is told how to get it; one who did not is not."""
    with open_search(["own"], OWN, embedder="none") as search:
        assert search_note(search, "none") == "keyword search only"
        assert "pip install '.[local]'" in search_note(search, "auto")


DEAD = "weaviate://127.0.0.1:9/C?grpc=10"


def test_a_dead_corpus_among_several_is_told_and_the_others_answer() -> None:
    """The result is degraded and its warning names the dead one: sync, async, with filters, and in mode and note."""
    with open_search(["own", DEAD], OWN, embedder="none", need_all=False) as search:
        assert (search.count(), search.mode) == (len(OWN), "keyword")
        assert DEAD not in search_note(search, "none")
        for found in (
            search(QUERY, 3),
            asyncio.run(search.acall(QUERY, 3)),
            FilteredRetriever(search, {}).search(QUERY, 3),
        ):
            assert found[0].title == "Marie Curie"
            assert "1 of 2 corpora" in failed_part(found)
            assert DEAD in failed_part(found)
        program = ReflectiveRAG(search=search, mode="rules")
        for result in (program(question=QUERY), asyncio.run(program.acall(question=QUERY))):
            assert result.passages
            assert result.degraded
            assert [DEAD in w.message for w in result.warnings if w.code == "retriever_degraded"] == [True]


@pytest.mark.parametrize("name", sorted(name for name, kind in PROGRAMS.items() if not kind.needs_model))
def test_every_program_tells_of_a_dead_corpus(name: str) -> None:
    """Whatever the loop, the warning is there and the passages of the others are read."""
    with open_search(["own", DEAD], OWN, embedder="none", need_all=False) as search:
        result = make_program(name, search)(question=QUERY)
        assert result.passages
        assert [DEAD in w.message for w in result.warnings if w.code == "retriever_degraded"] == [True]
        assert result.degraded


@pytest.mark.parametrize(
    ("corpora", "need_all"),
    [
        pytest.param(["own", DEAD], True, id="a measurement needs all"),
        pytest.param([DEAD, DEAD.replace(":9/", ":11/")], False, id="all dead"),
        pytest.param(["memory:", DEAD], False, id="the others are empty"),
    ],
)
def test_a_dead_corpus_that_is_needed_is_an_error(corpora: list[str], need_all: bool) -> None:
    """It says that the server does not run."""
    with pytest.raises(RetrieverUnavailable, match=r"Is Weaviate running at 127\.0\.0\.1:"):
        open_search(corpora, OWN, embedder="none", need_all=need_all)


def test_a_corpus_that_is_lost_while_it_is_used(tmp_path: Path) -> None:
    """The others go on; once all are lost it is the error of one of them."""
    for name in "ab":
        with open_retriever(f"local:{tmp_path / name}", embedder="none", create=True) as index:
            index.add(OWN)
    with open_search([f"local:{tmp_path / 'a'}", f"local:{tmp_path / 'b'}"], embedder="none") as search:
        shutil.rmtree(tmp_path / "a")
        found = search(QUERY, 3)
        assert str(tmp_path / "a") in failed_part(found)
        assert found[0].title == "Marie Curie"
        shutil.rmtree(tmp_path / "b")
        with pytest.raises(DataError, match="cannot be used"):
            search(QUERY, 3)
