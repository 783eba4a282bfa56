"""The pool: each passage once, ranked for reading, shortened by whole sentences, and accounted for when left out."""

import pytest

from reflective_rag.programs.pool import EvidencePool, numbered, strip
from reflective_rag.signatures.text import sentences, tokenize
from reflective_rag.signatures.types import Passage


def passages(*ids: str) -> list[Passage]:
    """Passages with texts of their own."""
    return [Passage(id=i, text=f"text of {i}") for i in ids]


def test_a_repeat_is_not_new() -> None:
    """The same words under another id, in another round or the same, do not enter again."""
    pool = EvidencePool()
    first = pool.add([Passage(id="a", text="Giotto, painter."), Passage(id="b", text="giotto painter")])
    again = pool.add([Passage(id="c", text="GIOTTO — painter!")])
    assert ([p.id for p in first], again, len(pool)) == (["a"], [], 1)


def test_two_texts_under_one_id_get_two_ids() -> None:
    """Verdicts name passages by id, so an id that two indexes both use is made unique."""
    pool = EvidencePool()
    one, other = pool.add([Passage(id="1", text="first"), Passage(id="1", text="second")])
    assert one.id == "1"
    assert other.id.startswith("1~")
    assert other.text == "second"


def test_reading_weighs_grade_and_rank() -> None:
    """Grade + 1 / (1 + best rank): full 1.33, new1 .5 + .67, irrelevant 0 + 1, half .5 + .4, new2 .5 + .4, in order.

    A gap query's ranks start at .5, and an ungraded passage counts .5. What is kept stays in the order it was found.
    """
    pool = EvidencePool()
    pool.add(passages("irrelevant", "half", "full"))
    pool.add(passages("new1", "new2"))
    grades = {"irrelevant": 0.0, "half": 0.4, "full": 1.0}
    kept = [[p.id for p in pool.for_reading(limit, grades)] for limit in (1, 2, 3)]
    assert kept == [["full"], ["full", "new1"], ["irrelevant", "full", "new1"]]
    assert [p.id for p in pool.for_reading(5, grades)] == ["irrelevant", "half", "full", "new1", "new2"]
    assert pool.dropped == ()


def test_a_repeat_keeps_its_best_rank() -> None:
    """A passage that a gap query ranks first is kept before what the question ranked ahead of it."""
    pool = EvidencePool()
    pool.add(passages("a", "b", "c"))
    assert pool.add(passages("c")) == []
    assert [p.id for p in pool.for_reading(2, {})] == ["a", "c"]


def test_results_of_several_queries_are_interleaved_by_rank() -> None:
    """No query crowds out another: first hits first, in the order of the queries."""
    pool = EvidencePool()
    assert [p.id for p in pool.add(passages("a1", "a2"), passages("b1", "b2"))] == ["a1", "b1", "a2", "b2"]


def test_what_is_left_out_has_a_reason() -> None:
    """Nothing is cut silently; only what the last reading left out is listed."""
    pool = EvidencePool()
    pool.add(passages("a", "b", "c"))
    pool.for_reading(1, {"c": 0.0})
    assert {d.passage.id: d.reason for d in pool.dropped} == {"b": "beyond max_passages", "c": "judged irrelevant"}
    pool.for_reading(3, {})
    assert pool.dropped == ()


ENGLISH = "Bananas are yellow. Giotto was born in 1267. Rain is wet. He died in Florence. The end came late."
CHINESE = "香蕉是黄色的。乔托出生于1267年。雨是湿的。他在佛罗伦萨去世。结局来得很晚。"


@pytest.mark.parametrize(
    ("text", "question", "limit", "expected"),
    [
        pytest.param(ENGLISH, "Giotto born", 30, "… Giotto was born in 1267. …", id="English"),
        pytest.param(CHINESE, "乔托出生", 16, "… 乔托出生于1267年。 …", id="Chinese"),
        pytest.param(ENGLISH, "Bananas yellow", 25, "Bananas are yellow. …", id="first sentence"),
        pytest.param(ENGLISH, "end came late", 25, "… The end came late.", id="last sentence"),
        pytest.param(
            ENGLISH, "Giotto born Rain", 45, "… Giotto was born in 1267. Rain is wet. …", id="neighbours without a mark"
        ),
        pytest.param(ENGLISH, "anything", len(ENGLISH), ENGLISH, id="short enough"),
    ],
)
def test_a_long_passage_is_read_as_its_best_sentences(text: str, question: str, limit: int, expected: str) -> None:
    """The sentences that speak of the question, in order, with … where something is left out."""
    assert strip(text, frozenset(tokenize(question)), limit) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Filler sentence here. " * 9_000 + "Giotto was born in 1267.", id="200,000 characters"),
        pytest.param("这是一句闲话。" * 28_000 + "乔托出生于1267年。", id="200,000 Chinese characters"),
        pytest.param("word " * 40_000, id="one giant sentence"),
        pytest.param("字" * 200_000, id="one giant Chinese sentence"),
        pytest.param("\n\n".join(["Giotto."] * 20_000), id="short paragraphs"),
    ],
)
def test_kept_sentences_are_verbatim_and_fit(text: str) -> None:
    """However long the passage, what is read stands in it word for word, and stays near the limit."""
    short = strip(text, frozenset(tokenize("Giotto 1267 乔托")), 2400)
    assert "…" in short
    pieces = [piece.strip() for piece in short.split("…") if piece.strip()]
    assert all(s.text in text for piece in pieces for s in sentences(piece))
    assert len(short) <= 2 * 2400
    assert ("1267" in short) == ("1267" in text)


def test_passages_are_numbered_and_the_shortened_named() -> None:
    """A model reads [1], [2], …; the ids of shortened passages are reported."""
    both = [Passage(id="a", text="short", title="T"), Passage(id="b", text=ENGLISH)]
    text, shortened = numbered(both, frozenset(), 60)
    assert text.splitlines()[0] == "[1] T: short"
    assert text.splitlines()[1].startswith("[2] Bananas are yellow.")
    assert shortened == ("b",)
    assert numbered([], frozenset(), 60) == ("(no passages)", ())
