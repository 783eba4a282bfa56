"""Two sources with another amount or date for one thing contradict each other, whatever else their sentences hold."""

from datetime import date

import pytest

from reflective_rag.programs import make_program
from reflective_rag.programs.rules import assess
from tests.programs.rules.worlds import passage

TODAY = date(2026, 11, 30)
COST, COST_ZH = "How much did the Vellin Tunnel cost?", "南屏隧道总投资是多少？"
BORN, BORN_ZH = "When was Pirro Adelmi born?", "陆怀谷是哪一年出生的？"

CONFLICTS = [
    (
        COST,
        ("Vellin Tunnel", "The tunnel is 2,400 metres long and cost 62 million euros."),
        ("", "The Vellin Tunnel near Brask, opened in May 2024, cost 71 million euros according to the auditors."),
    ),
    (
        COST,
        ("", "The Vellin Tunnel cost 62 million euros."),
        ("", "Designed in 2011, the Vellin Tunnel has four lanes and cost 71 million euros in the end."),
    ),
    (
        COST,
        ("Vellin Tunnel", "It has two tubes. It cost 62 million euros."),
        ("News", "The Vellin Tunnel in Brask cost 71 million euros, the mayor said."),
    ),
    (
        COST_ZH,
        ("", "南屏隧道今日通车。隧道全长2400米，总投资6.2亿元。"),
        ("", "5月8日通车的南屏隧道总投资为7.1亿元，由云岭集团施工。"),
    ),
    (COST_ZH, ("南屏隧道", "全长2400米，总投资6.2亿元。"), ("新闻", "南屏隧道设双向四车道，总投资达7.1亿元。")),
    (BORN, ("", "Pirro Adelmi was born near Siena in 1402."), ("", "Pirro Adelmi was born near Lucca in 1411.")),
    (BORN, ("", "Pirro Adelmi was born in the village of Tolfa in 1402."), ("", "Pirro Adelmi was born in 1411.")),
    (BORN_ZH, ("", "陆怀谷1402年出生于苏州。"), ("", "陆怀谷于1411年在杭州出生。")),
]


@pytest.mark.parametrize(("question", "left", "right"), CONFLICTS, ids=[f"{q} {a[1]} {b[1]}" for q, a, b in CONFLICTS])
@pytest.mark.parametrize("published", [(None, None), (date(2024, 5, 8), date(2024, 5, 9))], ids=["undated", "dated"])
def test_two_values_of_one_thing_are_never_given_as_sure(question, left, right, published):
    """The judgement names both, and the program warns; what was so once is not settled by a later date."""
    pages = [passage(n, t[1], t[0], d) for n, t, d in zip("ab", (left, right), published, strict=True)]
    assert assess(question, pages, today=TODAY).contradictions
    result = make_program("reflective", search=lambda query, k: pages, mode="rules")(question=question)
    assert "conflicting_evidence" in {warning.code for warning in result.warnings}


PEACE = [
    (
        COST,
        ("", "The Vellin Tunnel cost 62 million euros."),
        ("", "The Vellin Tunnel, opened in 2024, cost 62,000,000 euros."),
    ),
    (
        COST,
        ("", "The Vellin Tunnel cost 62 million euros."),
        ("", "The Vellin Tunnel, opened in 2024, cost about 60 million euros."),
    ),
    (
        COST,
        ("", "The Vellin Tunnel cost 62 million euros."),
        ("", "The Vellin Tunnel, opened in 2024, cost more than 50 million euros."),
    ),
    (
        COST,
        ("", "The Vellin Tunnel cost 62 million euros."),
        ("", "The Ostra Tunnel, opened in 2024, cost 71 million euros."),
    ),
    (
        COST,
        ("Vellin Tunnel", "It has two tubes, four lanes and six exits for emergencies, and cost 62 million euros."),
        ("Vellin Tunnel", "The lighting cost 4 million euros."),
    ),
    (
        COST,
        ("", "The Vellin Tunnel in Brask cost 62 million euros."),
        ("", "The Vellin Tunnel in Halm cost 71 million euros."),
    ),
    (COST_ZH, ("", "南屏隧道总投资6.2亿元。"), ("", "5月8日通车的南屏隧道总投资为62000万元。")),
    (COST_ZH, ("", "南屏隧道总投资6.2亿元。"), ("", "5月8日通车的南屏隧道总投资约6亿元。")),
    (COST_ZH, ("", "南屏隧道总投资6.2亿元。"), ("", "5月8日通车的北屏隧道总投资为7.1亿元。")),
    (
        COST_ZH,
        ("", "由云岭集团施工、设双向四车道的南屏隧道今天通车，总投资6.2亿元。"),
        ("", "南屏隧道的照明总投资为0.4亿元。"),
    ),
    (BORN, ("", "Pirro Adelmi was born near Siena in 1402."), ("", "Pirro Adelmi was born in Tuscany in 1402.")),
    (BORN, ("", "Pirro Adelmi was born near Siena in 1402."), ("", "Pirro Adelmi was born near Siena about 1400.")),
    (BORN, ("", "Pirro Adelmi was born near Siena in 1402."), ("", "Pirro Adelmi died near Lucca in 1461.")),
    (
        BORN,
        ("", "Pirro Adelmi was born near Siena in 1402."),
        ("", "The father of Pirro Adelmi was born near Lucca in 1370."),
    ),
    (BORN_ZH, ("", "陆怀谷1402年出生于苏州。"), ("", "陆怀谷于1402年在江苏出生。")),
    (BORN_ZH, ("", "陆怀谷1402年出生于苏州。"), ("", "陆怀谷于1461年在杭州去世。")),
]


@pytest.mark.parametrize(("question", "left", "right"), PEACE, ids=[f"{q} {a[1]} {b[1]}" for q, a, b in PEACE])
def test_what_can_both_be_right_is_no_contradiction(question, left, right):
    """The same amount in other figures, a rough one, a bound, another thing, a part of it, another event."""
    pages = [passage("a", left[1], left[0]), passage("b", right[1], right[0])]
    assert not assess(question, pages, today=TODAY).contradictions
