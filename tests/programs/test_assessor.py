"""The assessor as a door of its own: judge a set of passages for a question, without retrieving or answering."""

from datetime import date
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from reflective_rag.programs import EvidenceAssessor, Weights
from reflective_rag.signatures.errors import ConfigError, ContractError
from reflective_rag.signatures.types import Assessment, Passage
from tests.fakes import FakeLM, asks_for, chat_reply, fake_lm, field_of, last_user_text

QUESTION = "When was Giotto born?"
TEXTS = ["Giotto was born in 1267.", "Bananas are yellow."]
FIELDS: dict[str, Any] = {
    "needs": [{"need": "year of birth", "passages": [1]}],
    "relevant": [1],
    "contradictions": [],
    "outdated": [],
    "gaps": [],
    "sufficient": "yes",
    "time_scope": "timeless",
}


def judge(**change: Any) -> FakeLM:
    """A model that judges by fixed fields, and grades relevance by the name in the passage."""

    def reply(request: Request) -> str:
        fields = {k: v for k, v in {**FIELDS, **change}.items() if asks_for(request, k)}
        if asks_for(request, "relevance"):
            fields["relevance"] = "relevant" if "Giotto" in field_of(request, "passage") else "irrelevant"
        return chat_reply(**fields)

    return fake_lm(reply)


def assess(lm: FakeLM | None, mode: Any = "paired", passages: Any = TEXTS, **options: Any) -> Assessment:
    """One assessment under a model."""
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        assessment: Assessment = EvidenceAssessor(mode, **options)(question=QUESTION, passages=passages)
        return assessment


@pytest.mark.parametrize("mode", ["paired", "separate", "rules"])
def test_every_mode_gives_a_typed_assessment(mode: str) -> None:
    """One call, several narrow ones, or none: the same type with the same meaning comes back."""
    lm = judge()
    assessment = assess(lm, mode)
    relevant = [i for i, grade in assessment.passage_relevance.items() if grade > 0]
    assert isinstance(assessment, Assessment)
    assert len(relevant) == 1
    assert (assessment.relevance or 0) > 0
    assert (assessment.coverage, assessment.sufficient) == (1.0, True)
    assert len(lm.engine.calls) == {"paired": 1, "separate": 2 + 4, "rules": 0}[mode]


def test_without_a_model_the_rules_judge() -> None:
    """No configuration is needed to try it."""
    assert assess(None) == assess(judge(), "rules")


@pytest.mark.parametrize(
    "passages",
    [
        pytest.param(TEXTS, id="strings"),
        pytest.param([{"text": t} for t in TEXTS], id="dicts"),
        pytest.param([Passage(id=str(i), text=t) for i, t in enumerate(TEXTS)], id="Passages"),
        pytest.param(iter(TEXTS), id="iterator"),
        pytest.param([*TEXTS, TEXTS[0].upper()], id="a repeat"),
    ],
)
def test_passages_come_in_many_shapes(passages: Any) -> None:
    """The same evidence gets the same score in any shape, and a repeat does not count twice."""
    lm = judge()
    assert assess(lm, passages=passages).evidence_score == assess(judge()).evidence_score
    assert "[3]" not in last_user_text(lm.engine.requests[0])


@pytest.mark.parametrize(
    "passages",
    [pytest.param("one text", id="string"), pytest.param(None, id="None"), pytest.param({"text": "t"}, id="dict")],
)
def test_something_else_than_a_list_is_refused(passages: Any) -> None:
    """A bare text is not a list of its letters."""
    with pytest.raises(ContractError, match="`passages` must be a list of Passages"):
        assess(judge(), passages=passages)


def test_nothing_to_judge_costs_nothing() -> None:
    """Without passages no model is asked, and the score is 0."""
    lm = judge()
    assessment = assess(lm, passages=[])
    assert (assessment.evidence_score, lm.engine.calls) == (0.0, [])


@pytest.mark.parametrize(
    ("mode", "named"),
    [
        pytest.param("magic", "`mode` must be one of", id="unknown"),
        pytest.param("fused", "use ReflectiveRAG", id="fused"),
    ],
)
def test_a_mode_that_cannot_work_is_refused(mode: str, named: str) -> None:
    """`fused` needs an answer to be written, so it belongs to the loop."""
    with pytest.raises(ConfigError, match=named):
        assess(judge(), mode)


def test_an_empty_question_is_refused() -> None:
    """There is nothing to judge the passages for."""
    with pytest.raises(ConfigError, match="empty"):
        EvidenceAssessor("rules")(question=" ", passages=TEXTS)


def test_weights_change_the_score_and_nothing_else() -> None:
    """The model's judgement stays; Python counts differently."""
    half = judge(needs=[{"need": "a", "passages": [1]}, {"need": "b", "passages": []}])
    plain, heavy = assess(half), assess(half, weights=Weights(relevance=0, coverage=1))
    assert (plain.coverage, heavy.coverage) == (0.5, 0.5)
    assert heavy.evidence_score == 0.5 < plain.evidence_score


def test_one_unreadable_verdict_does_not_cost_the_others() -> None:
    """In mode `separate` each narrow call stands alone."""
    assessment = assess(judge(sufficient="hm"), "separate")
    assert (assessment.unreadable, assessment.coverage) == (1, 1.0)
    assert [f.judgement for f in assessment.fallbacks] == ["sufficiency"]


def test_a_reply_of_noise_is_judged_by_rules_and_counted() -> None:
    """When nothing of the reply can be read, the rules judge and every verdict counts as unreadable."""
    noise = fake_lm(lambda request: "As an AI, I cannot.")
    assessment = assess(noise)
    assert assessment.unreadable == 6
    assert assessment.passage_relevance == assess(None).passage_relevance


def test_a_model_on_the_predictor_is_enough() -> None:
    """`set_lm` on the assessor works without a configured default."""
    assessor, lm = EvidenceAssessor(), judge()
    assessor.set_lm(lm)
    assessor(question=QUESTION, passages=TEXTS)
    assert len(lm.engine.calls) == 1


def test_today_reaches_the_model() -> None:
    """Freshness is judged against the day that the caller gives."""
    lm = judge()
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        EvidenceAssessor()(question=QUESTION, passages=TEXTS, today=date(2001, 2, 3))
    assert field_of(lm.engine.requests[0], "today") == "2001-02-03"


@pytest.mark.parametrize(
    ("alternatives", "grade"),
    [
        pytest.param([("relevant", -0.105), ("irre", -2.303)], 0.9, id="sure"),
        pytest.param([("part", -0.693), ("relevant", -0.693)], 0.75, id="between"),
        pytest.param([("banana", -0.1)], 1.0, id="no verdict among them"),
        pytest.param([], 1.0, id="none"),
    ],
)
def test_soft_verdicts_use_log_probabilities(alternatives: list[tuple[str, float]], grade: float) -> None:
    """Where the engine gives log-probabilities the grade is an expectation; else the written word counts."""
    from reflective_rag.programs.soft import GRADES, soft_grade

    token = {"token": "relevant", "top_logprobs": [{"token": t, "logprob": p} for t, p in alternatives]}
    soft = soft_grade({"content": [token]})
    assert (GRADES["relevant"] if soft is None else soft) == pytest.approx(grade, abs=0.01)
