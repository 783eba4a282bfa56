"""Answers by extraction: a span of the right kind from the best sentence, or nothing."""

from datetime import date

import pytest

from reflective_rag.programs.rules import answer
from reflective_rag.signatures.types import Draft
from tests.programs.rules.worlds import (
    CENSUS,
    CENSUS_ZH,
    DIRECTOR,
    DISTRACTORS,
    FILM,
    LIBRARY_EN,
    LIBRARY_ZH,
    LIVES,
    PEAKS,
    passage,
)

TODAY = date(2026, 11, 30)

ANSWERS = [
    ("Who opened the Meridale Public Library?", LIBRARY_EN, "Helen Troost", "lib"),
    ("When was the Meridale Public Library opened?", LIBRARY_EN, "1936", "lib"),
    ("How many volumes does the Meridale Public Library hold?", LIBRARY_EN, "240,000", "lib"),
    ("Who designed the Meridale tram network?", LIBRARY_EN, "Otto Brandt", "tram"),
    ("How many stops does the Meridale tram have?", LIBRARY_EN, "42", "tram"),
    ("When did Arvid Lund die?", LIVES, "9 May 1980", "lund"),
    ("When was Selma Ek born?", LIVES, "12 June 1899", "ek"),
    ("In which year was Selma Ek born?", LIVES, "1899", "ek"),
    ("When was the director of The Silver Orchard born?", (FILM, DIRECTOR), "4 May 1911", "quill"),
    ("青石图书馆是什么时候创办的？", LIBRARY_ZH, "1936年", "lib"),
    ("青石图书馆是谁创办的？", LIBRARY_ZH, "林德华", "lib"),
    ("青石图书馆馆藏多少册图书？", LIBRARY_ZH, "24万册", "lib"),
    ("青石图书馆位于哪里？", LIBRARY_ZH, "青石市东湖区", "lib"),
    ("青石电车有多少个车站？", LIBRARY_ZH, "42个", "tram"),
    ("青石电车的设计者是谁？", LIBRARY_ZH, "王立", "tram"),
]


@pytest.mark.parametrize(("question", "passages", "expected", "cited"), ANSWERS, ids=[row[0] for row in ANSWERS])
def test_span_of_the_asked_kind(question, passages, expected, cited):
    """The answer is the span that fits the question word, cited from the passage it stands in, distractors or not."""
    for pool in (passages, DISTRACTORS + passages):
        draft = answer(question, pool, TODAY)
        assert draft.answer == expected
        assert draft.cited == (cited,)
        assert any(expected in p.text for p in pool if p.id == cited)


MIXED = [
    ("青石图书馆是谁创办的？", "青石图书馆由陈文远于1936年创办。", "陈文远"),
    ("谁设计了青石图书馆？", "青石图书馆由李建国设计。", "李建国"),
    ("OpenVey是谁创立的？", "OpenVey由Chuck Templeton于1998年创立，总部位于San Orlen。", "Chuck Templeton"),
    ("奥伦桥是谁设计的？", "奥伦桥（Orlen Bridge）由Otto Brandt设计。The bridge is 640 metres long.", "Otto Brandt"),
    ("谁设计了Orlen Bridge？", "The Orlen Bridge was designed by Otto Brandt in 1931.", "Otto Brandt"),
    ("奥伦桥何时通车？", "奥伦桥（Orlen Bridge）was opened on 2 May 1931. 奥伦桥由Otto Brandt设计。", "2 May 1931"),
]


@pytest.mark.parametrize(("question", "text", "expected"), MIXED, ids=[row[0] for row in MIXED])
def test_names_in_chinese_and_mixed_text(question, text, expected):
    """A name loses its particle (陈文远于), and a Chinese question finds an English span."""
    assert answer(question, (passage("a", text),)).answer == expected


CHOICES = [
    ("Who is older, Arvid Lund or Selma Ek?", LIVES, "Selma Ek"),
    ("Who was born later, Arvid Lund or Selma Ek?", LIVES, "Arvid Lund"),
    ("Who died first, Arvid Lund or Selma Ek?", LIVES, "Arvid Lund"),
    ("Who lived longer, Arvid Lund or Selma Ek?", LIVES, "Selma Ek"),
    ("Who was a poet, Arvid Lund or Selma Ek?", LIVES, "Selma Ek"),
    ("云顶山和雾灵峰哪个更高？", PEAKS, "云顶山"),
    ("云顶山与雾灵峰哪座更低？", PEAKS, "雾灵峰"),
]


@pytest.mark.parametrize(("question", "passages", "expected"), CHOICES, ids=[row[0] for row in CHOICES])
def test_choice_compares_the_two_pages(question, passages, expected):
    """A question "A or B" is decided by the dates or amounts of both, else by which page fits; both pages are cited."""
    draft = answer(question, passages)
    assert draft.answer == expected
    assert set(draft.cited) == {p.id for p in passages}


def test_choice_needs_both_pages():
    """With only one of the two at hand a comparison by value is not made up."""
    assert answer("Who lived longer, Arvid Lund or Nora Vey?", LIVES[:1]) == Draft(answer="")
    assert answer("Who lived longer, Arvid Lund or Nora Vey?", ()) == Draft(answer="")


BRIDGE = (passage("b", "The Orlen Bridge is open to cars. It is not open to trucks."),)
BRIDGE_ZH = (passage("b", "奥伦桥允许汽车通行。"),)
CLOSED_ZH = (passage("b", "奥伦桥不再允许汽车通行。"),)

YES_NO = [
    ("Is the Orlen Bridge open to cars?", BRIDGE, "yes"),
    ("Is the Orlen Bridge open to trucks?", BRIDGE, "no"),
    ("Do Arvid Lund and Selma Ek have the same nationality?", LIVES, "no"),
    ("Is Tornby a seaport?", BRIDGE, ""),
    ("奥伦桥允许汽车通行吗？", BRIDGE_ZH, "是"),
    ("奥伦桥允许汽车通行吗？", CLOSED_ZH, "否"),
]


@pytest.mark.parametrize(("question", "passages", "expected"), YES_NO, ids=[f"{row[0]}{row[2]}" for row in YES_NO])
def test_yes_no_in_the_language_of_the_question(question, passages, expected):
    """A yes/no question is answered by one covering sentence and its negation, and left open when none covers it."""
    assert answer(question, passages).answer == expected


@pytest.mark.parametrize(
    ("question", "passages", "expected"),
    [
        ("What is the current population of Meridale?", CENSUS, "93,400"),
        ("What was the population of Meridale as of 2019?", CENSUS, "81,200"),
        ("What was the population of Meridale in 2020?", CENSUS, "81,200"),
        ("青石市目前的常住人口是多少？", CENSUS_ZH, "934,000人"),
        ("截至2020年青石市的常住人口是多少？", CENSUS_ZH, "812,000人"),
    ],
)
def test_the_right_dated_passage_answers(question, passages, expected):
    """For "now" the newest statement answers, for "as of T" the last one not after T, whatever their order."""
    assert answer(question, passages, TODAY).answer == expected
    assert answer(question, passages[::-1], TODAY).answer == expected


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        ("What is the capital of Vostania?", LIBRARY_EN),
        ("维斯塔尼亚的首都在哪里？", LIBRARY_ZH),
        ("When was the Orlen Bridge opened?", (passage("a", "The Orlen Bridge is red."),)),
        ("When was the Orlen Bridge opened?", ()),
        ("", LIBRARY_EN),
        ("谁发明了量子牙刷？", (passage("a", "毕氏在庆历年间发明了活字印刷术。"),)),
        ("Who invented the quantum toothbrush?", (passage("a", "Mara Quill invented the printing press."),)),
    ],
    ids=["foreign", "foreign-zh", "no date there", "no passages", "no question", "key terms-zh", "key terms"],
)
def test_nothing_is_made_up(question, passages):
    """When no sentence is on topic, or none holds a span of the asked kind, the answer is empty and cites nothing."""
    assert answer(question, passages) == Draft(answer="", cited=())
