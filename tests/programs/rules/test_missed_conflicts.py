"""Contradictions of days, of offices under two names, of former holders; two things are no contradiction."""

import pytest

from reflective_rag.programs import EvidenceAssessor
from reflective_rag.programs.rules import answer, assess, check_support
from tests.programs.rules.worlds import DISTRACTORS, passage

WAR, CEO, CEO_ZH, TOWER = (
    "When did the war end?",
    "Who is the CEO of Acme?",
    "Acme公司的CEO是谁？",
    "When was it completed?",
)
NORTH = "When was the North Tower completed?"
ROWS = [
    (WAR, "The war ended on 5 May 1945.", "The war ended on 8 May 1945.", True),
    (WAR, "The war ended on May 5, 1945.", "The war ended on 8 May 1945.", True),
    (WAR, "The war ended in April 1945.", "The war ended on 8 May 1945.", True),
    (WAR, "The war ended on May 5, 1945.", "The war ended on 5 May 1945.", False),
    (WAR, "The war ended on May 5, 1945.", "The war ended in May 1945.", False),
    ("战争是什么时候结束的？", "战争于1945年5月5日结束。", "战争于1945年5月8日结束。", True),
    ("战争是什么时候结束的？", "战争于1945年4月结束。", "战争于1945年5月8日结束。", True),
    ("战争是什么时候结束的？", "战争于1945年5月5日结束。", "战争于1945年5月结束。", False),
    (CEO, "The CEO of Acme is Ann.", "Acme's chief executive is Bob.", True),
    (CEO, "Ann Bell is the CEO of Acme.", "The chief executive officer of Acme is Bob Stone.", True),
    (CEO, "Ann Bell is the CEO of Acme.", "Bob Stone is the chief financial officer of Acme.", False),
    (CEO, "Ann Bell is the CEO of Acme.", "Bob Stone is the former CEO of Acme.", False),
    (CEO_ZH, "Acme公司的CEO是王立国。", "Acme公司的首席执行官是张明远。", True),
    (
        TOWER,
        "The Orlen Tower is in Oslo. It was completed in 1990.",
        "The Vey Tower is in Oslo. It was completed in 1995.",
        False,
    ),
    (
        NORTH,
        "The North Tower stands in Oslo. It was completed in 1990.",
        "The North Tower is tall. It was completed in 1995.",
        True,
    ),
]


@pytest.mark.parametrize(("question", "left", "right", "conflict"), ROWS, ids=[f"{a} {b}" for _, a, b, _ in ROWS])
def test_a_conflict_where_there_is_one(question, left, right, conflict):
    """Another day, month or holder contradicts; the same day in another form, and another thing, does not."""
    assert bool(assess(question, (passage("a", left), passage("b", right))).contradictions) is conflict


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who is the president of Foo?", "Bob Stone is the former president of Foo."),
        ("Who is the current president of Foo?", "Bob Stone, former president of Foo, visited Oslo."),
        ("Foo公司的董事长是谁？", "王立国是Foo公司的前董事长。"),
    ],
)
def test_a_former_holder_is_no_answer_to_who_holds_the_office(question, text):
    """Neither as an answer nor as a supported claim."""
    name = "Bob Stone" if text.isascii() else "王立国"
    assert answer(question, [passage("a", text)]).answer == ""
    assert check_support(question, name, [passage("a", text)]).support != "supported"


def test_a_former_holder_answers_who_held_it():
    """Where the former one is asked for, he is the answer."""
    text = [passage("a", "Bob Stone is the former president of Foo.")]
    assert answer("Who is the former president of Foo?", text).answer == "Bob Stone"


LENGTH = "How long is the Orlen Bridge?"
APART = (passage("a", "The Orlen Bridge is 640 metres long."), passage("b", "The Orlen Bridge is 710 metres long."))
NEAR = tuple(passage(f"n{i}", f"The Orlen Bridge is popular with {who}.") for i, who in enumerate(("walkers", "dogs")))


def test_bystanders_do_not_make_a_contradiction_smaller():
    """Passages that say nothing to the question leave consistency as it is, also those about the same thing."""
    assessor = EvidenceAssessor("rules")
    alone = assessor(question=LENGTH, passages=list(APART))
    beside = [assessor(question=LENGTH, passages=[*APART, *more]) for more in (DISTRACTORS[:6], NEAR)]
    assert alone.consistency == 0
    assert [each.consistency for each in beside] == [0, 0]
    assert all(each.evidence_score <= alone.evidence_score for each in beside)


def test_off_topic_passages_leave_the_score_of_one_answer_as_it_is():
    """One passage alone is compared with nothing, and distractors are no company."""
    assessor = EvidenceAssessor("rules")
    alone = assessor(question=LENGTH, passages=[APART[0]])
    beside = assessor(question=LENGTH, passages=[APART[0], *DISTRACTORS[:6]])
    assert alone.consistency is beside.consistency is None
    assert alone.evidence_score == beside.evidence_score


def test_the_deviating_one_of_many_is_compared():
    """However many passages repeat one answer, another answer is compared with them."""
    same = [passage(f"s{i}", f"The Orlen Bridge is 640 metres long. It has {i + 2} lamps.") for i in range(20)]
    found = assess(LENGTH, [*same, passage("z", "The Orlen Bridge is 710 metres long.")])
    assert found.contradictions
    assert {c.passage_b for c in found.contradictions} == {"z"}
    assert found.compared is not None
    assert "z" in found.compared
