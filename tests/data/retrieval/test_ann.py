"""Approximate search: when it comes in, what it finds, and what may change under it."""

from typing import Any

import pytest

from reflective_rag.data.retrieval import open_retriever, store
from reflective_rag.data.retrieval.ann import index_names, nearest
from reflective_rag.data.retrieval.store import LanceStore
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Passage
from tests.data.retrieval.helpers import HashEmbedder

SMALL = 600


def made(start, stop):
    """Passages that share words, so their vectors lie in groups."""
    return [
        Passage(id=f"{i:04}", text=f"alpha{i} beta{i % 7} gamma{i % 11}", source=f"s{i % 3}", metadata={"part": i % 50})
        for i in range(start, stop)
    ]


def of(retriever: Any) -> Any:
    """How its vectors are searched."""
    return retriever.vector_index()


def ids(passages):
    """Their ids, in order."""
    return [passage.id for passage in passages]


def exactly(passages, query, k=10):
    """Ids by a plain matrix product."""
    embedder = HashEmbedder()
    scores = embedder.passages([p.text for p in passages]) @ embedder.query(query)
    return [passages[i].id for i in (-scores).argsort(kind="stable")[:k]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A place for an index and for the cache."""
    monkeypatch.setenv("RRAG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "index"


@pytest.fixture
def large(folder):
    """An index that is larger than its setting."""
    with open_retriever(f"local:{folder}", embedder=HashEmbedder(), create=True, ann=500) as retriever:
        retriever.add(made(0, SMALL))
        yield retriever


def bypasses(monkeypatch, retriever, query):
    """Whether a search goes past the approximate index, each time that it looks through the vectors."""
    seen = []

    def watched(table, vector, exact):
        seen.append(exact)
        return nearest(table, vector, exact)

    with monkeypatch.context() as patched:
        patched.setattr(store, "nearest", watched)
        retriever.search(query, 3)
    return seen


def names(folder):
    """The vector indexes in a folder."""
    return index_names(LanceStore(folder, f"local:{folder}")._table)


@pytest.mark.parametrize(
    ("setting", "kind"),
    [
        pytest.param("auto", "exact", id="auto is for more"),
        pytest.param("exact", "exact", id="never"),
        pytest.param(SMALL + 1, "exact", id="one too few"),
        pytest.param(SMALL, "approximate", id="enough"),
    ],
)
def test_search_is_approximate_from_the_number_that_is_set(folder, setting, kind):
    """Below it every vector is compared, and the index says which it is."""
    with open_retriever(f"local:{folder}", embedder=HashEmbedder(), create=True, ann=setting) as retriever:
        retriever.add(made(0, SMALL))
        index = of(retriever)
        assert (index.kind, index.passages, index.waiting) == (kind, SMALL, 0)
        assert (index.sample > 0) == (kind == "approximate")


def test_the_address_says_it_too(folder):
    """`?ann=` goes before the argument, and is no part of the path."""
    with open_retriever(f"local:{folder}?ann=500", embedder=HashEmbedder(), create=True, ann="exact") as retriever:
        retriever.add(made(0, SMALL))
        assert of(retriever).kind == "approximate"
    assert folder.is_dir()
    with open_retriever(f"local:{folder}?ann=exact", embedder=HashEmbedder()) as retriever:
        assert of(retriever).kind == "exact"
        assert ids(retriever("delta epsilon", 10)) == exactly(made(0, SMALL), "delta epsilon")


@pytest.mark.parametrize("text", ["", "0", "-1", "fast", "1.5", "EXACT", "١٢", "1e4"])
def test_a_wrong_setting_in_an_address_lists_the_right_ones(folder, text):
    """Nothing is made for it."""
    with pytest.raises(ConfigError, match="expected 'auto', 'exact', or a number of passages"):
        open_retriever(f"local:{folder}?ann={text}", create=True)
    assert not folder.exists()


@pytest.mark.parametrize("options", ["approx=1", "ann", "", "ann=auto&x=1"])
def test_an_unknown_option_is_refused(folder, options):
    """`ann` is the only one."""
    with pytest.raises(ConfigError, match=r"expected `ann=`|`ann=auto&x=1`"):
        open_retriever(f"local:{folder}?{options}", create=True)


@pytest.mark.parametrize("setting", [0, -5, True, "fast", 2.5, None])
def test_a_wrong_argument_is_refused(setting):
    """For every address alike."""
    with pytest.raises(ConfigError, match="`ann` must be"):
        open_retriever("memory:", embedder="none", ann=setting)


def test_the_recall_that_is_told_is_that_of_the_search(large):
    """Of groups of words the approximate search misses little; the figure is a share, measured on what is stored."""
    index = large.vector_index(sample=30)
    assert index.sample == 30
    assert 0.9 <= index.recall <= 1
    for query in ("delta epsilon", "zeta eta", "theta iota"):  # no such words: dense search alone answers
        assert len(set(ids(large(query, 10))) & set(exactly(made(0, SMALL), query))) >= 9
    assert "recall@10" in str(index)


def test_a_search_that_finds_the_wrong_ones_is_told(large, monkeypatch):
    """A search that returned the farthest would have a recall of nothing."""
    from reflective_rag.data.retrieval import ann

    nearest = ann.nearest
    monkeypatch.setattr(ann, "nearest", lambda table, vector, exact: nearest(table, -vector, exact))
    assert large.vector_index(sample=20).recall == 0


def test_what_came_after_the_index_is_found(large):
    """Without building it anew: the few that wait are compared one by one, as the index says."""
    large.add([Passage(id="new", text="delta epsilon")])
    assert ids(large("delta epsilon", 1)) == ["new"]
    assert large.vector_index().waiting == 1


def test_what_is_deleted_or_replaced_is_gone(large):
    """From the approximate search too."""
    first = ids(large("beta3 gamma5", 5))
    assert large.delete(first[:1]) == 1
    large.add([Passage(id=first[1], text="another thing")])
    assert not set(ids(large("beta3 gamma5", 20))) & set(first[:2])


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        pytest.param({"source": "s1"}, lambda i: i % 3 == 1, id="a third"),
        pytest.param({"id": ["0007", "0333"]}, lambda i: i in (7, 333), id="two"),
        pytest.param({"part": 17}, lambda i: i % 50 == 17, id="metadata, one in fifty"),
        pytest.param({"source": "none"}, lambda i: False, id="none"),
    ],
)
def test_filters_leave_what_they_should(large, filters, kept):
    """As many as there are, however few, and the same as by comparing every one that is left."""
    left = [p for i, p in enumerate(made(0, SMALL)) if kept(i)]
    found = ids(large("delta epsilon", 10, filters=filters))
    assert len(found) == min(10, len(left))
    assert set(found) <= set(ids(left))
    if len(left) <= 12:
        assert found == exactly(left, "delta epsilon") if left else found == []


def test_it_is_trained_anew_when_the_index_has_doubled(folder):
    """One index at a time, named by what it was trained on."""
    with open_retriever(f"local:{folder}", embedder=HashEmbedder(), create=True, ann=300) as retriever:
        retriever.add(made(0, 300))
        assert names(folder) == ["vector_300"]
        retriever.add(made(300, 500))
        assert names(folder) == ["vector_300"]
        retriever.add(made(500, SMALL))
        assert of(retriever).waiting == 0
        assert names(folder) == [f"vector_{SMALL}"]


def test_an_index_that_was_closed_is_in_shape(folder):
    """What a writer left waiting is in the index once it has closed, and a reader changes nothing."""
    with open_retriever(f"local:{folder}", embedder=HashEmbedder(), create=True, ann=300) as retriever:
        retriever.add(made(0, 550))
        retriever.add(made(550, SMALL))
    with open_retriever(f"local:{folder}", embedder=HashEmbedder(), ann=300) as retriever:
        assert of(retriever).waiting == 0
        version = LanceStore(folder, "local:x")._table.version
        retriever("beta1", 3)
    assert LanceStore(folder, "local:x")._table.version == version


def test_vectors_of_another_width_stay_exact(folder):
    """The index takes widths that 8 divides; others are compared one by one, and it says so."""
    embedder = HashEmbedder(dimensions=10)
    with open_retriever(f"local:{folder}", embedder=embedder, create=True, ann=300) as retriever:
        retriever.add(made(0, SMALL))
        assert of(retriever).kind == "exact"
        assert len(retriever("beta1", 5)) == 5


def test_keyword_search_has_no_vectors():
    """Nothing to say."""
    with open_retriever("memory:", embedder="none", ann=1) as retriever:
        retriever.add(made(0, 20))
        assert of(retriever) is None


def test_an_index_that_is_there_is_not_used_below_the_number(large, folder, monkeypatch):
    """A setting above the size is exact search, whatever an earlier one has built; so is one above what is left."""
    large.close()
    assert names(folder)
    with open_retriever(f"local:{folder}?ann={SMALL + 1}", embedder=HashEmbedder(), keyword_top_k=1) as retriever:
        assert of(retriever).kind == "exact"
        assert bypasses(monkeypatch, retriever, "alpha1") == [True]
    with open_retriever(f"local:{folder}?ann={SMALL}", embedder=HashEmbedder()) as retriever:
        assert bypasses(monkeypatch, retriever, "alpha1") == [False]
        retriever.delete(f"{i:04}" for i in range(5))
        assert of(retriever).kind == "exact"
        assert bypasses(monkeypatch, retriever, "alpha1") == [True]
