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


LONG = "How long is the Orlen Bridge?"
METRES = (passage("a", "The Orlen Bridge is 640 metres long."),)
REFUTED = [
    ("Did sales of Vey rise?", "Sales of Vey increased in 2020.", "Sales of Vey decreased in 2020."),
    ("When was Selma Ek born?", "Selma Ek was born in 1931.", "Selma Ek died in 1931."),
    ("When was it built?", "The Orlen Bridge was built before the war.", "The Orlen Bridge was built after the war."),
    ("Which is the largest lake of Vey?", "Lake Tornby", "The smallest lake of Vey is Lake Tornby."),
    ("When was Selma Ek born?", "1931", "Selma Ek died in 1931."),
    (LONG, "640 km", "The Orlen Bridge is 640 metres long."),
    (LONG, "The Orlen Bridge is 640 km long.", "The Orlen Bridge is 640 metres long."),
    (DONE, "May 1931", "The Orlen Bridge was completed in June 1931."),
    (DONE, "The Orlen Bridge was completed in May 1931.", "The Orlen Bridge was completed in June 1931."),
    ("How many stops does the tram have?", "42", "The tram has 142 stops."),
    ("What is the capital of Vey?", "The capital of Vey is Tornby.", "The capital of Vey is Halden."),
    ("青石市人口如何变化？", "青石市人口在2020年增加。", "青石市人口在2020年减少。"),
    ("王立何时出生？", "王立出生于1931年。", "王立去世于1931年。"),
    ("维国最大的湖是什么？", "托恩湖", "维国最小的湖是托恩湖。"),
    ("奥伦桥有多长？", "640公里", "奥伦桥全长640米。"),
    (DONE_ZH, "1931年5月", "奥伦桥于1931年6月建成。"),
    ("维国首都是哪里？", "维国的首都是新城。", "维国的首都是旧港。"),
]


@pytest.mark.parametrize(("question", "claim", "text"), REFUTED, ids=[f"{c}|{t}" for _, c, t in REFUTED])
def test_opposites_and_other_values_are_no_support(question, claim, text):
    """Antonyms, other numbers, months, units and names in the same words never support, not even in part."""
    assert check_support(question, claim, (passage("a", text),)).support in ("contradicted", "not_supported")


@pytest.mark.parametrize(
    ("question", "claim", "text"),
    [
        ("Who designed the Orlen Bridge?", "Otto Brandt", "Otto Brandt visited the Orlen Bridge in 1950."),
        ("Who designed the Orlen Bridge?", "Otto Brandt", "The Orlen Bridge was designed by Otto Brandtson."),
        ("Who designed the Orlen Bridge?", "Otto Brandt", "Otto Brandt was a painter."),
        ("奥伦桥是谁设计的？", "王立", "王立曾在1950年参观奥伦桥。"),
    ],
)
def test_a_mere_mention_is_no_support(question, claim, text):
    """The sentence must also speak of what is asked, and hold the answer as whole words."""
    assert check_support(question, claim, (passage("a", text),)).support != "supported"


@pytest.mark.parametrize(
    ("question", "claim", "passages"),
    [
        (LONG, "0.64 km", METRES),
        (DONE_ZH, "昭和六年", BRIDGE_ZH),
        ("Where was Ek born?", "Tornby, Veyland", (passage("a", "Ek was born in Tornby, Veyland."),)),
    ],
)
def test_the_same_value_in_other_words_is_supported(question, claim, passages):
    """Units are converted, eras are years, and a comma inside a name does not make a list."""
    assert check_support(question, claim, passages).support == "supported"


@pytest.mark.parametrize(
    ("question", "claim", "text", "support"),
    [
        (
            "Which towns does the line serve?",
            "Tornby, Halden and Vey",
            "The line serves the towns Tornby, Vey and Lund.",
            "partially",
        ),
        (
            "Which towns does the line serve?",
            "Tornby and Vey",
            "The line serves the towns Tornby, Vey and Lund.",
            "supported",
        ),
        ("奥伦线经过哪些镇？", "托恩镇、维镇和哈尔登", "奥伦线经过托恩镇、维镇和梅里镇。", "partially"),
    ],
)
def test_members_joined_by_words_are_a_list(question, claim, text, support):
    """Commas, "and", 、 and 和 separate members; one that is missing makes the whole partial."""
    assert check_support(question, claim, (passage("a", text),)).support == support
