"""Retrievers and documents in the shapes of LangChain, LlamaIndex and Haystack, without those libraries.

`test_frameworks.py` does the same with the libraries themselves, where they are installed.
"""

import asyncio
import threading
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from reflective_rag.programs import NaiveRAG, ReflectiveRAG, ReflectiveWrapper
from reflective_rag.programs.foreign import as_search
from reflective_rag.programs.searching import SearchHandle, as_passages
from reflective_rag.signatures.errors import ConfigError, ContractError
from reflective_rag.signatures.types import Passage

TEXT = "Giotto was born in 1267."
META = {"title": "Giotto", "source": "lives.txt", "date": "2024-02-03", "page": 7}
PASSAGE = Passage(id="g", text=TEXT, title="Giotto", source="lives.txt", published=date(2024, 2, 3), metadata=META)


@dataclass
class LangChainDocument:
    page_content: str
    metadata: dict[Any, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass
class TextNode:
    text: str
    metadata: dict[str, Any] = field(default_factory=dict)
    node_id: str = "n"

    def get_content(self) -> str:
        return self.text


@dataclass
class NodeWithScore:
    node: TextNode
    score: float | None = None


@dataclass
class HaystackDocument:
    content: str | None
    meta: dict[str, Any] = field(default_factory=dict)
    id: str = "h"
    score: float | None = None


class LangChain:
    def invoke(self, query: str, config: Any = None) -> list[LangChainDocument]:
        return [LangChainDocument(TEXT, META, "g"), LangChainDocument("Bananas are yellow.")]

    async def ainvoke(self, query: str, config: Any = None) -> list[LangChainDocument]:
        await asyncio.sleep(0)
        return self.invoke(query)


class LlamaIndexBase:
    def retrieve(self, query: str) -> list[NodeWithScore]:
        return self._retrieve(query)

    async def aretrieve(self, query: str) -> list[NodeWithScore]:
        return await self._aretrieve(query)

    def _retrieve(self, query: str) -> list[NodeWithScore]:
        raise NotImplementedError

    async def _aretrieve(self, query: str) -> list[NodeWithScore]:
        return self._retrieve(query)


class LlamaIndex(LlamaIndexBase):
    threads: list[threading.Thread]

    def _retrieve(self, query: str) -> list[NodeWithScore]:
        self.threads = [*getattr(self, "threads", []), threading.current_thread()]
        return [NodeWithScore(TextNode(TEXT, META, "g")), NodeWithScore(TextNode("Bananas are yellow."), 0.1)]


class AsyncLlamaIndex(LlamaIndex):
    async def _aretrieve(self, query: str) -> list[NodeWithScore]:
        return self._retrieve(query)


class Haystack:
    def run(self, query: str, top_k: int | None = None) -> dict[str, Any]:
        return {"documents": [HaystackDocument(TEXT, META, "g"), HaystackDocument("Bananas are yellow.")]}


class AsyncHaystack(Haystack):
    async def run_async(self, query: str, top_k: int | None = None) -> dict[str, Any]:
        await asyncio.sleep(0)
        return self.run(query)


libraries = pytest.mark.parametrize(
    "retriever",
    [LangChain(), LlamaIndex(), AsyncLlamaIndex(), Haystack(), AsyncHaystack()],
    ids=lambda r: type(r).__name__,
)


@libraries
async def test_a_retriever_of_another_library_is_a_search(retriever: Any) -> None:
    """Sync and async; title, source and date are read from the metadata, all of which is kept; k cuts."""
    search = SearchHandle(retriever)
    assert search("q", 1) == await search.acall("q", 1) == [PASSAGE]
    assert [p.text for p in search("q", 9)] == [TEXT, "Bananas are yellow."]


@libraries
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(lambda retriever: ReflectiveRAG(retriever, mode="rules"), id="reflective"),
        pytest.param(lambda retriever: NaiveRAG(retriever, mode="rules"), id="naive"),
        pytest.param(lambda retriever: ReflectiveWrapper(retriever, lambda question, passages: "1267"), id="wrapper"),
    ],
)
async def test_every_program_takes_it(retriever: Any, program: Any) -> None:
    """As `search`, or as the wrapper's `retrieve`."""
    rag = program(retriever)
    for result in (rag(question="When was Giotto born?"), await rag.acall(question="When was Giotto born?")):
        assert (result.answer, result.passages[0], result.degraded) == ("1267", PASSAGE, False)


async def test_an_inherited_async_method_does_not_block_the_loop() -> None:
    """LlamaIndex's default async method calls the sync one in place: a thread does it then. An own one is used."""
    plain, own = LlamaIndex(), AsyncLlamaIndex()
    await SearchHandle(plain).acall("q", 1)
    await SearchHandle(own).acall("q", 1)
    here = threading.current_thread()
    assert (plain.threads[0] is here, own.threads[0] is here) == (False, True)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(LangChainDocument(TEXT, id="a"), Passage(id="a", text=TEXT), id="LangChain, bare"),
        pytest.param(LangChainDocument(TEXT, {1: 2}, "a"), Passage(id="a", text=TEXT), id="key that is no text"),
        pytest.param(
            NodeWithScore(TextNode(TEXT), 0.5), Passage(id="n", text=TEXT, score=0.5), id="LlamaIndex, scored"
        ),
        pytest.param(TextNode(TEXT), Passage(id="n", text=TEXT), id="LlamaIndex, node"),
        pytest.param(HaystackDocument(TEXT, {}, "h", 2), Passage(id="h", text=TEXT, score=2.0), id="Haystack, scored"),
        pytest.param(
            HaystackDocument(TEXT, {"title": "乔托", "published": datetime(2024, 2, 3, tzinfo=UTC)}),
            Passage(id="h", text=TEXT, title="乔托", published=date(2024, 2, 3)),
            id="date that is a date",
        ),
        pytest.param(HaystackDocument(TEXT, {"url": "u"}), Passage(id="h", text=TEXT, source="u"), id="url as source"),
        pytest.param(
            LangChainDocument(TEXT, {"title": 5, "date": "spring", "source": None, "file_path": "f"}, "a"),
            Passage(id="a", text=TEXT, source="f"),
            id="fields of other types",
        ),
    ],
)
def test_documents_keep_what_they_know(document: Any, expected: Passage) -> None:
    """Text, id, score, title, source and date; what is of another type stays in the metadata alone."""
    (passage,) = as_passages([document], 1)
    given = next(getattr(document, name) for name in ("metadata", "meta", "node") if hasattr(document, name))
    assert passage.metadata == {str(key): value for key, value in getattr(given, "metadata", given).items()}
    assert passage.model_copy(update={"metadata": {}}) == expected


def test_a_document_without_an_id_gets_one_from_its_words() -> None:
    """As a plain text does."""
    (passage,) = as_passages([LangChainDocument(TEXT)], 1)
    assert passage.id == f"p-{passage.key}"


def test_documents_of_several_libraries_may_be_mixed_with_our_own() -> None:
    """Documents without a text (Haystack's of bytes) are left out as empty texts are."""
    found = [LangChainDocument("a"), HaystackDocument(None), NodeWithScore(TextNode("b")), "c", {"text": "d"}]
    assert [p.text for p in as_passages(found, 9)] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "retriever",
    [
        pytest.param(SimpleNamespace(invoke=lambda query: None), id="None"),
        pytest.param(SimpleNamespace(invoke=lambda query: "text"), id="a text"),
        pytest.param(SimpleNamespace(run=lambda query: {"replies": []}), id="a component that is no retriever"),
        pytest.param(SimpleNamespace(run=lambda query: {"documents": None}), id="documents are None"),
        pytest.param(SimpleNamespace(retrieve=lambda query: [object()]), id="other objects"),
    ],
)
def test_what_is_no_list_of_documents_is_a_contract_error(retriever: Any) -> None:
    """The loop reports it as a failure of the retriever."""
    with pytest.raises(ContractError, match=r"`search`.*(must return|returned).*(got|expected)"):
        SearchHandle(retriever)("q", 1)


@pytest.mark.parametrize("retriever", [object(), "index", 5, SimpleNamespace(invoke=3), ["a"]])
def test_other_objects_are_no_retrievers(retriever: Any) -> None:
    """Nothing is guessed; the error says what is expected."""
    assert as_search(retriever) is None
    with pytest.raises(ConfigError, match=r"`search` must be a callable.*LangChain, LlamaIndex or Haystack"):
        SearchHandle(retriever)


def test_a_class_is_not_its_retriever() -> None:
    """The class itself has the methods too, but nothing to call them on."""
    assert as_search(LangChain) is None
    with pytest.raises(ConfigError, match="got the class LangChain"):
        SearchHandle(LangChain)


def test_an_address_as_search_is_told_how_to_open_it() -> None:
    """A text cannot be searched; the error names the function that opens an index."""
    address: Any = "local:my-index"
    with pytest.raises(ConfigError, match=r"got the text 'local:my-index': open an index with `open_retriever\("):
        ReflectiveRAG(search=address)


def test_an_object_with_a_search_method_is_taken() -> None:
    """`search(query, k)` of a user's own class serves like a function, with the number wanted."""
    asked: list[Any] = []

    def search(query: str, k: int) -> list[str]:
        asked.append((query, k))
        return ["a text"]

    own = SimpleNamespace(search=search)
    assert [p.text for p in SearchHandle(own)("q", 3)] == ["a text"]
    assert asked == [("q", 3)]
