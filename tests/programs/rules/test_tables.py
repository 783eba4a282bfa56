"""Answers that stand in a Markdown table: the cell of the asked row and column."""

import pytest

from reflective_rag.programs import rules
from reflective_rag.signatures.types import Passage

TRIPS = """# Travel

| Country | Daily allowance (EUR) | Hotel limit (EUR) |
| --- | ---: | :--- |
| Germany | 28 | 140 |
| France | 42 | 175 |
| Japan | 54 | 210 |
| South Korea | 50 | 190 |
| Korea | 1 | 2 |
"""
PAY = """| 级别 | 餐补（元/天） | 市内交通（元/天） |
| --- | --- | --- |
| 员工 | 100 | 50 |
| 经理 | 150 | 80 |
| 副经理 | 140 | 70 |
"""
PARTS = """Pump P-200.

| Part | Interval |
| --- | --- |
| Seal | 6 months |
| Bearing | every spring |
"""


def told(text: str, question: str) -> str:
    """The answer, empty for none."""
    return rules.answer(question, [Passage(id="t", text=text)]).answer


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (TRIPS, "What is the daily allowance for Japan?", "54"),
        (TRIPS, "What is the hotel limit for Germany?", "140"),
        (TRIPS, "What is the hotel limit for South Korea?", "190"),
        (PAY, "经理的餐补是每天多少元？", "150"),
        (PAY, "副经理的市内交通补贴是多少？", "70"),
        (PARTS, "How often must the seal of pump P-200 be replaced?", "6 months"),
        (PARTS, "What is the interval for the bearing?", "every spring"),
    ],
)
def test_the_cell_of_the_asked_row_and_column_is_the_answer(text: str, question: str, answer: str) -> None:
    """Not the first figure of the table; of labels inside one another the longest counts."""
    assert told(text, question) == answer


@pytest.mark.parametrize(
    ("text", "question", "wrong"),
    [
        (TRIPS, "What is the capital of Japan?", "54"),
        (PARTS, "Where is the seal made?", "6 months"),
        (PARTS, "Who sells the bearing?", "every spring"),
        ("| Term | Meaning |\n| Seal | a ring |", "What is the seal?", "a ring |"),
    ],
)
def test_a_table_that_does_not_hold_what_is_asked_gives_no_cell(text: str, question: str, wrong: str) -> None:
    """A row alone is no answer, nor is anything that is not a table."""
    assert told(text, question) != wrong
