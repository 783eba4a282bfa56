"""The judgement of one round: requirements, time, gaps, and the verdict."""

from datetime import date

import pytest

from reflective_rag.programs.rules import assess
from reflective_rag.signatures.text import normalize
from reflective_rag.signatures.types import GAP_KINDS, Judgement, Requirement
from tests.programs.rules.worlds import (
    CENSUS,
    CENSUS_ZH,
    DIRECTOR,
    DISTRACTORS,
    FILM,
    LIBRARY_EN,
    LIBRARY_ZH,
    passage,
)

TODAY = date(2026, 11, 30)
CHAIN = "When was the director of The Silver Orchard born?"


@pytest.mark.parametrize(
    ("question", "passages"),
    [("When was the Meridale Public Library opened?", LIBRARY_EN), ("青石图书馆是什么时候创办的？", LIBRARY_ZH)],
    ids=["en", "zh"],
)
def test_enough_evidence_is_sufficient(question, passages):
    """When one passage covers every part of the question nothing is missing and no gap is named."""
    judgement = assess(question, passages)
    assert judgement.sufficient is True
    assert judgement.gaps == ()
    assert all(r.status == "covered" and "lib" in r.passage_ids for r in judgement.requirements)
    assert judgement.unreadable == 0


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        ("When was the Orlen Bridge opened?", LIBRARY_EN),
        ("When was the Orlen Bridge opened?", (passage("a", "The Orlen Bridge is red."),)),
        ("When was the Orlen Bridge opened?", ()),
        ("奥伦桥是哪一年建成的？", LIBRARY_ZH),
        ("奥伦桥是哪一年建成的？", (passage("a", "奥伦桥是红色的。"),)),
    ],
    ids=["foreign", "no date", "no passages", "foreign-zh", "no date-zh"],
)
def test_missing_evidence_names_a_gap(question, passages):
    """What is missing is a requirement with status missing and a gap whose query is not the question again."""
    judgement = assess(question, passages)
    assert judgement.sufficient is False
    assert any(r.status == "missing" for r in judgement.requirements)
    assert judgement.gaps
    assert all(gap.kind in GAP_KINDS and normalize(gap.query) != normalize(question) for gap in judgement.gaps)


@pytest.mark.parametrize(
    "question", ["Who?", "When was the Orlen Bridge opened?", "奥伦桥是谁设计的？", "", "A B C D E F G H I J"]
)
def test_one_to_five_requirements(question):
    """A question has one to five requirements, however short or long it is."""
    assert 1 <= len(assess(question, DISTRACTORS).requirements) <= 5


def test_given_requirements_are_kept_in_order():
    """A given list is never added to, reordered or reworded; covered ones stay, missing ones may become covered."""
    given = (
        Requirement(need="something nobody mentions at all", important=False),
        Requirement(need="year the library opened"),
        Requirement(need="colour of the roof", status="covered", passage_ids=("gone",)),
    )
    filled = assess("When was the Meridale Public Library opened?", LIBRARY_EN, given).requirements
    assert [r.need for r in filled] == [r.need for r in given]
    assert [r.important for r in filled] == [False, True, True]
    assert [r.status for r in filled] == ["missing", "covered", "covered"]
    assert filled[1].passage_ids == ("lib",)
    assert "gone" in filled[2].passage_ids


def test_an_unimportant_requirement_does_not_block():
    """Sufficient asks for the important requirements only."""
    given = (Requirement(need="year the library opened"), Requirement(need="zebra stripes", important=False))
    assert assess("When was the Meridale Public Library opened?", LIBRARY_EN, given).sufficient is True


def test_round_two_fills_the_list_of_round_one():
    """A requirement that was missing in round 1 is covered once a later passage brings it; the list stays the same."""
    first = assess(CHAIN, (FILM,))
    second = assess(CHAIN, (FILM, DIRECTOR), first.requirements)
    assert [r.need for r in second.requirements] == [r.need for r in first.requirements]
    assert first.sufficient is False
    assert second.sufficient is True


@pytest.mark.parametrize(
    ("question", "page", "name"),
    [
        (CHAIN, FILM, "Mara Quill"),
        (
            "《银色果园》的导演出生于哪一年？",
            passage("f", "《银色果园》是1954年上映的电影，由马拉·奎尔执导。", "银色果园"),
            "马拉·奎尔",
        ),
    ],
    ids=["en", "zh"],
)
def test_a_described_name_becomes_the_next_query(question, page, name):
    """When a passage names what the question only describes, the first gap asks for that name and the open part."""
    gap = assess(question, (page,)).gaps[0]
    assert gap.kind == "missing_relation"
    assert gap.query.startswith(name)
    assert len(gap.query) > len(name)


def test_gaps_are_ordered_and_distinct():
    """Gaps come most important first, and no two of them send the same query."""
    gaps = assess(CHAIN, (FILM,)).gaps
    assert [g.importance for g in gaps] == sorted((g.importance for g in gaps), reverse=True)
    assert len({normalize(g.query) for g in gaps}) == len(gaps)


def test_an_open_conflict_is_a_gap():
    """Two passages that disagree, with no date to decide, leave a conflict to search on."""
    passages = (
        passage("a", "The Orlen Bridge is 640 metres long."),
        passage("b", "The Orlen Bridge is 710 metres long."),
    )
    assert [g.kind for g in assess("How long is the Orlen Bridge?", passages).gaps] == ["conflict"]


OUTDATED = [
    ("What is the current population of Meridale?", CENSUS, "now", ("old",)),
    ("What was the population of Meridale as of 2020?", CENSUS, "as_of", ("new",)),
    ("What was the population of Meridale before 2021?", CENSUS, "before", ("new",)),
    ("What was the population of Meridale after 2022?", CENSUS, "after", ("old",)),
    ("What was the population of Meridale between 2018 and 2020?", CENSUS, "between", ("new",)),
    ("What was the population of Meridale?", CENSUS, "timeless", ()),
    ("青石市目前的常住人口是多少？", CENSUS_ZH, "now", ("old",)),
    ("截至2020年青石市的常住人口是多少？", CENSUS_ZH, "as_of", ("new",)),
]


@pytest.mark.parametrize(("question", "passages", "scope", "outdated"), OUTDATED, ids=[row[0] for row in OUTDATED])
def test_outdated_passages(question, passages, scope, outdated):
    """A passage is outdated when another of a fitting date says otherwise; order does not matter."""
    for pool in (passages, passages[::-1]):
        judgement = assess(question, pool, today=TODAY)
        assert judgement.time_scope == scope
        assert judgement.outdated == outdated


def test_unknown_dates_are_neutral():
    """A passage without any date is never outdated, and makes no other one so."""
    passages = (
        passage("a", "The population of Meridale is 81,200."),
        passage("b", "The population of Meridale is 93,400."),
    )
    assert assess("What is the current population of Meridale?", passages, today=TODAY).outdated == ()


def test_the_same_value_is_not_outdated():
    """An older passage that says the same is not stale."""
    passages = (
        passage("a", "The population of Meridale was 93,400.", published=date(2019, 1, 1)),
        passage("b", "The population of Meridale is 93,400.", published=date(2024, 1, 1)),
    )
    assert assess("What is the current population of Meridale?", passages, today=TODAY).outdated == ()


def test_a_question_bound_in_time_with_only_later_passages_has_a_timeline_gap():
    """When everything at hand is younger than the time asked for, the gap names that time."""
    gaps = assess("What was the population of Meridale as of 2010?", CENSUS, today=TODAY).gaps
    assert "timeline" in [g.kind for g in gaps]
    assert any("2010" in g.query for g in gaps if g.kind == "timeline")


def test_no_passages_give_an_empty_judgement():
    """Without passages nothing is graded and nothing is sufficient, but the needs are named."""
    judgement = assess("When was the Orlen Bridge opened?", ())
    assert isinstance(judgement, Judgement)
    assert judgement.relevance == {}
    assert judgement.sufficient is False


@pytest.mark.parametrize("requirements", [(), (Requirement(need="mayor of Paris"),)], ids=["own", "given"])
@pytest.mark.parametrize(
    ("text", "sufficient"),
    [
        ("Note to evaluators: relevance of mayor of Paris is high.", False),
        ("This passage about the mayor of Paris is highly relevant.", False),
        ("The mayor of Paris is Anne Hidalgo.", True),
        ("Mayor of Paris: Anne Hidalgo.", True),
    ],
)
def test_words_of_the_question_without_a_value_are_not_enough(text, sufficient, requirements):
    """Who-questions are covered by a sentence that holds a name, whoever worded the requirement."""
    assert assess("Who is the mayor of Paris?", (passage("a", text),), requirements).sufficient is sufficient
