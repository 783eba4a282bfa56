"""Warnings say what happened: what a budget left undone and who did it instead, what could not be read, who judged."""

from typing import Any

import pytest
from dspy.lm15 import Request

from reflective_rag.programs import Budget, NaiveRAG, ReflectiveRAG, SelfRAG
from tests.fakes import asks_for, chat_reply, fake_lm
from tests.programs.faults import MODES, QUESTION, ask, codes, failing, good, search

ZH = "乔托出生于哪一年？"


def _message(result: Any, code: str) -> str:
    return next((w.message for w in result.warnings if w.code == code), "")


def test_a_budget_that_ends_the_work_says_that_the_evidence_was_enough() -> None:
    """One call answers, rules judge instead of the model: enough is not called short, and each part is named."""
    result = ask(fake_lm(good), budget=Budget(lm_calls=1))
    told = _message(result, "budget_exhausted")
    assert (result.stop_reason, result.degraded, result.answer) == ("budget_calls", True, "1267")
    assert "the evidence found by then was enough" in told
    assert "done by rules instead: relevance, consistency, coverage, freshness, sufficiency, gaps" in told
    assert {f.judgement for f in result.rounds[0].assessment.fallbacks} >= {"relevance", "sufficiency"}


def test_a_budget_without_a_fallback_says_that_nothing_was_judged() -> None:
    """Nobody judged in the model's place."""
    told = _message(ask(fake_lm(good), budget=Budget(lm_calls=1), fallback=()), "budget_exhausted")
    assert "the evidence was not judged" in told
    assert "not done: relevance" in told
    assert "rules" not in told


def test_a_budget_that_makes_rules_check_the_answer_degrades_it() -> None:
    """The loop ended with enough evidence; the model was to check the claim, and no call was left for it."""
    result = ask(fake_lm(good), critics={"support": "lm"}, budget=Budget(lm_calls=2))
    assert (result.stop_reason, result.degraded) == ("sufficient", True)
    assert "done by rules instead: support of the claims" in _message(result, "budget_exhausted")
    assert "evidence" not in _message(result, "budget_exhausted")
    assert "model_degraded" not in codes(result)


@pytest.mark.parametrize("program", [NaiveRAG, SelfRAG])
def test_other_programs_say_who_answered_instead(program: Any) -> None:
    """A budget of no call at all: the rules answered."""
    result = ask(fake_lm(good), program(search=search, budget=Budget(lm_calls=0)))
    assert result.degraded
    assert "done by rules instead" in _message(result, "budget_exhausted")
    assert "the answer" in _message(result, "budget_exhausted")


def test_what_a_budget_left_undone_is_said_in_chinese() -> None:
    """The warning speaks the question's language."""
    told = _message(ask(fake_lm(good), question=ZH, budget=Budget(lm_calls=1)), "budget_exhausted")
    assert "预算已用尽" in told
    assert "改由规则完成：相关性" in told


@pytest.mark.parametrize("program", [NaiveRAG, ReflectiveRAG, SelfRAG])
@pytest.mark.parametrize(
    ("question", "answer", "warned"),
    [
        pytest.param(QUESTION, "No answer: the model's reply could not be read.", "no answer could be read", id="en"),
        pytest.param(ZH, "没有回答：模型的回复无法读取。", "无法读出回答", id="zh"),
    ],
)
def test_a_reply_of_rubbish_is_not_called_missing_evidence(
    program: Any, question: str, answer: str, warned: str
) -> None:
    """It is counted, and the result says that the reply could not be read, not that the evidence has no answer."""

    def reply(request: Request) -> str:
        return "%%% zzz" if asks_for(request, "answer") else good(request)

    alone = (
        {"answer_from_memory": False} if program is SelfRAG else {}
    )  # alone it is asked for a text, and any text is one
    result = ask(fake_lm(reply), program(search=search, **alone), question=question)
    assert (result.abstained, result.answer) == (True, answer)
    assert result.unparsed >= 1
    assert warned in _message(result, "unreadable_answer")
    assert {"no_answer", "no_evidence"}.isdisjoint(codes(result))


@pytest.mark.parametrize("mode", MODES[:3])
def test_without_a_fallback_a_dead_model_does_not_make_rules_the_judge(mode: Any) -> None:
    """Rules extract the answer, and nobody judged: that, and no more, is what the warnings say."""
    result = ask(failing(RuntimeError("down")), mode=mode, fallback=())
    assert "Answered by rules" in _message(result, "rules_only")
    assert "judged" not in _message(result, "rules_only")
    assert "relevance: lm → –" in _message(result, "model_degraded")


def test_with_rules_all_the_way_the_warning_says_so() -> None:
    """Without a model the rules judge and answer."""
    assert "rules judged the evidence too" in _message(ask(None), "rules_only")


def test_a_citation_is_said_to_be_checked_by_rules() -> None:
    """Rules looked for the span: the warning does not pass that off as a fact about the passage."""

    def reply(request: Request) -> str:
        return chat_reply(answer="1267", cited=[2]) if not asks_for(request, "needs") else good(request)

    assert "rules found no sentence" in _message(ask(fake_lm(reply)), "unverified_citation")
