"""Names in Chinese text: where they begin and end."""

import pytest

from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.values import numbers


@pytest.mark.parametrize(
    ("text", "person"),
    [("大桥由林志远设计。", "林志远"), ("小说由林海涛所著。", "林海涛"), ("大桥由王建国设计。", "王建国")],
)
def test_a_family_name_behind_a_preposition_is_not_lost(text: str, person: str) -> None:
    """The segmenter takes 由林 for a word."""
    assert person in [span.text for span in names(text) if span.kind == "person"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("云山国的首都是东海市。", "东海市"),
        ("佐尔的首都是贝尔市。", "贝尔市"),
        ("云溪县的县城是清水镇。", "清水镇"),
        ("公司的总部位于北海市。", "北海市"),
        ("他的老家在安平县。", "安平县"),
    ],
)
def test_a_place_that_no_list_knows_keeps_the_word_for_its_kind(text: str, place: str) -> None:
    """The segmenter cuts 市 and 镇 off names that it has never seen; the name is the whole."""
    assert place in [span.text for span in names(text) if span.kind == "place"]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("年吞吐量为1200万吨。", "1200万吨"),
        ("总投资1300万元。", "1300万元"),
        ("人口为2015万人。", "2015万人"),
        ("共1500亿元。", "1500亿元"),
    ],
)
def test_a_number_before_ten_thousands_is_no_year(text: str, amount: str) -> None:
    """1200万 is an amount, whatever years look like; 1200年 stays one."""
    assert amount in [span.text for span in numbers(text)]
    assert not numbers("建于1200年。")
