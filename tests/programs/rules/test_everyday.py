"""Simple questions over a user's own documents, asked of the default program without a model; and one row a kind."""

from collections import Counter
from pathlib import Path

import pytest

from reflective_rag.programs import ReflectiveRAG
from reflective_rag.programs.rules import answer
from reflective_rag.signatures.text import tokenize
from reflective_rag.signatures.types import Passage
from tests.programs.rules.worlds import passage

FOLDER = Path(__file__).parent / "everyday"
LEAST, MOST_WRONG = {"a": 0.95, "b": 0.88, "c": 0.92}, {"a": 0.03, "b": 0.1, "c": 0.05}
"""Floors just under what is reached, a set: the share of right answers, and the share of wrong ones."""


def _load(name: str) -> tuple[list[Passage], list[tuple[str, str]]]:
    """The documents and the questions of a file; see the README beside it."""
    documents: list[Passage] = []
    rows, title = [], ""
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            title = line[2:]
        elif line.startswith("? "):
            question, wanted = line[2:].split(" => ")
            rows.append((question, wanted))
        elif line:
            documents.append(passage(str(len(documents)), line, title))
    return documents, rows


def _search(documents: list[Passage]):
    """A search by shared words, the first three."""
    words = [set(tokenize(f"{each.title} {each.text}")) for each in documents]

    def search(query: str, k: int) -> list[Passage]:
        asked = set(tokenize(query))
        return [documents[i] for i in sorted(range(len(words)), key=lambda i: -len(asked & words[i]))[:k]]

    return search


def _verdict(given: str, abstained: bool, wanted: str) -> str:
    if abstained or wanted == "-":
        return "right" if abstained == (wanted == "-") else "abstained" if abstained else "wrong"
    for form in wanted.lstrip("~").split("|"):
        room = 2 * len(form) + (15 if given.isascii() else 6)
        if form.lower() in given.lower() and (wanted.startswith("~") or len(given) <= room):
            return "right"
    return "wrong"


@pytest.mark.parametrize("name", ["a_en", "a_zh", "b_en", "b_zh", "c_en", "c_zh"])
def test_everyday_questions_are_answered_without_a_model(name):
    """Nearly all are right, and hardly any answer is wrong: abstaining is better."""
    documents, rows = _load(name)
    program = ReflectiveRAG(search=_search(documents), k=3)
    found: Counter[str] = Counter()
    missed = []
    for question, wanted in rows:
        result = program(question=question)
        none = not result.answer or any(warning.code == "no_answer" for warning in result.warnings)
        verdict = _verdict(result.answer or "", none, wanted)
        found[verdict] += 1
        missed += [(verdict, question, result.answer)] if verdict != "right" else []
    assert found["right"] >= LEAST[name[0]] * len(rows), missed
    assert found["wrong"] <= MOST_WRONG[name[0]] * len(rows), missed


OPENING = "The kiosk opens at 8:15 a.m. and closes at 6 p.m. It is on the ground floor of building C."
OPENING_ZH = "小卖部上午八点一刻开门，18:00关门，位于C楼一层。"
HOURS = "The kiosk is open from 8 a.m. to 6:30 p.m."
VALVE = (
    "The valve V-77 is made of brass. Its maximum pressure is 16 bar. "
    "It is checked every 500 hours by the site engineer."
)
VALVE_ZH = "阀门V-77的最高温度为八十摄氏度，由现场工程师每月检查一次，检查记录存放在二楼档案室。"
FARES = "A single trip costs 3 euros for adults and 1.50 euros for children."
FARES_ZH = "直辖市住宿标准为六百元，其他城市的住宿标准为四百元。"
MEMBERS_ZH = "会员票二十元，非会员票三十五元。"
LIFE = "Nora Vey studied geology at the University of Halden. In 1994 she founded the Vey Institute."
LIFE_ZH = "周子航于2009年创办了北辰实验室，他毕业于青石大学。"
CONTACT = (
    "Our e-mail address is help@vey.example. The phone number of the desk is 0800 555 0199. "
    "The current version is 2.4.1 and the log is saved as run.log."
)
CONTACT_ZH = "客服电话是400-820-5566，邮箱为help@vey.example，当前版本为V2.4.1。"
FORM = "You need a passport, two photos and the form. To apply, hand in the form at the counter."
FORM_ZH = "办理需要提供护照、照片和申请表。申请时请先填写表格。"

KINDS = [
    ("time of day", "When does the kiosk open?", OPENING, "8:15 a.m."),
    ("time of day, what time", "What time does the kiosk close?", OPENING, "6 p.m."),
    ("end of hours", "When does the kiosk close?", HOURS, "6:30 p.m."),
    ("hours", "What are the opening hours of the kiosk?", HOURS, "8 a.m. to 6:30 p.m."),
    ("time of day-zh", "小卖部几点开门？", OPENING_ZH, "上午八点一刻"),
    ("time of day, digits-zh", "小卖部几点关门？", OPENING_ZH, "18:00"),
    ("place", "Where is the kiosk?", OPENING, "the ground floor of building C"),
    ("place-zh", "小卖部在哪里？", OPENING_ZH, "C楼一层"),
    ("place, long-zh", "检查记录存放在哪里？", VALVE_ZH, "二楼档案室"),
    ("attribute", "What is the maximum pressure of the valve V-77?", VALVE, "16 bar"),
    ("attribute-zh", "阀门V-77的最高温度是多少摄氏度？", VALVE_ZH, "八十摄氏度"),
    ("how often", "How often is the valve checked?", VALVE, "every 500 hours"),
    ("how often-zh", "阀门V-77多久检查一次？", VALVE_ZH, "每月检查一次"),
    ("role", "Who checks the valve?", VALVE, "site engineer"),
    ("role-zh", "阀门V-77由谁检查？", VALVE_ZH, "现场工程师"),
    ("own clause", "How much does a single trip cost for children?", FARES, "1.50 euros"),
    ("own clause, first", "How much does a single trip cost for adults?", FARES, "3 euros"),
    ("own clause-zh", "其他城市的住宿标准是多少？", FARES_ZH, "四百元"),
    ("own clause, first-zh", "直辖市的住宿标准是多少？", FARES_ZH, "六百元"),
    ("own clause, prefix-zh", "非会员票多少钱？", MEMBERS_ZH, "三十五元"),
    ("object", "What did Nora Vey study?", LIFE, "geology"),
    ("pronoun", "Who founded the Vey Institute?", LIFE, "Nora Vey"),
    ("subject before 于-zh", "谁创办了北辰实验室？", LIFE_ZH, "周子航"),
    ("whole name-zh", "周子航创办了什么？", LIFE_ZH, "北辰实验室"),
    ("e-mail", "What is the e-mail address?", CONTACT, "help@vey.example"),
    ("phone", "What is the phone number of the desk?", CONTACT, "0800 555 0199"),
    ("version", "What is the current version?", CONTACT, "2.4.1"),
    ("file", "What is the file name of the log?", CONTACT, "run.log"),
    ("e-mail-zh", "客服邮箱是什么？", CONTACT_ZH, "help@vey.example"),
    ("phone-zh", "客服电话是多少？", CONTACT_ZH, "400-820-5566"),
    ("version-zh", "当前版本是什么？", CONTACT_ZH, "V2.4.1"),
    ("list", "What do I need?", FORM, "passport, two photos and the form"),
    ("list-zh", "办理需要提供什么？", FORM_ZH, "护照、照片和申请表"),
    ("how to", "How do I apply?", FORM, "To apply, hand in the form at the counter"),
    ("how to-zh", "如何申请？", FORM_ZH, "申请时请先填写表格"),
]


@pytest.mark.parametrize(("question", "text", "expected"), [row[1:] for row in KINDS], ids=[row[0] for row in KINDS])
def test_each_everyday_kind_has_its_own_form(question, text, expected):
    """The answer is the whole piece of the form asked for: a time, a place, an amount with its unit, a code, a step."""
    title = {LIFE: "Nora Vey", LIFE_ZH: "周子航"}.get(text, "")
    assert answer(question, [passage("a", text, title)]).answer == expected


UNTOLD = [
    ("a number for a time of day", "What time does the kiosk open?", "The kiosk opens in 2019 with 30 seats."),
    ("the identifier for a value", "What is the weight of the valve V-77?", "The valve V-77 is made of brass."),
    ("a number for a password", "What is the default password?", "The default port is 8443."),
    ("an amount for a frequency", "How often is the valve checked?", "The valve was checked for 3 hours."),
    ("a digit group for a phone number", "What is the phone number of the desk?", "The desk answered 42 calls."),
    ("unknown name in yes or no", "Does the router have an HDMI port?", "The router has four Ethernet ports."),
    ("a number for a time of day-zh", "小卖部几点开门？", "小卖部2019年开门，有三十个座位。"),
    ("a number for a password-zh", "默认密码是什么？", "默认端口为8443。"),
    ("an amount for a frequency-zh", "阀门多久检查一次？", "阀门检查费用为三十元。"),
]


@pytest.mark.parametrize(("question", "text"), [row[1:] for row in UNTOLD], ids=[row[0] for row in UNTOLD])
def test_another_form_is_no_answer(question, text):
    """Where the form asked for does not stand there is no answer, rather than another number or word."""
    assert answer(question, [passage("a", text)]).answer == ""
