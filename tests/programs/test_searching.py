"""A caller's `search(query, k)`: every shape that is promised, and one clear error for the others."""

import asyncio
import copy
import functools
import itertools
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any

import pytest

from reflective_rag.programs import EvidenceAssessor, NaiveRAG
from reflective_rag.programs.searching import SearchHandle, as_passages, read_date
from reflective_rag.signatures.errors import ConfigError, ContractError
from reflective_rag.signatures.types import Passage

PASSAGE = Passage(id="a", text="one")


@pytest.mark.parametrize(
    ("found", "texts"),
    [
        pytest.param([PASSAGE], ["one"], id="Passages"),
        pytest.param([{"text": "one"}], ["one"], id="dicts"),
        pytest.param([{"content": "one"}, {"page_content": "two"}], ["one", "two"], id="other names for text"),
        pytest.param([MappingProxyType({"text": "one"})], ["one"], id="mappings"),
        pytest.param(["one", "二"], ["one", "二"], id="strings"),
        pytest.param(("one", {"text": "two"}, PASSAGE), ["one", "two", "one"], id="mixed tuple"),
        pytest.param((t for t in ["one", "two"]), ["one", "two"], id="generator"),
        pytest.param({"one": 1}.keys(), ["one"], id="view"),
        pytest.param([], [], id="nothing found"),
        pytest.param(["", "  \n", "one"], ["one"], id="empty texts left out"),
        pytest.param((f"t{i}" for i in itertools.count()), [f"t{i}" for i in range(5)], id="endless generator"),
        pytest.param([f"t{i}" for i in range(5000)], [f"t{i}" for i in range(5)], id="thousands of items"),
    ],
)
def test_results_come_in_many_shapes(found: Any, texts: list[str]) -> None:
    """Passages, dicts with a text, and strings become Passages, the first k that hold text."""
    assert [p.text for p in as_passages(found, 5)] == texts


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(None, id="None"),
        pytest.param("one text", id="a bare string"),
        pytest.param(b"bytes", id="bytes"),
        pytest.param({"text": "one"}, id="a bare dict"),
        pytest.param(5, id="number"),
        pytest.param([5], id="list of numbers"),
        pytest.param([None], id="list of None"),
        pytest.param([{"txt": "one"}], id="dict without a text"),
        pytest.param([{"text": None}], id="text is None"),
        pytest.param([["one"]], id="list of lists"),
    ],
)
def test_other_shapes_are_a_contract_error(found: Any) -> None:
    """The error says what was expected and what came."""
    with pytest.raises(ContractError, match=r"`search`.*(must return|returned).*(got|expected)"):
        as_passages(found, 5)


def test_one_bad_item_does_not_cost_the_good_ones() -> None:
    """They are read; the result is degraded and tells what was left out. The assessor, called directly, refuses it."""
    mixed = [{"id": "1"}, "Giotto was born in 1267.", None]
    result = NaiveRAG(lambda query, k: mixed, mode="rules")(question="When was Giotto born?")
    assert (result.answer, result.degraded) == ("1267", True)
    (told,) = [w.message for w in result.warnings if w.code == "retriever_degraded"]
    assert "2 item(s) of the reply left out" in told
    assert "got a dict without one" in told
    with pytest.raises(ContractError, match="2 item"):
        EvidenceAssessor()(question="When was Giotto born?", passages=mixed)


def test_a_dict_keeps_everything_it_brings() -> None:
    """Known keys fill the Passage, the rest goes to `metadata`; an id of 0 is an id."""
    item = {"id": 0, "text": "t", "title": "T", "source": "s", "date": "2024-02-03", "score": 1, "lang": "en"}
    (passage,) = as_passages([item | {"metadata": {"page": 4}}], 1)
    assert passage == Passage(
        id="0",
        text="t",
        title="T",
        source="s",
        published=date(2024, 2, 3),
        score=1.0,
        metadata={"page": 4, "lang": "en"},
    )


def test_a_text_without_an_id_gets_one_from_its_words() -> None:
    """The same text has the same id in every round and process."""
    first, second = as_passages(["Giotto.", {"text": "giotto", "id": ""}], 2)
    assert first.id == second.id == f"p-{first.key}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(date(2024, 1, 2), date(2024, 1, 2), id="date"),
        pytest.param(datetime(2024, 1, 2, 3, tzinfo=UTC), date(2024, 1, 2), id="datetime"),
        pytest.param("2024-01-02", date(2024, 1, 2), id="text"),
        pytest.param("2024-01-02T03:04:05Z", date(2024, 1, 2), id="text with time"),
        pytest.param("last spring", None, id="words"),
        pytest.param("2024-13-45", None, id="no such day"),
        pytest.param(2024, None, id="number"),
        pytest.param(None, None, id="None"),
    ],
)
def test_an_unreadable_date_is_unknown(value: Any, expected: date | None) -> None:
    """An unknown date is neutral, never an error."""
    assert read_date(value) == expected


def plain(query: str, k: int) -> list[str]:
    """A plain search function."""
    return [query] * k


async def coroutine(query: str, k: int) -> list[str]:
    """An async search function."""
    await asyncio.sleep(0)
    return [query] * k


class Searcher:
    def __call__(self, query: str, k: int) -> list[str]:
        return [query] * k

    def method(self, query: str, k: int) -> list[str]:
        return [query] * k


class AsyncSearcher:
    async def __call__(self, query: str, k: int) -> list[str]:
        await asyncio.sleep(0)
        return [query] * k


async def _later(query: str, k: int) -> list[str]:
    return [query] * k


callables = pytest.mark.parametrize(
    "search",
    [
        pytest.param(plain, id="function"),
        pytest.param(coroutine, id="async function"),
        pytest.param(Searcher(), id="object"),
        pytest.param(Searcher().method, id="method"),
        pytest.param(AsyncSearcher(), id="async object"),
        pytest.param(functools.partial(_later), id="partial"),
    ],
)


@callables
def test_any_callable_serves_sync(search: Any) -> None:
    """Plain and async search functions both serve a plain call."""
    assert [p.text for p in SearchHandle(search)("q", 2)] == ["q", "q"]


@callables
async def test_any_callable_serves_async(search: Any) -> None:
    """Both serve `acall`, and a plain call inside a running event loop, as in a notebook."""
    assert [p.text for p in await SearchHandle(search).acall("q", 2)] == ["q", "q"]
    assert [p.text for p in SearchHandle(search)("q", 2)] == ["q", "q"]


def test_a_search_that_cannot_be_called_is_refused() -> None:
    """A wrong or missing `search` is named before anything runs."""
    with pytest.raises(ConfigError, match="callable"):
        SearchHandle("http://index")
    with pytest.raises(ConfigError, match="no `search`"):
        SearchHandle(None)("q", 1)


def test_copies_share_the_search_function() -> None:
    """Optimizers deep-copy programs a dozen times; a client with connections must not be copied along."""
    handle = SearchHandle(plain)
    assert copy.deepcopy(handle) is handle is copy.copy(handle)


def test_what_a_generator_gave_before_it_broke_is_read() -> None:
    """The result is degraded and says what happened; a generator that gave nothing is an error."""

    def broken(query: str, k: int) -> Any:
        yield "Giotto was born in 1267."
        raise RuntimeError("connection lost")

    def at_once(query: str, k: int) -> Any:
        if query:
            raise RuntimeError("connection lost")
        yield query

    result = NaiveRAG(broken, mode="rules")(question="When was Giotto born?")
    assert (result.answer, result.degraded) == ("1267", True)
    assert any("connection lost" in w.message for w in result.warnings if w.code == "retriever_degraded")
    assert NaiveRAG(at_once, mode="rules")(question="When was Giotto born?").stop_reason == "retriever_error"


def test_a_generator_of_blanks_ends() -> None:
    """Blank texts are no passages, and looking at them has an end."""
    assert as_passages(itertools.repeat(" "), 3) == []
    assert len(as_passages(itertools.chain(itertools.repeat(" ", 500), itertools.repeat("a text")), 3)) == 3


def test_a_limit_longer_than_python_can_wait_is_no_error() -> None:
    """A day of the far future is as good as no limit, called or awaited."""
    rag = NaiveRAG(lambda query, k: ["Giotto was born in 1267."], mode="rules", budget={"seconds": 1e300})
    assert rag(question="When was Giotto born?").answer == "1267"
    assert asyncio.run(rag.acall(question="When was Giotto born?")).answer == "1267"
