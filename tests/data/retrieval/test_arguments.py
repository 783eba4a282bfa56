"""What callers hand to an index: a mistake is one error, and never silently another call."""

from typing import Any

import pytest

from reflective_rag.data.retrieval import open_retriever
from reflective_rag.data.retrieval.arguments import checked_query
from reflective_rag.data.retrieval.weaviate.objects import key_of, property_name
from reflective_rag.signatures.errors import ConfigError, ContractError, DataError
from reflective_rag.signatures.types import Passage


@pytest.fixture
def index():
    """Five passages whose ids are letters."""
    with open_retriever("memory:", embedder="none") as opened:
        opened.add([Passage(id=name, text=f"word {name}", metadata={"n": 10**400}) for name in "abcde"])
        yield opened


def test_a_text_alone_is_one_id(index):
    """Not the ids that its letters are."""
    assert (index.delete("abc"), index.count()) == (0, 5)
    assert (index.delete("a"), index.count()) == (1, 4)
    assert index.stored("b") == {"b"}


@pytest.mark.parametrize("ids", [None, 5, b"ab", [1], ["a", None], {"a": 1}], ids=repr)
def test_what_are_no_ids_is_refused(index, ids):
    """Nothing is deleted."""
    with pytest.raises(ContractError, match="ids of passages must be"):
        index.delete(ids)
    assert index.count() == 5


@pytest.mark.parametrize(
    "passages", [None, 5, "text", [" "], [None], [{"id": "1"}], [{"text": 5}], Passage(id="x", text="y")], ids=repr
)
def test_what_are_no_passages_is_refused(index, passages):
    """One alone, which could be iterated by its fields, too."""
    with pytest.raises(ContractError, match="`add` takes"):
        index.add(passages)


def test_dicts_and_texts_are_added_as_a_search_may_return_them(index):
    """Without an id the hash of the text is it, so the same text is stored once; unknown keys are metadata."""
    assert index.add([{"id": 7, "text": "walrus", "lang": "en"}, "zebra", {"text": "zebra"}]) == 2
    assert [(p.id, p.metadata) for p in index.search("walrus", 1)] == [("7", {"lang": "en"})]
    assert index.search("zebra", 1)[0].id.startswith("p-")


def test_a_dict_with_a_bad_field_is_refused_by_its_name(index):
    """The date is named, and nothing is stored."""
    with pytest.raises(ContractError, match="`published`"):
        index.add([{"text": "a", "published": "soon"}])
    assert index.count() == 5


def test_passage_is_where_users_look():
    """The type that `add` takes comes from the package of the retrievers, and from that of the programs."""
    from reflective_rag import programs
    from reflective_rag.data import retrieval

    assert retrieval.Passage is programs.Passage is Passage


@pytest.mark.parametrize("k", [0, -1, 1.5, 2.0, True, "3", None, float("nan")], ids=repr)
def test_a_k_that_is_no_number_of_passages_is_refused(index, k):
    """A truth value and a float are mistakes too."""
    with pytest.raises(ConfigError, match="`k` must be 1 or more"):
        index.search("word", k)


def test_a_whole_number_of_any_kind_is_a_k(index):
    """That of numpy, and one beyond all passages."""
    import numpy

    int_like: Any = numpy.int32(3)

    assert [len(index.search("word", k)) for k in (numpy.int64(2), numpy.uint8(3), 10**9, 10**30)] == [2, 3, 5, 5]
    assert type(checked_query("a", int_like)[1]) is int


@pytest.mark.parametrize("query", [None, 5, b"word", ["word"]], ids=repr)
def test_a_query_that_is_no_text_is_refused(index, query):
    """It names what came."""
    with pytest.raises(ConfigError, match="`query` must be text, got"):
        index.search(query, 3)


def test_numbers_beyond_all_floats(index):
    """A filter by one is refused; in metadata it is stored, and larger than all others."""
    for value in (10**400, -(10**5000)):
        with pytest.raises(ConfigError, match="more than 308 digits"):
            index.search("word", 3, filters={"n": {">": value}})
    assert len(index.search("word", 9, filters={"n": {">": 1e300}})) == 5


@pytest.mark.parametrize("depth", [101, 900, 100_000])
def test_metadata_nested_too_deep_is_refused(index, depth):
    """However deep: it could not be read again."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"x": value}
    with pytest.raises(DataError, match="nested more than 100 levels"):
        index.add([Passage.model_construct(id="deep", text="t", title="", source="", published=None, metadata=value)])


@pytest.mark.parametrize("address", [None, 5, b"memory:"], ids=repr)
def test_an_address_that_is_no_text_is_refused(address):
    """It says what an address looks like."""
    with pytest.raises(ConfigError, match="an address is text such as"):
        open_retriever(address)


@pytest.mark.parametrize("key", ["lang", "Lang", "a_b", "o'k", "页", "x y", "_", "a__b"])
@pytest.mark.parametrize("kind", [str, bool, float])
def test_the_key_of_a_weaviate_property_is_found_again(key, kind):
    """So that a wrong filter can be told which keys there are."""
    assert key_of(property_name(key, kind)) == key
