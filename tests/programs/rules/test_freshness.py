"""Passages of the wrong time are outdated, alone or beside better ones; an unknown date is neutral."""

from datetime import date

import pytest

from reflective_rag.programs.rules import RuleSettings, answer, assess
from tests.programs.rules.worlds import passage

TODAY = date(2026, 11, 30)
PRESIDENT = "Who is the current president of Veyland?"
SAYS = "The president of Veyland is Ana Troost."

ALONE = [
    (PRESIDENT, SAYS, date(1950, 1, 1), True),
    (PRESIDENT, SAYS, date(2025, 1, 1), False),
    (PRESIDENT, SAYS, None, False),
    (PRESIDENT, "In 1950 the president of Veyland was Ana Troost.", None, True),
    (PRESIDENT, "Ana Troost has been the president of Veyland since 2001.", None, False),
    ("Who is the president of Veyland?", SAYS, date(1950, 1, 1), True),
    ("What is the latest price of Vey bread?", "The price of Vey bread is 4 crowns.", date(2023, 1, 1), True),
    ("What is the current population of Vey?", "The population of Vey is 4,000.", date(2020, 1, 1), False),
    ("What is the current population of Vey?", "The population of Vey is 4,000.", date(2001, 1, 1), True),
    ("维国现任总统是谁？", "维国总统是陈文远。", date(1950, 1, 1), True),
    ("维国目前的总统是谁？", "1950年，维国总统为陈文远。", None, True),
    ("维国目前的总统是谁？", "昭和五十年，维国总统为陈文远。", None, True),
    ("维国目前的总统是谁？", "民国三十八年，维国总统为陈文远。", None, True),
    ("维国目前的总统是谁？", "维国总统是陈文远。", None, False),
    ("维国最新的汇率是多少？", "维国汇率为7.2。", date(2023, 1, 1), True),
    ("Who was president of Veyland in 2010?", "In 1950 the president of Veyland was Ana Troost.", None, True),
    ("Who was president of Veyland before 1990?", "In 2005 the president of Veyland was Ana Troost.", None, True),
    ("Who was president of Veyland after 1990?", SAYS, date(1950, 1, 1), True),
    (
        "Who was president of Veyland between 1990 and 1995?",
        "In 2005 the president of Veyland was Ana Troost.",
        None,
        True,
    ),
    ("Who was president of Veyland in 2010?", SAYS, date(2024, 1, 1), False),
    ("Who was president of Veyland five years ago?", "In 2005 the president of Veyland was Ana Troost.", None, True),
    ("去年维国总统是谁？", "1950年，维国总统为陈文远。", None, True),
    ("Who founded Veyland?", "Ana Troost founded Veyland.", date(1950, 1, 1), False),
]


@pytest.mark.parametrize(
    ("question", "text", "published", "outdated"), ALONE, ids=[f"{r[0]} {r[1]} {r[2]}" for r in ALONE]
)
def test_a_lone_passage_is_judged_by_its_date(question, text, published, outdated):
    """A date that rules the statement out makes it outdated without any better passage, by the kind of fact."""
    found = assess(question, (passage("a", text, published=published),), today=TODAY)
    assert found.outdated == (("a",) if outdated else ())


@pytest.mark.parametrize(
    "text",
    [
        "0000-00-00",
        "circa 1890",
        "昭和五十年",
        "光绪二十年",
        "2023-13-45",
        "99999年",
        "公元前221年",
        "1/0/0",
        "民国零年",
    ],
)
@pytest.mark.parametrize("question", [PRESIDENT, "维国现任总统是谁？"], ids=["en", "zh"])
def test_strange_dates_do_no_harm(question, text):
    """Whatever a passage gives for a date, it is read or left unknown."""
    source = passage("a", f"{SAYS} {text} 维国总统是陈文远，{text}。")
    assert assess(question, (source,), today=TODAY).time_scope == "now"


def test_sources_that_agree_are_not_outdated():
    """A newer source that says the same is not penalised, and keeps the older one fresh."""
    pool = (passage("old", SAYS, published=date(2012, 1, 1)), passage("new", SAYS, published=date(2026, 1, 1)))
    assert assess(PRESIDENT, pool, today=TODAY).outdated == ()


def test_latest_prefers_the_newest():
    """The newest statement answers, also when every passage is old."""
    question = "What is the latest count of stops of the Vey tram?"
    for years in ((2024, 2026), (1950, 1990)):
        pool = tuple(
            passage(f"p{year}", f"The Vey tram has {year - 1900} stops by count.", published=date(year, 6, 1))
            for year in years
        )
        for order in (pool, pool[::-1]):
            assert answer(question, order, TODAY).answer == str(years[1] - 1900)


def test_without_a_clock_nothing_is_too_old_by_itself():
    """Nobody says what today is, so age cannot be told."""
    assert assess(PRESIDENT, (passage("a", SAYS, published=date(1950, 1, 1)),)).outdated == ()


def test_the_bound_is_a_setting():
    """With a bound of a hundred years the passage of 1950 still counts."""
    pool = (passage("a", SAYS, published=date(1950, 1, 1)),)
    assert assess(PRESIDENT, pool, today=TODAY, settings=RuleSettings(stale_years=100)).outdated == ()


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        (
            "What is the current population of Veyland?",
            "The population of Veyland is 2.1 million.",
            "The population of Veyland is 2,100,000.",
        ),
        ("维国目前的人口是多少？", "维国的人口为210万人。", "维国的人口为2100000人。"),
    ],
    ids=["en", "zh"],
)
def test_one_amount_in_two_spellings_is_no_newer_version(question, old, new):
    """An older page that gives the same amount in another spelling is not superseded."""
    pool = (passage("old", old, published=date(2012, 1, 1)), passage("new", new, published=date(2026, 1, 1)))
    assert assess(question, pool, today=TODAY).outdated == ()


LATER = [
    (PRESIDENT, [(SAYS, date(2025, 1, 1)), ("The president of Veyland is Otto Brandt.", date(2027, 5, 1))], ()),
    (PRESIDENT, [(SAYS, date(2012, 1, 1)), ("The president of Veyland is Otto Brandt.", date(2026, 5, 1))], ("p0",)),
    (
        PRESIDENT,
        [(SAYS, date(2026, 1, 1)), ("The bakery of Tornby sells rye bread.", date(1950, 1, 1))],
        (),
    ),
    (
        PRESIDENT,
        [(SAYS, date(2026, 1, 1)), ("Ana Troost, born in 1950, wrote a book about Veyland in 1980.", None)],
        (),
    ),
    (
        "As of 2018, who is the president of Veyland?",
        [(SAYS, date(2017, 1, 1)), ("The president of Veyland is Otto Brandt.", date(2024, 5, 1))],
        ("p1",),
    ),
    (
        "As of 2018, who directed The Silver Orchard?",
        [("The Silver Orchard is a 1954 film directed by Mara Quill.", date(2017, 1, 1))],
        (),
    ),
    (
        "As of 2018, who is the president of Veyland?",
        [(SAYS, date(2017, 1, 1)), ("The president of Tornby is Otto Brandt.", date(2024, 5, 1))],
        (),
    ),
    (PRESIDENT, [(SAYS, None), ("The president of Veyland is Otto Brandt.", None)], ()),
    (
        "维国现任总统是谁？",
        [("维国总统是陈文远。", date(2025, 1, 1)), ("维国总统是林德华。", date(2027, 5, 1))],
        (),
    ),
    (
        "维国现任总统是谁？",
        [("维国总统是陈文远。", date(2012, 1, 1)), ("维国总统是林德华。", date(2026, 5, 1))],
        ("p0",),
    ),
    (
        "截至2018年，维国总统是谁？",
        [("维国总统是陈文远。", date(2017, 1, 1)), ("维国总统是林德华。", date(2024, 5, 1))],
        ("p1",),
    ),
    ("截至2018年，《银色果园》的导演是谁？", [("《银色果园》是陈文远1954年执导的电影。", date(2017, 1, 1))], ()),
]


@pytest.mark.parametrize(
    ("question", "sources", "outdated"), LATER, ids=[f"{question} {sources}" for question, sources, _ in LATER]
)
def test_only_what_would_answer_is_out_of_date(question, sources, outdated):
    """Other subjects, events' years, unknown dates and dates after today make nothing outdated; a better date does."""
    pool = tuple(passage(f"p{i}", text, published=when) for i, (text, when) in enumerate(sources))
    assert assess(question, pool, today=TODAY).outdated == outdated


def test_the_version_that_time_left_behind():
    """Of two versions of one page the question's time decides, though neither sentence is what was asked in words."""
    text = "Tornby is a town. Its seat has been in {} by decree, and its arms show a rose and a wheel."
    pool = [
        passage("old", text.format("Amqui"), "Tornby", date(2014, 1, 1)),
        passage("new", text.format("Concord"), "Tornby", date(2024, 1, 1)),
    ]
    assert assess("Currently, what is the seat of Tornby?", pool, today=TODAY).outdated == ("old",)
    assert assess("As of 2016, what is the seat of Tornby?", pool, today=TODAY).outdated == ("new",)
