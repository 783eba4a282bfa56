"""Candidate answers of Self-RAG: which is best, and what it still lacks. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from reflective_rag.programs.checking import Checked
from reflective_rag.programs.messages import claims_detail, shortened
from reflective_rag.programs.self_rag_scoring import (
    CriticScores,
    CriticWeights,
    candidate_score,
    pooled,
    share_of_best,
    usefulness_grade,
)
from reflective_rag.programs.self_rag_settings import SelfRagControls, SelfRagSettings
from reflective_rag.signatures.text import language_of, normalize
from reflective_rag.signatures.types import Candidate as CandidateRecord
from reflective_rag.signatures.types import Draft, Passage, Support
from reflective_rag.signatures.wording import phrase

_TIER: dict[Support | None, int] = {"supported": 2, "partially": 2, None: 2, "not_supported": 1, "contradicted": 0}
_RANK: dict[Support | None, int] = {"supported": 2, "partially": 1, None: 1, "not_supported": 0, "contradicted": 0}
_WANTED: dict[str, int] = {"supported": 2, "partially": 1}

LONGEST_SOURCE = 200
"""Characters of a passage that are told to the one who rewrites the query."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One answer, or one sentence of a long answer, from one passage, and what the critics made of it."""

    draft: Draft
    passage: Passage | None
    """None: from the model alone."""
    before: str = ""
    """The answer so far, where this is one more sentence of it."""
    relevance: float | None = None
    sequence: float | None = None
    """Mean token probability of the answer, where it is wanted and known."""
    checked: Checked = field(default_factory=lambda: Checked(draft=Draft(answer="")))
    scores: CriticScores = field(default_factory=CriticScores)
    problem: str = ""
    """What the usefulness critic found wanting."""

    @property
    def support(self) -> Support | None:
        """The verdict on its worst claim; None when it could not be read, or there is no passage."""
        return self.checked.support

    @property
    def grade(self) -> float | None:
        """Usefulness on 1..5."""
        return None if self.scores.usefulness is None else usefulness_grade(self.scores.usefulness)

    @property
    def tier(self) -> int:
        """2: the passage carries it at least in part, or nobody could tell; 1: it does not; 0: it denies it."""
        return _TIER[self.support]

    def score(self, weights: CriticWeights) -> float:
        """The paper's score of a candidate."""
        return candidate_score(self.scores, weights, self.sequence)

    def rank(self, weights: CriticWeights) -> tuple[int, float, bool]:
        """What decides between candidates: the tier, the score, and of equals whether a reader can check a citation."""
        return self.tier, self.score(weights), any(claim.citations for claim in self.checked.claims)

    def record(self, weights: CriticWeights, *, chosen: bool) -> CandidateRecord:
        """How the result shows it."""
        return CandidateRecord(
            passage_id=self.passage.id if self.passage else None,
            answer=self.draft.answer,
            relevance=self.scores.relevance,
            support=self.support,
            usefulness=self.grade,
            score=round(self.score(weights), 6),
            chosen=chosen,
        )

    def share(self, weights: CriticWeights) -> float:
        """The critics' part of the score on 0..1."""
        return share_of_best(candidate_score(self.scores, weights), weights)


def best_of(candidates: Sequence[Candidate], weights: CriticWeights, *, closed_set: bool = False) -> Candidate | None:
    """The best candidate: of the best tier there is, so that an unsupported answer always loses; then by score.

    With `closed_set` the scores of identical answers of that tier are added, and the best candidate of the answer that
    wins is returned. Of equals one with a citation that can be checked, then the first.
    """
    top = max((c.tier for c in candidates), default=0)
    left = [c for c in candidates if c.tier == top]
    if not left:
        return None
    if closed_set:
        votes = pooled([c.draft.answer for c in left], [c.score(weights) for c in left])
        won = max(votes, key=votes.__getitem__)
        left = [c for c in left if normalize(c.draft.answer) == won]
    return max(left, key=lambda c: c.rank(weights))


def text_of(question: str, parts: Sequence[Candidate]) -> str:
    """The answer that is made of these parts: one candidate, or the sentences of a long answer."""
    return ("" if language_of(question) == "zh" else " ").join(part.draft.answer for part in parts)


def supported_enough(support: Support | None, settings: SelfRagSettings) -> bool:
    """Whether a verdict is at least `min_support`; one that could not be read counts as partial."""
    return _RANK[support] >= _WANTED[settings.min_support]


def shortfall(
    question: str,
    best: Candidate | None,
    controls: SelfRagControls,
    settings: SelfRagSettings,
    *,
    relevant: bool = True,
) -> str:
    """What keeps the best candidate from ending the search, in the question's language; empty when it is good enough.

    Args:
        question: The question.
        best: The best candidate of all rounds, None without one.
        controls: For `min_usefulness`.
        settings: For `min_support`.
        relevant: Whether any passage was relevant, which tells why there is no candidate.
    """
    if best is None:
        return phrase("unanswered" if relevant else "irrelevant", question)
    reasons = []
    if best.passage and not supported_enough(best.support, settings):
        reasons.append(_unsupported(question, best, best.passage))
    if lack := useless(question, best, controls):
        reasons.append(lack)
    return "; ".join(reasons)


def useless(question: str, candidate: Candidate, controls: SelfRagControls) -> str:
    """Why it is not useful enough, in the question's language; empty when it is, or nobody could tell."""
    if candidate.grade is None or candidate.grade >= controls.min_usefulness:
        return ""
    problem = candidate.problem or shortened(candidate.draft.answer, LONGEST_SOURCE)
    return phrase("usefulness", question, grade=f"{candidate.grade:.3g}", problem=problem)


def _unsupported(question: str, best: Candidate, passage: Passage) -> str:
    doubtful = [claim for claim in best.checked.claims if claim.support != "supported"]
    if best.support == "contradicted":
        denied = [claim for claim in doubtful if claim.support == "contradicted"]
        source = shortened(passage.for_model(), LONGEST_SOURCE)
        return phrase("contradicted", question, source=source, claims=claims_detail(question, denied))
    return phrase("not_supported", question, claims=claims_detail(question, doubtful))
