"""From judgements to scores and decisions, against figures worked out by hand."""

from datetime import date
from typing import Any

import pytest

from reflective_rag.programs.scoring import (
    assess,
    confidence,
    crag_action,
    is_enough,
    made_progress,
    says_sufficient,
    settled,
    weighted_mean,
)
from reflective_rag.programs.settings import LoopControls, Weights
from reflective_rag.signatures.types import Assessment, Contradiction, Judgement, Passage, Requirement

A, B, C = (Passage(id=i, text=f"text {i}", published=date(2020, 1, 1)) for i in "abc")
UNDATED = Passage(id="u", text="text u")
COVERED = Requirement(need="x", status="covered", passage_ids=("a",))
MISSING = Requirement(need="y")
MINOR = Requirement(need="z", important=False)
CONFLICT = Contradiction(passage_a="a", span_a="1", passage_b="b", span_b="2", about="x")
SETTLED = CONFLICT.model_copy(update={"newer": "b"})


def scored(passages: list[Passage], **judgement: Any) -> Assessment:
    """The assessment of a judgement under the default weights."""
    return assess(Judgement(**judgement), passages, LoopControls())


@pytest.mark.parametrize(
    ("dimensions", "expected"),
    [
        pytest.param((1.0, 1.0, 0.0, None), 0.60 / 0.85, id="coverage 0 hides behind a mean"),
        pytest.param((1.0, 1.0, 1.0, 1.0), 1.0, id="all"),
        pytest.param((0.5, None, None, None), 0.5, id="one applies"),
        pytest.param((0.8, None, 0.5, None), (0.4 * 0.8 + 0.25 * 0.5) / 0.65, id="two apply"),
        pytest.param((None, None, None, None), 0.0, id="none applies"),
        pytest.param((0.0, 0.0, 0.0, 0.0), 0.0, id="all zero"),
    ],
)
def test_the_evidence_score_is_a_mean_over_what_applies(dimensions: tuple[float | None, ...], expected: float) -> None:
    """Weights .40, .20, .25, .15, renormalised over the dimensions that apply."""
    names = ("relevance", "consistency", "coverage", "freshness")
    assert weighted_mean(dict(zip(names, dimensions, strict=True)), Weights()) == pytest.approx(expected)


def test_weights_of_zero_give_no_score() -> None:
    """Without any weight there is nothing to divide by, and the score is 0."""
    nothing = Weights(relevance=0, consistency=0, coverage=0, freshness=0)
    assert weighted_mean({"relevance": 1.0, "coverage": 1.0}, nothing) == 0.0


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        pytest.param({"a": 1.0}, 1.0, id="one"),
        pytest.param({"a": 1.0, "b": 0.8}, (1 + 0.8 / 2) / 1.5, id="second counts half"),
        pytest.param({"a": 0.8, "b": 1.0}, (1 + 0.8 / 2) / 1.5, id="best first"),
        pytest.param({"a": 1.0, "b": 0.6}, 1.0, id="far less relevant than the best"),
        pytest.param({"a": 1.0, "b": 0.0, "c": 0.0}, 1.0, id="distractors do not lower it"),
        pytest.param({"a": 0.9, "b": 0.4, "c": 0.3}, 0.9, id="soft grades of distractors do not lower it either"),
        pytest.param({"a": 0.0, "b": 0.0}, 0.0, id="nothing relevant"),
        pytest.param({"a": 0.2, "b": 0.4}, 0.4, id="nothing relevant, the best is shown"),
        pytest.param({}, None, id="nothing judged"),
    ],
)
def test_relevance_is_over_the_passages_that_are_kept(grades: dict[str, float], expected: float | None) -> None:
    """Grades from .5, best first, weighted 1/rank; what is not relevant does not punish the rest."""
    relevance = scored([A, B, C], relevance=grades).relevance
    assert relevance == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("passages", "judgement", "expected"),
    [
        pytest.param([A], {"relevance": {"a": 1.0}}, None, id="one passage"),
        pytest.param([A, B], {"relevance": {"a": 1.0, "b": 0.0}}, None, id="one relevant passage"),
        pytest.param([A, B], {"relevance": {"a": 1.0, "b": 1.0}}, 1.0, id="agreement"),
        pytest.param([A, B], {"contradictions": (CONFLICT,)}, 0.0, id="both disagree"),
        pytest.param([A, B, C], {"contradictions": (CONFLICT,)}, 1 / 3, id="two of three disagree"),
        pytest.param([A, B], {"contradictions": (SETTLED,)}, 1.0, id="settled by date"),
        pytest.param([], {}, None, id="no passage"),
    ],
)
def test_consistency_needs_two_passages(
    passages: list[Passage], judgement: dict[str, Any], expected: float | None
) -> None:
    """One passage cannot contradict itself: the dimension does not apply."""
    consistency = scored(passages, **judgement).consistency
    assert consistency == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        pytest.param((), None, id="none read"),
        pytest.param((COVERED,), 1.0, id="all"),
        pytest.param((COVERED, MISSING), 0.5, id="half"),
        pytest.param((MISSING,), 0.0, id="nothing"),
    ],
)
def test_coverage_is_the_share_of_covered_requirements(needs: Any, expected: float | None) -> None:
    """Requirements that could not be read leave the dimension out instead of making it 0."""
    assert scored([A], requirements=needs).coverage == expected


@pytest.mark.parametrize(
    ("passages", "judgement", "expected"),
    [
        pytest.param([A, B], {"outdated": ("a",)}, None, id="timeless"),
        pytest.param([A, B], {"time_scope": "now", "outdated": ("a",)}, 0.5, id="one of two"),
        pytest.param([A, UNDATED], {"time_scope": "now"}, 1.0, id="unknown date is neutral"),
        pytest.param([A, UNDATED], {"time_scope": "now", "outdated": ("a",)}, 0.0, id="only the dated one counts"),
        pytest.param([UNDATED], {"time_scope": "as_of"}, None, id="no dates at all"),
        pytest.param(
            [A, B], {"time_scope": "now", "outdated": ("a",), "relevance": {"a": 0.0, "b": 1.0}}, 1.0, id="irrelevant"
        ),
    ],
)
def test_freshness_counts_dated_relevant_passages(
    passages: list[Passage], judgement: dict[str, Any], expected: float | None
) -> None:
    """A question without a time has no freshness, and a passage without a date is neither fresh nor stale."""
    assert scored(passages, **judgement).freshness == expected


ENOUGH: dict[str, Any] = {"evidence_score": 0.8, "requirements": (COVERED,), "sufficient": True}


@pytest.mark.parametrize(
    ("change", "controls", "expected"),
    [
        pytest.param({}, {}, True, id="all well"),
        pytest.param({"evidence_score": 0.7}, {}, True, id="exactly θ"),
        pytest.param({"evidence_score": 0.69}, {}, False, id="below θ"),
        pytest.param({"requirements": (COVERED, MISSING)}, {}, False, id="important requirement missing"),
        pytest.param({"requirements": (COVERED, MINOR)}, {}, True, id="minor one missing"),
        pytest.param({"contradictions": (CONFLICT,)}, {}, False, id="conflict"),
        pytest.param({"contradictions": (SETTLED,)}, {}, True, id="conflict settled by date"),
        pytest.param({"freshness": 0.0}, {}, False, id="all stale"),
        pytest.param({"freshness": 0.5}, {}, True, id="partly stale"),
        pytest.param({"freshness": None}, {}, True, id="timeless"),
        pytest.param({"sufficient": False}, {}, False, id="critic says no"),
        pytest.param({"sufficient": False}, {"respect_verdict": False}, True, id="critic overruled"),
        pytest.param({"sufficient": None}, {}, True, id="verdict unreadable"),
        pytest.param({"sufficient": None, "unreadable": 3}, {}, True, id="unreadable is not a no"),
        pytest.param({"requirements": ()}, {}, True, id="requirements unreadable"),
        pytest.param({}, {"stop_when_enough": False}, False, id="asked to go on"),
        pytest.param({}, {"theta": 0.9}, False, id="stricter θ"),
        pytest.param({"evidence_score": 0.0}, {"theta": 0.0}, True, id="θ 0"),
    ],
)
def test_enough_is_more_than_a_mean(change: dict[str, Any], controls: dict[str, Any], expected: bool) -> None:
    """Score ≥ θ, nothing important missing, no open conflict, not all stale, and no "no" from the critic."""
    assert is_enough(Assessment(**{**ENOUGH, **change}), LoopControls(**controls)) is expected


def test_full_marks_without_coverage_are_not_enough() -> None:
    """1, 1, 0 and not applicable make .71, above θ .7; the missing requirement still keeps the loop searching."""
    grades = {"a": 1.0, "b": 1.0}
    assessment = scored([A, B], relevance=grades, requirements=(MISSING,), sufficient=None)
    assert assessment.evidence_score == pytest.approx(0.60 / 0.85)
    assert not is_enough(assessment, LoopControls())


@pytest.mark.parametrize(
    ("judgement", "support", "expected"),
    [
        pytest.param({}, "supported", 0.8, id="supported"),
        pytest.param({}, "partially", 0.64, id="partly"),
        pytest.param({}, None, 0.64, id="unreadable"),
        pytest.param({}, "not_supported", 0.4, id="not supported"),
        pytest.param({}, "contradicted", 0.16, id="contradicted"),
        pytest.param({"requirements": (MISSING, MISSING)}, "supported", 0.8 * 0.85**2, id="two missing"),
        pytest.param({"contradictions": (CONFLICT,)}, "supported", 0.56, id="conflict"),
        pytest.param({"contradictions": (SETTLED,)}, "supported", 0.8, id="settled conflict"),
        pytest.param({"sufficient": False}, "supported", 0.56, id="critic says no"),
        pytest.param({"sufficient": None}, "supported", 0.8, id="verdict unreadable"),
    ],
)
def test_confidence_follows_its_formula(judgement: dict[str, Any], support: Any, expected: float) -> None:
    """Score × support × .85 per important gap × .7 per conflict × .7 for a "no"; unreadable support is partial."""
    assessment = Assessment(evidence_score=0.8, **judgement)
    assert confidence(assessment, LoopControls(), support) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("verdict", "at", "expected"),
    [
        pytest.param({"sufficient": True, "sufficiency": 0.6}, 0.5, True, id="likely enough"),
        pytest.param(
            {"sufficient": True, "sufficiency": 0.6}, 0.7, False, id="a stricter threshold overrules the word"
        ),
        pytest.param({"sufficient": False, "sufficiency": 0.4}, 0.3, True, id="a laxer one too"),
        pytest.param({"sufficient": False}, 0.0, False, id="without a probability the word counts"),
        pytest.param({"sufficient": None}, 0.5, None, id="no verdict"),
    ],
)
def test_a_soft_verdict_is_read_at_a_threshold(verdict: dict[str, Any], at: float, expected: bool | None) -> None:
    """The probability of "sufficient" counts where the model reports one, at a threshold that can be tuned."""
    controls = LoopControls(sufficient_at=at)
    assessment = Assessment(**{**ENOUGH, **verdict})
    assert says_sufficient(assessment, controls) is expected
    assert is_enough(assessment, controls) is (expected is not False)


@pytest.mark.parametrize(
    ("assessment", "expected"),
    [
        pytest.param({**ENOUGH, "relevance": 0.9}, "correct", id="enough"),
        pytest.param({**ENOUGH, "relevance": 0.9, "requirements": (MISSING,)}, "ambiguous", id="relevant, not enough"),
        pytest.param({"relevance": 0.2}, "incorrect", id="nothing relevant"),
        pytest.param({}, "incorrect", id="nothing judged"),
    ],
)
def test_the_three_way_view_of_crag(assessment: dict[str, Any], expected: str) -> None:
    """`correct` where the loop would answer, `incorrect` where nothing is relevant, `ambiguous` in between."""
    assert crag_action(Assessment(**assessment), LoopControls()) == expected
    assert crag_action(Assessment(**assessment), LoopControls(stop_when_enough=False)) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(None, Assessment(), True, id="first round"),
        pytest.param(Assessment(evidence_score=0.5), Assessment(evidence_score=0.6), True, id="better score"),
        pytest.param(Assessment(evidence_score=0.5), Assessment(evidence_score=0.5), False, id="same"),
        pytest.param(
            Assessment(evidence_score=0.5, requirements=(MISSING,)),
            Assessment(evidence_score=0.4, requirements=(COVERED,)),
            True,
            id="requirement covered",
        ),
    ],
)
def test_progress_is_a_covered_requirement_or_a_better_score(
    before: Assessment | None, after: Assessment, expected: bool
) -> None:
    """Patience counts the rounds in which neither happened."""
    assert made_progress(before, after) is expected


@pytest.mark.parametrize(
    ("spans", "scope", "expected"),
    [
        pytest.param(("born in 1850", "born in 1860"), "timeless", False, id="a date does not change"),
        pytest.param(("written by Ann", "written by Carl"), "timeless", False, id="nor does who did it"),
        pytest.param(("81,200 people", "93,400 people"), "timeless", True, id="an amount is measured anew"),
        pytest.param(("81200人", "93400人"), "timeless", True, id="an amount, Chinese"),
        pytest.param(("the mayor is Ann", "the mayor is Carl"), "now", True, id="bound in time"),
    ],
)
def test_when_a_newer_source_settles_a_conflict(spans: tuple[str, str], scope: Any, expected: bool) -> None:
    """It does for questions bound in time and for amounts; of what never changes it may as well be the wrong one."""
    conflict = Contradiction(passage_a="a", span_a=spans[0], passage_b="b", span_b=spans[1], about="x", newer="b")
    assert settled(conflict, scope) is expected
    assert settled(conflict.model_copy(update={"newer": None}), scope) is False


def test_texts_that_state_their_own_time_count_as_dated() -> None:
    """One of two sources is out of date by what it says itself, so freshness is one half and not zero."""
    old, new = Passage(id="o", text="In 2010 Ann became mayor."), Passage(id="n", text="In 2025 Carl became mayor.")
    assert scored([old, new], time_scope="now", outdated=("o",)).freshness == 0.5
    assert scored([old, UNDATED], time_scope="now", outdated=("o",)).freshness == 0.0


def test_a_dimension_that_nobody_judged_is_left_out() -> None:
    """Without anybody to look for contradictions, two passages are not consistent; there is just no figure."""
    assert scored([A, B], lost=("consistency",)).consistency is None
