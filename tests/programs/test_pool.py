"""The pool: each passage once, ranked for reading, and accounted for when left out."""

from datetime import date

import pytest

from reflective_rag.data.records import pool as corpus
from reflective_rag.programs.pool import EvidencePool, numbered
from reflective_rag.signatures.text import tokenize
from reflective_rag.signatures.types import Passage

LONG = (
    "Giotto was a painter who was born near Florence and worked there, in Padua and in Assisi for all of his long life."
)


def passages(*ids: str) -> list[Passage]:
    """Passages with texts of their own."""
    return [Passage(id=i, text=f"text of {i}") for i in ids]


def reasons(pool: EvidencePool) -> dict[str, str]:
    """Id → reason of what was left out."""
    return {d.passage.id: d.reason for d in pool.dropped}


def test_a_repeat_is_not_new() -> None:
    """The same words under another id, in another round or the same, do not enter again, and the record says so."""
    pool = EvidencePool()
    first = pool.add([Passage(id="a", text="Giotto, painter."), Passage(id="b", text="giotto painter")])
    again = pool.add([Passage(id="c", text="GIOTTO — painter!")])
    assert ([p.id for p in first], again, len(pool)) == (["a"], [], 1)
    assert reasons(pool) == {"b": "exact duplicate of a", "c": "exact duplicate of a"}


def test_the_same_passage_again_is_no_duplicate() -> None:
    """What two queries both find is one passage; nothing was left out."""
    pool = EvidencePool()
    pool.add(passages("a", "b"), passages("b", "a"))
    assert (len(pool), pool.dropped) == (2, ())


def test_the_same_text_under_two_titles_is_two_passages() -> None:
    """A population of one place is not that of another; without a title it is nobody's own."""
    pool = EvidencePool()
    found = pool.add([Passage(id=t or "none", title=t, text="Population: 3,998.") for t in ("Ayr", "Bray", "", "AYR")])
    assert [p.id for p in found] == ["Ayr", "Bray"]
    assert reasons(pool) == {"none": "exact duplicate of Ayr", "AYR": "exact duplicate of Ayr"}


def test_two_texts_under_one_id_get_two_ids() -> None:
    """Verdicts name passages by id, so an id that two indexes both use is made unique, and stays so."""
    pool = EvidencePool()
    one, other = pool.add([Passage(id="1", text="first"), Passage(id="1", text="second")])
    assert one.id == "1"
    assert other.id.startswith("1~")
    assert other.text == "second"
    assert pool.add([Passage(id="1", text="second")]) == []
    assert pool.dropped == ()


def test_reading_weighs_grade_and_rank() -> None:
    """Grade + 1 / (1 + best rank): full 1.33, new1 .5 + .67, irrelevant 0 + 1, half .5 + .4, new2 .5 + .4, in order.

    A gap query's ranks start at .5, and an ungraded passage counts .5. What is kept stays in the order it was found.
    """
    pool = EvidencePool()
    pool.add(passages("irrelevant", "half", "full"))
    pool.add(passages("new1", "new2"))
    grades = {"irrelevant": 0.0, "half": 0.4, "full": 1.0}
    kept = [[p.id for p in pool.for_reading(limit, grades)] for limit in (1, 2, 3)]
    assert kept == [["full"], ["full", "new1"], ["irrelevant", "full", "new1"]]
    assert [p.id for p in pool.for_reading(5, grades)] == ["irrelevant", "half", "full", "new1", "new2"]
    assert pool.dropped == ()


def test_a_passage_that_covers_a_requirement_is_read_first() -> None:
    """Better grades of others do not push out the only passage that covers something."""
    pool = EvidencePool()
    pool.add(passages("a", "b", "c"))
    assert [p.id for p in pool.for_reading(1, {"a": 1.0, "c": 0.3}, covering={"c"})] == ["c"]


def test_a_repeat_keeps_its_best_rank() -> None:
    """A passage that a gap query ranks first is kept before what the question ranked ahead of it."""
    pool = EvidencePool()
    pool.add(passages("a", "b", "c"))
    assert pool.add(passages("c")) == []
    assert [p.id for p in pool.for_reading(2, {})] == ["a", "c"]


def test_results_of_several_queries_are_interleaved_by_rank() -> None:
    """No query crowds out another: first hits first, in the order of the queries."""
    pool = EvidencePool()
    assert [p.id for p in pool.add(passages("a1", "a2"), passages("b1", "b2"))] == ["a1", "b1", "a2", "b2"]


def test_what_is_left_out_has_a_reason() -> None:
    """Nothing is cut silently; only what the last reading left out is listed."""
    pool = EvidencePool()
    pool.add(passages("a", "b", "c"))
    pool.for_reading(1, {"c": 0.0})
    assert reasons(pool) == {"b": "beyond max_passages", "c": "judged irrelevant"}
    pool.for_reading(3, {})
    assert pool.dropped == ()


def test_a_near_duplicate_is_left_out_where_asked_for() -> None:
    """A copy with another ending is not new; without `near` it is."""
    copy = Passage(id="copy", text=LONG.removesuffix(" life.") + " life")
    shorter = Passage(id="shorter", text="Giotto was a painter who was born near Florence")
    pool, plain = EvidencePool(near=0.85), EvidencePool()
    for each in (pool, plain):
        each.add([Passage(id="a", text=LONG)])
        each.add([copy], [shorter])
    assert (len(pool), len(plain)) == (1, 2)
    assert reasons(pool) == {"copy": "exact duplicate of a", "shorter": "near-duplicate of a (inside it)"}


def test_a_longer_version_takes_over_rank_grade_and_place() -> None:
    """A later passage that holds an earlier one whole replaces it: new to read, ranked and graded as well as it was."""
    pool = EvidencePool(near=0.85)
    pool.add([Passage(id="short", text=LONG), *passages("b")])
    (new,) = pool.add([*passages("c"), Passage(id="long", text=f"{LONG} He died in 1337.")])[1:]
    assert new.id == "long"
    assert pool.replaced == {"short": "long"}
    assert [p.id for p in pool.for_reading(1, {"short": 1.0})] == ["long"]
    assert [p.id for p in pool.for_reading(1, {"b": 1.0}, covering={"short"})] == ["long"]
    assert reasons(pool)["short"] == "near-duplicate of long (inside it)"
    assert len(pool) == 3


def test_of_two_in_one_search_the_longer_is_the_new_one() -> None:
    """A passage that is replaced in the same round was never new."""
    pool = EvidencePool(near=0.85)
    found = pool.add([Passage(id="short", text=LONG), Passage(id="long", text=f"{LONG} He died in 1337.")])
    assert [p.id for p in found] == ["long"]


def test_a_dated_copy_is_preferred_but_not_new() -> None:
    """Freshness can be judged of the copy with a date; for the search it brought nothing."""
    pool = EvidencePool(near=0.85)
    text = f"{LONG} Nothing more than this is known of him today, though much has been written and said in many books."
    pool.add([Passage(id="undated", text=text)])
    dated = Passage(id="dated", text=text.replace("his long", "his"), published=date(2020, 1, 1))
    assert pool.add([dated]) == []
    assert [p.id for p in pool.for_reading(5, {})] == ["dated"]


def test_tangential_passages_are_left_out_where_asked_for() -> None:
    """By a margin, with the reason; what covers a requirement and the best hit of a query stay."""
    found = [
        Passage(id=f"good{i}", text=f"Giotto the painter was born in Vespignano, says source {i}.") for i in range(3)
    ]
    found.append(Passage(id="off", text="Bananas are rich in potassium."))
    pool = EvidencePool()
    pool.add(found)
    terms = tokenize("Where was the painter Giotto born?")
    assert [p.id for p in pool.for_reading(9, {}, terms=terms, margin=0.2)] == ["good0", "good1", "good2"]
    assert reasons(pool) == {"off": "tangential"}
    assert len(pool.for_reading(9, {}, terms=terms, margin=0.2, covering={"off"})) == 4
    assert len(pool.for_reading(9, {}, terms=terms)) == 4
    pool.add(found[3:])
    assert len(pool.for_reading(9, {}, terms=terms, margin=0.2)) == 4


def test_redundancy_counts_everything_that_came() -> None:
    """The same passage found twice is half redundant; before anything came there is no number."""
    pool = EvidencePool()
    assert pool.redundancy is None
    pool.add([Passage(id="a", text=LONG)], [Passage(id="a", text=LONG)])
    assert pool.redundancy == pytest.approx(0.5)


def test_passages_are_numbered_and_what_was_read_is_named() -> None:
    """A model reads [1], [2], …; strips say what it reads of those that were shortened."""
    text = "Bananas are yellow. Giotto was born in 1267. Rain is wet. He died in Florence. The end came late."
    both = [Passage(id="a", text="short", title="T"), Passage(id="b", text=text)]
    lines, strips = numbered(both, tokenize("Giotto born"), 30)
    assert lines.splitlines() == ["[1] T: short", "[2] … Giotto was born in 1267. …"]
    assert [(s.passage_id, text[s.start : s.end]) for s in strips] == [("b", "Giotto was born in 1267.")]
    assert numbered([], frozenset(), 60) == ("(no passages)", ())
    assert numbered(both, tokenize("rain"), 30, carried=strips)[1] != strips
    assert numbered(both, tokenize("else"), 30, carried=strips)[1][0].start == strips[0].start


def test_texts_that_differ_in_a_sign_are_two_facts() -> None:
    """A currency, a bound or a power is no punctuation: neither passage is lost, in the pool or in a corpus."""
    for a, b in (("The ticket costs $50.", "The ticket costs €50."), ("At least ≥ 5 mg.", "At least ≤ 5 mg.")):
        both = [Passage(id="a", text=a), Passage(id="b", text=b)]
        found = EvidencePool(0.85)
        assert [p.id for p in found.add(both)] == ["a", "b"]
        assert found.dropped == ()
        assert [p.id for p in corpus([both])] == ["a", "b"]
