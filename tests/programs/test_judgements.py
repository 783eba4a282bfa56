"""From a model's output fields to judgements: passages by id, verdicts counted when they cannot be read."""

from datetime import date
from typing import Any

import pytest

from reflective_rag.programs.assessor import PAIRED_FIELDS
from reflective_rag.programs.judgements import draft_of, gaps_of, judgement_of, support_of
from reflective_rag.programs.steps import AskOutcome
from reflective_rag.signatures.types import Judgement, Passage, Requirement

OLD = Passage(id="old", text="The tower is 300 m tall.", published=date(2001, 1, 1))
NEW = Passage(id="new", text="The tower is 330 m tall.", published=date(2022, 1, 1))
UNDATED = Passage(id="undated", text="The tower is 324 m tall.")
PASSAGES = [OLD, NEW, UNDATED]
GOOD: dict[str, Any] = {
    "needs": [{"need": "height", "passages": [1, 2]}],
    "relevant": [2, 1],
    "contradictions": [],
    "outdated": [1],
    "gaps": [],
    "sufficient": "yes",
}


def judged(fixed: Any = (), **change: Any) -> Judgement:
    """The judgement of a good assessment with some fields replaced; `...` leaves a field out."""
    fields = {k: v for k, v in {**GOOD, **change}.items() if v is not ...}
    return judgement_of(fields, PASSAGES, fixed, asked=PAIRED_FIELDS)


def test_a_readable_assessment_names_passages_by_id() -> None:
    """Numbers in the prompt become ids, a passage that is not named relevant is graded 0, nothing is unreadable."""
    judgement = judged()
    assert judgement.relevance == {"old": 1.0, "new": 1.0, "undated": 0.0}
    assert judgement.requirements == (Requirement(need="height", status="covered", passage_ids=("old", "new")),)
    assert (judgement.outdated, judgement.time_scope) == (("old",), "now")
    assert (judgement.sufficient, judgement.unreadable) == (True, 0)


@pytest.mark.parametrize("field", PAIRED_FIELDS)
def test_a_missing_field_is_one_unreadable_verdict(field: str) -> None:
    """What was asked for and did not come is counted once, and judged neither way."""
    judgement = judged(**{field: ...})
    assert judgement.unreadable == 1
    assert judgement.sufficient is (None if field == "sufficient" else True)
    assert bool(judgement.relevance) == (field != "relevant")


@pytest.mark.parametrize(
    ("change", "unreadable"),
    [
        pytest.param({"relevant": "none"}, 0, id="none relevant, in words"),
        pytest.param({"relevant": "all of them"}, 1, id="no numbers"),
        pytest.param({"relevant": [1, 9]}, 1, id="number beyond the passages"),
        pytest.param({"sufficient": "perhaps"}, 1, id="no verdict"),
        pytest.param({"needs": "unclear"}, 1, id="needs as prose"),
        pytest.param({"needs": [{"need": "", "passages": [1]}]}, 1, id="need without words"),
        pytest.param({"needs": [{"need": "height"}]}, 0, id="need without passages"),
        pytest.param({"needs": [{"need": "height", "passages": ["x"]}]}, 1, id="need with odd passages"),
        pytest.param({"outdated": [True]}, 1, id="bool as a number"),
        pytest.param({"gaps": [{"need": "height"}]}, 1, id="gap without a query"),
        pytest.param({"sufficient": None, "relevant": None, "gaps": None}, 3, id="three missing"),
    ],
)
def test_unreadable_parts_are_counted(change: dict[str, Any], unreadable: int) -> None:
    """Each part that cannot be read counts once and does not spoil the others."""
    judgement = judged(**change)
    assert judgement.unreadable == unreadable
    assert judgement.outdated == (() if "outdated" in change else ("old",))


def test_unreadable_relevance_grades_nothing() -> None:
    """The words "all of them" do not mean "none of them": no passage gets a 0 from a reply that could not be read."""
    assert judged(relevant="all of them").relevance == {}
    assert judged(relevant=[]).relevance == {"old": 0.0, "new": 0.0, "undated": 0.0}


def conflict(**change: Any) -> dict[str, Any]:
    """A contradiction as a model writes it."""
    good = {"passage_a": 1, "quote_a": "300 m", "passage_b": 2, "quote_b": "330 m", "about": "height"}
    return {**good, **change}


@pytest.mark.parametrize(
    ("item", "newer"),
    [
        pytest.param(conflict(), "new", id="the newer date"),
        pytest.param(conflict(passage_a=2, quote_a="330 m", passage_b=1, quote_b="300 m"), "new", id="other order"),
        pytest.param(conflict(passage_b=3, quote_b="324 m"), None, id="unknown date"),
        pytest.param(conflict(passage_a="[1]", passage_b="2"), "new", id="numbers as text"),
    ],
)
def test_a_contradiction_rests_on_verbatim_quotes(item: dict[str, Any], newer: str | None) -> None:
    """Two passages, two quotes that stand in them; which is newer is read off the dates, not asked."""
    (found,) = judged(contradictions=[item]).contradictions
    assert found.newer == newer
    assert found.about == "height"


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(conflict(quote_a="500 m"), id="invented quote"),
        pytest.param(conflict(quote_a=""), id="empty quote"),
        pytest.param(conflict(passage_b=1), id="a passage against itself"),
        pytest.param(conflict(passage_b=9), id="no such passage"),
        pytest.param(conflict(passage_a=None), id="no number"),
        pytest.param(conflict(quote_a="tall", quote_b="tall"), id="the same words"),
    ],
)
def test_an_unfounded_contradiction_counts_as_unreadable(item: dict[str, Any]) -> None:
    """A quote that does not stand in its passage proves nothing; it must not send the loop searching."""
    judgement = judged(contradictions=[item])
    assert (judgement.contradictions, judgement.unreadable) == ((), 1)


FIXED = (Requirement(need="Height"), Requirement(need="year built"))


@pytest.mark.parametrize(
    ("needs", "covered"),
    [
        pytest.param([{"need": "height!", "passages": [1]}], [True, False], id="by words"),
        pytest.param(
            [{"need": "a", "passages": []}, {"need": "b", "passages": [2]}],
            [False, False],
            id="other words at the same place",
        ),
        pytest.param(
            [{"need": "x", "passages": [1]}, {"need": "the year built", "passages": [2]}],
            [False, True],
            id="nearly the same words",
        ),
        pytest.param([{"need": "something else", "passages": [1]}], [False, False], id="neither"),
        pytest.param([{"need": "height", "passages": []}], [False, False], id="still missing"),
        pytest.param("nonsense", [False, False], id="unreadable"),
    ],
)
def test_requirements_are_fixed_in_round_one(needs: Any, covered: list[bool]) -> None:
    """Later rounds fill the list in and never change or lengthen it."""
    found = judged(FIXED, needs=needs).requirements
    assert [r.need for r in found] == ["Height", "year built"]
    assert [r.status == "covered" for r in found] == covered


def test_a_covered_requirement_stays_covered() -> None:
    """A later round that forgets a requirement does not take its passages away."""
    known = (Requirement(need="height", status="covered", passage_ids=("old",)),)
    assert judged(known, needs=[{"need": "height", "passages": []}]).requirements == known
    (more,) = judged(known, needs=[{"need": "height", "passages": [2]}]).requirements
    assert more.passage_ids == ("old", "new")


def test_at_most_eight_requirements_and_three_gaps() -> None:
    """A model that lists everything does not make the loop endless: what is left out is counted, the top gaps stay."""
    many_needs = judged(needs=[{"need": f"n{i}", "passages": []} for i in range(10)])
    assert (len(many_needs.requirements), many_needs.unreadable) == (8, 2)
    many = [{"need": f"n{i}", "query": f"q{i}", "importance": "low"} for i in range(5)]
    gaps, bad = gaps_of([*many, {"need": "main", "query": "main", "importance": "high"}])
    assert ([g.query for g in gaps], bad) == (["main", "q0", "q1"], 0)


@pytest.mark.parametrize(
    ("item", "kind", "importance"),
    [
        pytest.param({"kind": "timeline", "importance": "low"}, "timeline", 0.3, id="as asked"),
        pytest.param({"kind": "missing stuff", "importance": "HIGH"}, "incomplete_answer", 0.9, id="unknown kind"),
        pytest.param({}, "incomplete_answer", 0.9, id="neither given"),
        pytest.param({"importance": "huge"}, "incomplete_answer", 0.6, id="unknown importance"),
    ],
)
def test_a_gap_needs_only_a_query(item: dict[str, Any], kind: str, importance: float) -> None:
    """What else is missing or odd has a stated default."""
    ((gap,), bad) = gaps_of([{"query": "height of the tower", **item}])
    assert (gap.kind, gap.importance, gap.need, bad) == (kind, importance, "height of the tower", 0)


@pytest.mark.parametrize(
    ("fields", "answer", "cited", "unreadable"),
    [
        pytest.param({"answer": "330 m", "cited": [2]}, "330 m", ("new",), 0, id="as asked"),
        pytest.param({"answer": " «330 m» ", "cited": "[2]"}, "330 m", ("new",), 0, id="quoted, numbers as text"),
        pytest.param({"answer": "330 m"}, "330 m", (), 1, id="no numbers"),
        pytest.param({"answer": "330 m", "cited": [7]}, "330 m", (), 1, id="no such passage"),
        pytest.param({"answer": "Unknown.", "cited": []}, "", (), 0, id="unknown"),
        pytest.param({"answer": "N/A", "cited": []}, "", (), 0, id="not available"),
        pytest.param({"answer": "不知道。", "cited": []}, "", (), 0, id="Chinese unknown"),
        pytest.param({"answer": "", "cited": []}, "", (), 0, id="empty"),
        pytest.param({"answer": "No", "cited": [1]}, "No", ("old",), 0, id="no is an answer"),
        pytest.param({"answer": "无锡", "cited": [1]}, "无锡", ("old",), 0, id="begins like none"),
    ],
)
def test_a_draft_is_read(fields: dict[str, Any], answer: str, cited: tuple[str, ...], unreadable: int) -> None:
    """An answer that says "the passages do not tell" becomes empty; odd citations are counted and left out."""
    draft = draft_of(AskOutcome(fields=fields), PASSAGES)
    assert draft is not None
    assert (draft.answer, draft.cited, draft.unreadable) == (answer, cited, unreadable)


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(AskOutcome(fields={}), id="nothing salvaged"),
        pytest.param(AskOutcome(fields={"answer": None}), id="None"),
        pytest.param(AskOutcome(fields={"answer": 5}), id="not a text"),
        pytest.param(AskOutcome(error="down"), id="no reply"),
    ],
)
def test_no_readable_answer_is_no_draft(outcome: AskOutcome) -> None:
    """A reply without an answer is not an answer of "unknown"."""
    assert draft_of(outcome, PASSAGES) is None


@pytest.mark.parametrize(
    ("fields", "support", "problem"),
    [
        pytest.param({"support": "supported", "problem": "none"}, "supported", "", id="supported"),
        pytest.param({"support": "Not supported", "problem": "no height"}, "not_supported", "no height", id="not"),
        pytest.param({"support": "矛盾", "problem": "高度不同"}, "contradicted", "高度不同", id="Chinese"),
        pytest.param({"support": "hm", "problem": "odd"}, None, "odd", id="unreadable"),
        pytest.param({}, None, "", id="empty"),
    ],
)
def test_support_is_read_or_none(fields: dict[str, Any], support: str | None, problem: str) -> None:
    """A verdict on support that cannot be read is None, never "not supported"."""
    verdict = support_of(AskOutcome(fields=fields), "330 m", PASSAGES)
    assert (verdict.support, verdict.problem, verdict.claim) == (support, problem, "330 m")
