"""Corpus names: what each means, how several become one retriever, and which of them are refused."""

from pathlib import Path

import pytest

from reflective_rag.data.records import Record, pool
from reflective_rag.data.retrieval import open_retriever
from reflective_rag.experiments.corpora import data_path, load_passages, open_search, search_note
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
