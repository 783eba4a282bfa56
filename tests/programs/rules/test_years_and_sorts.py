"""A value of another year, of another sort, or of whom somebody followed is no answer."""

from typing import Any

import pytest

from reflective_rag.programs import ReflectiveRAG, rules
from reflective_rag.signatures.types import Passage

RACE = ["The Halm Marathon 2024 was won by Lina Okafor in 2:31:08. In 2025 the winner was Marit Dahl in 2:29:45."]
ZH_RACE = ["2024年哈姆马拉松冠军是李青。2025年冠军是王芳。"]
LEAVE = ["Employees of Vesper get 15 days of annual leave."]
BOTH = ["Employees of Vesper get 15 days of annual leave and 98 days of maternity leave."]
ZH_LEAVE = ["云岭科技公司员工每年享有15天年假。"]
TICKETS = ["Adults pay 12 euros. Children pay 5 euros."]


def told(passages: list[str], question: str) -> str:
    """The answer, empty for none."""
    return rules.answer(question, [Passage(id=str(i), text=text) for i, text in enumerate(passages)]).answer


@pytest.mark.parametrize(
    ("passages", "question", "answer"),
    [
        (RACE, "Who won the Halm Marathon in 2025?", "Marit Dahl"),
        (RACE, "Who won the Halm Marathon in 2024?", "Lina Okafor"),
        (ZH_RACE, "2025年哈姆马拉松的冠军是谁？", "王芳"),
        (ZH_RACE, "2024年哈姆马拉松的冠军是谁？", "李青"),
        (["Ada Lind was mayor of Halm from 2010 to 2020."], "Who was mayor of Halm in 2015?", "Ada Lind"),
        (["Ada Lind has been mayor of Halm since 2010."], "Who was mayor of Halm in 2015?", "Ada Lind"),
    ],
)
def test_the_asked_year_decides_between_sentences(passages: list[str], question: str, answer: str) -> None:
    """A sentence of another year stands behind; a stretch of years holds those between."""
    assert told(passages, question) == answer


@pytest.mark.parametrize(
    ("passages", "question", "answer"),
    [
        (LEAVE, "How many days of maternity leave do employees of Vesper get?", ""),
        (LEAVE, "How many days of annual leave do employees of Vesper get?", "15"),
        (BOTH, "How many days of maternity leave do employees of Vesper get?", "98"),
        (ZH_LEAVE, "云岭科技公司的产假有多少天？", ""),
        (ZH_LEAVE, "云岭科技公司的年假有多少天？", "15天"),
        (["员工享有158天产假，男员工享有15天陪产假。"], "产假有多少天？", "158天"),
        (TICKETS, "How much do children pay?", "5 euros"),
        (TICKETS, "How much do students pay?", ""),
    ],
)
def test_another_sort_is_no_answer(passages: list[str], question: str, answer: str) -> None:
    """Annual leave is no maternity leave, and what students pay is not what adults do."""
    assert told(passages, question) == answer


@pytest.mark.parametrize(
    ("passages", "question", "answer"),
    [
        (
            ["In 2023 Greta Amund was elected mayor of Teln, succeeding Piet Lorn."],
            "Who is the mayor of Teln?",
            "Greta Amund",
        ),
        (
            ["Greta Amund took over from Piet Lorn as director of the zoo."],
            "Who is the director of the zoo?",
            "Greta Amund",
        ),
        (["2022年，陈立当选云溪县县长，接替周明。"], "云溪县县长是谁？", "陈立"),
    ],
)
@pytest.mark.parametrize("older", [False, True])
def test_whom_somebody_followed_is_not_the_holder(passages: list[str], question: str, answer: str, older: bool) -> None:
    """Also beside an older page that gives the predecessor."""
    before: dict[str, Any] = {
        "id": "old",
        "published": "2012-03-01",
        "text": "云溪县县长是周明。" if "县" in question else f"{question[11:-1].capitalize()} is Piet Lorn.",
    }
    found = [*passages, *([before] if older else [])]
    assert ReflectiveRAG(lambda query, k: found, mode="rules")(question=question).answer == answer
