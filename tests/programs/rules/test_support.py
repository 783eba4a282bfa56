"""Support of claims: content must overlap, numbers and negation must agree."""

from datetime import date

import pytest

from reflective_rag.programs.rules import check_support
from tests.programs.rules.worlds import CENSUS, DISTRACTORS, LIBRARY_EN, LIBRARY_ZH, passage

DONE = "When was the Orlen Bridge completed?"
DONE_ZH = "奥伦桥何时建成？"
BRIDGE = (passage("b", "The Orlen Bridge was completed in 1931. It spans the Vey.", "Orlen Bridge"),)
BRIDGE_ZH = (passage("b", "奥伦桥于1931年建成，横跨维河。", "奥伦桥"),)

CLAIMS = [
    (DONE, "1931", BRIDGE, "supported"),
    (DONE, "in 1931", BRIDGE, "supported"),
    (DONE, "1950", BRIDGE, "contradicted"),
    (DONE, "The Orlen Bridge was completed in 1931.", BRIDGE, "supported"),
    (DONE, "The Orlen Bridge was completed in 1950.", BRIDGE, "contradicted"),
    (DONE, "The Orlen Bridge was not completed in 1931.", BRIDGE, "contradicted"),
    (DONE, "The Orlen Bridge was painted green by monks.", BRIDGE, "not_supported"),
    (DONE, "The Orlen Bridge was completed in 1931 by Otto Brandt.", BRIDGE, "partially"),
    (DONE, "Otters sleep on their backs.", BRIDGE, "not_supported"),
    ("Who designed the Meridale tram network?", "Otto Brandt", LIBRARY_EN, "supported"),
    ("Who designed the Meridale tram network?", "Mara Quill", LIBRARY_EN, "not_supported"),
    ("Who bakes bread?", "Otto Brandt", LIBRARY_EN, "not_supported"),
    ("How many stops does the Meridale tram have?", "43", LIBRARY_EN, "contradicted"),
    (DONE, "", BRIDGE, "not_supported"),
    (DONE, "1931", (), "not_supported"),
    (DONE_ZH, "1931年", BRIDGE_ZH, "supported"),
    (DONE_ZH, "1950年", BRIDGE_ZH, "contradicted"),
    (DONE_ZH, "奥伦桥于1931年建成。", BRIDGE_ZH, "supported"),
    (DONE_ZH, "奥伦桥于1950年建成。", BRIDGE_ZH, "contradicted"),
    (DONE_ZH, "奥伦桥没有在1931年建成。", BRIDGE_ZH, "contradicted"),
    (DONE_ZH, "僧侣把它漆成绿色。", BRIDGE_ZH, "not_supported"),
    ("青石图书馆是谁创办的？", "林德华", LIBRARY_ZH, "supported"),
    ("青石图书馆是谁创办的？", "张明", LIBRARY_ZH, "not_supported"),
    ("青石电车有多少个车站？", "43个", LIBRARY_ZH, "contradicted"),
]


@pytest.mark.parametrize(("question", "claim", "passages", "support"), CLAIMS, ids=[f"{r[1]}|{r[3]}" for r in CLAIMS])
def test_verdict(question, claim, passages, support):
    """A verdict names the passages it rests on and a problem in words, the latter only when there is one."""
    found = check_support(question, claim, passages)
    assert found.support == support
    assert found.claim == claim
    assert (found.problem == "") == (support == "supported")
    assert bool(found.passage_ids) == (support != "not_supported")


@pytest.mark.parametrize(
    ("question", "claim", "passages", "support"),
    [
        ("Is the Orlen Bridge open to cars?", "yes", (passage("a", "The Orlen Bridge is open to cars."),), "supported"),
        (
            "Is the Orlen Bridge open to cars?",
            "No.",
            (passage("a", "The Orlen Bridge is open to cars."),),
            "contradicted",
        ),
        (
            "Is the Orlen Bridge open to cars?",
            "no",
            (passage("a", "The Orlen Bridge is not open to cars."),),
            "supported",
        ),
        ("Is the Orlen Bridge open to cars?", "yes", (passage("a", "The Orlen Bridge is red."),), "partially"),
        ("奥伦桥允许汽车通行吗？", "是", (passage("a", "奥伦桥允许汽车通行。"),), "supported"),
        ("奥伦桥允许汽车通行吗？", "是", (passage("a", "奥伦桥不再允许汽车通行。"),), "contradicted"),
    ],
)
def test_yes_and_no_are_partial_unless_decided(question, claim, passages, support):
    """A yes or no is decided only when one sentence covers the question; otherwise it stays partial."""
    assert check_support(question, claim, passages).support == support


def test_the_problem_speaks_the_language_of_the_question():
    """The words for the answer writer are in the question's language and name the other value."""
    assert "1931" in check_support(DONE, "1950", BRIDGE).problem
    assert "有段落" in check_support(DONE_ZH, "1950年", BRIDGE_ZH).problem


def test_every_supporting_passage_is_named():
    """Two passages that both say it are both named; distractors are not."""
    twice = (*BRIDGE, passage("c", "Completed in 1931, the Orlen Bridge is red."), *DISTRACTORS)
    assert check_support(DONE, "1931", twice).passage_ids == ("b", "c")
    assert check_support(DONE, "The Orlen Bridge was completed in 1931.", twice).passage_ids == ("b", "c")


def test_a_list_needs_every_member():
    """Of a list of short answers all must be found for full support."""
    question = "Which towns does the Orlen line serve?"
    towns = (passage("a", "The Orlen line serves the towns Tornby, Vey and Meridale."),)
    assert check_support(question, "Tornby; Vey", towns).support == "supported"
    assert check_support(question, "Tornby; Halden", towns).support == "partially"
    assert check_support(question, "Halden; Lund", towns).support == "not_supported"


def test_an_answer_from_an_outdated_passage_is_partial():
    """What only an outdated passage says is not fully supported for a question about now."""
    passages = (
        passage("old", "The population of Meridale was 81,200.", published=date(2019, 1, 1)),
        passage("new", "The population of Meridale is 93,400.", published=date(2024, 1, 1)),
    )
    question = "What is the current population of Meridale?"
    assert check_support(question, "93,400", passages).support == "supported"
    assert check_support(question, "81,200", passages).support == "partially"
    assert check_support("What was the population of Meridale as of 2019?", "81,200", CENSUS).support == "supported"
