"""Embedders by the name of a sentence-transformers model, and the prefixes that models want."""

import importlib.util
import sys
from types import ModuleType
from typing import Any

import dspy
import pytest

from reflective_rag.data.retrieval import DspyEmbedder, Prefixes, SentenceEmbedder, open_retriever, resolve_embedder
from reflective_rag.data.retrieval.prefixes import known_prefixes, named, split_prefixes
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.data.retrieval.helpers import CORPUS, HashEmbedder

E5 = Prefixes("query: ", "passage: ")


class FakeModel:
    """Has what is used of a `SentenceTransformer`; remembers what it was asked."""

    def __init__(self, name: str = "fake", prompts: dict[str, str] | None = None) -> None:
        if name == "missing":
            raise OSError("missing is not a local folder and is not a valid model identifier\nlong trace")
        self.prompts = prompts or {"query": "", "document": ""}
        self.seen: list[tuple[str, str]] = []
        self._hashed = HashEmbedder()

    def encode(self, texts: Any, *, prompt: str, convert_to_numpy: bool, show_progress_bar: bool) -> Any:
        """Vectors of no particular length."""
        self.seen += [(prompt, text) for text in texts]
        return 3 * self._hashed.passages([prompt + text for text in texts])


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package with nothing but the class that is used."""
    module = ModuleType("sentence_transformers")
    vars(module)["SentenceTransformer"] = FakeModel
    module.__spec__ = importlib.util.spec_from_loader("sentence_transformers", None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


@pytest.mark.parametrize(
    ("model", "prefixes"),
    [
        ("intfloat/multilingual-e5-small", E5),
        ("intfloat/e5-large-v2", E5),
        ("together_ai/intfloat/multilingual-e5-large-instruct", None),
        ("BAAI/bge-small-en-v1.5", None),
        ("BAAI/bge-base-zh-v1.5", Prefixes("为这个句子生成表示以用于检索相关文章：")),
        ("ollama/nomic-embed-text", Prefixes("search_query: ", "search_document: ")),
        ("BAAI/bge-m3", Prefixes()),
        ("openai/text-embedding-3-small", Prefixes()),
        ("sentence-transformers/all-MiniLM-L6-v2", Prefixes()),
        ("me/none5-base", Prefixes()),
    ],
)
def test_prefixes_by_the_name_of_a_model(model: str, prefixes: Prefixes | None) -> None:
    """As their cards ask for; instructions stand before queries alone; an unknown model gets none."""
    found = known_prefixes(model)
    if prefixes is None:
        assert found.query.endswith(": ")
        assert found.passage == ""
    else:
        assert found == prefixes


@pytest.mark.parametrize("prefixes", [Prefixes(), E5, Prefixes("Instruct: a & b?\nQuery: ", "段落：")], ids=repr)
def test_a_name_with_prefixes_is_read_again(prefixes: Prefixes) -> None:
    """Whatever stands in them, so that an index finds its embedder by the recorded name."""
    assert split_prefixes(named("a/b", prefixes)) == ("a/b", prefixes if any(prefixes) else None)


@pytest.mark.parametrize("name", ["openai/x?dimension=5", "openai/x?", "sentence-transformers:m?prefix=a"])
def test_other_options_are_refused(name: str) -> None:
    """A misspelt option must not become a part of the model's name."""
    with pytest.raises(ConfigError, match=r"expected `\?query="):
        resolve_embedder(name)


def test_a_hosted_model_gets_its_prefixes() -> None:
    """They stand before each text, other ones can be chosen, and an index tells them apart."""
    seen: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return [[1.0, 0.0] for _ in texts]

    mine = DspyEmbedder(dspy.Embedder(embed), name="mine", prefixes=E5)
    mine.query("where")
    mine.passages(["there"])
    assert seen == ["query: where", "passage: there"]
    assert mine.name == "mine?query=query%3A%20&passage=passage%3A%20"
    assert DspyEmbedder("ollama/nomic-embed-text").prefixes.query == "search_query: "
    plain = resolve_embedder("ollama/nomic-embed-text?query=&passage=")
    assert isinstance(plain, DspyEmbedder)
    assert plain.prefixes == Prefixes()


@pytest.mark.usefixtures("library")
def test_a_model_by_name() -> None:
    """Loaded at first use, its vectors of length 1, with the prefixes of its family in the name."""
    embedder = resolve_embedder("sentence-transformers:intfloat/multilingual-e5-small")
    assert isinstance(embedder, SentenceEmbedder)
    assert embedder.prefixes == E5
    assert embedder.name.startswith("sentence-transformers:intfloat/multilingual-e5-small?query=")
    assert embedder.dimensions == 16
    assert (embedder.passages(["a cat", "北京"]) ** 2).sum(axis=1).tolist() == pytest.approx([1, 1])
    assert embedder.query("a cat").shape == (16,)


@pytest.mark.parametrize(
    ("prompts", "asked", "expected"),
    [
        pytest.param({"query": "Q: ", "passage": "P: "}, None, Prefixes("Q: ", "P: "), id="the-model's-own"),
        pytest.param({"query": "Q: ", "document": "D: "}, None, Prefixes("Q: ", "D: "), id="documents"),
        pytest.param({"query": "Q: "}, Prefixes("x "), Prefixes("x "), id="chosen"),
        pytest.param(None, None, Prefixes(), id="none"),
    ],
)
def test_the_prompts_of_a_model(prompts: Any, asked: Prefixes | None, expected: Prefixes) -> None:
    """What is chosen comes before what the model brings; each text is embedded with it as the prompt."""
    model = FakeModel(prompts=prompts)
    embedder = SentenceEmbedder(model, name="mine", prefixes=asked)
    embedder.query("where")
    embedder.passages(["there"])
    assert model.seen == [(expected.query, "where"), (expected.passage, "there")]


@pytest.mark.usefixtures("library")
def test_an_index_knows_the_model_and_its_prefixes(tmp_path: Any) -> None:
    """It opens with `auto`, and refuses the same model with other prefixes."""
    address = f"local:{tmp_path / 'index'}"
    with open_retriever(address, embedder="sentence-transformers:me/e5-small", create=True) as index:
        index.add(CORPUS)
    with open_retriever(address) as index:
        assert index.mode == "hybrid"
        assert index.search("automobile", 3)
    with pytest.raises(DataError, match="was made with the embedder 'sentence-transformers:me/e5-small"):
        open_retriever(address, embedder="sentence-transformers:me/e5-small?query=&passage=")


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sentence-transformers:", "names no model"),
        ("sentence-transformers:missing", r"cannot be loaded \(OSError: missing is not a local folder"),
    ],
)
def test_a_model_that_is_not_there(name: str, message: str) -> None:
    """One line that says what was expected."""

    def ask() -> Any:
        embedder = resolve_embedder(name)
        assert embedder is not None
        return embedder.query("a")

    with pytest.raises(ConfigError, match=message):
        ask()


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, and not when the first passage comes."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install '.+\[sentence-transformers\]'"):
        resolve_embedder("sentence-transformers:me/model")


def test_a_loaded_model_needs_a_name() -> None:
    """An index must know its embedder again."""
    with pytest.raises(ConfigError, match="name"):
        SentenceEmbedder(FakeModel())


def test_a_real_model_takes_prompts_as_they_are_given(tmp_path: Any) -> None:
    """The library itself, with a tiny model made here: a prefix changes the vector, an empty one does not."""
    pytest.importorskip("sentence_transformers", reason="it brings PyTorch: `pip install '.[sentence-transformers]'`")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import BoW

    words = BoW(vocab=["query", "cat", "dog"])
    model = SentenceTransformer(modules=[words])
    model.save(str(tmp_path / "model"))
    bare = SentenceEmbedder(str(tmp_path / "model"), prefixes=Prefixes())
    prefixed = SentenceEmbedder(str(tmp_path / "model"), prefixes=Prefixes(query="query "))
    assert bare.query("cat").tolist() == bare.passages(["cat"])[0].tolist()
    assert prefixed.query("cat").tolist() != bare.query("cat").tolist()
