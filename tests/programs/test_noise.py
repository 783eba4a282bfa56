"""Noise removal: what repeats is found, what differs in content is kept, what leads away is left out."""

from datetime import date

import pytest

from reflective_rag.programs.noise import NearDuplicates, redundancy
from reflective_rag.programs.tangent import tangential
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.text import tokenize
from reflective_rag.signatures.types import Passage

EN = (
    "The bridge over the river was opened in 1932 after eight years of work by engineer John Bradfield. It "
    "carries trains, cars and people on foot, and it is among the widest of its kind in the world. Many "
    "visitors climb its arch every year to look at the harbour from above, which is why a small museum was "
    "built into one of the pillars. It is not painted red."
)
ZH = (
    "这座大桥于1932年正式通车，由工程师布拉德菲尔德主持修建，工程历时八年之久。大桥供火车、汽车和"
    "行人通行，是世界上同类桥梁里最宽的之一。每年都有许多游客登上桥拱眺望海港，因此人们在一座桥塔里开"
    "设了小型博物馆。它不是红色的。"
)


def outcome(old: str, new: str, **fields: object) -> str:
    """`new` or `old` when that one is dropped, `` when both are kept."""
    found = NearDuplicates()
    assert found.add(Passage(id="old", text=old)) == ()
    repeats = found.add(Passage(id="new", text=new, **fields))  # type: ignore[arg-type] # fields of a passage
    return "".join(repeat.dropped.id for repeat in repeats)


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        pytest.param(EN, "1932", "1933", id="year"),
        pytest.param(EN, "eight years", "nine years", id="number word"),
        pytest.param(EN, "Bradfield", "Smith", id="name"),
        pytest.param(EN, "John Bradfield", "John Smith Bradfield", id="longer name"),
        pytest.param(EN, "is not painted", "is painted", id="negation"),
        pytest.param(EN, "was opened", "was almost opened", id="limiting word"),
        pytest.param(EN, "widest", "narrowest", id="opposite"),
        pytest.param(EN, "was opened", "was partially opened", id="partially"),
        pytest.param(EN, "was opened", "was re-opened", id="prefix re-"),
        pytest.param(EN, "was opened", "was un-opened", id="prefix un-"),
        pytest.param(EN, "was opened", "was reopened", id="prefix re"),
        pytest.param(EN, "small museum", "small twin museum", id="twin"),
        pytest.param(EN, "small museum", "small vice museum", id="vice"),
        pytest.param(EN, "1932", "$1932", id="sign"),
        *(
            pytest.param(ZH, "正式通车", f"{word}正式通车", id=f"{word}, Chinese")
            for word in ("停止", "计划", "部分", "重新", "据称")
        ),
        pytest.param(ZH, "八年之久", "近八年之久", id="近, Chinese"),
        pytest.param(ZH, "1932年", "1935年", id="year, Chinese"),
        pytest.param(ZH, "八年", "九年", id="number word, Chinese"),
        pytest.param(ZH, "布拉德菲尔德", "史密斯", id="name, Chinese"),
        pytest.param(ZH, "不是红色", "是红色", id="negation, Chinese"),
        pytest.param(ZH, "最宽", "最窄", id="opposite, Chinese"),
    ],
)
def test_a_difference_in_content_keeps_both(text: str, before: str, after: str) -> None:
    """What could be a contradiction or a newer version is no duplicate, in either order."""
    other = text.replace(before, after)
    assert other != text
    assert (outcome(text, other), outcome(other, text)) == ("", "")


@pytest.mark.parametrize(
    ("old", "new", "dropped"),
    [
        pytest.param(EN, EN.upper(), "new", id="case"),
        pytest.param(EN, EN.replace(", and", " — and"), "new", id="punctuation"),
        pytest.param(EN, EN.replace("a small museum", "small museum"), "new", id="article"),
        pytest.param(EN, EN.replace("visitors climb", "visitors happily climb"), "new", id="adverb"),
        pytest.param(EN, EN.replace("Many visitors climb", "Many visitors climbing"), "new", id="inflection"),
        pytest.param(EN, EN[:250], "new", id="cut off"),
        pytest.param(EN[:250], EN, "old", id="longer one later"),
        pytest.param(EN, EN + " Tickets cost 20 dollars.", "old", id="a sentence more"),
        pytest.param(EN.replace(" It is not", " Tickets cost 20 dollars. It is not"), EN, "new", id="a sentence less"),
        pytest.param(ZH, ZH.replace("，", " "), "new", id="punctuation, Chinese"),
        pytest.param(ZH, ZH.replace("许多游客", "许多的游客"), "new", id="particle, Chinese"),
        pytest.param(ZH, ZH + "门票20元。", "old", id="a sentence more, Chinese"),
        pytest.param(ZH[:60], ZH, "old", id="longer one later, Chinese"),
        pytest.param(EN, "An entirely different text about bananas and their potassium.", "", id="unlike"),
        pytest.param(EN, "1932", "", id="too short to be a part"),
        pytest.param("", "", "", id="empty"),
        pytest.param("!!!", "???", "", id="no words"),
        pytest.param(
            "It is a myth that smoking is safe for you.", "smoking is safe for you", "", id="denied around it"
        ),
        pytest.param("It cost 300 million in the end.", "It cost 300", "", id="half an amount"),
        pytest.param("New York is a city in the east.", "York is a city", "", id="half a name"),
    ],
)
def test_of_two_that_say_the_same_one_goes(old: str, new: str, dropped: str) -> None:
    """The shorter one when one says all the other does, else the later one."""
    assert outcome(old, new) == dropped


def test_what_one_says_more_and_the_other_too_is_kept() -> None:
    """Two versions that each have a sentence of weight of their own are no duplicates."""
    assert outcome(EN + " Tickets cost 20 dollars.", "Built for the Harbour Trust. " + EN) == ""


def test_a_date_decides_between_equals_only_against_none() -> None:
    """The dated one of two equals is kept; between two dates the earlier found stays, since nothing changed."""
    other = EN.replace("a small museum", "small museum")
    assert outcome(EN, other, published=date(2020, 1, 1)) == "old"
    found = NearDuplicates()
    found.add(Passage(id="old", text=EN, published=date(2010, 1, 1)))
    (repeat,) = found.add(Passage(id="new", text=other, published=date(2020, 1, 1)))
    assert (repeat.dropped.id, repeat.kept.id, repeat.reason) == ("new", "old", "near_duplicate")


def test_two_titles_are_two_things() -> None:
    """The same words of two bridges are said of two bridges."""
    found = NearDuplicates()
    found.add(Passage(id="a", title="Sydney", text=EN))
    assert found.add(Passage(id="b", title="Newcastle", text=EN.replace("a small", "small"))) == ()
    assert found.add(Passage(id="c", title="", text=EN[:250])) != ()


def test_a_long_passage_can_replace_several() -> None:
    """All passages that a later one holds whole go."""
    found = NearDuplicates()
    first, second, _ = EN.split(". ", 2)
    found.add(Passage(id="a", text=first))
    found.add(Passage(id="b", text=second))
    assert [r.dropped.id for r in found.add(Passage(id="c", text=EN))] == ["a", "b"]


def test_many_passages_are_compared_as_few_are() -> None:
    """Beyond the size where pairs are compared, MinHash finds the same near-duplicates, every time."""
    words = tokenize(EN) + [f"word{i}" for i in range(300)]
    texts = [" ".join(words[(i * 7 + k * (i + 3)) % len(words)] for k in range(60)) for i in range(90)]
    runs = []
    for _ in range(2):
        found = NearDuplicates()
        for i, text in enumerate([*texts[:70], EN, *texts[70:]]):
            found.add(Passage(id=str(i), text=text))
        copies = [EN.replace("a small", "small"), EN + " It was closed in 1999.", EN.replace("1932", "1933"), EN[:200]]
        runs.append([[r.dropped.id for r in found.add(Passage(id=f"c{i}", text=c))] for i, c in enumerate(copies)])
    assert runs[0] == runs[1] == [["c0"], ["70"], [], ["c3"]]


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.5])
def test_a_threshold_is_a_similarity(threshold: float) -> None:
    """Anything but a value above 0, up to 1, is refused."""
    with pytest.raises(ConfigError, match="threshold"):
        NearDuplicates(threshold)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param([], None, id="none"),
        pytest.param(["a b c d"], 0.0, id="one"),
        pytest.param(["a b c d", "A, b: c d!"], 0.5, id="two equal"),
        pytest.param(["a b c d"] * 3, 2 / 3, id="three equal"),
        pytest.param(["a b c d", "b c d e"], 0.25, id="one shingle of four"),
        pytest.param(["a b a b a b a b"], 0.0, id="repeats within itself"),
        pytest.param(["", "!!!"], 0.0, id="no words"),
        pytest.param(["one", "one"], 0.5, id="shorter than a shingle"),
        pytest.param(["大桥通车", "大桥通车。"], 0.5, id="Chinese"),
    ],
)
def test_redundancy_is_the_share_of_repeated_shingles(texts: list[str], expected: float | None) -> None:
    """1 − unique / total runs of three tokens, counted once a passage."""
    found = redundancy(Passage(id=str(i), text=text) for i, text in enumerate(texts))
    assert found == (None if expected is None else pytest.approx(expected))


FRUITS = ("Bananas", "Lemons", "Melons", "Pears", "Quinces")
QUESTION = "In which city was the director of the film Rosetta Moon born?"
GOOD = [
    Passage(id="film", title="Rosetta Moon", text="Rosetta Moon is a film by its director Anna Kovacs."),
    Passage(
        id="review", title="Cinema review", text="The film Rosetta Moon by director Anna Kovacs was born of chance."
    ),
    Passage(id="list", title="List of films", text="Rosetta Moon, a film of its director, was shot in the city."),
]


@pytest.mark.parametrize(
    ("passage", "away"),
    [
        pytest.param(Passage(id="x", text="Bananas are rich in potassium."), True, id="off the topic"),
        pytest.param(Passage(id="x", title="Anna Kovacs", text="She grew up in Pecs."), False, id="title is named"),
        pytest.param(Passage(id="x", text="Budapest is where Anna Kovacs lives."), False, id="a common name"),
        pytest.param(Passage(id="x", text="It was made like the Cinema Review says."), False, id="names a title"),
        pytest.param(Passage(id="x", text=""), True, id="empty"),
        pytest.param(Passage(id="x", text="א" * 50), True, id="another script"),
    ],
)
def test_tangential_is_what_adds_nothing_and_is_not_linked(passage: Passage, away: bool) -> None:
    """The second hop of a chain holds no term of the question, but the first hop names it."""
    assert tangential(tokenize(QUESTION), [*GOOD, passage], {}) == ({"x": "tangential"} if away else {})


def test_a_new_term_of_the_question_saves_a_passage() -> None:
    """A passage with a low grade that holds what the better ones lack is kept."""
    grades = dict.fromkeys(("film", "review", "list"), 1.0) | {"x": 0.0}
    for text, away in (("A city by the sea.", True), ("It was quarried by the sea.", False)):
        found = tangential(tokenize(f"{QUESTION} quarried"), [*GOOD, Passage(id="x", text=text)], grades)
        assert bool(found) is away


def test_grades_decide_where_there_are_any() -> None:
    """A passage that a critic graded high is not tangential although it holds no term."""
    off = Passage(id="x", text="Bananas are rich in potassium.")
    assert tangential(tokenize(QUESTION), [*GOOD, off], {"x": 0.9}) == {}


def test_some_passages_always_stay() -> None:
    """What covers a requirement, the best three, and everything where nothing is better than the rest."""
    off = [Passage(id=f"x{i}", text=f"{word} are sweet and yellow.") for i, word in enumerate(FRUITS)]
    terms = tokenize(QUESTION)
    assert tangential(terms, off, {}) == {}
    assert tangential(terms, [GOOD[0], *off[:2]], {}) == {}
    assert set(tangential(terms, [*GOOD, *off], {}, covering_ids={"x3"})) == {"x0", "x1", "x2", "x4"}
    assert tangential(terms, [*GOOD, *off], {}, margin=0.0) == {}
    assert tangential(terms, [], {}) == {}
    assert len(tangential(terms, [*GOOD, *off], {}, keep=6)) <= 2
