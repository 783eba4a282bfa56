"""GEPA's feedback says in words what the labels and the result show, and never asks a model."""

from typing import Any

import dspy
import pytest

from reflective_rag.optimizers.examples import to_examples
from reflective_rag.optimizers.feedback import FeedbackMetric
from reflective_rag.optimizers.metrics import metric
from reflective_rag.signatures.answering import AnswerQuestion, JudgeSupport
from reflective_rag.signatures.errors import ContractError
from reflective_rag.signatures.evidence import AssessEvidence, JudgeRelevance, JudgeSufficiency
from reflective_rag.signatures.gaps import RewriteQuery
from reflective_rag.signatures.types import (
    Assessment,
    Citation,
    ClaimSupport,
    Contradiction,
    DroppedPassage,
    Passage,
    Requirement,
    Round,
)
from tests.optimizers.helpers import full, record

GOLD = Passage(id="g", text="The capital of France is Paris.")
OTHER = Passage(id="o", text="Lyon lies on the Rhône.", title="Lyon")
BOTH = "[1] The capital of France is Paris.\n[2] Lyon: Lyon lies on the Rhône."
JUDGE = FeedbackMetric(metric("f1"))


def said(pred: Any, call: tuple[Any, dict[str, Any], dict[str, Any]] | None = None, **changes: Any) -> str:
    """The feedback on a run, and on one of its calls."""
    (example,) = to_examples([record(0, **changes)])
    if call is None:
        return str(JUDGE(example, pred).feedback)
    signature, inputs, outputs = call
    entry = (dspy.Predict(signature), inputs, dspy.Prediction(**outputs))
    return str(JUDGE(example, pred, [entry], "name", [entry]).feedback)


def cited(*passages: Passage) -> tuple[Citation, ...]:
    """Citations of whole passages."""
    return tuple(Citation(passage_id=p.id, quote=p.text, start=0, end=len(p.text)) for p in passages)


@pytest.mark.parametrize(
    ("changes", "labels", "expected"),
    [
        pytest.param({}, {}, "Its answer 'Paris' is right.", id="right"),
        pytest.param({"answer": "Lyon"}, {}, "'Lyon' is wrong: the right answer is 'Paris'", id="wrong"),
        pytest.param(
            {"answer": "It is Paris, I think"}, {}, "holds the right one, 'Paris', and says more", id="too long"
        ),
        pytest.param({"abstained": True, "answer": "no"}, {}, "wrongly gave no answer: the right", id="abstained"),
        pytest.param(
            {"abstained": True}, {"answerable": False, "answers": []}, "rightly gave no answer", id="rightly silent"
        ),
        pytest.param({}, {"answerable": False, "answers": []}, "it should have said 'unknown'", id="should be silent"),
        pytest.param(
            {"answer": "Nice"}, {"wrong_answers": ["Nice"]}, "taken from a passage that is false", id="planted"
        ),
        pytest.param(
            {}, {"answer_groups": [["Paris"], ["Lyon", "Lugdunum"]]}, "is incomplete: it lacks 'Lyon'", id="groups"
        ),
        pytest.param({"passages": (OTHER,)}, {}, "1 of the 1 passages that carry the answer were not read.", id="lost"),
        pytest.param(
            {"passages": (OTHER,), "dropped": (DroppedPassage(passage=GOLD, reason="beyond max_passages"),)},
            {},
            "not read, 1 of them retrieved but left out",
            id="dropped",
        ),
        pytest.param(
            {"passages": (GOLD, OTHER), "citations": cited(OTHER)},
            {},
            "cited a passage that does not support the answer: 'Lyon: Lyon lies",
            id="bad citation",
        ),
        pytest.param(
            {"passages": (GOLD, OTHER), "citations": cited(OTHER)},
            {},
            "did not cite a passage that supports the answer: 'The capital",
            id="no citation",
        ),
        pytest.param(
            {"claims": (ClaimSupport(claim="It is big", support="contradicted", problem="it is small"),)},
            {},
            "Its claim 'It is big' is contradicted by the passages (it is small).",
            id="contradicted",
        ),
        pytest.param(
            {
                "conflicts": (
                    Contradiction(passage_a="a", span_a="x", passage_b="b", span_b="y", about="the year of birth"),
                )
            },
            {},
            "contradict each other about the year of birth",
            id="conflict",
        ),
        pytest.param(
            {
                "passages": (OTHER,),
                "rounds": (
                    Round(
                        number=1,
                        queries=("q",),
                        retrieved=1,
                        new=1,
                        assessment=Assessment(sufficient=True, requirements=(Requirement(need="the capital"),)),
                    ),
                    Round(number=2, queries=("in vain",), retrieved=1, new=0),
                ),
            },
            {},
            "Still missing in the end: the capital.\nThe evidence was called enough while it lacked",
            id="requirement",
        ),
    ],
)
def test_what_is_said_about_a_run(changes: dict[str, Any], labels: dict[str, Any], expected: str) -> None:
    """Answer, evidence, citations, claims and conflicts, each in a sentence of its own."""
    assert expected in said(full(**changes), **labels)


@pytest.mark.parametrize(
    ("signature", "inputs", "outputs", "expected"),
    [
        (JudgeSufficiency, {"passages": BOTH}, {"sufficient": "no"}, "all passages that carry the answer were there"),
        (JudgeSufficiency, {"passages": "[1] Lyon"}, {"sufficient": "yes"}, "lacked some that the answer needs, yet"),
        (JudgeSufficiency, {"passages": BOTH}, {"sufficient": "yes"}, "verdict 'yes' on sufficiency was right"),
        (AssessEvidence, {"passages": BOTH}, {"sufficient": "yes", "relevant": [2, 7]}, "Passage 2 was named relevant"),
        (AssessEvidence, {"passages": BOTH}, {"sufficient": "yes", "relevant": [2, 7]}, "Passage 1 supports the"),
        (AssessEvidence, {"passages": BOTH}, {"sufficient": "yes", "relevant": [2, 7]}, "There is no passage 7."),
        (JudgeRelevance, {"passage": BOTH[:40]}, {"relevance": "irrelevant"}, "needed for the answer, yet it was"),
        (JudgeRelevance, {"passage": "[1] Lyon"}, {"relevance": "relevant"}, "not needed for the answer, yet"),
        (
            JudgeRelevance,
            {"passage": "[1] Lyon"},
            {"relevance": "irrelevant"},
            "'irrelevant' on this passage was right",
        ),
        (AnswerQuestion, {"passages": BOTH}, {"answer": "unknown", "cited": []}, "yet none was given"),
        (AnswerQuestion, {"passages": "[1] Lyon"}, {"answer": "Nice", "cited": []}, "should have said 'unknown'"),
        (AnswerQuestion, {"passages": BOTH}, {"answer": "Paris", "cited": [2]}, "Passage 2 was cited and does not"),
        (
            JudgeSupport,
            {"answer": "Paris", "passages": BOTH},
            {"support": "contradicted"},
            "under review was right, yet",
        ),
        (JudgeSupport, {"answer": "Nice", "passages": BOTH}, {"support": "supported"}, "under review was wrong, yet"),
        (RewriteQuery, {"question": "q"}, {"query": "more"}, "'more' was not sent or brought nothing new"),
    ],
)
def test_what_is_said_about_a_call(
    signature: Any, inputs: dict[str, Any], outputs: dict[str, Any], expected: str
) -> None:
    """The call under reflection is told its own fault, from the labels of what it read."""
    assert expected in said(full(passages=(GOLD, OTHER)), (signature, inputs, outputs))


def test_the_score_is_the_same_both_ways() -> None:
    """GEPA warns, and ignores the score, where the one about a predictor differs."""
    (example,) = to_examples([record(0)])
    pred = full(answer="Paris maybe")
    entry = (dspy.Predict(AnswerQuestion), {"passages": BOTH}, dspy.Prediction(answer="x", cited=[]))
    assert (
        JUDGE(example, pred).score
        == JUDGE(example, pred, [entry], "answer", [entry]).score
        == metric("f1")(example, pred)
    )


def test_a_stock_module_gets_feedback_on_its_answer() -> None:
    """Without passages, claims and rounds there is still the answer; without an answer there is an error."""
    (example,) = to_examples([record(0)])
    assert "is wrong" in JUDGE(example, dspy.Prediction(answer="Lyon")).feedback
    with pytest.raises(ContractError, match="text field `answer`"):
        JUDGE(example, dspy.Prediction(response="Lyon"))
