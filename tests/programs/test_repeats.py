"""Which query repeats a tried one: by its tokens and by its meaning. English and Chinese."""

import math
from typing import Any

import pytest

from reflective_rag.programs.repeats import NEAR_MEANING, SAME_MEANING, Meanings, is_repeat
from reflective_rag.signatures.errors import ConfigError
from tests.programs.gaps import gap, opened


def on_circle(angles: dict[str, float]) -> Any:
    """An embedder that puts each text at an angle (the cosine of two texts is that of the difference)."""
    return lambda texts: [[math.cos(angles[text]), math.sin(angles[text])] for text in texts]


@pytest.mark.parametrize(
    ("query", "tried", "repeats"),
    [
        pytest.param("Giotto birth year", ["giotto: Birth year!"], True, id="case and punctuation"),
        pytest.param("birth year Giotto", ["Giotto birth year"], True, id="order"),
        pytest.param("Giotto birth year", ["Giotto", "birth year"], False, id="parts"),
        pytest.param("Giotto birth year", [], False, id="nothing tried"),
        pytest.param("Giotto death year", ["Giotto birth year"], False, id="another word"),
        pytest.param(
            "how many people lived in the old town of the city of Lyon in 2019",
            ["how many people lived in the old town of the city of Lyon in 2023"],
            False,
            id="another year among many words",
        ),
        pytest.param("乔托的出生年份", ["乔托的出生年份？"], True, id="zh punctuation"),
        pytest.param("２０１９年里昂人口", ["2019年里昂人口"], True, id="full-width digits"),
        pytest.param("2019年里昂人口", ["2023年里昂人口"], False, id="zh another year"),
        pytest.param("鲁迅的出生地", ["鲁迅的出生日期"], False, id="zh place and date"),
        pytest.param("", ["Giotto"], False, id="empty"),
    ],
)
def test_a_repeat_is_told_by_its_tokens(query: str, tried: list[str], repeats: bool) -> None:
    """Equal normal form or nearly the same tokens; other numbers always make another query."""
    assert is_repeat(query, tried) is repeats


@pytest.mark.parametrize(
    ("query", "tried", "cosine", "repeats"),
    [
        pytest.param("who wrote Emma", "Emma novel origin", SAME_MEANING + 0.001, True, id="same meaning, other words"),
        pytest.param("who wrote Emma", "who edited Emma", SAME_MEANING - 0.001, False, id="near, other words"),
        pytest.param("who wrote Emma", "author of Emma", NEAR_MEANING + 0.001, True, id="near, synonyms"),
        pytest.param("who wrote Emma", "author of Emma", NEAR_MEANING - 0.001, False, id="synonyms, not near"),
        pytest.param("birthplace of Giotto", "birth date of Giotto", 0.98, False, id="place and date"),
        pytest.param("里昂2019年有多少人口", "2019年里昂的人口", 0.98, True, id="zh near, same words"),
        pytest.param("电影的导演", "电影的编剧", 0.98, False, id="zh near, other words"),
        pytest.param("population of Lyon in 2019", "population of Lyon in 2023", 1.0, False, id="another year"),
    ],
)
def test_a_repeat_is_told_by_its_meaning(query: str, tried: str, cosine: float, repeats: bool) -> None:
    """A cosine counts from `SAME_MEANING`, with the same content words from `NEAR_MEANING`; never over a number."""
    meanings = Meanings(on_circle({query: 0.0, tried: math.acos(cosine)}))
    assert is_repeat(query, [tried], meanings) is repeats


def test_each_text_is_embedded_once() -> None:
    """The embedder sees no text twice, however often texts are compared."""
    seen: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return [[float(text[0] == first) for first in "age"] for text in texts]

    meanings = Meanings(embed)
    for _ in range(3):
        is_repeat("alpha beta", ["gamma delta", "epsilon"], meanings)
    assert sorted(seen) == ["alpha beta", "epsilon", "gamma delta"]


@pytest.mark.parametrize(
    "embed",
    [
        pytest.param(lambda texts: [[float("nan")] for _ in texts], id="not a number"),
        pytest.param(lambda texts: [[1.0]], id="a row too few"),
        pytest.param(lambda texts: None, id="nothing"),
    ],
)
def test_a_broken_embedder_costs_only_the_meanings(embed: Any) -> None:
    """The ledger goes on with tokens alone, and says why."""
    ledger = opened(gap("who wrote Emma"), gap("who edited Emma"), embed=embed)
    assert [query for _, query in ledger.queries(ledger.open_gaps(), 3)] == ["who wrote Emma", "who edited Emma"]
    assert ledger.embed_error


def test_a_failing_embedder_is_asked_once() -> None:
    """An embedder that is down is not asked again for this question."""
    calls: list[int] = []

    def embed(texts: list[str]) -> Any:
        calls.append(len(texts))
        raise ConfigError("the embedder is down")

    meanings = Meanings(embed)
    assert not is_repeat("alpha", ["beta", "gamma", "delta"], meanings)
    assert len(calls) == 1
    assert "down" in meanings.error
