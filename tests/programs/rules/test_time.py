"""The time a question is about, and the date a passage speaks of."""

from datetime import date

import pytest

from reflective_rag.programs.rules.dates import dated, years
from reflective_rag.programs.rules.time import time_expression
from reflective_rag.signatures.types import Passage

TODAY = date(2026, 11, 30)

SCOPES = [
    ("Who designed the Orlen Bridge?", "timeless", None, None),
    ("What is the current population of Meridale?", "now", None, TODAY),
    ("What is the latest count of stops?", "now", None, TODAY),
    ("Who is the mayor of Meridale?", "now", None, TODAY),
    ("Who was the first mayor of Meridale?", "timeless", None, None),
    ("What was the population as of 2010?", "as_of", date(2010, 1, 1), date(2010, 12, 31)),
    ("How many stops were there in 2015?", "as_of", date(2015, 1, 1), date(2015, 12, 31)),
    ("Who led the city before 1990?", "before", None, date(1989, 12, 31)),
    ("What was built after 1990?", "after", date(1990, 1, 1), None),
    ("What was built between 1950 and 1960?", "between", date(1950, 1, 1), date(1960, 12, 31)),
    ("How many people visited last year?", "as_of", date(2025, 1, 1), date(2025, 12, 31)),
    ("What happened in the 2000s?", "between", date(2000, 1, 1), date(2009, 12, 31)),
    ("目前青石市有多少人口？", "now", None, TODAY),
    ("现任市长是谁？", "now", None, TODAY),
    ("最新的票价是多少？", "now", None, TODAY),
    ("青石市市长是谁？", "now", None, TODAY),
    ("青石市首任市长是谁？", "timeless", None, None),
    ("截至2015年有多少个车站？", "as_of", date(2015, 1, 1), date(2015, 12, 31)),
    ("2018年谁当选市长？", "as_of", date(2018, 1, 1), date(2018, 12, 31)),
    ("2000年以前谁管理该市？", "before", None, date(1999, 12, 31)),
    ("1990年以后建了什么？", "after", date(1990, 1, 1), None),
    ("1950年至1960年建了什么？", "between", date(1950, 1, 1), date(1960, 12, 31)),
    ("去年有多少游客？", "as_of", date(2025, 1, 1), date(2025, 12, 31)),
    ("该片耗资2000万元吗？", "timeless", None, None),
    ("Who led the city five years ago?", "as_of", date(2021, 1, 1), date(2021, 12, 31)),
    ("How many people visited last month?", "as_of", date(2026, 10, 1), date(2026, 10, 31)),
    ("What was built in the last three years?", "between", date(2023, 11, 30), TODAY),
    ("前年有多少游客？", "as_of", date(2024, 1, 1), date(2024, 12, 31)),
    ("上个月有多少游客？", "as_of", date(2026, 10, 1), date(2026, 10, 31)),
    ("五年前谁是市长？", "as_of", date(2021, 1, 1), date(2021, 12, 31)),
    ("近五年建了什么？", "between", date(2021, 11, 30), TODAY),
    ("昭和五十年青石市有多少人口？", "as_of", date(1975, 1, 1), date(1975, 12, 31)),
    ("二〇一九年谁当选市长？", "as_of", date(2019, 1, 1), date(2019, 12, 31)),
    ("What unit measures electric current?", "timeless", None, None),
    ("Which empire ruled what is now Tornby?", "timeless", None, None),
    ("What did he do in his last year at school?", "timeless", None, None),
    ("Who led it in March 2019?", "as_of", date(2019, 1, 1), date(2019, 12, 31)),
    ("Who led it as of March 2019?", "as_of", date(2019, 1, 1), date(2019, 12, 31)),
    ("Who led it on 3 June 2019?", "as_of", date(2019, 1, 1), date(2019, 12, 31)),
    ("Who led it on June 3, 2019?", "as_of", date(2019, 1, 1), date(2019, 12, 31)),
    ("Who led it in late 2019?", "as_of", date(2019, 1, 1), date(2019, 12, 31)),
    ("Who led it before March 2019?", "before", None, date(2019, 2, 28)),
    ("Who led it after 1 May 2020?", "after", date(2020, 5, 1), None),
    ("Who led it after 31 February 2020?", "after", date(2020, 1, 1), None),
    ("What was built up to 2020?", "before", None, date(2020, 12, 31)),
    ("What was built through 2020?", "before", None, date(2020, 12, 31)),
    ("What was built in the 2010s?", "between", date(2010, 1, 1), date(2019, 12, 31)),
    ("What was built in the 1800s?", "between", date(1800, 1, 1), date(1899, 12, 31)),
    ("What was built before the 1990s?", "before", None, date(1989, 12, 31)),
    ("What was built since the 1990s?", "after", date(1990, 1, 1), None),
    ("Is Ana Troost still the mayor?", "now", None, TODAY),
    ("Who painted the still life?", "timeless", None, None),
    ("2019年3月之前谁管理该市？", "before", None, date(2019, 2, 28)),
    ("2019年3月之后谁管理该市？", "after", date(2019, 3, 1), None),
    ("上一年有多少游客？", "as_of", date(2025, 1, 1), date(2025, 12, 31)),
    ("明年有多少游客？", "as_of", date(2027, 1, 1), date(2027, 12, 31)),
    ("Who will visit next year?", "as_of", date(2027, 1, 1), date(2027, 12, 31)),
    ("谁是上届市长？", "timeless", None, None),
    ("Who is the president that lost the last election?", "timeless", None, None),
    ("90年代市长是谁？", "between", date(1990, 1, 1), date(1999, 12, 31)),
    ("九十年代市长是谁？", "between", date(1990, 1, 1), date(1999, 12, 31)),
    ("19世纪60年代建了什么？", "between", date(1860, 1, 1), date(1869, 12, 31)),
    ("自去年以来建了什么？", "after", date(2025, 1, 1), None),
    ("What was built since last year?", "after", date(2025, 1, 1), None),
    ("从2010年到现在建了什么？", "between", date(2010, 1, 1), TODAY),
    ("What was built from 2010 to now?", "between", date(2010, 1, 1), TODAY),
    ("他前年轻时住在哪里？", "timeless", None, None),
    ("How did it look before 1000 people came?", "timeless", None, None),
    ("Which of them costs between 1000 and 2000 dollars?", "timeless", None, None),
    ("Who won in 2000 metres?", "timeless", None, None),
]


@pytest.mark.parametrize(("question", "scope", "start", "end"), SCOPES, ids=[row[0] for row in SCOPES])
def test_time_scope(question, scope, start, end):
    """The scope and its inclusive bounds are read from the question, relative words against `today`."""
    found = time_expression(question, TODAY)
    assert (found.scope, found.start, found.end) == (scope, start, end)


@pytest.mark.parametrize(
    "question", ["Who ruled in the last five years?", "近五年", "two months ago", "上个月", "yesterday"]
)
@pytest.mark.parametrize("today", [date(2024, 2, 29), date(2023, 1, 1), date(1, 1, 1)], ids=str)
def test_relative_words_at_the_edges_of_the_calendar(question, today):
    """Leap days, January and the first year give ordered bounds or none, and no error."""
    found = time_expression(question, today)
    assert found.start is None or found.end is None or found.start <= found.end


def test_last_year_without_today_is_timeless():
    """A relative year is not guessed when nobody says what today is."""
    assert time_expression("How many people visited last year?").scope == "timeless"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("opened in 1936 and rebuilt in 1954", (1936, 1954)),
        ("1936年创办", (1936,)),
        ("cost $1950 and 2,015 people", ()),
        ("the 1990s", ()),
        ("12345 metres", ()),
        ("", ()),
        ("0000-00-00", ()),
        ("2023-13-45", ()),
        ("2023-05-06", (2023,)),
        ("circa 1890", (1890,)),
        ("约1890年", (1890,)),
        ("1990年代", ()),
        ("昭和五十年", (1975,)),
        ("昭和50年", (1975,)),
        ("昭和九十九年", ()),
        ("民国三十八年", (1949,)),
        ("光绪二十年", (1894,)),
        ("宣统元年", (1909,)),
        ("光绪一百年", ()),
        ("二〇一九年", (2019,)),
        ("公元前1046年", ()),
        ("in 1046 BC", ()),
        ("昭和十百千年", ()),
    ],
)
def test_years_are_not_amounts(text, found):
    """Four digits count as a year only when they are no amount, no decade and no part of a longer number."""
    assert years(text) == found


def test_publication_date_comes_before_stated_years():
    """A passage speaks from its publication date, else from the latest year of the sentence, else from none."""
    text = "In 2010 it had 40 stops."
    assert dated(Passage(id="a", text=text, published=date(2020, 5, 1)), text) == date(2020, 5, 1)
    assert dated(Passage(id="a", text=text), text) == date(2010, 12, 31)
    assert dated(Passage(id="a", text="It had 40 stops."), "It had 40 stops.") is None


@pytest.mark.parametrize(
    "text",
    [
        "She has been mayor since 2015.",
        "Meridale, founded in 1850, has 40 stops.",
        "自1990年起任市长。",
        "青石市于1850年建立，有40个车站。",
    ],
)
def test_background_years_do_not_date_a_statement(text):
    """A beginning or a founding does not say when a statement held; such a passage has no date."""
    assert years(text)
    assert dated(Passage(id="a", text=text), text) is None
