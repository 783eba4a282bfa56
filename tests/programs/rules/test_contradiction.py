"""Contradictions are found where two on-topic sentences exclude each other, and nowhere else."""

from datetime import date

import pytest

from reflective_rag.programs.rules import assess
from tests.programs.rules.worlds import CENSUS, CENSUS_ZH, LIBRARY_EN, LIBRARY_ZH, passage

LENGTH = "How long is the Orlen Bridge?"
OPENED = "When was the Orlen Bridge completed?"

DISAGREE = [
    (LENGTH, "The Orlen Bridge is 640 metres long.", "The Orlen Bridge is 710 metres long and spans the Vey."),
    (OPENED, "The Orlen Bridge was completed in 1931.", "The Orlen Bridge was completed in 1934."),
    ("Is the Orlen Bridge open to cars?", "The Orlen Bridge is open to cars.", "The Orlen Bridge is not open to cars."),
    (
        "Who designed the Orlen Bridge?",
        "The Orlen Bridge over the Vey was designed by Otto Brandt for the city.",
        "The Orlen Bridge over the Vey was designed by Mara Quill for the city.",
    ),
    ("奥伦桥全长多少米？", "奥伦桥全长640米。", "奥伦桥全长710米，横跨维河。"),
    ("奥伦桥是哪一年建成的？", "奥伦桥于1931年建成。", "奥伦桥于1934年建成。"),
    ("奥伦桥允许汽车通行吗？", "奥伦桥允许汽车通行。", "奥伦桥不再允许汽车通行。"),
    ("奥伦桥是谁设计的？", "横跨维河的奥伦桥由工程师王立设计。", "横跨维河的奥伦桥由工程师张明设计。"),
]


@pytest.mark.parametrize(("question", "left", "right"), DISAGREE, ids=[f"{q} {a}" for q, a, _ in DISAGREE])
def test_typed_disagreement(question, left, right):
    """A differing number, year, negation or name over the same subject is one contradiction with two verbatim spans."""
    found = assess(question, (passage("a", left), passage("b", right))).contradictions
    assert [(c.passage_a, c.passage_b) for c in found] == [("a", "b")]
    assert found[0].span_a in left
    assert found[0].span_b in right
    assert found[0].about


AGREE = [
    (LENGTH, "The Orlen Bridge is 640 metres long.", "The Orlen Bridge, 640 metres long, spans the Vey."),
    (LENGTH, "The Orlen Bridge is 640 metres long.", "The Orlen Bridge is 22 years old and long."),
    (LENGTH, "The Orlen Bridge is 640 metres long.", "The Tornby Bridge is 710 metres long."),
    (OPENED, "The Orlen Bridge was completed in 1931.", "The Orlen Bridge was painted in 1934."),
    (
        "How many people crossed the Orlen Bridge?",
        "In 2019, 3,000 people crossed the Orlen Bridge.",
        "In 2023, 5,000 people crossed the Orlen Bridge.",
    ),
    ("青石电车有多少乘客？", "2019年青石电车有乘客3000人。", "2023年青石电车有乘客5000人。"),
    ("青石电车全年营收多少？", "2022年青石电车全年营收60亿元。", "2022年第四季度青石电车营收14亿元。"),
    ("奥伦桥全长多少米？", "奥伦桥全长640米。", "维河大桥全长710米。"),
    (LENGTH, "", ""),
]


@pytest.mark.parametrize(("question", "left", "right"), AGREE, ids=[f"{q} {b}" for q, _, b in AGREE])
def test_other_scope_is_no_contradiction(question, left, right):
    """Same values, other units, other subjects, other events, other years and parts of a year do not contradict."""
    assert assess(question, (passage("a", left), passage("b", right))).contradictions == ()


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        ("When was the Meridale Public Library opened?", LIBRARY_EN),
        ("青石图书馆是什么时候创办的？", LIBRARY_ZH),
        ("What was the population of Meridale?", CENSUS),
        ("青石市的常住人口是多少？", CENSUS_ZH),
    ],
)
def test_clean_worlds_have_none(question, passages):
    """Passages that agree, or that state different years, give no contradiction."""
    assert assess(question, passages).contradictions == ()


def test_namesakes_are_two_subjects():
    """Two passages with different titles for the same name speak of two things."""
    passages = (
        passage("a", "The Orlen Bridge is 640 metres long.", "Orlen Bridge (Meridale)"),
        passage("b", "The Orlen Bridge is 710 metres long.", "Orlen Bridge (Tornby)"),
    )
    assert assess(LENGTH, passages).contradictions == ()


@pytest.mark.parametrize(
    ("first", "second", "newer"),
    [
        (date(2001, 1, 1), date(2011, 1, 1), "b"),
        (date(2011, 1, 1), date(2001, 1, 1), "a"),
        (None, date(2001, 1, 1), None),
    ],
)
def test_newer_needs_both_dates(first, second, newer):
    """The newer passage is named only where both publication dates are known."""
    passages = (
        passage("a", "The Orlen Bridge is 640 metres long.", published=first),
        passage("b", "The Orlen Bridge is 710 metres long.", published=second),
    )
    assert assess(LENGTH, passages).contradictions[0].newer == newer
