"""SelfRAG's [Retrieve]: when nothing is searched, when the model answers alone, and what is said of such an answer."""

from typing import Any

import pytest

from reflective_rag.programs.self_rag_rules import needs_retrieval, next_sentence, rate
from reflective_rag.signatures.types import Passage
from tests.programs.self_rag_worlds import BORN, FRUIT, QUESTION, Model, Shelf, ask, codes

HELLO = {"en": "Hello, how are you?", "zh": "你好，你是谁？"}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_small_talk_is_answered_alone_and_rated_like_any_other(language: str) -> None:
    """No search; [IsUSE] is asked; the score is no constant."""
    confidence = []
    for grade in ("5", "3"):
        model, shelf = Model(retrieve="no", alone="Hi!", usefulness=grade), Shelf({"": [BORN]})
        result = ask(model, shelf, HELLO[language])
        assert (result.answer, result.stop_reason, result.need_retrieval) == ("Hi!", "no_retrieval", False)
        assert (result.degraded, result.warnings, result.evidence_score, shelf.queries) == (False, (), None, [])
        assert model.roles() == ["alone", "retrieve", "usefulness"]
        confidence.append(result.confidence)
    assert confidence[0] > confidence[1]


def test_a_fact_without_search_carries_a_warning() -> None:
    """The critic may say that no search is needed; the reader is told that there is no evidence."""
    result = ask(Model(retrieve="no"))
    assert (result.answer, result.need_retrieval, result.degraded) == ("1267", False, False)
    assert codes(result) == {"from_memory"}
    assert [(c.support, c.citations) for c in result.claims] == [(None, ())]


@pytest.mark.parametrize(
    "verdicts",
    [{"alone": "unknown"}, {"usefulness": {"born in 1267": "5", "Sorry": "1", "*": "5"}, "alone": "Sorry, no."}],
    ids=["it does not know", "it is of no use"],
)
def test_an_answer_alone_that_is_no_good_is_searched_for_after_all(verdicts: dict[str, Any]) -> None:
    """The decision not to search is not final."""
    result = ask(Model(retrieve="no", **verdicts))
    assert (result.answer, result.stop_reason, result.need_retrieval) == ("1267", "sufficient", True)
    assert result.citations


@pytest.mark.parametrize(
    ("options", "retrieve", "asked", "searched"),
    [
        pytest.param({}, "yes", 1, True, id="adaptive, yes"),
        pytest.param({}, "no", 1, False, id="adaptive, no"),
        pytest.param({"retrieval": "always"}, "no", 0, True, id="always"),
        pytest.param({"retrieval": "never"}, "yes", 0, False, id="never"),
        pytest.param({"retrieval_threshold": 1}, "yes", 1, False, id="nothing is above 1"),
        pytest.param({}, "continue", 1, True, id="nothing to continue with: rules decide"),
        pytest.param({}, "perhaps", 1, True, id="no value of the set: rules decide"),
        pytest.param({"critics": {"retrieve": "rules"}}, "no", 0, True, id="by rules"),
    ],
)
def test_when_it_searches(options: dict[str, Any], retrieve: str, asked: int, searched: bool) -> None:
    """Three modes, a threshold, and the rules where the verdict is none."""
    model, shelf = Model(retrieve=retrieve), Shelf({"": [BORN]})
    result = ask(model, shelf, **options)
    assert (model.count("retrieve"), bool(shelf.queries), result.need_retrieval) == (asked, searched, searched)


def test_never_searching_marks_an_answer_of_no_use() -> None:
    """Nothing can be tried again, so that the end is degraded."""
    result = ask(Model(usefulness="1"), retrieval="never")
    assert (result.stop_reason, result.degraded) == ("no_retrieval", True)
    assert codes(result) == {"from_memory", "low_confidence_generation"}


@pytest.mark.parametrize(
    ("found", "stop", "relevant"),
    [
        pytest.param([FRUIT], "no_relevant_passages", 0, id="nothing relevant"),
        pytest.param([], "no_passages", 0, id="nothing at all"),
        pytest.param(
            [Passage(id="x", text="Giotto was born.")], "no_new_passages", 1, id="relevant, but no answer in it"
        ),
    ],
)
def test_without_a_candidate_the_model_answers_alone_and_the_result_says_so(
    found: list[Passage], stop: str, relevant: int
) -> None:
    """Degraded, warned, with no evidence score, and with less confidence than any supported answer."""
    model = Model()
    result = ask(model, Shelf({"": found}))
    assert (result.answer, result.stop_reason, result.degraded) == ("1267", stop, True)
    assert (result.abstained, result.relevant_count, result.evidence_score) == (False, relevant, 0.0)
    assert "from_memory" in codes(result)
    assert (model.count("alone"), result.citations) == (1, ())
    assert 0 < result.confidence < 0.5


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (Model(alone="unknown"), {}),
        (Model(), {"answer_from_memory": False}),
        (None, {}),
        (None, {"mode": "rules"}),
    ],
    ids=["it does not know", "not allowed", "no model", "rules"],
)
def test_it_abstains_where_nobody_can_answer(model: Model | None, options: dict[str, Any]) -> None:
    """Without evidence, and without a model that knows."""
    result = ask(model, Shelf({"": [FRUIT]}), **options)
    assert (result.abstained, result.degraded, result.confidence) == (True, True, 0.0)
    assert result.stop_reason == "no_relevant_passages"
    assert "no_evidence" in codes(result)
    assert "from_memory" not in codes(result)


def test_rules_cannot_talk() -> None:
    """Small talk on rules is no question to search for, and there is nobody to answer it."""
    shelf = Shelf({"": [BORN]})
    result = ask(None, shelf, "Thank you!", mode="rules")
    assert (result.abstained, result.stop_reason, result.need_retrieval) == (True, "no_retrieval", False)
    assert (codes(result), shelf.queries) == ({"rules_only", "no_answer"}, [])


@pytest.mark.parametrize(
    ("question", "needed"),
    [
        ("Hello!", False), ("hi there", False), ("Good morning", False), ("Thanks a lot, bye!", False),
        ("What can you do?", False), ("你好！", False), ("谢谢你", False), ("你会什么？", False), ("再见。", False),
        ("What is 2 + 2?", False), ("12 * 7 =", False), ("what's 12 divided by 4", False), ("3加5等于几？", False),
        ("计算 3*(4+5)", False), ("What do you think about life?", False), ("Write a poem", False),
        ("你觉得人生的意义是什么？", False), ("写一首诗", False),
        ("Who directed Jaws?", True), ("When was 1984 published?", True), ("What is 1984?", True),
        ("Hello, who directed Jaws?", True), ("Do you think Napoleon was tall?", True),
        ("What happened in 1914-1918?", True), ("2008年奥运会在哪里举行？", True), ("你好，红楼梦是谁写的？", True),
        ("乔托生于哪一年？", True), ("?", True), ("how many people live in Paris plus Rome", True),
    ],
)  # fmt: skip
def test_which_questions_need_evidence_by_rules(question: str, needed: bool) -> None:
    """Small talk, arithmetic and opinions about nothing by name do not; when in doubt it is searched."""
    assert needs_retrieval(question) is needed


@pytest.mark.parametrize(
    ("question", "answer", "grade"),
    [
        (QUESTION, "1267", "5"), (QUESTION, "in the thirteenth century", "5"), (QUESTION, "Florence", "2"),
        (QUESTION, "unknown", "1"), (QUESTION, "", "1"), (QUESTION, "It is not stated.", "1"),
        ("Who directed Jaws?", "Steven Spielberg", "5"), ("Who directed Jaws?", "Jaws", "2"),
        ("Is the sky blue?", "Yes", "5"), ("Is the sky blue?", "It is a matter of physics", "3"),
        ("Which is older, Rome or Paris?", "Rome", "5"), ("Which is older, Rome or Paris?", "Cairo", "2"),
        ("Why is the sky blue?", "Air scatters blue light more", "4"), ("Why is the sky blue?", "Air", "3"),
        ("How many moons has Mars?", "two", "5"), ("How many moons has Mars?", "some", "2"),
        (QUESTION, "1267 " + "and more " * 60, "3"),
        ("乔托生于哪一年？", "1267年", "5"), ("乔托生于哪一年？", "佛罗伦萨", "2"),
        ("谁写了《红楼梦》？", "曹雪芹", "5"), ("谁写了《红楼梦》？", "不知道", "1"), ("天是蓝的吗？", "是", "5"),
    ],
)  # fmt: skip
def test_usefulness_by_rules(question: str, answer: str, grade: str) -> None:
    """By the kind of thing asked for, repetition and length; what is wrong is said unless nothing is."""
    found, problem = rate(question, answer)
    assert found == grade
    assert bool(problem) == (grade in "123")


def test_a_long_answer_is_not_blamed_for_its_length_where_one_is_wanted() -> None:
    """Long form."""
    assert rate(QUESTION, "1267 " + "and more " * 60, long=True) == ("5", "")


def test_the_next_sentence_by_rules_is_one_that_is_not_written_yet() -> None:
    """Best first; nothing when the rest of the passage has nothing to do with the question."""
    passage = Passage(id="p", text="Giotto was born in 1267. Giotto was born near Florence. Bananas are yellow.")
    first = next_sentence(QUESTION, "", passage, None)
    second = next_sentence(QUESTION, first.answer, passage, None)
    assert {first.answer, second.answer} == {"Giotto was born in 1267.", "Giotto was born near Florence."}
    assert next_sentence(QUESTION, f"{first.answer} {second.answer}", passage, None).answer == ""
