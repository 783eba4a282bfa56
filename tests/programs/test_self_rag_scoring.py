"""Self-RAG's arithmetic, each case computed by hand from the paper's formulas."""

from dataclasses import replace
from typing import Any

import pytest

from reflective_rag.programs.checking import Checked
from reflective_rag.programs.self_rag_candidates import Candidate, best_of, shortfall
from reflective_rag.programs.self_rag_scoring import (
    CriticScores,
    CriticWeights,
    beam_score,
    candidate_score,
    hard,
    pooled,
    relevance_score,
    retrieval_score,
    share_of_best,
    support_score,
    usefulness_grade,
    usefulness_score,
)
from reflective_rag.programs.self_rag_settings import SelfRagControls, SelfRagSettings
from reflective_rag.programs.self_rag_state import mean_share
from reflective_rag.programs.soft import text_probability
from reflective_rag.signatures.types import Citation, ClaimSupport, Draft, Support
from tests.programs.self_rag_worlds import BORN, WRONG

W = CriticWeights()


@pytest.mark.parametrize(
    ("function", "verdict", "expected"),
    [
        pytest.param(retrieval_score, {"yes": 0.3, "no": 0.6, "continue": 0.1}, 1 / 3, id="retrieve, soft"),
        pytest.param(retrieval_score, hard("yes"), 1, id="retrieve, yes"),
        pytest.param(retrieval_score, hard("no"), 0, id="retrieve, no"),
        pytest.param(retrieval_score, hard("continue"), None, id="continue is neither"),
        pytest.param(retrieval_score, hard(None), None, id="retrieve, unread"),
        pytest.param(relevance_score, {"relevant": 0.6, "irrelevant": 0.2}, 0.75, id="relevance, soft"),
        pytest.param(relevance_score, hard("irrelevant"), 0, id="irrelevant"),
        pytest.param(relevance_score, {}, None, id="relevance, unread"),
        pytest.param(
            support_score, {"supported": 0.5, "partially": 0.3, "not_supported": 0.2}, 0.65, id="support, soft"
        ),
        pytest.param(
            support_score,
            {"supported": 0.2, "partially": 0.2, "not_supported": 0.2, "contradicted": 0.2},
            (0.2 + 0.1) / 0.8,
            id="contradicted is in the denominator",
        ),
        pytest.param(support_score, hard("partially"), 0.5, id="partially"),
        pytest.param(support_score, hard("contradicted"), 0, id="contradicted"),
        pytest.param(usefulness_score, {"4": 0.5, "5": 0.5}, 0.75, id="use, soft"),
        pytest.param(usefulness_score, {"1": 0.2, "3": 0.2}, -0.5, id="use, mass below 1"),
        pytest.param(usefulness_score, hard("1"), -1, id="use 1"),
        pytest.param(usefulness_score, hard("3"), 0, id="use 3"),
        pytest.param(usefulness_score, hard(None), None, id="use, unread"),
    ],
)
def test_a_verdict_is_scored_as_in_the_paper(function: Any, verdict: dict[str, float], expected: float | None) -> None:
    """Section 3.3: ratios of probabilities, not of their logarithms; no mass is no score."""
    found = function(verdict)
    assert found is None if expected is None else found == pytest.approx(expected)


@pytest.mark.parametrize("grade", ["1", "2", "3", "4", "5"])
def test_a_usefulness_comes_back_as_its_grade(grade: str) -> None:
    """−1..1 and 1..5 are the same scale."""
    score = usefulness_score(hard(grade))
    assert score is not None
    assert usefulness_grade(score) == float(grade)


@pytest.mark.parametrize(
    ("scores", "weights", "sequence", "expected"),
    [
        pytest.param((1, 1, 1), (1, 1, 0.5), None, 2.5, id="best"),
        pytest.param((0, 0, -1), (1, 1, 0.5), None, -0.5, id="worst"),
        pytest.param((1, 0.5, 0.5), (1, 1, 0.5), None, 1.75, id="partly supported, grade 4"),
        pytest.param((0.75, 0.65, 0.75), (1, 1, 1), None, 2.15, id="soft, weights of the script"),
        pytest.param((1, 1, 1), (2, 0, 0), None, 2.0, id="one critic alone"),
        pytest.param((None, None, None), (1, 1, 0.5), None, 1.0, id="nothing known is the middle"),
        pytest.param((1, 1, 1), (1, 1, 0.5), 0.4, 2.9, id="with the sequence's probability"),
    ],
)
def test_a_candidates_score(scores: Any, weights: Any, sequence: float | None, expected: float) -> None:
    """w_rel·rel + w_sup·sup + w_use·use, plus the sequence's probability where it is switched on."""
    kept = CriticWeights(**dict(zip(("relevance", "support", "usefulness"), weights, strict=True)))
    made = CriticScores(**dict(zip(("relevance", "support", "usefulness"), scores, strict=True)))
    assert candidate_score(made, kept, sequence) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("score", "weights", "expected"),
    [(2.5, W, 1), (-0.5, W, 0), (1.0, W, 0.5), (9, W, 1), (0, CriticWeights(relevance=0, support=0, usefulness=0), 0)],
    ids=["best", "worst", "middle", "beyond", "no weights"],
)
def test_a_score_on_zero_to_one(score: float, weights: CriticWeights, expected: float) -> None:
    """From the worst that the weights allow to the best."""
    assert share_of_best(score, weights) == pytest.approx(expected)


def test_identical_answers_pool_their_scores() -> None:
    """Two answers of 1.0 and 0.9 that differ in case only beat one of 1.5."""
    assert pooled(["Yes", "no", "yes."], [1.0, 1.5, 0.9]) == pytest.approx({"yes": 1.9, "no": 1.5})


def test_a_paths_score_is_a_product_and_compared_by_its_geometric_mean() -> None:
    """.9 · .4 = .36; its geometric mean is .6, so that a longer answer is not worse for being longer."""
    assert beam_score(0.9, 0.4) == pytest.approx(0.36)
    assert mean_share([0.9, 0.4]) == pytest.approx(0.6)
    assert mean_share([0.6, 0.6, 0.6]) == pytest.approx(0.6)
    assert mean_share([]) == 1.0


def tokens(*pieces: tuple[str, float]) -> dict[str, Any]:
    """A reply's log-probabilities."""
    return {"content": [{"token": text, "logprob": logprob, "top_logprobs": []} for text, logprob in pieces]}


@pytest.mark.parametrize(
    ("logprobs", "expected"),
    [
        pytest.param(
            tokens(("[[ ## answer ## ]]\n", -9), ("12", -0.5), ("67", -1.5), ("\n[[ ## cited ## ]]\n67", -9)),
            0.36787944,
            id="exp of the mean of the answer's own tokens",
        ),
        pytest.param(tokens(("1267", -0.5)), 0.60653066, id="a plain reply"),
        pytest.param(tokens(("1300", -0.5)), None, id="the answer does not stand there"),
        pytest.param(tokens(("12", -0.5), ("67", float("nan"))), None, id="a token without a figure"),
        pytest.param(None, None, id="no figures"),
    ],
)
def test_the_sequences_probability(logprobs: Any, expected: float | None) -> None:
    """exp(mean token log-probability), over the tokens of the answer alone."""
    assert text_probability(logprobs, "answer", "1267") == (expected and pytest.approx(expected))


def made(answer: str, support: Support | None, use: float = 1.0, relevance: float = 1.0) -> Candidate:
    """A criticised candidate with one claim."""
    claim = ClaimSupport(claim=answer, support=support, problem="" if support == "supported" else "not stated")
    value = {"supported": 1.0, "partially": 0.5, None: None}.get(support, 0.0)
    return Candidate(
        draft=Draft(answer=answer),
        passage=BORN,
        checked=Checked(draft=Draft(answer=answer), claims=(claim,)),
        scores=CriticScores(relevance=relevance, support=value, usefulness=use),
    )


def cited(candidate: Candidate) -> Candidate:
    """The same with a span that can be checked."""
    span = Citation(passage_id=BORN.id, quote="Giotto", start=0, end=6)
    claims = tuple(c.model_copy(update={"citations": (span,)}) for c in candidate.checked.claims)
    return replace(candidate, checked=replace(candidate.checked, claims=claims))


@pytest.mark.parametrize(
    ("candidates", "closed", "winner"),
    [
        pytest.param([made("a", "partially"), made("b", "supported")], False, "b", id="supported beats partially"),
        pytest.param([made("a", "supported", -1), made("b", "partially", 1)], False, "b", id="by score in one tier"),
        pytest.param(
            [made("a", "not_supported", 1), made("b", "partially", -1, 0.5)], False, "b", id="unsupported always loses"
        ),
        pytest.param([made("a", "contradicted"), made("b", "not_supported", -1)], False, "b", id="denied is worse"),
        pytest.param([made("a", None), made("b", "not_supported")], False, "a", id="unread is no no"),
        pytest.param([made("a", "supported"), made("b", "supported")], False, "a", id="of equals the first"),
        pytest.param(
            [made("a", "supported"), cited(made("b", "supported")), cited(made("c", "supported"))],
            False,
            "b",
            id="of equals the first with a citation",
        ),
        pytest.param([made("a", "supported"), cited(made("b", "supported", -1))], False, "a", id="the score first"),
        pytest.param([made("a", "supported"), made("b", "partially"), made("B.", "partially")], True, "b", id="a vote"),
        pytest.param(
            [made("a", "supported"), made("b", "not_supported"), made("b", "not_supported")],
            True,
            "a",
            id="unsupported answers have no vote",
        ),
    ],
)
def test_the_best_candidate(candidates: list[Candidate], closed: bool, winner: str) -> None:
    """Support class first, then the score; identical answers vote where the set is closed."""
    best = best_of(candidates, W, closed_set=closed)
    assert best is not None
    assert best.draft.answer == winner


@pytest.mark.parametrize(
    ("candidate", "options", "said"),
    [
        pytest.param(made("1267", "supported", 0), {}, "", id="supported, grade 3"),
        pytest.param(made("1267", "supported", -0.5), {}, "usefulness 2 of 5: 1267", id="grade 2"),
        pytest.param(made("1267", "partially"), {}, "not supported: “1267”: not stated", id="partially, by default"),
        pytest.param(made("1267", "partially"), {"min_support": "partially"}, "", id="partially, allowed"),
        pytest.param(made("1267", None), {"min_support": "partially"}, "", id="unread, partially allowed"),
        pytest.param(
            made("1267", "contradicted"), {"min_support": "partially"}, "contradicted by “Giotto: ", id="denied"
        ),
        pytest.param(None, {}, "no relevant passage gives an answer", id="no candidate"),
    ],
)
def test_what_a_candidate_lacks(candidate: Candidate | None, options: dict[str, Any], said: str) -> None:
    """The reason the query is rewritten with."""
    reason = shortfall("When was Giotto born?", candidate, SelfRagControls(), SelfRagSettings(**options))
    assert reason.startswith(said) if said else reason == ""
    assert WRONG.id not in reason
