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
    ("What is the capital of Veyland?", "The capital of Veyland is Tornby.", "The capital of Veyland is Halden."),
    ("维国的首都是哪里？", "维国的首都是新城。", "维国的首都是旧港。"),
    (
        "Did sales of Vey cars rise?",
        "Sales of Vey cars increased in Meridale in 2020.",
        "Sales of Vey cars decreased in Meridale in 2020.",
    ),
    ("奥伦桥何时建成？", "奥伦桥于昭和五十年建成。", "奥伦桥于1985年建成。"),
    (
        "Who is the mayor of Norburg?",
        "The mayor of Norburg is Bob Stone.",
        "The mayor of Norburg is Carl Dorn.",
    ),
    ("Who wrote Foo?", "Foo was written by Ann Bell.", "Foo was written by Carl Dorn."),
    ("How many bridges does Norburg have?", "Norburg has twelve bridges.", "Norburg has 21 bridges."),
    ("诺堡有多少座桥？", "诺堡有十二座桥。", "诺堡有21座桥。"),
    ("Is Foo water safe?", "Foo water is safe.", "Foo water is unsafe."),
    (LENGTH, "The Orlen Bridge is more than 700 metres long.", "The Orlen Bridge is 640 metres long."),
    (OPENED, "The Orlen Bridge was completed in about 1890.", "The Orlen Bridge was completed in 1931."),
    # Not the sentence that is asked about, but one page in two versions.
    (
        "What does the Orlen Bridge span?",
        "The Orlen Bridge spans the Vey. It cost 12 million crowns to build.",
        "The Orlen Bridge spans the Vey. It cost 19 million crowns to build.",
    ),
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
    (
        LENGTH,
        "The Orlen Bridge is 640 metres long, says paper number 1.",
        "The Orlen Bridge is 640 metres long, says paper number 2.",
    ),
    ("奥伦桥全长多少米？", "据第1期日报，奥伦桥全长640米。", "据第2期日报，奥伦桥全长640米。"),
    ("诺堡市长是谁？", "据第1期日报，诺堡市长是王立。", "据第2期日报，诺堡市长是王立。"),
    (OPENED, "The Orlen Bridge was completed in about 1890.", "The Orlen Bridge was completed in 1889."),
    *(
        (LENGTH, f"The Orlen Bridge is {rough} metres long.", "The Orlen Bridge is 330 metres long.")
        for rough in ("more than 300", "at least 300", "up to 350", "nearly 340", "about 300", "over 300")
    ),
    *(
        ("奥伦桥全长多少米？", f"奥伦桥全长{rough}。", "奥伦桥全长330米。")
        for rough in ("超过300米", "至少300米", "不超过350米", "近340米", "约300米", "300米左右")
    ),
    (LENGTH, "The Orlen Bridge is 612 metres long without ramps.", "The Orlen Bridge is 640 metres long."),
    ("Is Foo Museum open?", "Foo Museum is open.", "Foo Museum is not open on Mondays."),
    (
        "What is the population of Norburg?",
        "The population of Norburg was 2.1 million in 2019.",
        "The population of Norburg is 2.3 million.",
    ),
    ("诺堡的人口是多少？", "2019年诺堡的人口为210万。", "诺堡的人口为230万。"),
    ("Who wrote Foo?", "Foo was written by A. Bell.", "Foo was written by Ann Bell."),
    ("How many bridges does Norburg have?", "Norburg has twelve bridges.", "Norburg has 12 bridges."),
    ("青石电车有多少乘客？", "2019年青石电车有乘客3000人。", "2023年青石电车有乘客5000人。"),
    ("青石电车全年营收多少？", "2022年青石电车全年营收60亿元。", "2022年第四季度青石电车营收14亿元。"),
    ("奥伦桥全长多少米？", "奥伦桥全长640米。", "维河大桥全长710米。"),
    (LENGTH, "", ""),
    (
        "What is the population of Meridale?",
        "The population of the city of Meridale is 81,200.",
        "The population of the Meridale metropolitan area is 181,200.",
    ),
    (
        "What is the population of Meridale?",
        "The estimated population of Meridale is 81,200.",
        "The census population of Meridale is 82,900.",
    ),
    (
        "What was the revenue of Vey in 2020?",
        "In Q1 2020 the revenue of Vey was 5 million.",
        "In Q2 2020 the revenue of Vey was 6 million.",
    ),
    (
        "What is the border of Veyland?",
        "The northern border of Veyland is the Tornby.",
        "The southern border of Veyland is the Halden.",
    ),
    (
        "Which films did Selma Ek star in?",
        "Selma Ek starred in Silver Night.",
        "Selma Ek starred in Golden Day.",
    ),
    (
        "Who is the mayor of Meridale?",
        "In 2019 the mayor of Meridale was Ana Troost.",
        "In 2023 the mayor of Meridale was Mara Quill.",
    ),
    ("青石市的人口是多少？", "青石市市区人口为81万人。", "青石市全市人口为181万人。"),
    ("青石市的人口是多少？", "青石市人口普查为81万人。", "青石市人口估计为82万人。"),
    ("维国的边界在哪里？", "维国的北部边界是新河。", "维国的南部边界是旧河。"),
    ("谁是青石市市长？", "2019年青石市市长为王立。", "2023年青石市市长为张明。"),
    ("奥伦桥何时建成？", "奥伦桥于昭和五十年建成。", "奥伦桥于1975年建成。"),
    (
        "How long is the Orlen Bridge?",
        "The Orlen Bridge is 640 metres long.",
        "The Orlen Bridge, a road bridge, is 640 metres long.",
    ),
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
