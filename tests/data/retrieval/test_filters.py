"""Filters: what they are, what they let through, and what is none."""

import math
from datetime import UTC, date, datetime

import pytest

from reflective_rag.data.retrieval import open_retriever
from reflective_rag.data.retrieval.filters import parse_filters
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Passage
from tests.data.retrieval.helpers import HashEmbedder

FILTERED = [
    Passage(
        id="a", text="a passage", source="x.txt", published=date(2020, 1, 1), metadata={"lang": "en", "year": 2020}
    ),
    Passage(
        id="b'", text="b passage", source="y.txt", published=date(2022, 6, 1), metadata={"lang": "zh", "year": 2022}
    ),
    Passage(id="c", text="c passage", source="x.txt", metadata={"lang": ["en", "zh"], "year": 2021.5, "new": True}),
    Passage(id="d", text="d passage", published=date(2024, 1, 31), metadata={"lang": None, "year": "2022", "new": 1}),
    Passage(id="e", text="e passage", metadata={"other": {"lang": "en"}, "页": "茶%_", "day": "2023-05-06"}),
]
FILTERS: dict[str, tuple[object, set[str]]] = {
    "none": ({}, {"a", "b'", "c", "d", "e"}),
    "equal": ({"lang": "en"}, {"a", "c"}),
    "one of": ({"lang": ["zh", "fr"]}, {"b'", "c"}),
    "number": ({"year": 2022}, {"b'"}),
    "number as text": ({"year": "2022"}, {"d"}),
    "range": ({"year": {">": 2020, "<=": 2022}}, {"b'", "c"}),
    "truth": ({"new": True}, {"c"}),
    "one": ({"new": 1}, {"d"}),
    "several": ({"lang": "en", "year": {">=": 2021}}, {"c"}),
    "unknown key": ({"nothing": "x"}, set()),
    "unknown value": ({"lang": "fr"}, set()),
    "not below the top": ({"other": "en"}, set()),
    "id": ({"id": ["b'", "zzz"]}, {"b'"}),
    "source": ({"source": "x.txt"}, {"a", "c"}),
    "day": ({"published": date(2022, 6, 1)}, {"b'"}),
    "days": ({"published": ["2020-01-01", date(2024, 1, 31)]}, {"a", "d"}),
    "from a day": ({"published": {">=": date(2022, 6, 1)}}, {"b'", "d"}),
    "between days": ({"published": {">": "2020-01-01", "<": datetime(2024, 1, 31, 12, tzinfo=UTC)}}, {"b'"}),
    "chinese key and signs": ({"页": "茶%_"}, {"e"}),
    "date in metadata": ({"day": {">=": date(2023, 1, 1)}}, {"e"}),
    "source and date": ({"source": "x.txt", "published": {"<": "2021-01-01"}}, {"a"}),
}


@pytest.fixture(scope="module")
def local():
    """The passages above in a temporary index."""
    with open_retriever("memory:", embedder=HashEmbedder()) as retriever:
        retriever.add(FILTERED)
        yield retriever


@pytest.mark.parametrize(("filters", "expected"), FILTERS.values(), ids=FILTERS)
def test_only_what_matches_is_found(local, filters, expected):
    """In keyword and dense search alike, and however few of the best match."""
    assert {passage.id for passage in local.search("passage", 20, filters=filters)} == expected
    assert {passage.id for passage in local.search("passage", 1, filters=filters)} <= expected


def test_a_filter_reaches_past_the_best(local):
    """The one passage that matches is found although many others rank before it."""
    with open_retriever("memory:", embedder="none") as retriever:
        retriever.add([Passage(id=f"{i:03}", text="tea tea tea", metadata={"kind": "best"}) for i in range(200)])
        retriever.add([Passage(id="last", text="one tea among many other words", metadata={"kind": "other"})])
        assert [p.id for p in retriever("tea", 1, filters={"kind": "other"})] == ["last"]
        assert len(retriever("tea", 150, filters={"kind": "best"})) == 150


async def test_filters_work_in_async_search(local):
    """`asearch` and `acall` take them too."""
    assert [p.id for p in await local.asearch("passage", 5, filters={"new": True})] == ["c"]
    assert [p.id for p in await local.acall("passage", 5, filters={"new": True})] == ["c"]


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ("lang=en", "must be a mapping"),
        ([("lang", "en")], "must be a mapping"),
        ({"text": "x"}, "cannot filter by 'text'"),
        ({"": "x"}, "cannot filter by ''"),
        ({3: "x"}, "cannot filter by 3"),
        ({"lang": {"~": "x"}}, "compares by '~': expected '=='"),
        ({"lang": {}}, "compares by nothing"),
        ({"lang": None}, "needs text, a number, a truth value or a date, got None"),
        ({"lang": []}, "a list of one value or more"),
        ({"lang": {"in": "en"}}, "a list of one value or more"),
        ({"year": {">": [1]}}, "needs one value"),
        ({"year": [1, "a"]}, "mixes kinds"),
        ({"year": math.nan}, "needs text, a number"),
        ({"new": {">": True}}, "compares a truth value by '>'"),
        ({"published": "yesterday"}, "YYYY-MM-DD, got 'yesterday'"),
        ({"published": 2020}, "needs a date"),
        ({"id": 3}, "`id` needs text"),
    ],
)
def test_what_is_no_filter_says_what_it_may_be(filters, message):
    """A wrong filter is a `ConfigError`, never an empty answer."""
    with pytest.raises(ConfigError, match=message):
        parse_filters(filters)


def test_a_key_that_nobody_has_is_told_with_those_that_there_are(local, caplog):
    """Nothing is found, and the log says why; a key that is there with another value is no mistake."""
    assert local.search("passage", 5, filters={"nonsense": 1}) == []
    assert "has ['nonsense'] to filter by; there are id, source, published, day" in caplog.text
    caplog.clear()
    assert local.search("passage", 5, filters={"lang": "fr"}) == []
    assert not caplog.text
