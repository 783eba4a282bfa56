"""AgenticRAG: a plan worked through level by level, side by side where it can be, with one retry a sub-question."""

from typing import Any

import pytest
from dspy.lm15 import Request

from reflective_rag.programs import AgenticRAG
from reflective_rag.signatures import answering, gaps, systems
from reflective_rag.signatures.types import Passage
from tests.fakes import FakeLM, asks_for, chat_reply, fake_lm, field_of, fields_of
from tests.programs.systems import PLAN, QUESTION, ZH, ask, codes, good, search

FLAT = [{"question": "Where was Ada Lane born?"}, {"question": "Who directed Falling Leaves?"}]


def test_predictors_are_pinned() -> None:
    """A change here breaks saved artefacts; it is made on purpose or not at all."""
    assert {name: p.signature for name, p in AgenticRAG().named_predictors()} == {
        "decompose": systems.Decompose,
        "answer": answering.AnswerQuestion,
        "rewrite": gaps.RewriteQuery,
        "compose": systems.ComposeAnswer,
    }


def planning(plan: Any, **answers: str) -> FakeLM:
    """A model with this plan; `answers` maps a word of a (sub-)question to its answer, else "unknown"."""

    def reply(request: Request) -> str:
        if asks_for(request, "sub_questions"):
            return chat_reply(sub_questions=plan)
        if asks_for(request, "query"):
            return chat_reply(query=f"other {field_of(request, 'question')}"[:40])
        question = field_of(request, "question")
        found = next((value for word, value in answers.items() if word in question), "unknown")
        return chat_reply(answer=found, cited=[1])

    return fake_lm(reply)


def test_a_dependent_question_waits_for_its_answer() -> None:
    """'#1' becomes the answer found; the notes tell the composer what was found where."""
    lm = fake_lm(good)
    result = ask(AgenticRAG(search), lm)
    assert [r.queries for r in result.rounds] == [("Who directed Falling Leaves?",), ("Where was Ada Lane born?",)]
    assert field_of(lm.engine.requests[-1], "notes") == (
        "1. Who directed Falling Leaves? → Ada Lane [1]\n2. Where was Ada Lane born? → Norburg [2]"
    )
    assert (result.answer, result.stop_reason, result.retrievals) == ("Norburg", "finished", 2)
    assert len(lm.engine.calls) == 4


def test_independent_questions_share_a_round() -> None:
    """Searched and answered side by side."""
    result = ask(AgenticRAG(search), planning(FLAT, Where="Norburg", Who="Ada Lane"))
    assert [r.queries for r in result.rounds] == [("Where was Ada Lane born?", "Who directed Falling Leaves?")]


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param([{"question": "#2?"}, {"question": "#1?"}], id="circle"),
        pytest.param("Let me think.", id="prose"),
        pytest.param([{"question": f"Who is #{'9' * 5000}?"}], id="a number without end"),
    ],
)
def test_a_bad_plan_falls_back_to_the_question(plan: Any) -> None:
    """The question itself is searched and answered once; no composing is needed, and the bad plan is counted."""
    lm = planning(plan, director="Norburg")
    result = ask(AgenticRAG(search, budget={"lm_calls": 9}), lm)
    assert [r.queries for r in result.rounds] == [(QUESTION,)]
    assert (result.answer, result.stop_reason, result.unparsed) == ("Norburg", "finished", 1)
    assert (result.degraded, codes(result) >= {"unreadable_verdict", "model_degraded"}) == (True, True)
    assert len(lm.engine.calls) == 2


def test_an_empty_plan_leaves_the_question_whole() -> None:
    """A model may mean that there is nothing to split: nothing was unreadable, and nothing is degraded."""
    result = ask(AgenticRAG(search), planning([], director="Norburg"))
    assert [r.queries for r in result.rounds] == [(QUESTION,)]
    assert (result.answer, result.unparsed, result.degraded) == ("Norburg", 0, False)


@pytest.mark.parametrize("number", ["1", "5", "9" * 5000], ids=["a part's", "another", "without end"])
def test_a_question_may_hold_a_number_of_its_own(number: str) -> None:
    """It refers to no sub-question where the question stays whole."""
    question = f"Who was #{number} in the charts?"
    result = ask(AgenticRAG(search), planning([], charts="Ada Lane"), question)
    assert [r.queries for r in result.rounds] == [(question,)]
    assert result.answer == "Ada Lane"


@pytest.mark.parametrize(
    ("parts", "stop", "told"),
    [
        pytest.param(4, "finished", None, id="as many as are worked on"),
        pytest.param(6, "max_parts", "2 of 6", id="two more"),
    ],
)
def test_a_plan_that_is_cut_is_said(parts: int, stop: str, told: str | None) -> None:
    """How many sub-questions were left out; the run has then not done all that was planned."""
    plan = [{"question": f"Who is painter {name}?"} for name in "abcdef"[:parts]]
    result = ask(AgenticRAG(search), planning(plan, Who="Ada Lane", director="Norburg"))
    assert (result.answer, result.stop_reason, result.degraded) == ("Norburg", stop, told is not None)
    messages = [w.message for w in result.warnings if w.code == "plan_cut"]
    assert len(messages) == int(told is not None)
    assert not told or told in messages[0]
    assert len(result.rounds[0].queries) == 4


def test_a_plan_that_is_cut_is_said_in_chinese() -> None:
    """In the language of the question."""
    plan = [{"question": f"画家{name}是谁？"} for name in "甲乙丙丁戊己"]
    result = ask(AgenticRAG(search), planning(plan, 画家="林安", 导演="北堡"), ZH)
    (message,) = [w.message for w in result.warnings if w.code == "plan_cut"]
    assert "6个中的2个" in message


def test_a_sub_question_without_an_answer_is_tried_once_more() -> None:
    """Another query, told why; then the run goes on, and says that the evidence was not enough."""
    lm = planning(PLAN, Where="Norburg")
    result = ask(AgenticRAG(search), lm)
    rewrites = [fields_of(r) for r in lm.engine.requests if asks_for(r, "query")]
    assert [r["question"] for r in rewrites] == ["Who directed Falling Leaves?"]
    assert "do not tell the answer" in rewrites[0]["problem"]
    assert [r.queries[0] for r in result.rounds] == [
        "Who directed Falling Leaves?",
        "other Who directed Falling Leaves?",
        "Where was Who directed Falling Leaves born?",
    ]
    assert (result.stop_reason, result.degraded) == ("max_rounds", True)
    assert "insufficient_evidence" in codes(result)


def test_a_retry_that_repeats_a_query_is_not_sent() -> None:
    """No query is searched twice; the same sub-question twice costs one search."""
    twice = [FLAT[0], FLAT[0]]
    result = ask(AgenticRAG(search), planning(twice, Where="Norburg"))
    assert (result.retrievals, result.stop_reason) == (1, "finished")


def test_the_composer_reads_the_passages_of_the_sub_answers_first() -> None:
    """Where not all fits, what carries the sub-answers stays."""

    def noisy(query: str, k: int) -> list[Passage]:
        noise = [Passage(id=f"{query[:6]}{i}", text=f"Noise {i} on {query}") for i in range(3)]
        return [*noise[:1], *search(query, 1), *noise[1:]]

    def reply(request: Request) -> str:
        if asks_for(request, "cited") and "notes" not in fields_of(request):
            return chat_reply(answer="Ada Lane" if "Who" in field_of(request, "question") else "Norburg", cited=[2])
        return good(request)

    lm = fake_lm(reply)
    result = ask(AgenticRAG(noisy, max_passages=2), lm)
    assert [p.id for p in result.passages] == ["film", "ada"]


def test_clashing_ids_keep_their_own_answers() -> None:
    """Two passages under one id: each sub-answer points to the passage that it was read from."""
    texts = {"Who": "Falling Leaves was directed by Ada Lane.", "Where": "Ada Lane was born in Norburg."}

    def clashing(query: str, k: int) -> list[Passage]:
        return [Passage(id="p", text=texts[query.split()[0]])]

    lm = fake_lm(good)
    ask(AgenticRAG(clashing), lm)
    assert field_of(lm.engine.requests[-1], "notes").endswith("Norburg [2]")
