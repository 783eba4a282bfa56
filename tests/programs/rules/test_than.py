"""Is X deeper than Y: decided by the two values or by a sentence that says so; else there is no answer."""

import pytest

from reflective_rag.programs.rules import answer
from reflective_rag.programs.rules.values import amount, numbers
from tests.programs.rules.worlds import passage

COMO, GARDA = "Lake Como is 410 m deep.", "Lake Garda is 346 m deep."
ASKED = [
    ("Is Lake Garda deeper than Lake Como?", (COMO, GARDA), "no"),
    ("Is Lake Como deeper than Lake Garda?", (COMO, GARDA), "yes"),
    ("Is Lake Como deeper than Lake Garda?", (COMO, "Lake Garda is 0.346 km deep."), "yes"),
    ("Is Mount Foo higher than Mount Bar?", ("Mount Foo is 1,000 m high.", "Mount Bar is 3,000 m high."), "no"),
    ("Is Arvid Lund older than Selma Ek?", ("Arvid Lund was born in 1980.", "Selma Ek was born in 1975."), "no"),
    ("Is Lake Como deeper than Lake Garda?", ("Lake Garda is deeper than Lake Como.",), "no"),
    ("Is Lake Garda deeper than Lake Como?", ("Lake Garda is deeper than Lake Como.",), "yes"),
    ("Is Lake Garda deeper than Lake Como?", ("Lake Garda is not deeper than Lake Como.",), ""),
    ("Is Lake Garda deeper than Lake Como?", ("Lake Garda is a lake.", "Lake Como is a lake."), ""),
    (
        "Is Lake Como deeper than Lake Garda?",
        ("Lake Como is 410 m deep.", "Lake Garda is deep and 52 km long. It is 346 m deep."),
        "yes",
    ),
    ("苍云湖比镜湖深吗？", ("苍云湖最深处90米。", "镜湖最深处30米。"), "是"),
    ("镜湖比苍云湖深吗？", ("苍云湖最深处90米。", "镜湖最深处30米。"), "否"),
    ("镜湖比苍云湖深吗？", ("苍云湖很美。", "镜湖也很美。"), ""),
]


@pytest.mark.parametrize(("question", "texts", "expected"), ASKED, ids=[f"{row[0]} {row[1][-1]}" for row in ASKED])
def test_two_things_compared(question, texts, expected):
    """That both are spoken of is no yes."""
    assert answer(question, [passage(f"p{i}", text) for i, text in enumerate(texts)]).answer == expected


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("It is 410 m deep.", 410, "m"),
        ("It is 410m deep.", 410, "m"),
        ("It cost €30 m.", 30e6, "€"),
        ("It has 5m users.", 5e6, "users"),
        ("It has 3 million users.", 3e6, "users"),
    ],
)
def test_metres_are_no_millions(text, value, unit):
    """A lone "m" is a scale after a currency and close behind a number, and a unit before "deep"."""
    (span,) = numbers(text)
    assert (amount(span), span.unit) == (value, unit)
