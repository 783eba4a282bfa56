"""A server that is not there, goes away, is slow, or refuses: always an error in seconds that says what to do."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reflective_rag.data.retrieval import CircuitBreaker, ImportFailures, RetrieverUnavailable, open_retriever
from reflective_rag.data.retrieval.weaviate import waiting
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Passage
from tests.data.retrieval.helpers import CORPUS, HashEmbedder, run_threads
from tests.data.retrieval.weaviate.test_hanging import Between


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """The server is asked about after a tenth of a second."""
    monkeypatch.setattr(waiting, "PATIENCE_SECONDS", 0.1)


@pytest.fixture
def filled(standin, name, open_at):
    """A retriever over the small corpus, on a server of its own."""
    retriever = open_at(standin.address(name))
    retriever.add(CORPUS)
    return retriever


def uses(retriever):
    """Every way to ask the server."""
    return (
        lambda: retriever.search("tea", 1),
        lambda: asyncio.run(retriever.asearch("tea", 1)),
        lambda: retriever.add(CORPUS),
        lambda: retriever.delete(["tea"]),
        retriever.count,
    )


def test_nothing_listens(open_at):
    """Connection refused: the host and port are named, and `ready` is no error."""
    retriever = open_at("weaviate://127.0.0.1:9/C?grpc=10", breaker=CircuitBreaker("x", failures=99))
    for use in uses(retriever):
        with pytest.raises(RetrieverUnavailable, match=r"Is Weaviate running at 127\.0\.0\.1:9\?"):
            use()
    assert retriever.ready() is False


def test_a_port_that_never_answers(deaf, open_at):
    """A half-open connection ends at the deadline."""
    address = f"weaviate://127.0.0.1:{deaf}/C?grpc=10&deadline=0.3"
    retriever = open_at(address, breaker=CircuitBreaker("x", failures=99))
    for use in uses(retriever):
        with pytest.raises(RetrieverUnavailable, match=r"does not answer|cannot be reached|did not answer"):
            use()


def test_grpc_that_never_answers(standin, name, deaf, open_at):
    """REST works, gRPC does not: the message names the gRPC port and how to set it."""
    open_at(standin.address(name)).add(CORPUS)
    address = standin.address(name, deadline=0.5).replace(f"grpc={standin.grpc_port}", f"grpc={deaf}")
    with pytest.raises(RetrieverUnavailable, match=rf"REST answered.*127.0.0.1:{deaf} \(`\?grpc=PORT`\)"):
        open_at(address).search("tea", 1)


def test_a_slow_server(standin, filled, name, open_at):
    """Within the deadline slowness is no error; beyond it, it is one."""
    standin.slow = 0.3
    assert len(filled.search("tea", 1)) == 1
    hurried = open_at(standin.address(name, deadline=0.2))
    with pytest.raises(RetrieverUnavailable, match=r"within 0\.2 seconds"):
        hurried.search("tea", 1)
    with pytest.raises(RetrieverUnavailable, match=r"within 0\.2 seconds"):
        asyncio.run(hurried.asearch("tea", 1))


def test_a_server_that_dies_between_queries(standin, filled):
    """Each way to ask is an error; after three the server is left alone."""
    filled.search("tea", 1)
    asyncio.run(filled.asearch("tea", 1))
    standin.stop()
    for use in uses(filled)[:3]:
        with pytest.raises(RetrieverUnavailable, match=r"does not answer|cannot be reached"):
            use()
    for use in uses(filled):
        with pytest.raises(RetrieverUnavailable, match="3 times in a row and is left alone"):
            use()
    standin.start()


def test_a_server_that_comes_back(standin, name, open_at):
    """After the rest one call tries it, and all go on."""
    now = [0.0]
    retriever = open_at(standin.address(name), breaker=CircuitBreaker("x", failures=1, clock=lambda: now[0]))
    retriever.add(CORPUS)
    standin.stop()
    with pytest.raises(RetrieverUnavailable):
        retriever.search("tea", 1)
    standin.start()
    with pytest.raises(RetrieverUnavailable, match="left alone"):
        retriever.search("tea", 1)
    now[0] = 31.0
    assert len(retriever.search("tea", 1)) == 1
    assert all(run_threads(lambda: retriever.search("tea", 1), 4))


def test_a_restart_between_queries_is_not_noticed(standin, filled):
    """The connection is made again, for both kinds of search."""
    before = filled.search("green tea", 3)
    asyncio.run(filled.asearch("green tea", 3))
    standin.stop()
    standin.start()
    assert filled.search("green tea", 3) == before
    assert asyncio.run(filled.asearch("green tea", 3)) == before


def test_one_searcher_may_give_up(standin, filled):
    """A cancelled async search leaves the retriever and its breaker as they were."""

    async def impatiently():
        await filled.asearch("tea", 1)
        standin.slow = 1.0
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(filled.asearch("tea", 1), 0.05)
        standin.slow = 0.0
        return await filled.asearch("tea", 1)

    assert len(asyncio.run(impatiently())) == 1


def test_a_program_goes_on_without_its_server(open_at):
    """The loop ends with what it has and says that the search failed."""
    from reflective_rag.programs import ReflectiveRAG

    result = ReflectiveRAG(search=open_at("weaviate://127.0.0.1:9/C?grpc=10"), mode="rules")(question="Who grows tea?")
    assert "retriever_degraded" in [warning.code for warning in result.warnings]
    assert result.passages == ()


def test_refused_passages_are_named_and_the_others_stored(standin, name, open_at, caplog):
    """Each with the server's reason; adding again sends only those that are not stored."""
    retriever = open_at(standin.address(name))
    standin.store.refused = {"tea": "no tea today", "car": "no cars"}
    with pytest.raises(ImportFailures, match=r"2 passage\(s\) were refused.*3 were stored") as caught:
        retriever.add(CORPUS)
    assert caught.value.failures == {"tea": "no tea today", "car": "no cars"}
    assert "'tea': no tea today" in str(caught.value)
    assert caplog.text == ""
    standin.store.refused = {}
    assert retriever.add(CORPUS) == 2
    assert len(standin.last("BatchObjects").objects) == 2


def test_all_refused(standin, name, open_at):
    """A batch of which nothing was taken is reported in the same way."""
    retriever = open_at(standin.address(name))
    standin.store.refused = {passage.id: "read only" for passage in CORPUS}
    with pytest.raises(ImportFailures, match=r"(?s)5 passage.*0 were stored.*read only") as caught:
        retriever.add(CORPUS)
    assert set(caught.value.failures) == {passage.id for passage in CORPUS}


def test_an_import_that_breaks_off_goes_on(standin, name, open_at):
    """What was stored before is neither embedded nor sent again."""
    passages = [Passage(id=str(i), text=f"passage {i}") for i in range(450)]
    embedder = HashEmbedder()
    retriever = open_at(standin.address(name), embedder=embedder)

    def broken():
        yield from passages[:400]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        retriever.add(broken())
    assert retriever.count() == 400
    embedder.embedded.clear()
    seen = []
    assert retriever.add(passages, progress=lambda done, total: seen.append((done, total))) == 50
    assert len(embedder.embedded) == 50
    assert seen[-1] == (450, 450)
    assert retriever.count() == 450


@pytest.mark.parametrize("key", ["", "wrong-key-of-mine"])
def test_a_server_that_wants_a_key(standin, name, open_at, monkeypatch, key):
    """Without the right one it is a `ConfigError` that names the variable and never shows the key."""
    standin.key = "the-right-key"
    monkeypatch.setenv("WEAVIATE_API_KEY", key)
    retriever = open_at(standin.address(name))
    for use in uses(retriever):
        with pytest.raises(ConfigError, match="set WEAVIATE_API_KEY") as caught:
            use()
        assert "wrong-key-of-mine" not in str(caught.value)
    monkeypatch.setenv("WEAVIATE_API_KEY", "the-right-key")
    good = open_at(standin.address(name))
    assert good.add(CORPUS) == len(CORPUS)
    assert "the-right-key" not in repr(vars(good))


def test_a_key_that_is_withdrawn(standin, filled):
    """Later calls say so too, over gRPC."""
    standin.key = "another"
    with pytest.raises(ConfigError, match="refuses the request: set WEAVIATE_API_KEY"):
        filled.search("tea", 1)


def test_a_server_without_the_chinese_tokenizer(standin, name, open_at):
    """Bigrams of our own stand in for it; asking for it by name is an error that says how to turn it on."""
    standin.store.tokenizers = ()
    retriever = open_at(standin.address(name), embedder="none")
    retriever.add(CORPUS)
    assert [p.id for p in retriever.search("杭州", 1)] == ["茶"]
    assert standin.store.get(name).properties["zh"]["tokenization"] == "whitespace"
    with pytest.raises(DataError, match="ENABLE_TOKENIZER_GSE_CH"):
        open_at(standin.address(name + "b", chinese="gse_ch")).count()


def test_a_server_without_the_module(standin, name, open_at):
    """A vectorizer or reranker that the server does not have is its refusal, word for word."""
    for option in ({"vectorizer": "text2vec-x"}, {"rerank": "reranker-x"}):
        with pytest.raises(DataError, match=r"refused the request.*-x"):
            open_at(standin.address(name, **option), embedder="none").count()


def test_a_server_that_embeds_and_reranks(standin, name, open_at):
    """No vectors are sent, the server's module gets the query, and the score is the reranker's."""
    standin.store.modules = ("text2vec-x", "reranker-x")
    retriever = open_at(standin.address(name, vectorizer="text2vec-x", rerank="reranker-x"), embedder="auto")
    retriever.add(CORPUS)
    assert (retriever.mode, retriever.note) == ("hybrid", "")
    assert retriever.search("tea", 1)[0].score == 0.5
    request = standin.last("Search")
    assert list(request.hybrid_search.near_text.query) == ["tea"]
    assert (request.rerank.property, request.rerank.query) == ("text", "tea")
    assert not any(item.vectors or item.vector_bytes for item in standin.last("BatchObjects").objects)


def test_what_is_sent(standin, filled, name, open_at):
    """Alpha, fusion, limit, properties, replication and sharding arrive as they were set."""
    filled.search("tea 龙井", 3)
    search = standin.last("Search")
    assert search.limit == 3
    assert search.hybrid_search.alpha == pytest.approx(0.5)
    assert list(search.hybrid_search.properties) == ["title", "text", "zh"]
    open_at(standin.address(name + "B", replicas=3)).count()
    assert standin.last("POST /v1/schema")["replicationConfig"]["factor"] == 3
    open_at(standin.address(name + "C", shards=4)).count()
    schema = standin.last("POST /v1/schema")
    assert schema["shardingConfig"]["desiredCount"] == 4
    assert schema["vectorConfig"]["default"]["vectorIndexConfig"]["distance"] == "cosine"


FORKING = """
import os, sys
from reflective_rag.data.retrieval import open_retriever
retriever = open_retriever(sys.argv[1], embedder="none")
print(len(retriever.search("tea", 1)), flush=True)
child = os.fork()
if child == 0:
    print(len(retriever.search("tea", 1)), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(len(retriever.search("tea", 1)), flush=True)
retriever.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_process_connects_anew(standin, name, open_at):
    """Parent and child both search after a fork, quietly."""
    open_at(standin.address(name), embedder="none").add(CORPUS)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4] / "src")}
    command = [sys.executable, "-c", FORKING, standin.address(name)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout.split()) == (0, ["1", "1", "1"]), done.stderr


def test_an_embedded_server_that_cannot_be_fetched(tmp_path, monkeypatch):
    """The reason, where the binary comes from, and what works without it."""
    import urllib.request
    from urllib.error import URLError

    def refuse(*args):
        raise URLError("no route to host")

    monkeypatch.setattr(urllib.request, "urlretrieve", refuse)
    monkeypatch.setattr("weaviate.embedded.EmbeddedOptions.binary_path", str(tmp_path / "bin"))
    retriever = open_retriever(f"weaviate+embedded://{tmp_path}/data/C", embedder="none", create=True)
    with pytest.raises(DataError, match=r"cannot be had.*no route to host.*vendor's releases.*`local:PATH`"):
        retriever.count()
    retriever.close()


def test_a_server_at_an_ipv6_address(standin, name, open_at):
    """REST and gRPC are both reached there, by both clients, and an error shows the address as it was given."""
    try:
        ports = [Between(port, "pass", host="::1") for port in (standin.http_port, standin.grpc_port)]
    except OSError:
        pytest.skip("this machine has no IPv6")
    retriever = open_at(f"weaviate://[::1]:{ports[0].port}/{name}?grpc={ports[1].port}")
    assert retriever.add(CORPUS) == len(CORPUS)
    assert [p.id for p in retriever.search("tea", 1)] == [p.id for p in asyncio.run(retriever.asearch("tea", 1))]
    for port in ports:
        port.close()
    with pytest.raises(RetrieverUnavailable, match=r"'weaviate://\[::1\]:9/C.*Is Weaviate running at \[::1\]:9\?"):
        open_at("weaviate://[::1]:9/C?grpc=10").count()
