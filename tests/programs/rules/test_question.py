"""Questions are taken apart alike in English and Chinese."""

import pytest

from reflective_rag.programs.rules.question import analyse

KINDS = [
    ("Who designed the Orlen Bridge?", "person"),
    ("Which composer wrote the Vey Suite?", "person"),
    ("When was the Orlen Bridge opened?", "time"),
    ("In what year did Selma Ek die?", "time"),
    ("What is the date of birth of Selma Ek?", "time"),
    ("How many stops does the Meridale tram have?", "number"),
    ("What is the population of Meridale?", "number"),
    ("Where was Selma Ek born?", "place"),
    ("Meridale lies in which country?", "place"),
    ("Is the Orlen Bridge open to cars?", "yes_no"),
    ("Which is longer, the Orlen Bridge or the Vey Bridge?", "choice"),
    ("Is Meridale or Tornby larger?", "choice"),
    ("Why was the Orlen Bridge closed?", "reason"),
    ("What company built the Orlen Bridge?", "thing"),
    ("What are two examples of salted or smoked fish?", "thing"),
    ("奥伦桥是谁设计的？", "person"),
    ("奥伦桥是哪一年建成的？", "time"),
    ("奥伦桥通车时间", "time"),
    ("青石电车有多少个车站？", "number"),
    ("青石市的人口", "number"),
    ("青石图书馆在哪里？", "place"),
    ("青石市属于哪个国家？", "place"),
    ("奥伦桥允许汽车通行吗？", "yes_no"),
    ("奥伦桥是否允许汽车通行？", "yes_no"),
    ("云顶山和雾灵峰哪个更高？", "choice"),
    ("奥伦桥为什么关闭？", "reason"),
    ("哪家公司建造了奥伦桥？", "thing"),
]


@pytest.mark.parametrize(("question", "kind"), KINDS, ids=[question for question, _ in KINDS])
def test_kind_of_answer(question, kind):
    """The kind of answer asked for follows from the question word and its noun, wherever they stand."""
    assert analyse(question).kind == kind


@pytest.mark.parametrize(
    ("question", "entities"),
    [
        ("When was the Orlen Bridge opened?", ("Orlen Bridge",)),
        ('Who sang "River of Glass"?', ("River of Glass",)),
        ("Did Selma Ek meet Arvid Lund?", ("Selma Ek", "Arvid Lund")),
        ("《银色果园》的导演是谁？", ("银色果园",)),
        ("马拉·奎尔出生于哪里？", ("马拉·奎尔",)),
    ],
)
def test_names_and_quotations_are_entities(question, entities):
    """Names and quoted titles are entities; the question word that opens the sentence is not."""
    assert analyse(question).entities == entities


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Who is older, Arvid Lund or Selma Ek?", ("Arvid Lund", "Selma Ek")),
        ("Is Meridale or Tornby larger?", ("Meridale", "Tornby")),
        ("云顶山和雾灵峰哪个更高？", ("云顶山", "雾灵峰")),
        ("《银色果园》与《长夜》哪部更早上映？", ("银色果园", "长夜")),
    ],
)
def test_options_of_a_choice(question, options):
    """An "A or B" question gives its two options, without quotation marks."""
    assert analyse(question).options == options


def test_terms_leave_out_function_words_and_comparatives():
    """Question words, auxiliaries, comparatives and "currently" are no content terms: no passage would repeat them."""
    texts = {term.text for term in analyse("Who is currently the older owner of the Orlen Bridge?").terms}
    assert texts == {"owner", "Orlen", "Bridge"}


def test_chinese_terms_are_words_of_the_question():
    """Chinese terms are segmented words, without 的, 是 and question words."""
    texts = {term.text for term in analyse("奥伦桥的设计者是谁？").terms}
    assert "设计者" in texts
    assert not texts & {"的", "是", "谁"}


def test_expected_noun_is_found_in_both_languages():
    """Both "which company" and 哪家公司 name the noun the answer should be."""
    assert analyse("Which company built the Orlen Bridge?").expected == "company"
    assert analyse("哪家公司建造了奥伦桥？").expected == "公司"
