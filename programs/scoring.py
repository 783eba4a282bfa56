"""From judgements to scores and decisions. Pure functions: the model judges, Python counts.

The evidence score is the weighted mean of the dimensions that apply; the enough-rule adds what a mean hides.
"""

from collections.abc import Sequence
from typing import Literal

from reflective_rag.programs.rules.dates import stated, years
from reflective_rag.programs.rules.validity import valid_from
from reflective_rag.programs.rules.values import numbers
from reflective_rag.programs.settings import LoopControls, Weights
from reflective_rag.signatures.text import sentences
from reflective_rag.signatures.types import Assessment, Contradiction, Fallback, Judgement, Passage, Support, TimeScope

CragAction = Literal["correct", "ambiguous", "incorrect"]

RELEVANT = 0.5
"""Grade from which a passage counts as relevant, unless a setting says otherwise."""
LONGEST_DATED = 4_000
"""Characters of a passage that are read for a date."""
CONTRAST = 0.75
"""Share of the best grade below which a passage does not count towards relevance."""
IMPORTANT = 0.5
"""Importance from which a gap counts as important."""

SUPPORT_FACTOR: dict[Support | None, float] = {
    "supported": 1.0,
    "partially": 0.8,
    None: 0.8,
    "not_supported": 0.5,
    "contradicted": 0.2,
}

CONFLICT_FACTOR = 0.7
"""What each contradiction that no date settles leaves of the confidence."""


def assess(
    judgement: Judgement,
    passages: Sequence[Passage],
    controls: LoopControls,
    *,
    relevant_at: float = RELEVANT,
    by_rules: bool = False,
    fallbacks: tuple[Fallback, ...] = (),
) -> Assessment:
    """Score one round's judgement over the passages that were read."""
    relevant = _relevant(judgement, passages, relevant_at)
    dimensions: dict[str, float | None] = {
        "relevance": _relevance(judgement, passages, relevant_at),
        "consistency": _consistency(judgement, relevant),
        "coverage": _coverage(judgement),
        "freshness": _freshness(judgement, relevant),
    }
    assessment = Assessment(
        relevance=dimensions["relevance"],
        consistency=dimensions["consistency"],
        coverage=dimensions["coverage"],
        freshness=dimensions["freshness"],
        evidence_score=weighted_mean(dimensions, controls.weights),
        requirements=judgement.requirements,
        gaps=judgement.gaps,
        contradictions=judgement.contradictions,
        passage_relevance=judgement.relevance,
        time_scope=judgement.time_scope,
        outdated=judgement.outdated,
        sufficient=judgement.sufficient,
        sufficiency=judgement.sufficiency,
        unreadable=judgement.unreadable,
        by_rules=by_rules,
        fallbacks=fallbacks,
    )
    return assessment.model_copy(update={"confidence": confidence(assessment, controls)})


def weighted_mean(dimensions: dict[str, float | None], weights: Weights) -> float:
    """Weighted mean over the dimensions that are not None; 0 when none applies or all weights are 0.

    Example: relevance 1, consistency 1, coverage 0, freshness None with weights .40, .20, .25, .15 → .60 / .85 = .706.
    """
    pairs = [(getattr(weights, name), value) for name, value in dimensions.items() if value is not None]
    total = sum(weight for weight, _ in pairs)
    return min(1.0, sum(weight * value for weight, value in pairs) / total) if total else 0.0


def _relevant(judgement: Judgement, passages: Sequence[Passage], relevant_at: float) -> list[Passage]:
    """The passages that count: graded relevant, not graded at all, or a side of a contradiction."""
    sides = {i for c in judgement.contradictions for i in (c.passage_a, c.passage_b)}
    return [p for p in passages if p.id in sides or judgement.relevance.get(p.id, 1.0) >= relevant_at]


def _relevance(judgement: Judgement, passages: Sequence[Passage], relevant_at: float) -> float | None:
    """Mean grade of the relevant passages, best first, weighted 1/rank; the best grade where none is relevant.

    None when none was graded. What was judged irrelevant, or far less relevant than the best (`CONTRAST`), is no part
    of the mean, so extra distractors cannot lower it.
    """
    grades = sorted((judgement.relevance[p.id] for p in passages if p.id in judgement.relevance), reverse=True)
    if not grades:
        return None
    kept = [grade for grade in grades if grade >= max(relevant_at, CONTRAST * grades[0])] or grades[:1]
    weights = [1 / rank for rank in range(1, len(kept) + 1)]
    return sum(w * g for w, g in zip(weights, kept, strict=True)) / sum(weights)


def _consistency(judgement: Judgement, relevant: Sequence[Passage]) -> float | None:
    """1 minus the share of the passages that answer which are in an unresolved contradiction.

    They are those that were compared, where the critic says which (rules do), else all relevant ones: what speaks of
    something else makes a contradiction no smaller. Where only one answers, the others that are relevant agree with it
    by saying nothing against it. None where there are no two, and where nobody looked.
    """
    sides = {i for c in judgement.contradictions for i in (c.passage_a, c.passage_b)}
    heard = {p.id for p in relevant if judgement.compared is None or p.id in judgement.compared or p.id in sides}
    if len(heard) < 2:
        heard = {p.id for p in relevant}
    if len(heard) < 2 or "consistency" in judgement.lost:
        return None
    involved = {i for c in unresolved(judgement) for i in (c.passage_a, c.passage_b)}
    return 1.0 - len(involved & heard) / len(heard)


def _coverage(judgement: Judgement) -> float | None:
    """Share of the requirements that a passage covers; None when no requirement could be read."""
    needs = judgement.requirements
    return sum(r.status == "covered" for r in needs) / len(needs) if needs else None


def _freshness(judgement: Judgement, relevant: Sequence[Passage]) -> float | None:
    """Share of the relevant, dated passages that fit the question's time; None if timeless or without dates.

    A passage is dated by its field, or by its text where the critic found it outdated; an unknown date is neutral.
    """
    if judgement.time_scope == "timeless":
        return None
    outdated = judgement.outdated
    # What a text says of its own time counts beside texts that were found outdated by theirs.
    dated = {p.id for p in relevant if p.published or p.id in outdated or (outdated and _states_a_time(p))}
    return 1.0 - len(dated & set(outdated)) / len(dated) if dated else None


def _states_a_time(passage: Passage) -> bool:
    return any(stated(each.text) or valid_from(each.text) for each in sentences(passage.text[:LONGEST_DATED]))


def unresolved(judged: Judgement | Assessment) -> list[Contradiction]:
    """Contradictions that no newer date settles."""
    return [c for c in judged.contradictions if not settled(c, judged.time_scope)]


def settled(conflict: Contradiction, scope: TimeScope) -> bool:
    """Whether the newer source is to be believed because it is newer.

    For a question bound in time it is. For one that is not, only where the two differ in an amount, which gets measured
    anew: who wrote a book, or when somebody was born, does not change, so a newer source may as well be the wrong one.
    """
    if conflict.newer is None or scope != "timeless":
        return conflict.newer is not None
    texts = (conflict.span_a, conflict.span_b)
    (times_a, times_b), (amounts_a, amounts_b) = (
        [set(years(text)) for text in texts],
        [{span.text for span in numbers(text)} for text in texts],
    )
    return times_a == times_b and amounts_a != amounts_b


def confidence(assessment: Assessment, controls: LoopControls, support: Support | None = "supported") -> float:
    """Chance-like 0..1, before any calibration.

    Score × support factor × .85 per important requirement that is missing × .7 per unresolved contradiction × .7 if the
    critic said no.

    Not a probability: a fitted calibration replaces it where the artefact has one.
    """
    value = assessment.evidence_score * SUPPORT_FACTOR[support]
    value *= 0.85 ** sum(r.status == "missing" and r.important for r in assessment.requirements)
    value *= CONFLICT_FACTOR ** len(unresolved(assessment))
    return round(value * (0.7 if says_sufficient(assessment, controls) is False else 1.0), 6)


def says_sufficient(assessment: Assessment, controls: LoopControls) -> bool | None:
    """The critic's own verdict, by its probability where there is one; None when it gave none."""
    if assessment.sufficiency is not None:
        return assessment.sufficiency >= controls.sufficient_at
    return assessment.sufficient


def crag_action(assessment: Assessment, controls: LoopControls, lower: float = 0.3) -> CragAction:
    """The three-way view of CRAG (Yan et al., 2024, arXiv 2401.15884, section 4.3) on an assessment.

    `correct` where the loop would answer, `incorrect` where relevance is below `lower` or nothing was judged,
    `ambiguous` in between. (The paper grades passages with a trained evaluator and two thresholds a data set.)
    """
    if is_enough(assessment, controls.model_copy(update={"stop_when_enough": True})):
        return "correct"
    return "incorrect" if (assessment.relevance or 0.0) < lower else "ambiguous"


def is_enough(assessment: Assessment, controls: LoopControls) -> bool:
    """Whether to stop searching: score ≥ θ, no important requirement missing, no unresolved conflict, nothing stale.

    A mean alone would call evidence with coverage 0 enough (see `weighted_mean`). A verdict that could not be read does
    not keep the loop from stopping, and does not stop it either.
    """
    if not controls.stop_when_enough or assessment.evidence_score < controls.theta:
        return False
    if any(r.status == "missing" and r.important for r in assessment.requirements):
        return False
    if unresolved(assessment):
        return False
    if stale(assessment):
        return False
    return not (controls.respect_verdict and says_sufficient(assessment, controls) is False)


def stale(assessment: Assessment) -> bool:
    """Whether a question that is bound in time has nothing but outdated evidence among its relevant, dated passages."""
    return assessment.freshness == 0.0


def made_progress(before: Assessment | None, after: Assessment) -> bool:
    """Whether a round helped: a requirement newly covered, or a better evidence score."""
    if before is None:
        return True
    covered = [sum(r.status == "covered" for r in a.requirements) for a in (before, after)]
    return covered[1] > covered[0] or after.evidence_score > before.evidence_score + 1e-9
