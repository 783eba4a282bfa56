"""Rules that hold from a day on, and documents that are issued anew: the one that holds at the asked time answers."""

from datetime import date

import pytest

from reflective_rag.programs.rules import answer, assess
from reflective_rag.programs.rules.evidence import gather
from reflective_rag.programs.rules.question import analyse
from reflective_rag.programs.rules.validity import edition_years, valid_from, without_revision
from tests.programs.rules.worlds import passage

TODAY = date(2026, 11, 30)
EN = (
    passage("old", "Travel policy of 2022. Employees may spend up to 85 euros per night on a hotel.", "Travel policy"),
    passage(
        "new",
        "From 1 January 2025 employees may spend up to 110 euros per night on a hotel.",
        "Travel policy (revised)",
    ),
)
ZH = (
    passage("old", "根据2022年的差旅规定，员工每晚住宿标准为400元。", "差旅规定"),
    passage("new", "自2025年1月1日起，员工每晚住宿标准为550元。", "差旅规定（修订）"),
)
ASKED = [
    ("How much may employees spend per night on a hotel?", EN, "110", ("old",)),
    ("How much may employees spend per night on a hotel now?", EN, "110", ("old",)),
    ("How much could employees spend per night on a hotel as of 2023?", EN, "85", ("new",)),
    ("员工每晚住宿标准是多少？", ZH, "550元", ("old",)),
    ("员工现在每晚住宿标准是多少？", ZH, "550元", ("old",)),
    ("2023年员工每晚住宿标准是多少？", ZH, "400元", ("new",)),
]


@pytest.mark.parametrize(("question", "pages", "expected", "outdated"), ASKED, ids=[row[0] for row in ASKED])
@pytest.mark.parametrize("backwards", [False, True])
def test_the_rule_that_holds_at_the_asked_time_answers(question, pages, expected, outdated, backwards):
    """Whichever comes first; the other one is out of date."""
    found = pages[::-1] if backwards else pages
    assert expected in answer(question, found, today=TODAY).answer
    assert assess(question, found, today=TODAY).outdated == outdated


def test_a_rule_that_is_still_to_come_replaces_nothing():
    """Neither where now is asked for nor where no time is."""
    old, new = EN[0], passage("new", EN[1].text.replace("2025", "2030"), EN[1].title)
    for question in (ASKED[0][0], ASKED[1][0]):
        assert "old" not in assess(question, [old, new], today=TODAY).outdated


@pytest.mark.parametrize(
    ("sentence", "year"),
    [
        ("From 1 January 2025 the fee is 5 euros.", 2025),
        ("Effective from March 2024, the fee is 5 euros.", 2024),
        ("With effect from 2024 the fee is 5 euros.", 2024),
        ("自2025年1月1日起，费用为5元。", 2025),
        ("从2024年3月开始，费用为5元。", 2024),
        ("From 2010 to 2015 she was mayor.", None),
        ("从2010年到2015年任市长。", None),
        ("It was built in 2010.", None),
        ("该桥建于2010年。", None),
        ("The letter from Halden arrived in 2010.", None),
        ("", None),
    ],
)
def test_the_day_from_which_a_sentence_holds(sentence, year):
    """A period with an end, and the year of an event, are none."""
    assert valid_from(sentence) == (year and date(year, 1, 1))


@pytest.mark.parametrize(
    ("title", "text", "years"),
    [
        ("Price list 2024", "A coffee is 3 euros.", (2024,)),
        ("差旅规定（2022年版）", "住宿标准为400元。", (2022,)),
        ("Travel policy", "Travel policy of 2022. Hotels cost 85 euros.", (2022,)),
        ("2022 World Cup", "Argentina won the final.", ()),
        ("Halden", "Halden had 300 people in 2022.", ()),
        ("", "", ()),
    ],
)
def test_the_year_of_a_document_that_is_issued_anew(title, text, years):
    """Of a policy, a price list, an edition; the year of an event in a title is no date of the text."""
    evidence = gather(analyse("How much is it?", TODAY), [passage("a", text, title)])
    assert edition_years(evidence.pages[0]) == years


@pytest.mark.parametrize(
    ("title", "plain"),
    [
        ("Travel policy (revised)", "Travel policy"),
        ("Handbook [2nd edition]", "Handbook"),
        ("差旅规定（修订）", "差旅规定"),
        ("差旅规定（2024年修订版）", "差旅规定"),
        ("Stretch (2011 film)", "Stretch (2011 film)"),
        ("Mercury (planet)", "Mercury (planet)"),
        ("水星（行星）", "水星（行星）"),
    ],
)
def test_the_mark_of_a_revision_is_no_part_of_a_title(title, plain):
    """What tells two namesakes apart stays."""
    assert without_revision(title) == plain
