"""Typed spans: numbers with units, dates, names, quotations; each is a verbatim piece of the text."""

import pytest

from reflective_rag.programs.rules.names import names, quoted
from reflective_rag.programs.rules.values import amount, dates, numbers

NUMBERS = [
    ("It has 42 stops.", [("42", "stops")]),
    ("It holds 240,000 volumes.", [("240,000", "volumes")]),
    ("It cost $3.5 million.", [("$3.5 million", "$")]),
    ("A share of 14.8% of all.", [("14.8%", "%")]),
    ("It has forty-two stops.", [("forty-two", "stops")]),
    ("共有42个车站。", [("42个", "个")]),
    ("馆藏24万册。", [("24万册", "册")]),
    ("收入300.67亿元。", [("300.67亿元", "元")]),
    ("全长640米，1931年建成。", [("640米", "米")]),
    ("开通于1931年5月2日。", []),
    ("Opened on 2 May 1931.", []),
]


@pytest.mark.parametrize(("text", "found"), NUMBERS, ids=[text for text, _ in NUMBERS])
def test_numbers_carry_their_unit(text, found):
    """Amounts come with their unit; years and days are dates, not amounts."""
    spans = numbers(text)
    assert [(span.text, span.unit) for span in spans] == found
    assert all(text[span.start : span.end] == span.text for span in spans)


@pytest.mark.parametrize(
    ("text", "value"),
    [("3.5 million", 3.5e6), ("240,000", 240000), ("1.2亿", 1.2e8), ("4亿5000万", 4.5e8), ("42", 42), ("forty", None)],
)
def test_amounts_are_scaled(text, value):
    """Scale words of both languages are part of the value; number words have none."""
    assert amount(numbers(text)[0]) == value


DATES = [
    ("Opened on 2 May 1931.", ["2 May 1931"]),
    ("Opened on May 2, 1931.", ["May 2, 1931"]),
    ("Opened in May 1931.", ["May 1931"]),
    ("Opened in 1931.", ["1931"]),
    ("Popular in the 1930s.", ["1930s"]),
    ("Built in the 19th century.", ["19th century"]),
    ("1931年5月2日通车。", ["1931年5月2日"]),
    ("20世纪30年代流行。", ["20世纪30年代"]),
    ("It has 42 stops.", []),
]


@pytest.mark.parametrize(("text", "found"), DATES, ids=[text for text, _ in DATES])
def test_dates_take_the_longest_form(text, found):
    """A full date is one span, not a day, a month and a year."""
    spans = dates(text)
    assert [span.text for span in spans] == found
    assert all(text[span.start : span.end] == span.text for span in spans)


NAMES = [
    ("It was designed by Otto Brandt in May.", ["Otto Brandt"]),
    ("The Bank of Meridale moved.", ["Bank of Meridale"]),
    ("Selma Ek's house stands.", ["Selma Ek"]),
    ("由马拉·奎尔执导。", ["马拉·奎尔"]),
    ("由市长林德华创办。", ["林德华"]),
    ("他使用Sky Digital服务。", ["Sky Digital"]),
    ("no names here", []),
]


@pytest.mark.parametrize(("text", "found"), NAMES, ids=[text for text, _ in NAMES])
def test_names_by_spelling_and_by_tags(text, found):
    """English names are runs of capital words; Chinese ones come from the segmenter and the dot."""
    spans = names(text)
    assert [span.text for span in spans] == found
    assert all(text[span.start : span.end] == span.text for span in spans)


def test_quotations_lose_their_marks():
    """Every kind of quotation mark is left out of the span."""
    text = '《银色果园》 “one” 「二」 "three"'
    assert [span.text for span in quoted(text)] == ["银色果园", "one", "二", "three"]
