"""An amount that a newer page gives in other words takes the place of the old one; where it does not, both stay."""

from datetime import date

import pytest

from reflective_rag.programs.rules import answer, assess
from reflective_rag.programs.rules.validity import day_from
from tests.programs.rules.worlds import passage

TODAY = date(2026, 11, 30)
Told = tuple[str, str, int]
"""Title, text and year of publication (0: unknown)."""

FEE, FEE_NOW = (
    "What is the membership fee of the Talbot Rowing Club?",
    "What is the current membership fee of the Talbot Rowing Club?",
)
DEPOSIT = "How much is the deposit for Hall 7?"
PAY, LEAVE = (
    "What is the hourly wage of apprentices at Brandow Foundry?",
    "How many days of parental leave does Kestrel Foods grant?",
)
FEE_ZH, FEE_ZH_NOW = "东岭羽毛球馆的会员费是多少？", "东岭羽毛球馆现在的会员费是多少？"
LEAVE_ZH, SUBSIDY_ZH = "远山科技公司的员工有多少天年休假？", "远山科技公司的餐补是多少？"

REPLACED = [
    (
        FEE,
        ("Talbot Rowing Club", "The membership fee is 140 euros.", 2021),
        ("Letter to members", "The membership fee of the Talbot Rowing Club was raised to 165 euros.", 2024),
        "165",
    ),
    (
        FEE_NOW,
        ("Talbot Rowing Club", "The club has 300 members. The membership fee is 140 euros.", 2021),
        (
            "Minutes",
            "By decision of the board the membership fee of the Talbot Rowing Club is reduced to 120 euros.",
            2024,
        ),
        "120",
    ),
    (
        FEE_NOW,
        ("Rules of 2021", "The membership fee of the Talbot Rowing Club is 140 euros.", 2021),
        ("Notice", "The Talbot Rowing Club, seated in Vey, now charges a membership fee of 165 euros.", 2024),
        "165",
    ),
    (
        FEE,
        ("", "The membership fee of the Talbot Rowing Club is 140 euros.", 0),
        ("", "The membership fee of the Talbot Rowing Club was increased from 140 euros to 165 euros.", 0),
        "165",
    ),
    (
        FEE,
        ("", "From 1 March 2024 the membership fee of the Talbot Rowing Club is 150 euros.", 2024),
        ("", "Since 1 September 2024 the Talbot Rowing Club has charged a membership fee of 165 euros.", 2024),
        "165",
    ),
    (
        DEPOSIT,
        ("Tenancy of Hall 7", "The tenant is Quill Press. The deposit is 9,000 euros.", 2020),
        ("Side letter", "The deposit for Hall 7 is adjusted to 10,500 euros with effect from 1 May 2023.", 2023),
        "10,500",
    ),
    (
        PAY,
        ("", "As of January 2022 the hourly wage of apprentices at Brandow Foundry is 11 euros.", 2022),
        ("", "As of January 2025, apprentices at Brandow Foundry receive an hourly wage of 14 euros.", 2025),
        "14",
    ),
    (
        LEAVE,
        ("", "From 1 January 2020 Kestrel Foods grants 20 days of parental leave.", 2020),
        ("", "Effective 1 July 2024, Kestrel Foods grants 30 days of parental leave.", 2024),
        "30",
    ),
    (FEE_ZH, ("东岭羽毛球馆", "会员费为800元。", 2021), ("公告", "东岭羽毛球馆的会员费上调至950元。", 2024), "950元"),
    (
        FEE_ZH_NOW,
        ("东岭羽毛球馆", "本馆共有12片场地，会员费为800元。", 2021),
        ("公告", "自2024年5月1日起，东岭羽毛球馆会员费降至700元。", 2024),
        "700元",
    ),
    (FEE_ZH, ("", "东岭羽毛球馆的会员费为800元。", 0), ("", "东岭羽毛球馆的会员费由800元调整为950元。", 0), "950元"),
    (
        LEAVE_ZH,
        ("", "自2020年1月1日起，远山科技公司的员工享有8天年休假。", 2020),
        ("", "2024年1月1日起，远山科技公司的员工享有12天年休假。", 2024),
        "12天",
    ),
    (
        SUBSIDY_ZH,
        ("员工手册", "远山科技公司的餐补为300元。", 2021),
        ("通知", "根据2024年3月1日的通知，远山科技公司的餐补提高到420元。", 2024),
        "420元",
    ),
    (
        "目前的押金是多少？",
        ("房屋合同", "押金为6000元。", 2021),
        ("补充协议", "自2024年6月1日起押金改为8000元。", 2024),
        "8000元",
    ),
]


def _pages(old: Told, new: Told, backwards: bool):
    pages = [
        passage(name, text, title, date(year, 1, 15) if year else None)
        for name, (title, text, year) in (("old", old), ("new", new))
    ]
    return pages[::-1] if backwards else pages


@pytest.mark.parametrize(("question", "old", "new", "value"), REPLACED, ids=[f"{r[0]} {r[2][1]}" for r in REPLACED])
@pytest.mark.parametrize("backwards", [False, True])
def test_the_newer_amount_answers_whatever_its_words(question, old, new, value, backwards):
    """Whichever page comes first; the older one is out of date and no contradiction is left open."""
    pages = _pages(old, new, backwards)
    judged = assess(question, pages, today=TODAY)
    assert answer(question, pages, today=TODAY).answer.startswith(value)
    assert judged.outdated == ("old",)
    assert all(c.newer == "new" for c in judged.contradictions)


KEPT = [
    (
        FEE.replace("is", "was") + " in 2021",
        ("", "In 2021 the membership fee of the Talbot Rowing Club was 140 euros.", 2021),
        ("", "The membership fee of the Talbot Rowing Club was raised to 165 euros from 1 May 2024.", 2024),
    ),
    (
        FEE,
        ("Talbot Rowing Club", "The membership fee is 140 euros.", 2021),
        ("", "From 1 January 2031 the membership fee of the Talbot Rowing Club is raised to 165 euros.", 2026),
    ),
    (
        FEE,
        ("Talbot Rowing Club", "The membership fee is 140 euros.", 2021),
        ("", "The membership fee of the Halden Rowing Club was raised to 165 euros.", 2024),
    ),
    (
        FEE,
        ("Talbot Rowing Club", "The membership fee is 140 euros.", 2021),
        ("", "The mooring fee of the Talbot Rowing Club was raised to 165 euros.", 2024),
    ),
    (
        FEE,
        ("Talbot Rowing Club", "The membership fee is 140 euros.", 2021),
        ("", "The Talbot Rowing Club plans to raise the membership fee to 165 euros.", 2024),
    ),
    (
        FEE,
        ("Talbot Rowing Club", "The membership fee is 140 euros per year.", 2021),
        ("", "The membership fee of the Talbot Rowing Club was raised to 14 euros per month.", 2024),
    ),
    (
        "What was the original membership fee of the Talbot Rowing Club?",
        ("Talbot Rowing Club", "The membership fee is 140 euros.", 2021),
        ("", "The membership fee of the Talbot Rowing Club was raised to 165 euros.", 2024),
    ),
    (
        LEAVE,
        ("", "From 1 January 2020 Kestrel Foods grants 20 days of parental leave.", 2020),
        ("", "Since 1 July 2024 Kestrel Foods grants 30 days of sick leave.", 2024),
    ),
    (FEE_ZH, ("东岭羽毛球馆", "会员费为800元。", 2021), ("", "西岭羽毛球馆的会员费上调至950元。", 2024)),
    (
        FEE_ZH,
        ("东岭羽毛球馆", "会员费为800元。", 2021),
        ("", "自2031年1月1日起，东岭羽毛球馆的会员费上调至950元。", 2026),
    ),
    (FEE_ZH, ("东岭羽毛球馆", "会员费为800元。", 2021), ("", "东岭羽毛球馆的停车费上调至950元。", 2024)),
    (
        "东岭羽毛球馆2021年的会员费是多少？",
        ("", "2021年，东岭羽毛球馆的会员费为800元。", 2021),
        ("", "自2024年5月1日起，东岭羽毛球馆会员费上调至950元。", 2024),
    ),
    (
        "东岭羽毛球馆原来的会员费是多少？",
        ("东岭羽毛球馆", "会员费为800元。", 2021),
        ("", "东岭羽毛球馆的会员费上调至950元。", 2024),
    ),
]


@pytest.mark.parametrize(("question", "old", "new"), KEPT, ids=[f"{r[0]} {r[2][1]}" for r in KEPT])
@pytest.mark.parametrize("backwards", [False, True])
def test_what_replaces_nothing_leaves_the_old_amount(question, old, new, backwards):
    """Another time asked for, a day to come, another thing, another fee, a mere plan, another rate."""
    pages = _pages(old, new, backwards)
    assert "old" not in assess(question, pages, today=TODAY).outdated
    value = "20" if "Kestrel" in old[1] else "800元" if "800" in old[1] else "140"
    assert answer(question, pages, today=TODAY).answer.startswith(value)


@pytest.mark.parametrize(
    ("sentence", "day"),
    [
        ("From 1 July 2024 the fee is 5 euros.", date(2024, 7, 1)),
        ("Since March 2023 it is 5 euros.", date(2023, 3, 1)),
        ("As of 2022, it is 5 euros.", date(2022, 1, 1)),
        ("Effective 3 May 2024, it is 5 euros.", date(2024, 5, 3)),
        ("自2025年1月1日起，费用为5元。", date(2025, 1, 1)),
        ("2024年3月起费用为5元。", date(2024, 3, 1)),
        ("截至2023年底，费用为5元。", date(2023, 1, 1)),
        ("From 2010 to 2015 it was 5 euros.", None),
        ("From 31 February 2024 it is 5 euros.", None),
        ("It was 5 euros in 2010.", None),
        ("", None),
    ],
)
def test_the_day_from_which_an_amount_holds(sentence, day):
    """To the day, where one is given; a span of years and a day that does not exist are none."""
    assert day_from(sentence) == day
