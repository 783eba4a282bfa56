"""What a comparative measures, when something is open, and what an obligation forbids: answers by rules."""

import pytest

from reflective_rag.programs import rules
from reflective_rag.signatures.types import Passage

METALS = ["The Corvo 7 weighs 310 grams.", "The Corvo 5 weighs 385 grams."]
LAKES = ["Lake Miro is 40 km long and 85 m deep.", "Lake Tann is 52 km long and 60 m deep."]
HU = ["白鹭湖面积为38平方公里，最深处21米。", "月牙湖面积为52平方公里，最深处14米。"]
PRICES = ["The X200 costs 450 euros and weighs 2 kg.", "The X300 costs 390 euros and weighs 3 kg."]
FILTERS = ["青鸟2号净水器重7.5公斤，售价1299元。", "青鸟3号净水器重6.2公斤，售价1599元。"]
LIVES = ["Ottilie Brandt, born in 1948, studied physics.", "Petra Sund has been mayor of Halm since 2021."]
SUMMER = ["The old lighthouse of Halm is open from April to October, from 10 a.m. to 5 p.m."]
DATED = ["The hut is open from 15 May to 30 September."]
WINTER = ["The hut is closed from November to March."]
ZH_SUMMER = ["哈姆灯塔4月至10月开放，每天10点到17点。"]
LEASH = ["Dogs must be kept on a leash on Sila Island."]


def told(passages: list[str], question: str) -> str:
    """The answer, empty for none."""
    return rules.answer(question, [Passage(id=str(i), text=text) for i, text in enumerate(passages)]).answer


@pytest.mark.parametrize(
    ("passages", "question", "answer"),
    [
        (METALS, "Which is lighter, the Corvo 5 or the Corvo 7?", "the Corvo 7"),
        (METALS, "Which is heavier, the Corvo 5 or the Corvo 7?", "the Corvo 5"),
        (LAKES, "Which lake is deeper, Lake Miro or Lake Tann?", "Lake Miro"),
        (LAKES, "Which lake is shallower, Lake Miro or Lake Tann?", "Lake Tann"),
        (LAKES, "Which lake is longer, Lake Miro or Lake Tann?", "Lake Tann"),
        (HU, "白鹭湖和月牙湖哪个更深？", "白鹭湖"),
        (HU, "白鹭湖和月牙湖哪个面积更大？", "月牙湖"),
        (PRICES, "Which is cheaper, the X200 or the X300?", "the X300"),
        (PRICES, "Which is more expensive, the X200 or the X300?", "the X200"),
        (PRICES, "Which is heavier, the X200 or the X300?", "the X300"),
        (FILTERS, "青鸟2号和青鸟3号哪个更轻？", "青鸟3号"),
        (FILTERS, "青鸟2号和青鸟3号哪个更贵？", "青鸟3号"),
        (FILTERS, "青鸟2号和青鸟3号哪个更便宜？", "青鸟2号"),
    ],
)
def test_a_comparative_compares_what_it_measures(passages: list[str], question: str, answer: str) -> None:
    """Not the first number of both pages: a number in a name, a length beside a depth, a weight beside a price."""
    assert told(passages, question) == answer


@pytest.mark.parametrize(
    ("passages", "question"),
    [
        (LIVES, "Who is older, Ottilie Brandt or Petra Sund?"),
        (["Lake Miro is 85 m deep.", "Lake Tann lies in the north."], "Which lake is deeper, Lake Miro or Lake Tann?"),
        (["白鹭湖最深处21米。", "月牙湖面积为52平方公里。"], "白鹭湖和月牙湖哪个更深？"),
        (["The A1 costs 5 euros.", "The B2 costs 5 euros."], "Which is cheaper, the A1 or the B2?"),
    ],
)
def test_without_both_values_nothing_is_compared(passages: list[str], question: str) -> None:
    """A year in office is no age, an area no depth, and equal prices have no cheaper one."""
    assert told(passages, question) == ""


@pytest.mark.parametrize(
    ("passages", "question", "answer"),
    [
        (SUMMER, "Is the Halm lighthouse open in December?", "no"),
        (SUMMER, "Is the Halm lighthouse open in May?", "yes"),
        (SUMMER, "Is the Halm lighthouse closed in December?", "yes"),
        (DATED, "Is the hut open in July?", "yes"),
        (DATED, "Is the hut open in November?", "no"),
        (WINTER, "Is the hut open in January?", "no"),
        (WINTER, "Is the hut open in June?", "yes"),
        (ZH_SUMMER, "哈姆灯塔12月开放吗？", "否"),
        (ZH_SUMMER, "哈姆灯塔5月开放吗？", "是"),
        (["山庄11月至次年3月关闭。"], "山庄1月开放吗？", "否"),
        (["公园全年开放。"], "公园2月开放吗？", "是"),
    ],
)
def test_months_of_opening_are_read(passages: list[str], question: str, answer: str) -> None:
    """A range of months holds those between, over the end of a year too; a month that it leaves out is closed."""
    assert told(passages, question) == answer


@pytest.mark.parametrize(
    ("passages", "question", "answer"),
    [
        (LEASH, "Are dogs allowed off the leash on Sila Island?", "no"),
        (["Bicycles must be left outside the garden."], "May I take my bicycle into the garden?", "no"),
        (["Phones must be switched off in the reading room."], "Can I keep my phone on in the reading room?", "no"),
        (["The door must be kept closed."], "Can I leave the door open?", "no"),
        (["Visitors must enter with a guide."], "Can visitors enter without a guide?", "no"),
    ],
)
def test_an_obligation_forbids_its_opposite(passages: list[str], question: str, answer: str) -> None:
    """Kept on is not off, outside not inside."""
    assert told(passages, question) == answer
