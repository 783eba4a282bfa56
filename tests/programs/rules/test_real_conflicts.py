"""Sources in different words, under different titles or in two versions: where they exclude each other."""

import pytest

from reflective_rag.programs.rules import answer, assess, check_support
from reflective_rag.programs.rules.denial import denied
from reflective_rag.programs.rules.swaps import swap
from tests.programs.rules.worlds import passage

DIRECTED = "Who directed The Silver Orchard?"
MAYOR = "谁是诺堡市长？"

DIFFERENT = [
    (
        "Who is the director of The Silver Orchard?",
        ("The Silver Orchard", "The Silver Orchard is a 1954 drama film directed by Mara Quill."),
        ("Films of the fifties", "The director of The Silver Orchard is Otto Brandt, who also painted."),
    ),
    (
        "What is the capital of Veyland?",
        ("Veyland", "The capital of Veyland is Tornby, on the coast."),
        ("Cities", "Halden is the capital of Veyland."),
    ),
    (
        "How long is the Orlen Bridge?",
        ("Orlen Bridge", "The Orlen Bridge is 640 metres long."),
        ("Bridges of Meridale", "The Orlen Bridge is 710 metres long and was painted green."),
    ),
    (
        "《银色果园》的导演是谁？",
        ("银色果园", "《银色果园》由陈文远执导。"),
        ("五十年代电影", "《银色果园》的导演是林德华。"),
    ),
    ("奥伦桥全长多少米？", ("奥伦桥", "奥伦桥全长640米。"), ("诺堡的桥梁", "奥伦桥全长710米，漆成绿色。")),
]


@pytest.mark.parametrize(("question", "left", "right"), DIFFERENT, ids=[row[0] for row in DIFFERENT])
def test_titles_and_words_may_differ(question, left, right):
    """Two pages of different titles that both name the asked thing contradict each other in whatever words."""
    found = assess(question, (passage("a", left[1], left[0]), passage("b", right[1], right[0]))).contradictions
    assert [(c.passage_a, c.passage_b) for c in found] == [("a", "b")]
    assert found[0].span_a in left[1]
    assert found[0].span_b in right[1]


COMPATIBLE = [
    (
        "Who is the director of The Silver Orchard?",
        ("The Silver Orchard", "The Silver Orchard is a 1954 drama film directed by Mara Quill."),
        ("Critics", "Director Otto Brandt believed that The Silver Orchard was the best film ever made."),
    ),
    (
        "Who is the director of The Silver Orchard?",
        ("The Silver Orchard (film)", "The Silver Orchard is a 1954 film directed by Mara Quill."),
        ("The Silver Orchard (play)", "The Silver Orchard is a 1961 play directed by Otto Brandt."),
    ),
    (
        "Who is the author of Uncle Vey?",
        ("Uncle Vey", "Uncle Vey is a novel by the author Mara Quill."),
        ("My Uncle Vey", "My Uncle Vey is a book of stories by the author Otto Brandt."),
    ),
    (
        "Where was Arvid Lund born?",
        ("Arvid Lund", "Arvid Lund was born in Tornby."),
        ("Painters", "Arvid Lund, who painted fjords, ships and storms, was born in Veyland."),
    ),
    (
        "Who founded Vey Works?",
        ("Vey Works", "Vey Works was founded by Ana Troost."),
        ("Founders", "The founder of Vey Works is Otto Brandt."),
    ),
    (
        "When was the Orlen Bridge opened?",
        ("Orlen Bridge", "The Orlen Bridge was opened in 1931."),
        ("Meridale", "A second book on the Orlen Bridge was released in 1975."),
    ),
    (
        "Who starred in Silver Night?",
        ("Silver Night", "Silver Night stars Selma Ek."),
        ("Casts", "The star of Silver Night is Joe Fenn."),
    ),
    (
        "《银色果园》的主演是谁？",
        ("银色果园", "《银色果园》由陈文远主演。"),
        ("演员表", "《银色果园》的主演是林德华。"),
    ),
    (
        "《银色果园》的导演是谁？",
        ("银色果园", "《银色果园》由陈文远执导。"),
        ("影评", "导演林德华认为《银色果园》是最好的电影。"),
    ),
]


@pytest.mark.parametrize(("question", "left", "right"), COMPATIBLE, ids=[f"{row[0]} {row[2][0]}" for row in COMPATIBLE])
def test_what_can_both_be_right_is_no_conflict(question, left, right):
    """Namesakes, longer names, other roles, places of another size and roles that several fill do not conflict."""
    pool = (passage("a", left[1], left[0]), passage("b", right[1], right[0]))
    assert assess(question, pool).contradictions == ()


VERSIONS = [
    (
        "Who is the head of Vey Works?",
        "“You see how much the works have meant in this town,” head Niels B. Dorn tells the Meridale Times.",
        "“You see how much the works have meant in this town,” head Shun Furukawa tells the Meridale Times.",
    ),
    (
        "When does season 4 of The Vey premiere?",
        "The fourth season of The Vey, which follows the life of Queen Ana Troost, was released on November 15, 2012.",
        "The fourth season of The Vey, which follows the life of Queen Ana Troost, was released on 15 November 2020.",
    ),
    (
        "What is the name of Vey's assistant?",
        "Vey Alda, also known simply as Alda, is a virtual assistant that is based on a Tornby synthesizer of 2003.",
        "Vey Cora, also known simply as Cora, is a virtual assistant that is based on a Tornby synthesizer of 2003.",
    ),
    (
        "2018年诺堡市长是谁？",
        "诺堡市长选举结果揭晓，陈文远以3254票的优势击败对手，成为新任市长。",
        "诺堡市长选举结果揭晓，林德华以3254票的优势击败对手，成为新任市长。",
    ),
    (
        "飞船何时发射？",
        "飞船于2006年1月17日07时30分31秒成功发射，在轨驻留时间长达一个月。",
        "飞船于2016年10月17日07时30分31秒成功发射，在轨驻留时间长达一个月。",
    ),
]


@pytest.mark.parametrize(("question", "left", "right"), VERSIONS, ids=[row[0] for row in VERSIONS])
def test_a_report_copied_with_another_value(question, left, right):
    """One long sentence with two values of the asked kind is a conflict, wherever the value stands in it."""
    found = assess(question, (passage("a", left), passage("b", right))).contradictions
    assert len(found) == 1


SAME = [
    (
        "When was Vey built?",
        "Vey was built on 5 May 2012 by the old town council.",
        "Vey was built on May 5, 2012 by the old town council.",
    ),
    (
        "网络由谁提供？",
        "会议期间的无线网络由中国电信提供，能保证五万人同时上网。",
        "会议期间的无线网络由中國電信提供，能保证五万人同时上网。",
    ),
    (
        "Where was the meeting?",
        "This photo, taken on 12 November in the hall of Tornby by Ana Troost, shows the new Vey stage.",
        "This photo, taken on 15 November in the hall of Tornby by Ana Troost, shows the new Vey stage.",
    ),
    (
        "会议在哪里举行？",
        "这是11月12日在诺堡拍摄的国家会议中心的外观和广场。",
        "这是11月15日在诺堡拍摄的国家会议中心的外观和广场。",
    ),
    (
        "What genre is Vey?",
        "Doc 3 (Title: Genre) Genre is any form of communication in any mode.",
        "Doc 2 (Title: Genre) Genre is any form of communication in any mode.",
    ),
    ("Who is Ana Troost?", "Ana Troost is an actor.", "Selma Ek is an actor."),
]


@pytest.mark.parametrize(("question", "left", "right"), SAME, ids=[row[0] for row in SAME])
def test_copies_that_do_not_exclude_each_other(question, left, right):
    """One date or name in two spellings, dates of photographs, labels and forms that fit many are no conflict."""
    assert assess(question, (passage("a", left), passage("b", right))).contradictions == ()


DENIED = [
    ("The Orlen Bridge opened in 1931.", "The Orlen Bridge has not opened.", "opened / not opened"),
    ("The red cap is toxic.", "The red cap is non-toxic.", "toxic / non-toxic"),
    ("The red cap is not toxic.", "The red cap is toxic.", "not toxic / toxic"),
    ("The law was never passed.", "The law was passed.", "not passed / passed"),
    ("The town has a station.", "The town has no station.", "station / no station"),
    ("It contains lead.", "It does not contain lead.", "contain / not contain"),
    ("The site is no longer open.", "The site is open.", "not open / open"),
    ("奥伦桥已经通车。", "奥伦桥还没有通车。", "通车 / 没有通车"),
    ("红伞菇有毒。", "红伞菇无毒。", "有毒 / 无毒"),
    ("他获奖。", "他未获奖。", "获奖 / 未获奖"),
    ("该药含糖。", "该药不含糖。", "含糖 / 不含糖"),
    ("他是医生。", "他不是医生。", "医生 / 不是医生"),
    ("该国已加入欧盟。", "该国没有加入欧盟。", "加入 / 没有加入"),
]
NOT_DENIED = [
    ("The bridge opened in 1990.", "The bridge did not open until 1990."),
    ("She won.", "She not only won but set a record."),
    ("He won the gold medal.", "He did not win the race."),
    ("The bridge opened.", "It is not known whether the bridge opened."),
    ("大桥没有通车。", "大桥直到1990年才通车。"),
    ("他没有获得金牌。", "他获得银牌。"),
    ("两人同乡。", "两人不同乡籍。"),
    ("来的城市。", "未来的城市。"),
    ("大桥通车。", "如果大桥没有通车，则改道。"),
    ("他获奖。", "他是否未获奖？"),
    ("数字很大。", "无数字可查。"),
]


@pytest.mark.parametrize(("a", "b", "word"), DENIED, ids=[f"{a} {b}" for a, b, _ in DENIED])
def test_denied_word(a, b, word):
    """The word that one text denies and the other affirms is found whatever denies it, in either order."""
    assert denied(a, b) == word
    assert denied(b, a) == " / ".join(reversed(word.split(" / ")))


@pytest.mark.parametrize(("a", "b"), NOT_DENIED, ids=[f"{a} {b}" for a, b in NOT_DENIED])
def test_what_denies_nothing(a, b):
    """Until, not only, conditions, questions, another object and words that only look like it deny nothing."""
    assert denied(a, b) == ""


YES_NO = [
    ("Is the red cap toxic?", "The red cap is toxic.", "The red cap is non-toxic.", "yes", "no"),
    ("Has the Orlen Bridge opened?", "The Orlen Bridge opened.", "The Orlen Bridge has not opened.", "yes", "no"),
    ("红伞菇有毒吗？", "红伞菇有毒。", "红伞菇无毒。", "是", "否"),
    ("奥伦桥是否通车？", "奥伦桥已经通车。", "奥伦桥尚未通车。", "是", "否"),
    ("陈文远获奖了吗？", "陈文远获奖。", "陈文远未获奖。", "是", "否"),
]


@pytest.mark.parametrize(("question", "left", "right", "yes", "no"), YES_NO, ids=[row[0] for row in YES_NO])
def test_a_denial_conflicts_and_decides(question, left, right, yes, no):
    """Affirmed and denied beside each other are a conflict; alone each decides; a denial refutes a claim."""
    pool = (passage("a", left), passage("b", right))
    assert len(assess(question, pool).contradictions) == 1
    assert (answer(question, pool[:1]).answer, answer(question, pool[1:]).answer) == (yes, no)
    assert check_support(question, left, pool[1:]).support == "contradicted"


OTHER_THINGS = [
    ("Has the Orlen Bridge opened?", "The Orlen Bridge opened.", "The Tornby Bridge has not opened."),
    ("Is Foo Museum open?", "Foo Museum is open.", "Foo Museum is not open on Mondays."),
    ("Has the Orlen Bridge opened?", "As of 2019 the Orlen Bridge has not opened.", "The Orlen Bridge opened in 2021."),
    ("奥伦桥通车了吗？", "奥伦桥已经通车。", "新河桥还没有通车。"),
    ("奥伦桥通车了吗？", "截至2019年，奥伦桥没有通车。", "奥伦桥于2021年通车。"),
]


@pytest.mark.parametrize(("question", "left", "right"), OTHER_THINGS, ids=[f"{r[1]} {r[2]}" for r in OTHER_THINGS])
def test_a_denial_of_something_else(question, left, right):
    """What is denied of another thing, on certain days or at an earlier time contradicts nothing."""
    assert assess(question, (passage("a", left), passage("b", right))).contradictions == ()


def test_a_swapped_piece_may_occur_twice():
    """The piece that is another one wherever it occurs is one swap; two different ones are none."""
    found = swap("Vey Alda, known simply as Alda, is new.", "Vey Cora, known simply as Cora, is new.")
    assert found is not None
    assert (found.left, found.right) == ("Alda", "Cora")
