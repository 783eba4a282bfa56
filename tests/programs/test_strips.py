"""Strips: what is read of a long passage, verbatim and with offsets, wherever in it the answer stands."""

from itertools import pairwise

import pytest

from reflective_rag.programs.citing import cite
from reflective_rag.programs.strips import recompose, strips_of
from reflective_rag.signatures.text import tokenize
from reflective_rag.signatures.types import Draft, Passage, Strip

ENGLISH = "Bananas are yellow. Giotto was born in 1267. Rain is wet. He died in Florence. The end came late."
CHINESE = "香蕉是黄色的。乔托出生于1267年。雨是湿的。他在佛罗伦萨去世。结局来得很晚。"
FACT, FACT_ZH = "Giotto was born in 1267.", "乔托出生于1267年。"


def read(text: str, question: str, limit: int, carried: tuple[Strip, ...] = ()) -> str:
    """What is read of a text for a question."""
    passage = Passage(id="p", text=text)
    return recompose(passage, strips_of(passage, tokenize(question), limit, carried=carried))


@pytest.mark.parametrize(
    ("text", "question", "limit", "expected"),
    [
        pytest.param(ENGLISH, "Giotto born", 30, "… Giotto was born in 1267. …", id="English"),
        pytest.param(CHINESE, "乔托出生", 18, "… 乔托出生于1267年。 …", id="Chinese"),
        pytest.param(ENGLISH, "Bananas yellow", 27, "Bananas are yellow. …", id="first sentence"),
        pytest.param(ENGLISH, "end came late", 27, "… The end came late.", id="last sentence"),
        pytest.param(
            ENGLISH, "Giotto born Rain", 46, "… Giotto was born in 1267. Rain is wet. …", id="neighbours are one"
        ),
        pytest.param(ENGLISH, "births of Giotto", 30, "… Giotto was born in 1267. …", id="one word of two"),
        pytest.param(ENGLISH, "nothing of it", 27, "Bananas are yellow. …", id="no term: the start"),
        pytest.param(ENGLISH, "", 27, "Bananas are yellow. …", id="no question: the start"),
        pytest.param("One.\n\nTwo.", "one two", 400, "One.\n\nTwo.", id="everything fits"),
        pytest.param("   \n ", "Giotto", 30, "", id="white space"),
        pytest.param("", "Giotto", 30, "", id="empty"),
        pytest.param("x", "Giotto", 30, "x", id="one character"),
    ],
)
def test_the_best_sentences_are_read_in_order(text: str, question: str, limit: int, expected: str) -> None:
    """The sentences that speak of the question, in the order of the text, with … where something is left out."""
    assert read(text, question, limit) == expected


@pytest.mark.parametrize(
    ("filler", "fact", "question"),
    [
        pytest.param("Filler sentence here. " * 4, FACT, "When was Giotto born?", id="English"),
        pytest.param("这是一句闲话。" * 4, FACT_ZH, "乔托哪年出生？", id="Chinese"),
        pytest.param("word ", FACT, "When was Giotto born?", id="no punctuation"),
        pytest.param("字", FACT_ZH, "乔托哪年出生？", id="no space, no punctuation"),
        pytest.param("| 12 | 34 |\n", FACT, "When was Giotto born?", id="table"),
        pytest.param("<td>x</td>", FACT, "When was Giotto born?", id="markup"),
        pytest.param("\x00\x01\ufffd ", FACT, "When was Giotto born?", id="binary"),
        pytest.param("שלום עולם. ", FACT, "When was Giotto born?", id="right to left"),
        pytest.param("Giotto was a painter. ", FACT, "When was Giotto born?", id="the name in every sentence"),
    ],
)
@pytest.mark.parametrize("place", [0.0, 0.5, 1.0], ids=["start", "middle", "end"])
def test_the_fact_is_found_wherever_it_stands(filler: str, fact: str, question: str, place: float) -> None:
    """The sentence with the terms is read, start, middle or end of a long text of any kind, and the limit holds."""
    count = 30_000 // len(filler)
    before = int(count * place)
    text = filler * before + " " + fact + " " + filler * (count - before)
    short = read(text, question, 1200)
    assert fact in short
    assert len(short) <= 1206


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ENGLISH * 50, id="English"),
        pytest.param(CHINESE * 50, id="Chinese"),
        pytest.param("word, " * 5_000, id="one sentence"),
        pytest.param("x" * 20_000, id="one word"),
        pytest.param("\n\n\n\n\n\n".join(["Giotto."] * 500), id="short paragraphs"),
    ],
)
@pytest.mark.parametrize("limit", [1, 20, 220, 2400])
def test_strips_say_what_is_read(text: str, limit: int) -> None:
    """Strips are in order, do not overlap, have a score of 0..1, and what is read is just them and the marks."""
    passage = Passage(id="p", text=text)
    strips = strips_of(passage, tokenize("Giotto 1267 乔托"), limit)
    assert strips
    assert all(a.end <= b.start for a, b in pairwise(strips))
    assert all(0 <= s.score <= 1 and s.start < s.end <= len(text) and s.passage_id == "p" for s in strips)
    windows = " ".join(text[s.start : s.end] for s in strips)
    assert recompose(passage, strips).replace("…", "").split() == windows.split()
    assert len(recompose(passage, strips)) <= max(limit, 1) + 6


def test_one_fact_told_often_does_not_fill_the_space() -> None:
    """A sentence with half of the terms is read although the other half is repeated a hundred times."""
    text = "Giotto painted in Padua. " * 100 + "His teacher was Cimabue. " + "Giotto painted in Padua. " * 100
    assert "Cimabue" in read(text, "Who was the teacher of Giotto, painted in Padua?", 200)


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    """The one sentence with the rare word wins over those with the word that is everywhere."""
    text = "The museum is open. " * 40 + "Its founder was a baker. " + "The museum is open. " * 40
    assert "baker" in read(text, "museum founder", 40)


def test_a_term_can_be_given_a_weight() -> None:
    """What still has to be found can weigh more than the rest of the question."""
    passage = Passage(id="p", text="It is raining today. Giotto was a painter. Florence is a city. Nothing else.")
    only = [
        recompose(passage, strips_of(passage, ["giotto", "florence"], 30, weights={word: 3.0}))
        for word in ("giotto", "florence")
    ]
    assert only == ["… Giotto was a painter. …", "… Florence is a city. …"]


def test_carried_strips_stay_unless_better_ones_come() -> None:
    """What an earlier round read stays where nothing beats it, and goes where the new terms need the space."""
    passage = Passage(id="p", text=ENGLISH)
    (first,) = strips_of(passage, tokenize("died Florence"), 32)
    (again,) = strips_of(passage, tokenize("something else"), 32, carried=[first])
    (better,) = strips_of(passage, tokenize("Giotto born 1267"), 32, carried=[first])
    assert (again.start, again.end) == (first.start, first.end)
    assert ENGLISH[better.start : better.end] == FACT


def test_carried_strips_of_other_passages_do_not_count() -> None:
    """Offsets mean something in their own passage only."""
    passage = Passage(id="p", text=ENGLISH)
    other = Strip(passage_id="q", start=60, end=80, score=1.0)
    assert strips_of(passage, ["rain"], 30, carried=[other]) == strips_of(passage, ["rain"], 30)


@pytest.mark.parametrize(
    ("filler", "fact", "question", "answer"),
    [
        pytest.param("Filler sentence here. ", FACT, "When was Giotto born?", "1267", id="English"),
        pytest.param("这是一句闲话。", FACT_ZH, "乔托哪年出生？", "1267年", id="Chinese"),
    ],
)
def test_citations_point_into_the_original(filler: str, fact: str, question: str, answer: str) -> None:
    """A quote that the model read in a strip is cited with its place in the whole passage of 200,000 characters."""
    half = filler * (100_000 // len(filler))
    passage = Passage(id="p", text=half + fact + filler + half)
    assert fact in recompose(passage, strips_of(passage, tokenize(question), 600))
    (citation,), failed = cite(question, Draft(answer=answer, cited=("p",)), [passage])
    assert failed == ()
    assert citation.quote == passage.text[citation.start : citation.end]
    assert citation.start == len(half)
    assert fact == citation.quote
