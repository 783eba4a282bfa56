"""Contradicting and stale twins: exactly one value changed, in a copy that stands beside the original."""

from datetime import date
from typing import Literal

import pytest

from reflective_rag.data.records import Record
from reflective_rag.data.twins import contradictory_twin, other_scope_twin, stale_twin
from reflective_rag.data.twins.values import ValueKind
from tests.data.twins.worlds import BORN, FILLER, MAYOR, MAYOR_TOO, MAYOR_ZH, MAYOR_ZH_TOO, POPULATION, passage, record

OTHERS = [POPULATION, BORN, MAYOR, MAYOR_TOO, MAYOR_ZH, MAYOR_ZH_TOO]


@pytest.mark.parametrize(
    ("source", "kind", "value"),
    [
        pytest.param(POPULATION, "number", "4,812", id="number"),
        pytest.param(BORN, "date", "12 May 1871", id="date"),
        pytest.param(MAYOR, "name", "Anna Berg", id="name"),
        pytest.param(MAYOR_ZH, "name", "李明", id="chinese-name"),
    ],
)
def test_the_answer_is_swapped_in_a_copy(source: Record, kind: ValueKind, value: str) -> None:
    """The original stays, the copy differs from it by the value alone, and the spans point at both values."""
    twin = contradictory_twin(source, OTHERS)
    assert twin is not None
    swap = twin.swap
    assert (swap.kind, swap.value, swap.at_answer) == (kind, value, True)
    assert len(twin.record.passages) == len(source.passages) + 1
    assert swap.original in twin.record.passages
    assert swap.twin in twin.record.passages
    assert swap.original.text[slice(*swap.span)] == swap.value
    assert swap.twin.text[slice(*swap.other_span)] == swap.other
    assert swap.twin.text == swap.original.text.replace(swap.value, swap.other)
    assert swap.value not in swap.twin.text


def test_a_number_beside_the_answer_is_swapped_where_that_kind_is_asked_for() -> None:
    """The answer stays in both, the number of its sentence differs; `at_answer` says so."""
    twin = contradictory_twin(MAYOR_ZH, OTHERS, kind="number")
    assert twin is not None
    assert (twin.swap.kind, twin.swap.value, twin.swap.at_answer) == ("number", "3200", False)
    assert "李明" in twin.swap.twin.text


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(record("Is it old?", ["yes"], passage(1, "It is old.", True)), id="yes-no"),
        pytest.param(record("Who?", [], passage(1, "x y", True), answerable=False), id="no-answer"),
        pytest.param(record("Who?", ["Max Frei"], passage(1, "Nobody knows.", True)), id="answer-not-verbatim"),
        pytest.param(record("Who is Anna Berg?", ["Anna Berg"], passage(1, "Anna Berg.", True)), id="answer-asked"),
        pytest.param(record("How?", ["by a hidden rope"], passage(1, "It hung by a hidden rope.", True)), id="clause"),
    ],
)
def test_what_cannot_be_swapped_exactly_gives_no_twin(source: Record) -> None:
    """No twin rather than one whose label is doubtful."""
    assert contradictory_twin(source, OTHERS) is None


def test_a_name_is_replaced_by_an_answer_to_a_question_of_the_same_kind() -> None:
    """The mayor becomes another mayor, not just any name of the data set."""
    others = [record("Which river flows there?", ["Green Water"], passage(1, "Green Water.", True)), MAYOR_TOO]
    twin = contradictory_twin(MAYOR, others)
    assert twin is not None
    assert twin.swap.other == "Karl Thal"


def test_twins_depend_on_record_and_seed_alone() -> None:
    """The same arguments give the same twin; another seed another value somewhere."""
    assert contradictory_twin(POPULATION, OTHERS) == contradictory_twin(POPULATION, OTHERS)
    twins = [contradictory_twin(POPULATION, OTHERS, seed=seed) for seed in range(8)]
    assert len({twin.swap.other for twin in twins if twin}) > 1


@pytest.mark.parametrize(
    ("source", "kind", "question"),
    [
        pytest.param(MAYOR, "now", "Currently, who is the mayor of Oberdorf?", id="now"),
        pytest.param(MAYOR, "as_of", "As of {year}, who is the mayor of Oberdorf?", id="as-of"),
        pytest.param(MAYOR_ZH, "now", "目前，上村的村长是谁？", id="now-zh"),
        pytest.param(MAYOR_ZH, "as_of", "截至{year}年，上村的村长是谁？", id="as-of-zh"),
    ],
)
def test_the_version_that_time_has_overtaken(source: Record, kind: Literal["now", "as_of"], question: str) -> None:
    """For now the older other value is out of date; as of a year, the one that was published after it."""
    twin = stale_twin(source, OTHERS, kind=kind)
    assert twin is not None
    dates = {p.id: p.published for p in twin.record.passages if p.published}
    assert set(dates) == {twin.outdated, twin.other}
    stale, good = dates[twin.outdated or ""], dates[twin.other]
    assert isinstance(stale, date)
    assert isinstance(good, date)
    assert (stale < good) == (kind == "now")
    assert twin.record.question == question.format(year=good.year)
    assert max(dates.values()) < twin.today
    texts = {p.id: p.text for p in twin.record.passages}
    assert source.answers[0] in texts[twin.other]
    assert source.answers[0] not in texts[twin.outdated or ""]


def test_an_older_copy_that_says_the_same_is_not_out_of_date() -> None:
    """Nothing in such a twin is out of date: a newer source that says the same costs the older one nothing."""
    twin = stale_twin(MAYOR, OTHERS, kind="same")
    assert twin is not None
    assert twin.outdated is None
    versions = [p for p in twin.record.passages if p.published]
    assert len(versions) == 2
    assert versions[0].text == versions[1].text
    older = min(versions, key=lambda p: str(p.published))
    assert older.id == twin.other


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(BORN, id="the-answer-is-a-date"),
        pytest.param(
            record("Who was mayor in 1999?", ["Anna Berg"], passage(1, "Anna Berg was.", True), *FILLER), id="timed"
        ),
        pytest.param(record("现任市长是谁？", ["李明"], passage(1, "李明是。", True)), id="timed-zh"),
    ],
)
def test_questions_that_time_cannot_bind_have_no_stale_twin(source: Record) -> None:
    """The year of an event does not change, and a question about a time needs no second one."""
    assert stale_twin(source, [*OTHERS]) is None


@pytest.mark.parametrize(
    ("source", "first", "second"),
    [
        pytest.param(POPULATION, "In 2009, it has 4,812", "In 2016, it has", id="english"),
        pytest.param(
            record("村里有多少人？", ["3200人"], passage(1, "上村位于湖边。村里有3200人。", True)),
            "2009年，村里有3200人",
            "2016年，村里有",
            id="chinese",
        ),
    ],
)
def test_two_numbers_for_two_years_are_no_contradiction(source: Record, first: str, second: str) -> None:
    """Both passages get a year of their own in the sentence that holds the number; the numbers still differ."""
    twin = contradictory_twin(source, OTHERS)
    assert twin is not None
    scoped = other_scope_twin(twin)
    assert scoped is not None
    texts = {p.id: p.text for p in scoped.passages}
    assert first in texts[twin.swap.original.id]
    assert second in texts[twin.swap.twin.id]
    assert twin.swap.other in texts[twin.swap.twin.id]
    assert twin.swap.value not in texts[twin.swap.twin.id]


@pytest.mark.parametrize("source", [BORN, MAYOR], ids=["date", "name"])
def test_only_numbers_may_change_from_year_to_year(source: Record) -> None:
    """A birthday or a name in two years would still be a contradiction, so there is no such twin."""
    twin = contradictory_twin(source, OTHERS)
    assert twin is not None
    assert other_scope_twin(twin) is None
