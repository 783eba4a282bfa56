"""Passages as rows, and the analyzer."""

import pytest

from reflective_rag.data.retrieval.rows import analyze, embedding_text, read_about, table_schema, to_row
from reflective_rag.signatures.errors import ContractError, DataError
from reflective_rag.signatures.types import Passage


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("The Cats, 1,000!", "the cats 1,000", id="english"),
        pytest.param("北京市 Beijing", "北京 京市 beijing", id="chinese bigrams beside latin"),
        pytest.param("Monaco’s", "monaco's", id="curly apostrophe"),
        pytest.param("ＡＢＣ", "abc", id="full width"),
        pytest.param('?!"…😀', "", id="no word"),
    ],
)
def test_analyzer(text, words):
    """Words are lower-cased and joined by spaces, Chinese is cut into bigrams, syntax disappears."""
    assert analyze(text) == words


def test_the_title_is_embedded_with_the_text():
    """A title names what the text may only call "it", so it stands before the text."""
    assert embedding_text(Passage(id="1", title="Bell", text="He was born.")) == "Bell\nHe was born."
    assert embedding_text(Passage(id="1", text="He was born.")) == "He was born."


@pytest.mark.parametrize("change", [{"text": "x"}, {"title": "x"}, {"source": "x"}, {"metadata": {"a": 2}}], ids=str)
def test_every_field_counts_as_content(change):
    """A passage that differs in any field but its score has another digest."""
    passage = Passage(id="1", text="a", metadata={"a": 1})
    assert to_row(passage)["digest"] != to_row(passage.model_copy(update=change))["digest"]
    assert to_row(passage)["digest"] == to_row(passage.model_copy(update={"score": 0.5}))["digest"]


def test_metadata_must_be_json():
    """A value that JSON cannot hold is refused with the passage's id, not turned into a string."""
    with pytest.raises(DataError, match=r"'p7' must be JSON"):
        to_row(Passage(id="p7", text="a", metadata={"when": object()}))


def test_only_passages_are_taken():
    """A plain dict is refused by name of its type."""
    with pytest.raises(ContractError, match="got dict"):
        to_row({"id": "1", "text": "a"})  # type: ignore[arg-type]  # the point of the test


@pytest.mark.parametrize("dimensions", [None, 8])
def test_version_and_embedder_travel_in_the_schema(dimensions):
    """The embedder's name can be read back; a foreign table's schema says nothing."""
    schema = table_schema("openai/x", dimensions)
    assert read_about(schema) == (1, "openai/x")
    assert ("vector" in schema.names) == (dimensions is not None)
    assert read_about(schema.with_metadata(None)) is None
    assert read_about(schema.with_metadata({"reflective_rag": "{"})) is None
