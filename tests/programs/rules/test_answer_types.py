"""Answers are of the asked type: who, where, when, how many, how long, which university, why; or there is none."""

import pytest

from reflective_rag.programs.rules import answer
from tests.programs.rules.worlds import passage

LUND = (
    "Arvid Lund, a son of Otto Brandt, was born in Tornby in 1901, "
    "studied at the University of Halden with Selma Ek and died in 1980."
)
LIN = "林德华1901年生于东湖区，父亲是陈文远，毕业于青石大学，身高182厘米，2019年去世。"
WORKS = "Vey Works has 1,200 workers in 14 halls, made 12% more in 2019 and earned 30 million crowns."
WORKS_ZH = "维河公司有1200名员工、14座厂房，2019年增长12%，营收3亿元。"

RIGHT = [
    ("Where was Arvid Lund born?", LUND, "Tornby"),
    ("What university did Arvid Lund attend?", LUND, "University of Halden"),
    ("Where did Arvid Lund study?", LUND, "University of Halden"),
    ("When was Arvid Lund born?", LUND, "1901"),
    ("In which year did Arvid Lund die?", LUND, "1980"),
    ("When did Giotto die?", "He died in 1337.", "1337"),
    ("How many workers does Vey Works have?", WORKS, "1,200"),
    ("How many halls does Vey Works have?", WORKS, "14"),
    ("By what percentage did Vey Works grow in 2019?", WORKS, "12%"),
    ("How tall is the tower?", "The tower of 1931 has 12 floors and is 640 feet tall.", "640 feet"),
    ("Why was the Orlen Bridge closed?", "The Orlen Bridge was closed in 1931 because of a flood.", "a flood"),
    ("林德华生于哪里？", LIN, "东湖区"),
    ("林德华毕业于哪所大学？", LIN, "青石大学"),
    ("林德华是哪一年出生的？", LIN, "1901年"),
    ("林德华的父亲是谁？", LIN, "陈文远"),
    ("林德华身高多少厘米？", LIN, "182厘米"),
    ("维河公司有多少名员工？", WORKS_ZH, "1200名"),
    ("维河公司有多少座厂房？", WORKS_ZH, "14座"),
    ("维河公司的营收是多少？", WORKS_ZH, "3亿元"),
    ("奥伦桥为什么关闭？", "1931年奥伦桥因为洪水关闭。", "洪水"),
    ("东部最深的湖是哪个？", "苍云湖位于东湖区南部，最深处900米，是东部最深的湖泊。", "苍云湖"),
    ("东部最深的湖泊是哪一个？", "苍云湖位于东湖区南部，最深处900米，是东部最深的湖泊。", "苍云湖"),
    ("东部最大的湖叫什么？", "苍云湖是东部最大的湖泊。", "苍云湖"),
    ("东部最长的河流是哪条？", "白石河全长650公里，是东部最长的河流，流入苍云湖。", "白石河"),
    ("苍云湖又叫什么？", "苍云湖又叫镜湖。", "镜湖"),
]


@pytest.mark.parametrize(("question", "text", "expected"), RIGHT, ids=[row[0] for row in RIGHT])
def test_span_of_the_asked_type(question, text, expected):
    """Of several spans in a sentence the one of the asked type answers."""
    title = {"He died in 1337.": "Giotto", LUND: "Arvid Lund", LIN: "林德华"}.get(text, "")
    found = answer(question, [passage("a", text, title)]).answer
    assert expected in found
    assert len(found) <= len(expected) + 4


NOTHING = [
    ("Where was Arvid Lund born?", "Arvid Lund was born to Otto Brandt."),
    ("What university did Arvid Lund attend?", "Arvid Lund attended a party of Selma Ek."),
    ("When was Arvid Lund born?", "Arvid Lund was born in Tornby."),
    ("How many workers does Vey Works have?", "Vey Works gives its workers 12% more."),
    ("How tall is the tower?", "The tall tower has 12 floors."),
    ("Why did Giotto die?", "Giotto died in 1337."),
    ("林德华生于哪里？", "林德华是陈文远的儿子，生于1901年。"),
    ("林德华毕业于哪所大学？", "林德华与陈文远是同学，毕业后在青石市工作。"),
    ("奥伦桥是哪一年建成的？", "奥伦桥建成后由陈文远管理。"),
    ("谁设计了奥伦桥？", "奥伦桥的设计采用了悬索结构。"),
    ("奥伦桥全长多少米？", "奥伦桥全长的12%在修缮，耗时3年。"),
    ("维河公司有多少名员工？", "维河公司的员工工资上涨12%。"),
]


@pytest.mark.parametrize(("question", "text"), NOTHING, ids=[row[0] + row[1] for row in NOTHING])
def test_nothing_rather_than_another_type(question, text):
    """Where no span of the asked type stands there is no answer."""
    assert answer(question, [passage("a", text)]).answer == ""
