"""The whole judgement of one round's evidence, by rules."""

from collections.abc import Sequence
from datetime import date

from reflective_rag.programs.rules.contradiction import compare
from reflective_rag.programs.rules.covering import fill
from reflective_rag.programs.rules.deadline import OutOfTime, watched
from reflective_rag.programs.rules.evidence import gather
from reflective_rag.programs.rules.gaps import find_gaps, needs
from reflective_rag.programs.rules.question import analyse
from reflective_rag.programs.rules.relevance import grades
from reflective_rag.programs.rules.settings import RuleSettings
from reflective_rag.programs.rules.versions import outdated_pages
from reflective_rag.signatures.types import Judgement, JudgementName, Passage, Requirement

_ALL: tuple[JudgementName, ...] = ("relevance", "consistency", "coverage", "freshness", "sufficiency", "gaps")


def assess(
    question: str,
    passages: Sequence[Passage],
    requirements: tuple[Requirement, ...] = (),
    today: date | None = None,
    *,
    settings: RuleSettings | None = None,
) -> Judgement:
    """Judge the passages: grades, requirements, contradictions, time, gaps.

    Args:
        requirements: the list fixed in round 1, kept as it is (only status and ids are filled in); without one it is
            made of the question.
        today: what "now" and "last year" mean; without it relative years are not resolved, and no passage is too old
            for "now" by itself.
        settings: the thresholds; by default `RuleSettings()`.

    Returns:
        A judgement whose `sufficient` holds when every important requirement is covered and the best grade reaches
        `settings.enough`. Deterministic; `unreadable` is always 0. Where a time limit ends it in the middle (see
        `deadline`), all judgements are lost.
    """
    try:
        with watched():
            return _assess(question, passages, requirements, today, settings)
    except OutOfTime:
        return Judgement(requirements=requirements, lost=_ALL)


def _assess(
    question: str,
    passages: Sequence[Passage],
    requirements: tuple[Requirement, ...],
    today: date | None,
    settings: RuleSettings | None,
) -> Judgement:
    asked = analyse(question, today)
    evidence = gather(asked, passages, settings)
    relevance = grades(evidence)
    filled = fill(evidence, requirements or needs(asked))
    comparison = compare(evidence)
    conflicts = comparison.contradictions
    stale = outdated_pages(evidence, conflicts)
    complete = all(requirement.status == "covered" for requirement in filled if requirement.important)
    return Judgement(
        relevance=relevance,
        requirements=filled,
        contradictions=conflicts,
        compared=comparison.compared,
        time_scope=asked.time.scope,
        outdated=tuple(dict.fromkeys(evidence.pages[i].passage.id for i in sorted(stale))),
        sufficient=complete and max(relevance.values(), default=0.0) >= evidence.settings.enough,
        gaps=find_gaps(evidence, filled, conflicts),
    )
