"""What the retriever does with a Weaviate server.

Runs on the stand-in, which proves calls, mapping and refusals but not Weaviate's ranking; where WEAVIATE_URL names a
real server, the same tests run there, and those of ranking too.
"""

import asyncio
import copy
import os
import pickle
from datetime import date

import pytest

from reflective_rag.data.retrieval import open_retriever
from reflective_rag.data.retrieval.weaviate.objects import property_name, uuid_of
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Passage
from tests.data.retrieval.helpers import CORPUS, HashEmbedder
from tests.data.retrieval.test_filters import FILTERED, FILTERS

real_ranking = pytest.mark.skipif(
    not os.environ.get("WEAVIATE_URL"), reason="the stand-in does not rank as Weaviate: set WEAVIATE_URL"
)


def ids(passages):
    """Their ids, in order."""
    return [passage.id for passage in passages]


@pytest.fixture
def filled(server, name, open_at):
    """A retriever over the small corpus."""
    retriever = open_at(server.address(name))
    retriever.add(CORPUS)
    return retriever


def test_passages_come_back_as_they_were_added(filled):
    """Id, text, title, source, date and metadata survive; the score is the server's, best first."""
    found = filled.search("green tea in Hangzhou, 杭州龙井, automobile, telephones, 北京首都", 5)
    assert {p.id: p.model_copy(update={"score": None}) for p in found} == {p.id: p for p in CORPUS}
    scores = [p.score for p in found]
    assert scores == sorted(scores, reverse=True)
    assert all(isinstance(score, float) for score in scores)


@pytest.mark.parametrize("alpha", [0, 0.5, 1], ids=["keyword", "hybrid", "dense"])
def test_each_kind_of_search_finds(server, name, open_at, alpha):
    """BM25, hybrid and dense search each find the passage that is meant."""
    retriever = open_at(server.address(name, alpha=alpha))
    retriever.add(CORPUS)
    assert ids(retriever.search("Hangzhou", 1)) == ["tea"]
    assert retriever.mode == ("keyword" if alpha == 0 else "hybrid")


@pytest.mark.parametrize("query", ["杭州", "西湖龙井", "龙井产于哪里？"], ids=["two characters", "word", "question"])
@pytest.mark.parametrize("chinese", ["auto", "bigram"])
def test_chinese_is_found_by_keyword(server, name, open_at, query, chinese):
    """Words inside a run of Chinese are found, two characters long or more, whatever the server offers."""
    retriever = open_at(server.address(name, chinese=chinese), embedder="none")
    retriever.add(CORPUS)
    assert ids(retriever.search(query, 1)) == ["茶"]
    assert retriever.mode == "keyword"


def test_dense_search_finds_other_words(server, name, open_at):
    """A synonym, which no keyword search finds."""
    retriever = open_at(server.address(name, alpha=1))
    retriever.add(CORPUS)
    assert ids(retriever.search("car", 1)) == ["car"]
    assert ids(open_at(server.address(name, alpha=0)).search("car", 1)) == []


@pytest.mark.parametrize("query", ["", "  ", "?!", "。"])
def test_a_query_without_a_word_finds_nothing(filled, query):
    """As in the embedded index."""
    assert filled.search(query, 3) == []


def test_a_lone_surrogate_can_be_asked(filled):
    """Half a character in the query is no error."""
    assert ids(filled.search("green tea \ud800", 1)) == ["tea"]


def test_k_must_be_positive(filled):
    """`k` below 1 is a `ConfigError`."""
    with pytest.raises(ConfigError, match="`k` must be 1 or more"):
        filled.search("tea", 0)


def test_adding_again_writes_only_what_changed(filled):
    """Unchanged passages are not written again; one with a known id replaces the old one."""
    assert filled.add(CORPUS) == 0
    changed = CORPUS[1].model_copy(update={"text": "Black tea is grown in Darjeeling."})
    assert filled.add([*CORPUS, changed]) == 1
    assert filled.count() == len(CORPUS)
    assert filled.search("Darjeeling", 1)[0].text == changed.text
    assert filled.search("Darjeeling", 1)[0].published == date(2020, 5, 1)


def test_deleting_says_how_many_there_were(filled):
    """Unknown ids are no error, and deleted passages are not found."""
    assert filled.delete(["tea", "nothing", "tea"]) == 1
    assert filled.delete(["tea"]) == 0
    assert filled.count() == len(CORPUS) - 1
    assert "tea" not in ids(filled.search("green tea", 5))


def test_a_collection_is_found_again(server, name, open_at):
    """What was added is there for the next retriever; `auto` takes the embedder by its recorded name, or says so."""
    address = server.address(name)
    open_at(address).add(CORPUS)
    again = open_at(address, create=False)
    assert again.count() == len(CORPUS)
    assert again.mode == "hybrid"
    auto = open_at(address, create=False, embedder="auto")
    assert auto.mode == "keyword"
    assert "'hash'" in auto.note
    with pytest.raises(DataError, match="cannot add"):
        auto.add(CORPUS)


def test_another_embedder_is_refused(server, name, open_at):
    """Both names are in the message."""
    open_at(server.address(name)).add(CORPUS)
    with pytest.raises(DataError, match=r"'hash'.*'other'.*collection"):
        open_at(server.address(name), embedder=HashEmbedder("other")).count()


def test_vectors_of_another_size_are_refused(server, name, open_at):
    """An embedder of the same name whose vectors are longer than those of the collection."""
    open_at(server.address(name)).add(CORPUS)
    with pytest.raises(DataError, match="vectors of 32 numbers"):
        open_at(server.address(name), embedder=HashEmbedder(dimensions=32)).search("tea", 1)


def test_a_missing_collection_says_how_to_make_it(server, name, open_at):
    """Searching and counting name the command, and make nothing."""
    retriever = open_at(server.address(name), create=False)
    for use in (retriever.count, lambda: retriever.search("tea", 1), lambda: retriever.delete(["a"])):
        with pytest.raises(DataError, match=f"no collection `{name}`.*reflective-rag index CORPUS --to weaviate://"):
            use()


def test_a_foreign_collection_is_refused(server, name, open_at):
    """A collection that another program made is not taken for ours, not even to add to."""
    retriever = open_at(server.address(name))
    retriever._session.clients.sync().collections.create(name)
    with pytest.raises(DataError, match="not made by"):
        retriever.add(CORPUS)


@pytest.mark.parametrize(("filters", "expected"), FILTERS.values(), ids=FILTERS)
def test_filters_let_the_same_through_as_in_the_embedded_index(server, open_at, filters, expected):
    """By id, source, date and metadata of any kind, alone and together."""
    retriever = open_at(server.address(f"RragTest{os.getpid()}Filters"))
    if retriever.count() == 0:
        retriever.add(FILTERED)
    assert set(ids(retriever.search("passage", 20, filters=filters))) == expected


def test_a_filter_by_what_another_process_added_is_known(server, name, open_at):
    """A key of metadata that came after the retriever was opened can be filtered by."""
    early, late = open_at(server.address(name)), open_at(server.address(name))
    assert early.count() == 0
    late.add([Passage(id="a", text="a passage", metadata={"lang": "en"})])
    assert ids(early.search("passage", 1, filters={"lang": "en"})) == ["a"]


@pytest.mark.parametrize(
    "key", ["lang", "Lang", "LANG", "页码", "a-b", "a_b", "a_2d_b", "1", " ", "x" * 400, "_id", "id ", "é"]
)
def test_any_key_becomes_a_name_that_the_server_takes(server, open_at, key):
    """Keys that differ in case or punctuation alone stay apart."""
    retriever = open_at(server.address(f"RragTest{os.getpid()}Keys"), embedder="none")
    retriever.add([Passage(id=f"p-{key}", text="a passage", metadata={key: "here"})])
    assert ids(retriever.search("passage", 20, filters={key: "here"})) == [f"p-{key}"]
    assert property_name(key, str) != property_name(key, float)


def test_tenants_are_apart(server, name, open_at):
    """Each sees and counts its own passages; one that does not exist yet holds none."""
    ada, bob = (open_at(server.address(name, tenant=tenant)) for tenant in ("ada", "bob-2"))
    ada.add(CORPUS[:2])
    assert bob.count() == 0
    bob.add(CORPUS[1:])
    assert (ada.count(), bob.count()) == (2, len(CORPUS) - 1)
    assert ids(ada.search("Hangzhou tea", 5))[0] == "tea"
    assert ada.delete(["tea"]) == 1
    assert ids(bob.search("Hangzhou tea", 5))[0] == "tea"


def test_tenants_are_asked_for_where_they_are_needed(server, name, open_at):
    """A collection with tenants needs one, one without has none, and an unknown tenant is no empty answer."""
    open_at(server.address(name, tenant="ada")).add(CORPUS)
    with pytest.raises(DataError, match="add `\\?tenant=NAME`"):
        open_at(server.address(name)).count()
    with pytest.raises(DataError, match="tenant"):
        open_at(server.address(name, tenant="nobody")).search("tea", 1)
    plain = name + "Plain"
    open_at(server.address(plain)).add(CORPUS)
    with pytest.raises(DataError, match="take `tenant` out"):
        open_at(server.address(plain, tenant="ada")).count()


def test_async_search_finds_the_same(filled):
    """On one event loop after the other, many at once, filters included."""

    async def ask():
        return await asyncio.gather(*(filled.acall(query, 3) for query in ("green tea", "杭州", "Bell") * 4))

    expected = [filled.search(query, 3) for query in ("green tea", "杭州", "Bell") * 4]
    assert asyncio.run(ask()) == expected
    assert asyncio.run(ask()) == expected
    found = asyncio.run(filled.asearch("tea", 3, filters={"published": {">": "2019-12-31"}}))
    assert ids(found) == ["tea"]


def test_copies_and_pickles(filled):
    """A copy is the retriever itself; a pickled one connects anew and holds no key."""
    assert copy.deepcopy({"search": filled})["search"] is filled
    data = pickle.dumps(filled)
    with pickle.loads(data) as other:
        assert other.search("green tea", 2) == filled.search("green tea", 2)


def test_after_closing_it_opens_again(filled):
    """`close` may come twice, and the next use connects."""
    filled.close()
    filled.close()
    assert filled.count() == len(CORPUS)


def test_opened_by_address(server, name, monkeypatch):
    """`open_retriever` takes the address, and connects to nothing before the first use."""
    with open_retriever(server.address(name), embedder=HashEmbedder(), create=True) as retriever:
        assert retriever.add(iter(CORPUS), progress=lambda done, total: None) == len(CORPUS)
        assert ids(retriever("Hangzhou", 1)) == ["tea"]
    open_retriever("weaviate://127.0.0.1:9/Nobody?grpc=10", embedder="none").close()


@pytest.mark.parametrize(
    ("name", "properties", "refused"),
    [
        pytest.param("lower", [], None, id="a small letter is made capital"),
        pytest.param("Rrag-Test", [], "not a valid class name", id="hyphen"),
        pytest.param("Rrag test", [], "not a valid class name", id="space"),
        pytest.param("R" * 256, [], "not a valid class name", id="long"),
        pytest.param("RragTestBad", [("a-b", "word")], "not a valid property name", id="hyphen in property"),
        pytest.param("RragTestBad", [("1a", "word")], "not a valid property name", id="digit first"),
        pytest.param("RragTestBad", [("a" * 232, "word")], "not a valid property name", id="long property"),
        pytest.param("RragTestBad", [("_id", "word")], "reserved property name", id="reserved"),
        pytest.param("RragTestBad", [("lang", "word"), ("Lang", "word")], "already in use", id="twice but for case"),
        pytest.param("RragTestBad", [("text", "jieba")], "okenization 'jieba' is not allowed", id="tokenizer"),
    ],
)
def test_the_server_refuses_bad_names(server, open_at, name, properties, refused):
    """The stand-in refuses what a real server refuses: the reasons for the names that we make of metadata keys."""
    client = open_at(server.address("RragTestAny"))._session.clients.sync()
    schema = {
        "class": name[:1].upper() + name[1:],
        "properties": [{"name": n, "dataType": ["text"], "tokenization": t} for n, t in properties],
    }
    if refused is None:
        client.collections.create_from_dict(schema)
        assert client.collections.delete(schema["class"]) is None
        return
    with pytest.raises(Exception, match=refused):
        client.collections.create_from_dict(schema)


def test_the_server_refuses_bad_objects(server, name, open_at):
    """A vector of another length, a value of another type and a date that is none are refused one by one."""
    from weaviate.classes.data import DataObject

    retriever = open_at(server.address(name))
    retriever.add(CORPUS)
    collection = retriever._session.clients.sync().collections.use(name)
    good = {"passage_id": "x", "text": "x", "title": "", "source": "", "metadata": "{}", "digest": ""}
    objects = [
        DataObject(uuid=uuid_of("good"), properties=good, vector=[0.1] * 16),
        DataObject(uuid=uuid_of("a"), properties=good, vector=[0.1] * 3),
        DataObject(uuid=uuid_of("b"), properties=good | {"published": "yesterday"}, vector=[0.1] * 16),
        DataObject(uuid=uuid_of("c"), properties=good | {"title": True}, vector=[0.1] * 16),
    ]
    errors = collection.data.insert_many(objects).errors
    assert sorted(errors) == [1, 2, 3]
    assert "vector" in errors[1].message
    assert "RFC3339" in errors[2].message
    assert retriever.count() == len(CORPUS) + 1


def test_the_server_refuses_malformed_uuids(server, name, open_at):
    """An object's id must be a UUID; ours are made from passage ids, the same on every machine."""
    from weaviate.proto.v1 import batch_pb2

    retriever = open_at(server.address(name))
    retriever.add(CORPUS[:1])
    client = retriever._session.clients.sync()
    request = batch_pb2.BatchObjectsRequest(objects=[batch_pb2.BatchObject(uuid="no-uuid", collection=name)])
    reply = client._connection.grpc_batch_objects(request=request, timeout=5, max_retries=0)
    assert "invalid UUID" in reply[0]
    assert uuid_of("茶") == uuid_of("茶") != uuid_of("tea")


@real_ranking
def test_rare_words_weigh_more(server, name, open_at):
    """BM25: the passage with the rare word of the query comes before those with the common one."""
    retriever = open_at(server.address(name, alpha=0))
    retriever.add([Passage(id=str(i), text=f"common words number {i}") for i in range(50)])
    retriever.add([Passage(id="rare", text="a rare axolotl among longer sentences of quite other things entirely")])
    assert ids(retriever.search("common axolotl", 1)) == ["rare"]


@real_ranking
def test_dense_scores_are_cosines(server, name, open_at):
    """With `alpha=1` the order and the scores are those of the exact cosine."""
    embedder = HashEmbedder()
    retriever = open_at(server.address(name, alpha=1), embedder=embedder)
    retriever.add(CORPUS)
    found = retriever.search("green tea", 5)
    vectors = {p.id: embedder.query(f"{p.title}\n{p.text}" if p.title else p.text) for p in CORPUS}
    exact = {key: float(vector @ embedder.query("green tea")) for key, vector in vectors.items()}
    assert ids(found) == sorted(exact, key=lambda key: -exact[key])
    assert [p.score for p in found] == pytest.approx([exact[p.id] for p in found], abs=1e-4)


@real_ranking
@pytest.mark.parametrize("fusion", ["relative", "ranked"])
def test_alpha_moves_between_keywords_and_meaning(server, name, open_at, fusion):
    """Near 0 the passage with the word leads, near 1 the one with the meaning."""
    passages = [Passage(id="word", text="car keys and other lost things of last year"), *CORPUS]
    low, high = (server.address(name, alpha=alpha, fusion=fusion) for alpha in (0.05, 0.95))
    open_at(low).add(passages)
    assert ids(open_at(low).search("car", 1)) == ["word"]
    assert "car" in ids(open_at(high).search("car", 2))


def test_a_filter_key_that_nobody_has_is_told(filled, caplog):
    """With the keys that there are, as the embedded index does."""
    assert filled.search("tea", 3, filters={"页码": 3}) == []
    assert "页码" in caplog.text
    assert "published, 标签, 页" in caplog.text
    assert filled.missing_keys({"页码": 3, "页": 3}) == ["页码"]
    assert filled.filter_keys() == ["id", "source", "published", "标签", "页"]
    assert filled.stored(["tea", "nobody"]) == {"tea"}
    assert (filled.delete("tea"), filled.count()) == (1, len(CORPUS) - 1)
