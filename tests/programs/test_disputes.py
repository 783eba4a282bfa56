"""Sources that disagree: both sides are reported, and an answer that follows the older one is marked."""

from datetime import date
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from reflective_rag.programs import ReflectiveRAG
from reflective_rag.programs.disputes import follows_older, other_value, side_of
from reflective_rag.signatures.types import Assessment, Contradiction, Passage
from tests.fakes import asks_for, chat_reply, fake_lm

A = "Meridale had a population of 81,200."
B = "Meridale had a population of 93,400."
A_ZH, B_ZH = "青石镇的人口为81200人。", "青石镇的人口为93400人。"
ASKED, ASKED_ZH = "What was the population of Meridale?", "青石镇的人口是多少？"


def conflict(a: str = A, b: str = B, newer: str | None = None) -> Contradiction:
    """Two spans that disagree."""
    return Contradiction(passage_a="old", span_a=a, passage_b="new", span_b=b, about="population", newer=newer)


@pytest.mark.parametrize(
    ("answer", "a", "b", "side"),
    [
        pytest.param("81,200", A, B, "old", id="first"),
        pytest.param("The population was 93,400.", A, B, "new", id="second, in a sentence"),
        pytest.param("It rose from 81,200 to 93,400.", A, B, None, id="both"),
        pytest.param("75,000", A, B, None, id="neither"),
        pytest.param("", A, B, None, id="no answer"),
        pytest.param("81200人", A_ZH, B_ZH, "old", id="zh first"),
        pytest.param("青石镇有93400人。", A_ZH, B_ZH, "new", id="zh second"),
        pytest.param("林德华", "由林德华创办。", "由林德明创办。", "old", id="zh names with a common start"),
    ],
)
def test_which_side_an_answer_takes(answer: str, a: str, b: str, side: str | None) -> None:
    """What both sides say, or neither, tells nothing; only their difference does."""
    assert side_of(answer, conflict(a, b)) == side


@pytest.mark.parametrize(
    ("question", "answer", "sides", "other"),
    [
        pytest.param(ASKED, "81,200", (A, B), "93,400", id="en"),
        pytest.param(ASKED, "93,400", (A, B), "81,200", id="en, other way round"),
        pytest.param(ASKED_ZH, "81200人", (A_ZH, B_ZH), "93400人", id="zh"),
        pytest.param(ASKED, "75,000", (A, B), "", id="takes no side"),
    ],
)
def test_the_value_that_the_answer_leaves_out(question: str, answer: str, sides: tuple[str, str], other: str) -> None:
    """It is read from the other side's span, verbatim."""
    assert other_value(question, answer, conflict(*sides)) == other


@pytest.mark.parametrize(
    ("answer", "newer", "scope", "marked"),
    [
        pytest.param("81,200", "new", "now", True, id="older value"),
        pytest.param("81,200", "new", "timeless", True, id="older value, no time asked"),
        pytest.param("93,400", "new", "now", False, id="newer value"),
        pytest.param("81,200", None, "now", False, id="nobody knows which is newer"),
        pytest.param("81,200", "new", "as_of", False, id="asked about a time of its own"),
    ],
)
def test_an_answer_that_follows_the_older_source(answer: str, newer: str | None, scope: Any, marked: bool) -> None:
    """Only a settled contradiction has an older side, and only a question about now minds."""
    assessment = Assessment(contradictions=(conflict(newer=newer),), time_scope=scope)
    assert (follows_older(answer, assessment) is not None) == marked


def run(question: str, answer: str, texts: tuple[str, str], dates: tuple[date | None, date | None]) -> dspy.Prediction:
    """One question over two passages that a model finds to contradict each other."""
    corpus = [
        Passage(id=i, text=text, published=day) for i, text, day in zip(("old", "new"), texts, dates, strict=True)
    ]

    def reply(request: Request) -> str:
        if not asks_for(request, "sufficient"):
            return chat_reply(answer=answer, cited=[1])
        pair = {"passage_a": 1, "quote_a": texts[0], "passage_b": 2, "quote_b": texts[1], "about": "population"}
        return chat_reply(
            needs=[{"need": "population", "passages": [1]}],
            relevant=[1, 2],
            contradictions=[pair],
            outdated=[],
            gaps=[],
            sufficient="yes",
        )

    with dspy.context(lm=fake_lm(reply), adapter=dspy.ChatAdapter()):
        return ReflectiveRAG(lambda query, k: corpus[:k], today=date(2026, 11, 30), max_rounds=1)(question=question)


def messages(result: dspy.Prediction) -> dict[str, str]:
    """Code → text of the warnings."""
    return {w.code: w.message for w in result.warnings}


@pytest.mark.parametrize(
    ("question", "answer", "texts", "words"),
    [
        pytest.param(ASKED, "81,200", (A, B), ("source old says", "source new says", "93,400”"), id="en"),
        pytest.param(ASKED_ZH, "81200人", (A_ZH, B_ZH), ("来源old称", "来源new称", "“93400人”"), id="zh"),
    ],
)
def test_an_unsettled_conflict_is_reported_with_both_sides(
    question: str, answer: str, texts: tuple[str, str], words: tuple[str, ...]
) -> None:
    """The result carries the pair; the warning names sources, both spans, the topic, and the value left out."""
    result = run(question, answer, texts, (None, None))
    warned = messages(result)["conflicting_evidence"]
    assert [(c.passage_a, c.passage_b) for c in result.conflicts] == [("old", "new")]
    assert all(part in warned for part in (*texts, *words, "population"))
    assert result.answer == answer
    assert "outdated_info" not in messages(result)


@pytest.mark.parametrize(
    ("question", "answers", "texts", "word"),
    [
        pytest.param(ASKED, ("81,200", "93,400"), (A, B), "older source", id="en"),
        pytest.param(ASKED_ZH, ("81200人", "93400人"), (A_ZH, B_ZH), "较早的来源", id="zh"),
    ],
)
def test_a_newer_date_settles_a_conflict_unless_the_answer_is_the_older(
    question: str, answers: tuple[str, str], texts: tuple[str, str], word: str
) -> None:
    """Settled conflicts are no conflicts; an answer that stands only in the older source is marked, with both spans."""
    days = (date(2019, 1, 1), date(2024, 1, 1))
    older, newer = (run(question, answer, texts, days) for answer in answers)
    assert older.conflicts == newer.conflicts == ()
    assert "conflicting_evidence" not in messages(older)
    assert all(part in messages(older)["outdated_info"] for part in (*texts, word))
    assert word not in messages(newer).get("outdated_info", "")


@pytest.mark.parametrize(
    ("question", "texts"), [pytest.param(ASKED, (A, B), id="en"), pytest.param(ASKED_ZH, (A_ZH, B_ZH), id="zh")]
)
def test_without_a_model_the_answer_is_one_value_and_the_warning_names_the_other(
    question: str, texts: tuple[str, str]
) -> None:
    """Rules extract one of two values that contradict each other, and do not hide that there is a second."""
    corpus = [Passage(id=i, text=text) for i, text in zip(("old", "new"), texts, strict=True)]
    result = ReflectiveRAG(lambda query, k: corpus[:k], today=date(2026, 11, 30))(question=question)
    warned = messages(result)["conflicting_evidence"]
    numbers = [text.split("of ")[-1].split("为")[-1].rstrip(".人。") for text in texts]
    assert sum(number in result.answer for number in numbers) == 1
    assert all(number in warned for number in numbers)
    assert len(result.conflicts) == 1
