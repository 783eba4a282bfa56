"""Values that can be swapped: their kind, where they stand, and what replaces them."""

import random
from typing import Any

import pytest

from reflective_rag.data.twins.values import (
    LAST_YEAR,
    first_value,
    is_name,
    kind_of,
    occurrences,
    replaced,
    swapped_date,
    swapped_number,
)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        pytest.param("4,812", "number", id="thousands"),
        pytest.param("21人", "number", id="chinese-unit"),
        pytest.param("3.5 million", "number", id="scale"),
        pytest.param("1871", "date", id="bare-year"),
        pytest.param("12 May 1871", "date", id="day"),
        pytest.param("2016年10月17日", "date", id="chinese-day"),
        pytest.param("Anna Berg", "name", id="person"),
        pytest.param("Apollo 13 Museum of Houston", "name", id="name-with-a-digit"),
        pytest.param("法国", "name", id="chinese-name"),
    ],
)
def test_the_kind_of_a_value(value: str, kind: str) -> None:
    """Years and days are dates, what is mostly digits a number, the rest a name."""
    assert kind_of(value) == kind


@pytest.mark.parametrize(
    ("text", "value", "count"),
    [
        pytest.param("In 1871 and in 18715.", "1871", 1, id="not-inside-a-number"),
        pytest.param("It has 4,812 or 14,812 people.", "4,812", 1, id="not-the-end-of-a-number"),
        pytest.param("It cost 12.5 and 12.", "12", 1, id="not-before-a-decimal"),
        pytest.param("Berg, Bergen, berg", "Berg", 2, id="whole-words-any-case"),
        pytest.param("法国队和法国人", "法国", 2, id="chinese-has-no-borders"),
        pytest.param("a+b", "+", 1, id="no-pattern"),
        pytest.param("text", " ", 0, id="blank"),
    ],
)
def test_where_a_value_stands(text: str, value: str, count: int) -> None:
    """A value is found as a whole, never as a part of a longer word or number."""
    spans = occurrences(text, value)
    assert len(spans) == count
    assert all(text[start:end].casefold() == value.casefold() for start, end in spans)


def test_every_occurrence_is_replaced() -> None:
    """A swapped copy never holds the old value beside the new one."""
    assert replaced("Berg met Bergen; Berg left.", "Berg", "Thal") == "Thal met Bergen; Thal left."


@pytest.mark.parametrize("value", ["2", "21人", "4,812", "3.5 million", "0.4%", "1,250,000"])
def test_a_swapped_number_differs_clearly_and_keeps_its_form(value: str) -> None:
    """At least a fifth apart, with the same unit, commas and decimals."""
    digits = value.replace(",", "").rstrip("人%milon ")
    for seed in range(30):
        other = swapped_number(value, random.Random(seed))
        assert other is not None
        number = float(other.replace(",", "").rstrip("人%milon "))
        assert abs(number - float(digits)) >= 0.19 * float(digits)
        assert other.endswith(value.lstrip("0123456789.,"))


@pytest.mark.parametrize("value", ["1871", "12 May 2024", "2025年10月"])
def test_a_swapped_date_moves_the_year_and_stays_in_the_past(value: str) -> None:
    """Three to nineteen years away, never after the last year."""
    year = next(y for y in (1871, 2024, 2025) if str(y) in value)
    for seed in range(30):
        other = swapped_date(value, random.Random(seed))
        assert other is not None
        moved = next(y for y in range(1800, LAST_YEAR + 1) if str(y) in other)
        assert 3 <= abs(moved - year) <= 19
        assert other == value.replace(str(year), str(moved))


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        pytest.param("In 1999 it had 45 rooms.", "number", "45", id="a-year-is-no-number"),
        pytest.param("On 10月31日 there were 250 guests.", "number", "250", id="a-chinese-day-is-none"),
        pytest.param("On October 18 they sold 77.", "number", "77", id="an-english-day-is-none"),
        pytest.param("第116届有435名议员", "number", "435", id="an-ordinal-is-none"),
        pytest.param(
            "Oct 31, 2022 ... The town was founded in 1410.", "date", "1410", id="a-date-line-is-no-statement"
        ),
        pytest.param("No digits here.", "number", None, id="nothing"),
        pytest.param("In 1999.", "name", None, id="names-are-not-found"),
    ],
)
def test_the_value_of_a_sentence(text: str, kind: Any, value: str | None) -> None:
    """Parts of dates, ordinals and date lines are no numbers that a passage states."""
    assert first_value(text, kind) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("Anna Berg", True, id="person"),
        pytest.param("Bank of England", True, id="small-word-inside"),
        pytest.param("surrounded by a double membrane", False, id="clause"),
        pytest.param("李明", True, id="chinese"),
        pytest.param("海清；童瑶", False, id="chinese-list"),
        pytest.param("1871", False, id="date"),
        pytest.param("", False, id="empty"),
    ],
)
def test_what_reads_as_a_name(value: str, expected: bool) -> None:
    """Only names are exchanged for names: a clause in a name's place would give the twin away."""
    assert is_name(value) is expected
