"""The gap ledger: which query is sent next, and what becomes of every gap. English and Chinese."""

from collections.abc import Sequence

import pytest

from reflective_rag.programs.gap_ledger import GapLedger
from reflective_rag.signatures.types import GAP_KINDS, Gap, Requirement
from tests.programs.gaps import DIRECTOR, FILM, QUESTION, gap, need, opened


def statuses(ledger: GapLedger) -> list[tuple[str, str]]:
    """Need and status of each record."""
    return [(record.gap.need, record.status) for record in ledger.records()]


# Which queries come next


def test_the_most_important_gap_comes_first() -> None:
    """By importance, then by kind: without the missing relation nothing else can be found."""
    low, high = gap("a lesser thing", importance=0.3), gap("a great thing", importance=0.9)
    kinds = [gap(f"{kind} thing", kind=kind, importance=0.6) for kind in GAP_KINDS]
    ledger = opened(low, *kinds, high)
    chosen = [g for g, _ in ledger.queries([low, *kinds, high], 10)]
    assert chosen[0] == high
    assert chosen[-1] == low
    assert [g.kind for g in chosen[1:-1]] == [
        "missing_relation",
        "missing_attribute",
        "missing_entity",
        "timeline",
        "incomplete_answer",
        "conflict",
    ]


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (1, 1), (2, 2), (9, 3)])
def test_no_more_queries_than_asked_for(limit: int, count: int) -> None:
    """`limit` bounds the queries; a gap has one at a time."""
    gaps = [gap("alpha one"), gap("beta two"), gap("gamma three")]
    assert len(opened(*gaps).queries(gaps, limit)) == count


def test_what_was_tried_is_not_sent_again() -> None:
    """Neither the question, nor a query of an earlier round, nor two queries that are the same."""
    gaps = [
        gap("the question again", QUESTION.upper()),
        gap("birth year", "Giotto birth year", importance=0.9),
        gap("year of birth, as a query", "birth year Giotto"),
        gap("blank", "  "),
    ]
    ledger = opened(*gaps)
    assert [query for _, query in ledger.queries(gaps, 5)] == ["Giotto birth year"]
    ledger.ran(["Giotto birth year"], 2)
    assert ledger.queries(gaps, 5) == []
    assert not ledger.is_new("giotto birth year")
    assert ledger.is_new("Giotto's teacher")


def test_of_equal_gaps_the_less_tried_comes_first() -> None:
    """A gap that had its query waits behind one that had none."""
    first, second = gap("alpha", "alpha one"), gap("beta", "beta one")
    ledger = opened(first, second)
    ledger.sent(first, "alpha one", 2)
    again = gap("alpha", "alpha two")
    assert [query for _, query in ledger.queries([again, second], 2)] == ["beta one", "alpha two"]


def test_queries_are_booked_on_their_gaps() -> None:
    """`ran` knows which gap a chosen query was for; one that nobody chose belongs to none."""
    a, b = gap("alpha", "alpha one", importance=0.9), gap("beta", "beta one")
    ledger = opened(a, b)
    ledger.queries([a, b], 2)
    ledger.ran(["alpha one", "something rewritten"], 2)
    assert [record.queries for record in ledger.records()] == [("alpha one",), ()]
    assert ledger.tried == [QUESTION, "alpha one", "something rewritten"]


# What becomes of a gap


def test_a_gap_named_again_is_the_same_gap() -> None:
    """In other case and order it is one record, with the newest wording; another number makes another gap."""
    ledger = opened(gap("birth year of Giotto", importance=0.4))
    ledger.open([gap("Giotto, birth year of", "Giotto born when", importance=0.8), gap("birth year of Giotto II")], 2)
    first, second = ledger.records()
    assert (first.opened, first.gap.query, first.gap.importance) == (1, "Giotto born when", 0.8)
    assert second.opened == 2


@pytest.mark.parametrize(
    ("missing", "requirements", "closed"),
    [
        pytest.param("birth year of Giotto", [need("Birth year of Giotto.", covered=True)], True, id="same need"),
        pytest.param("birth year of Giotto", [need("Birth year of Giotto.", covered=False)], False, id="still missing"),
        pytest.param(
            "birth date of Ada Lovelace", [need("Ada Lovelace: born (date)", covered=True)], True, id="its own terms"
        ),
        pytest.param(
            "birth date of Ada Lovelace", [need("Ada Lovelace", covered=True)], False, id="the name alone is not enough"
        ),
        pytest.param(
            "birthplace of Ada Lovelace", [need("birth date of Ada Lovelace", covered=True)], False, id="place and date"
        ),
        pytest.param(
            "birthplace of the director of Stretch", [DIRECTOR], False, id="the bridge does not close what follows"
        ),
        pytest.param(
            "population of Lyon in 2019", [need("population of Lyon in 2023", covered=True)], False, id="another year"
        ),
        pytest.param(
            "birth date of Ada Lovelace",
            [need("Ada Lovelace: born (date)", covered=True), need("birth date of Ada Lovelace", covered=False)],
            False,
            id="listed as missing in the same words",
        ),
        pytest.param("鲁迅的出生日期", [need("鲁迅的出生日期", covered=True)], True, id="zh same need"),
        pytest.param("鲁迅出生时间", [need("鲁迅：出生（时间）", covered=True)], True, id="zh its own terms"),
        pytest.param("鲁迅的出生地点", [need("鲁迅的出生日期", covered=True)], False, id="zh place and date"),
        pytest.param("里昂的人口", [need("里昂", covered=True)], False, id="zh the name alone is not enough"),
        pytest.param("anything", [], False, id="no requirements"),
    ],
)
def test_a_gap_closes_when_its_need_is_covered(missing: str, requirements: list[Requirement], closed: bool) -> None:
    """By the same need, or by a covered requirement that holds the gap's names and its other words."""
    ledger = opened(gap(missing))
    ledger.sent(ledger.open_gaps()[0], "a query", 2)
    assert bool(ledger.close_covered(requirements, 2)) is closed
    (record,) = ledger.records()
    assert record.status == ("closed" if closed else "open")
    assert (record.ended, bool(record.reason)) == ((2, True) if closed else (None, False))


@pytest.mark.parametrize(
    ("named", "status"),
    [
        pytest.param([], "closed", id="no longer named"),
        pytest.param([gap("two heights", kind="conflict")], "open", id="another conflict"),
        pytest.param(None, "open", id="the critic's gaps could not be read"),
    ],
)
def test_a_conflict_ends_when_it_is_no_longer_named(named: Sequence[Gap] | None, status: str) -> None:
    """No requirement covers a disagreement of sources; what the critic names decides."""
    ledger = opened(gap("height of the tower", kind="conflict"))
    ledger.close_covered([need("height of the tower", covered=True)], 2, named=named)
    assert [record.status for record in ledger.records()] == [status]


def test_a_closed_gap_may_open_again() -> None:
    """Evidence that turned out wrong: the gap is named again, is open again, and keeps its queries."""
    it = gap("birth year of Giotto", "Giotto birth year")
    ledger = opened(it)
    ledger.queries([it], 1)
    ledger.ran(["Giotto birth year"], 2)
    ledger.close_covered([need("birth year of Giotto", covered=True)], 2)
    assert ledger.queries([gap("birth year of Giotto", "Giotto born when")], 1) == []
    ledger.open([it], 3)
    (record,) = ledger.records()
    assert (record.status, record.ended, record.reason, record.queries) == ("open", None, "", ("Giotto birth year",))


def test_two_queries_without_success_are_enough() -> None:
    """The gap is given up with the reason; named again it stays so, and no further query is sent for it."""
    it, other = gap("alpha", "alpha one", importance=0.9), gap("beta", "beta one")
    ledger = opened(it, other)
    ledger.sent(it, "alpha one", 2)
    ledger.give_up_exhausted(2)
    assert statuses(ledger) == [("alpha", "open"), ("beta", "open")]
    ledger.sent(it, "alpha two", 3)
    ledger.give_up_exhausted(3)
    ledger.open([it], 4)
    assert statuses(ledger) == [("alpha", "given_up"), ("beta", "open")]
    assert ledger.records()[0].reason == "tried 2 queries, nothing new"
    assert ledger.records()[0].ended == 3
    assert [g.need for g, _ in ledger.queries([gap("alpha", "alpha three"), other], 3)] == ["beta"]
    assert [g.need for g in ledger.open_gaps()] == ["beta"]


def test_at_the_end_nothing_stays_open() -> None:
    """What is open when the loop ends is given up with its reason; what was closed before stays closed."""
    ledger = opened(gap("alpha"), gap("beta"))
    ledger.close_covered([need("alpha", covered=True)], 2)
    ledger.give_up(3, "max_rounds")
    assert statuses(ledger) == [("alpha", "closed"), ("beta", "given_up")]
    assert (ledger.records()[1].reason, ledger.records()[1].ended) == ("max_rounds", 3)


def test_rounds_without_a_gap_closing_are_counted() -> None:
    """One closed gap sets the count back; a round in which none was waiting does not count."""
    ledger = opened()
    ledger.close_covered([], 1)
    assert ledger.rounds_without_closing == 0  # nothing was waiting
    ledger.open([gap("alpha"), gap("beta")], 1)
    counts = []
    for number, covered in ((2, False), (3, False), (4, True), (5, False)):
        ledger.close_covered([need("alpha", covered=covered)], number)
        counts.append(ledger.rounds_without_closing)
    assert counts == [1, 2, 0, 1]


def test_gaps_named_in_a_round_do_not_count_as_waiting_in_it() -> None:
    """A gap has to be searched for before it can be missed."""
    ledger = GapLedger(QUESTION)
    ledger.open([gap("alpha")], 2)
    ledger.close_covered([], 2)
    assert ledger.rounds_without_closing == 0


def test_a_copy_goes_its_own_way() -> None:
    """A rehearsed ending must not disturb the run."""
    ledger = opened(gap("alpha"))
    ledger.learn([DIRECTOR], [FILM])
    before = (ledger.records(), list(ledger.tried), list(ledger.bridges), ledger.rounds_without_closing)
    other = ledger.copy()
    other.sent(other.open_gaps()[0], "alpha one", 2)
    other.close_covered([], 2)
    other.open([gap("beta")], 2)
    other.bridges.clear()
    other.give_up(2, "max_rounds")
    assert (ledger.records(), ledger.tried, ledger.bridges, ledger.rounds_without_closing) == before
    assert statuses(other) == [("alpha", "given_up"), ("beta", "given_up")]
