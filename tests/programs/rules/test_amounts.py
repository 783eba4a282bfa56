"""An amount is its sign, its figure and its unit: -20 is not 20, 1000 feet are not 1000 m, $20 is not €20."""

import pytest

from reflective_rag.programs.rules import answer, assess, check_support
from tests.programs.rules.worlds import passage

COLD = "What was the temperature in Norburg?"
COLD_ZH = "诺堡的气温是多少？"
BELOW = ("-20 degrees", "minus 20 degrees", "−20 degrees", "20 degrees below zero")
BELOW_ZH = ("零下20度", "-20度", "负20度")


@pytest.mark.parametrize("form", BELOW)
def test_the_sign_of_an_answer_is_kept(form):
    """However a text writes a negative number, the answer is negative and every form of it is supported, 20 is not."""
    text = [passage("a", f"The temperature in Norburg was {form}.")]
    assert answer(COLD, text).answer == form
    assert [check_support(COLD, other, text).support for other in BELOW] == ["supported"] * len(BELOW)
    assert check_support(COLD, "The temperature in Norburg was 20 degrees.", text).support == "contradicted"


@pytest.mark.parametrize("form", BELOW_ZH)
def test_the_sign_of_a_chinese_answer_is_kept(form):
    """零下20度 is -20."""
    text = [passage("a", f"诺堡的气温是{form}。")]
    assert answer(COLD_ZH, text).answer == form
    assert [check_support(COLD_ZH, other, text).support for other in BELOW_ZH] == ["supported"] * len(BELOW_ZH)
    assert check_support(COLD_ZH, "诺堡的气温是20度。", text).support == "contradicted"


def test_a_hyphen_is_no_minus():
    """5-10 bar is a range, and is answered whole; P-20 is a name."""
    text = [passage("a", "The range of the valve is 5-10 bar.")]
    assert answer("What is the range of the valve?", text).answer == "5-10 bar"
    assert check_support("What is the range of the valve?", "5-10 bar", text).support == "supported"


DEEP, COST, COST_ZH, HIGH_ZH = "How deep is Lake Foo?", "How much does the ticket cost?", "门票多少钱？", "云顶山多高？"
APART = [
    (DEEP, "Lake Foo is {} deep.", "1000 m", "1000 feet"),
    (DEEP, "Lake Foo is {} deep.", "1,000 m", "1,000 ft"),
    (DEEP, "Lake Foo is {} deep.", "1000 m", "2 km"),
    (COST, "The ticket costs {}.", "$20", "€20"),
    (COST, "The ticket costs {}.", "20 dollars", "20 euros"),
    (COST, "The ticket costs {}.", "USD 20", "EUR 20"),
    (COST_ZH, "门票{}。", "20美元", "20欧元"),
    (HIGH_ZH, "云顶山高{}。", "1000米", "1000英尺"),
]


@pytest.mark.parametrize(("question", "frame", "left", "right"), APART, ids=[f"{a} {b}" for _, _, a, b in APART])
def test_another_unit_is_another_amount(question, frame, left, right):
    """It contradicts in support and between passages, from both sides."""
    texts = [frame.format(value) for value in (left, right)]
    assert assess(question, (passage("a", texts[0]), passage("b", texts[1]))).contradictions
    for text, claim in (texts, texts[::-1]):
        assert check_support(question, claim, [passage("a", text)]).support == "contradicted"


ALIKE = [
    (DEEP, "Lake Foo is {} deep.", "1000 m", "1 km"),
    (DEEP, "Lake Foo is {} deep.", "1000 m", "3281 feet"),
    (COST, "The ticket costs {}.", "$20", "20 dollars"),
    (HIGH_ZH, "云顶山高{}。", "1000米", "1公里"),
    (COLD, "The temperature in Norburg was {}.", "-20 °C", "-4 °F"),
]


@pytest.mark.parametrize(("question", "frame", "left", "right"), ALIKE, ids=[f"{a} {b}" for _, _, a, b in ALIKE])
def test_the_same_amount_in_another_unit(question, frame, left, right):
    """It supports, and contradicts nothing."""
    texts = [frame.format(value) for value in (left, right)]
    assert not assess(question, (passage("a", texts[0]), passage("b", texts[1]))).contradictions
    assert check_support(question, right, [passage("a", texts[0])]).support == "supported"
