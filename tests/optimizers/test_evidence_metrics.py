"""Metrics of abstention, and of what an answer stands on: citations, retrieval, support of claims."""

from typing import Any

import dspy
import pytest

from reflective_rag.optimizers.evidence_scores import citation_scores, cited_passages, groundedness
from reflective_rag.optimizers.examples import to_examples
from reflective_rag.optimizers.metrics import metric
from reflective_rag.optimizers.scores import abstention_aware
from reflective_rag.signatures.errors import ConfigError, ContractError
from reflective_rag.signatures.types import Citation, ClaimSupport, Passage
from tests.optimizers.helpers import GOLD, full, record

OTHER = Passage(id="o", text="Lyon lies on the Rhône.")
THIRD = Passage(id="t", text="Nice lies on the sea.")


def quote(passage: Passage) -> Citation:
    """The whole passage, cited."""
    return Citation(passage_id=passage.id, quote=passage.text, start=0, end=len(passage.text))


def claim(support: Any, *passages: Passage) -> ClaimSupport:
    """A claim with a verdict and citations."""
    return ClaimSupport(claim="c", support=support, citations=tuple(map(quote, passages)))


def score(name: str, pred: Any, labels: dict[str, Any] | None = None, **options: Any) -> float:
    """The metric's score of a prediction for the record, which has one supporting passage."""
    (example,) = to_examples([record(0, **(labels or {}))])
    return metric(name, **options).score(example, pred)


SILENT_RIGHT = {"answerable": False, "answers": []}


@pytest.mark.parametrize(
    ("changes", "labels", "penalty", "expected"),
    [
        pytest.param({}, {}, 1.0, 1.0, id="right"),
        pytest.param({"answer": "Lyon"}, {}, 1.0, -1.0, id="wrong"),
        pytest.param({"answer": "Lyon"}, {}, 0.0, 0.0, id="wrong for nothing"),
        pytest.param({"answer": "Paris maybe"}, {}, 0.5, 2 / 3 - 0.5 / 3, id="partly right"),
        pytest.param({"abstained": True}, {}, 1.0, 0.0, id="silent"),
        pytest.param({"answer": " "}, {}, 1.0, 0.0, id="blank"),
        pytest.param({"abstained": True}, SILENT_RIGHT, 1.0, 1.0, id="rightly silent"),
        pytest.param({}, SILENT_RIGHT, 2.0, -2.0, id="should be silent"),
    ],
)
def test_a_wrong_answer_costs_and_silence_does_not(
    changes: dict[str, Any], labels: dict[str, Any], penalty: float, expected: float
) -> None:
    """Quality − penalty · (1 − quality) for an answer; for silence 0, or 1 where it is right."""
    assert score("abstention", full(**changes), labels, penalty=penalty) == pytest.approx(expected)


def test_answering_pays_from_the_chance_that_the_penalty_says() -> None:
    """With penalty p the break-even is p / (1 + p): at penalty 3 three of four guesses must be right."""
    guesses = [abstention_aware(quality, 3, silent=False) for quality in (1, 1, 1, 0)]
    assert sum(guesses) == abstention_aware(0, 3, silent=True) == 0
    with pytest.raises(ConfigError, match="`penalty`"):
        abstention_aware(0, float("nan"), silent=False)


def test_prices_start_from_the_quality_that_is_named() -> None:
    """RAMDocs and RGB: answer groups without the planted answer, less the cost."""
    labels = {"answer_groups": [["Paris"], ["Lyon"]], "wrong_answers": ["Nice"]}
    half, wrong = full(answer="Paris"), full(answer="Paris, Lyon, Nice")
    assert score("costed", half, labels, quality="groups", lam=0, mu=0.1) == pytest.approx(0.5 - 0.2)
    assert score("costed", wrong, labels, quality="groups", lam=0, mu=0) == 0
    assert score("abstention", wrong, labels, quality="groups") == -1
    assert score("costed", full(answer="It is Paris"), {}, quality="containment", lam=0, mu=0) == 1


@pytest.mark.parametrize(
    ("cited", "precision", "recall"),
    [
        pytest.param([GOLD], 1.0, 1.0, id="right"),
        pytest.param([GOLD, OTHER], 0.5, 1.0, id="one too many"),
        pytest.param([OTHER], 0.0, 0.0, id="wrong"),
        pytest.param([], 0.0, 0.0, id="none"),
        pytest.param([GOLD, GOLD], 1.0, 1.0, id="twice"),
    ],
)
def test_citations_against_the_supporting_passages(cited: list[Passage], precision: float, recall: float) -> None:
    """Passages count once, whatever their ids; the metric is the harmonic mean."""
    pred = full(passages=(GOLD, OTHER), citations=tuple(map(quote, cited)))
    found = citation_scores(pred, [GOLD.key])
    assert (found.precision, found.recall) == (precision, recall)
    assert score("citations", pred) == pytest.approx(found.f1)


def test_citations_of_claims_count_too() -> None:
    """An answer may be cited claim by claim."""
    pred = full(passages=(GOLD, OTHER, THIRD), claims=(claim("supported", GOLD), claim("partially", THIRD)))
    assert cited_passages(pred) == [GOLD, THIRD]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["supported"], 1.0),
        (["supported", "partially"], 0.75),
        (["contradicted", "not_supported"], 0.0),
        (["supported", None], 1.0),
    ],
)
def test_groundedness_is_the_mean_support_of_the_claims(verdicts: list[Any], expected: float) -> None:
    """A verdict that could not be read is left out: it is no "no"."""
    pred = full(claims=tuple(map(claim, verdicts)))
    assert score("groundedness", pred) == groundedness(pred) == expected


def test_retrieval_recall_is_over_what_was_read() -> None:
    """The share of the supporting passages that the answer was written from."""
    assert score("retrieval_recall", full(passages=(GOLD, OTHER))) == 1.0
    assert score("retrieval_recall", full(passages=(OTHER,))) == 0.0


@pytest.mark.parametrize("name", ["citations", "retrieval_recall", "groundedness"])
def test_silence_is_graded_as_ever(name: str) -> None:
    """0 where there is an answer, 1 where there is none: no metric is won by saying nothing."""
    assert score(name, full(abstained=True)) == 0.0
    assert score(name, full(abstained=True), SILENT_RIGHT) == 1.0


@pytest.mark.parametrize(
    ("name", "pred", "labels", "said"),
    [
        pytest.param("citations", full(), {"passages": []}, "whose supporting passages are marked", id="no labels"),
        pytest.param("retrieval_recall", full(), {"passages": []}, "supporting passages are marked", id="no gold"),
        pytest.param("groundedness", full(claims=()), {}, "needs checked claims", id="nothing checked"),
        pytest.param("groundedness", full(claims=(claim(None),)), {}, "needs checked claims", id="nothing read"),
        pytest.param("citations", dspy.Prediction(answer="x"), {}, "needs `passages`", id="stock module"),
    ],
)
def test_what_does_not_apply_is_an_error_not_a_zero(name: str, pred: Any, labels: dict[str, Any], said: str) -> None:
    """A metric without its labels or verdicts says what it lacks."""
    with pytest.raises(ContractError, match=said):
        score(name, pred, labels)
