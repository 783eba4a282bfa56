"""Who did it to whom is read from the form of a sentence, in answers, support, contradictions and yes/no questions."""

import pytest

from reflective_rag.programs.rules import answer, assess, check_support
from tests.programs.rules.worlds import passage

VERBS = (
    "beat beaten beat",
    "defeated defeated defeat",
    "succeeded succeeded succeed",
    "taught taught teach",
    "killed killed kill",
    "employed employed employ",
    "sued sued sue",
    "replaced replaced replace",
)
VERBS_ZH = ("收购", "击败", "取代", "雇用", "杀害", "起诉")


@pytest.mark.parametrize("forms", VERBS)
@pytest.mark.parametrize("passive", [False, True], ids=["active", "passive"])
def test_the_asked_side_answers(forms, passive):
    """Active and passive sentences answer both questions with the right party, and the reversed ones not at all."""
    past, part, base = forms.split()
    text = f"Ann Bell was {part} by Carl Dorn in 2019." if passive else f"Carl Dorn {past} Ann Bell in 2019."
    wanted = {
        f"Who {past} Ann Bell?": "Carl Dorn",
        f"Who did Carl Dorn {base}?": "Ann Bell",
        f"By whom was Ann Bell {part}?": "Carl Dorn",
        f"Who {past} Carl Dorn?": "",
        f"Who did Ann Bell {base}?": "",
    }
    assert {question: answer(question, [passage("a", text)]).answer for question in wanted} == wanted


@pytest.mark.parametrize("verb", VERBS_ZH)
@pytest.mark.parametrize("form", ["{a}2019年{v}了{b}。", "{b}2019年被{a}{v}。", "{a}2019年把{b}{v}了。"])
def test_the_asked_side_answers_in_chinese(verb, form):
    """So do plain sentences and those with 被 and 把."""
    text = form.format(a="王立国", b="张明远", v=verb)
    wanted = {f"谁{verb}了张明远？": "王立国", f"王立国{verb}了谁？": "张明远", f"谁{verb}了王立国？": ""}
    assert {question: answer(question, [passage("a", text)]).answer for question in wanted} == wanted


ROWS = [
    ("Alpha was acquired by Beta in 2019.", "Beta acquired Alpha.", "Alpha acquired Beta."),
    ("Alpha, which Beta acquired in 2019, makes pumps.", "Beta acquired Alpha.", "Alpha acquired Beta."),
    ("Ann Bell lost to Carl Dorn in 2019.", "Carl Dorn beat Ann Bell in 2019.", "Ann Bell beat Carl Dorn in 2019."),
    ("甲公司于2019年被乙公司收购。", "乙公司收购了甲公司。", "甲公司收购了乙公司。"),
    ("星海集团为蓝天集团所收购。", "蓝天集团收购了星海集团。", "星海集团收购了蓝天集团。"),
    ("张明远2019年输给了王立国。", "王立国击败了张明远。", "张明远击败了王立国。"),
]


@pytest.mark.parametrize(("text", "right", "reversed_"), ROWS, ids=[row[0] for row in ROWS])
def test_the_reversed_claim_is_contradicted(text, right, reversed_):
    """The claim that turns a sentence round is contradicted by it, and the one that says the same is not."""
    question = "What happened?" if text.isascii() else "发生了什么？"
    assert check_support(question, reversed_, [passage("a", text)]).support == "contradicted"
    assert check_support(question, right, [passage("a", text)]).support != "contradicted"


def test_a_mutual_verb_has_no_direction():
    """Who married whom is the same from both sides."""
    text = [passage("a", "Ann Bell married Carl Dorn in 2001.")]
    assert check_support("Who married Ann Bell?", "Carl Dorn married Ann Bell.", text).support == "supported"


@pytest.mark.parametrize(
    ("left", "right", "conflict"),
    [
        ("Beta acquired Alpha in 2019.", "Alpha acquired Beta in 2019.", True),
        ("Beta acquired Alpha in 2019.", "Alpha was acquired by Beta in 2019.", False),
        ("Carl Dorn beat Ann Bell in 2019.", "Ann Bell beat Carl Dorn in 2019.", True),
        ("Carl Dorn beat Ann Bell in 2019.", "Ann Bell beat Carl Dorn in 2021.", False),
    ],
)
def test_two_passages_that_say_it_the_other_way_round(left, right, conflict):
    """They contradict each other, unless it can have happened twice."""
    question = "Who acquired Alpha?" if "Alpha" in left else "Who beat Ann Bell?"
    assert bool(assess(question, (passage("a", left), passage("b", right))).contradictions) is conflict


def test_a_reversed_yes_no_question_is_denied():
    """Whether Alpha acquired Beta is a no where Beta acquired Alpha."""
    text = [passage("a", "Alpha was acquired by Beta in 2019.")]
    assert answer("Did Alpha acquire Beta?", text).answer == "no"
    assert answer("Did Beta acquire Alpha?", text).answer == "yes"
