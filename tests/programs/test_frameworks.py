"""Retrievers of LangChain, LlamaIndex and Haystack themselves; each test skips where its library is not installed.

`uv pip install --group frameworks` installs them (CONTRIBUTING.md); `test_foreign.py` tests the shapes everywhere.
"""

import importlib
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from reflective_rag.programs import NaiveRAG, ReflectiveRAG, ReflectiveWrapper
from reflective_rag.programs.searching import SearchHandle
from reflective_rag.signatures.types import Passage
from tests.programs.worlds import plain

FACT, OTHER = "Giotto was born in 1267.", "Bananas are yellow."
META = {"title": "Giotto", "source": "lives.txt", "date": "2024-02-03", "page": 7}


def installed(library: str) -> Any:
    """A module of an optional library, or a skip with its reason."""
    return pytest.importorskip(library, reason=f"needs `{library}`: install the dependency group `frameworks`")


def langchain() -> Any:
    """A retriever of langchain-core."""
    documents = installed("langchain_core.documents")
    base: Any = installed("langchain_core.retrievers").BaseRetriever

    class Store(base):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
            found = [documents.Document(FACT, metadata=META, id="g"), documents.Document(OTHER)]
            return found if query else []

    return Store()


def llama_index() -> Any:
    """A retriever of llama-index-core, over an index that needs no model."""
    core = installed("llama_index.core")
    schema = importlib.import_module("llama_index.core.schema")
    nodes = [schema.TextNode(text=FACT, metadata=META, id_="g"), schema.TextNode(text=OTHER)]
    return core.SummaryIndex(nodes).as_retriever()


def own_llama_index() -> Any:
    """A retriever of one's own, with the sync method alone, as LlamaIndex's documentation shows it."""
    base: Any = installed("llama_index.core.retrievers").BaseRetriever
    schema = importlib.import_module("llama_index.core.schema")

    class Store(base):
        def _retrieve(self, query_bundle: Any) -> list[Any]:
            node = schema.TextNode(text=FACT, metadata=META, id_="g")
            other = schema.TextNode(text=OTHER, id_="o")
            return [schema.NodeWithScore(node=node, score=0.9), schema.NodeWithScore(node=other)]

    return Store()


def haystack(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The keyword retriever of haystack-ai; its telemetry is off."""
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "false")
    document = installed("haystack").Document
    stores = importlib.import_module("haystack.document_stores.in_memory")
    retrievers = importlib.import_module("haystack.components.retrievers.in_memory")
    store = stores.InMemoryDocumentStore()
    store.write_documents([document(content=FACT, meta=META, id="g"), document(content=OTHER)])
    return retrievers.InMemoryBM25Retriever(store)


@pytest.fixture(params=["langchain", "llama_index", "own_llama_index", "haystack"])
def retriever(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A retriever of each library."""
    if request.param == "haystack":
        return haystack(monkeypatch)
    makers: dict[str, Callable[[], Any]] = {
        "langchain": langchain, "llama_index": llama_index, "own_llama_index": own_llama_index
    }  # fmt: skip
    return makers[request.param]()


async def test_documents_keep_title_source_and_date(retriever: Any) -> None:
    """Sync and async alike; the rest of the metadata stays."""
    search = SearchHandle(retriever)
    for found in (search("When was Giotto born?", 1), await search.acall("When was Giotto born?", 1)):
        (passage,) = found
        assert passage.model_copy(update={"score": None}) == Passage(
            id="g", text=FACT, title="Giotto", source="lives.txt", published=date(2024, 2, 3), metadata=META
        )


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(lambda retriever: ReflectiveRAG(search=retriever, mode="rules"), id="reflective"),
        pytest.param(lambda retriever: NaiveRAG(search=retriever, mode="rules"), id="naive"),
        pytest.param(
            lambda retriever: ReflectiveWrapper(retrieve=retriever, generate=lambda question, passages: "1267"),
            id="wrapper",
        ),
    ],
)
async def test_every_program_takes_the_retriever_as_it_is(retriever: Any, program: Any) -> None:
    """As `search`, or as the wrapper's `retrieve`; sync == async == stream."""
    rag, question = program(retriever), "When was Giotto born?"
    first = rag(question=question)
    assert (first.answer, first.degraded, first.citations[0].passage_id) == ("1267", False, "g")
    others = [await rag.acall(question=question), list(rag.stream(question=question))[-1].result]
    others.append([event async for event in rag.astream(question=question)][-1].result)
    assert [plain(other) for other in others] == [plain(first)] * 3
