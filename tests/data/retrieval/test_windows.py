import asyncio
from typing import Any

import pytest

from reflective_rag.data.retrieval import open_retriever
from reflective_rag.data.retrieval.windows import Window, page_at, search_widened, widened
from reflective_rag.signatures.types import Passage


def chunk(number: int, window: int, **metadata: Any) -> Passage:
    """A chunk of a document of which three fall into each window."""
    place = Window(f"d@{window}", f"window {window} of the river Rhine", 100 * window, [(0, window), (7, window + 1)])
    return Passage(id=f"d#{number}", text=f"river {number} Rhine", metadata=metadata | place.as_metadata())


def test_a_window_comes_once_and_in_place_of_its_chunks() -> None:
    """In the order of the best chunk, with that chunk's score and name; what is no chunk stays as it is."""
    plain = Passage(id="p", text="plain")
    first, second, third = widened(
        [chunk(4, 2, page=9).model_copy(update={"score": 0.5}), plain, chunk(5, 2), chunk(1, 1)]
    )
    assert (first.id, first.text, first.score) == ("d@2", "window 2 of the river Rhine", 0.5)
    assert second is plain
    assert third.id == "d@1"
    assert first.metadata == {"start": 200, "end": 227, "chunk": "d#4", "pages": [(0, 2), (7, 3)], "page": 2}


@pytest.mark.parametrize(("offset", "page"), [(0, 2), (6, 2), (7, 3), (26, 3)])
def test_the_page_of_a_citation_is_that_of_its_first_character(offset: int, page: int) -> None:
    """A window may run over the end of a page."""
    assert page_at(widened([chunk(4, 2)])[0], offset) == page
    assert page_at(Passage(id="p", text="plain"), offset) is None


@pytest.mark.parametrize("damaged", [None, "text", {}, {"id": "x"}], ids=str)
def test_metadata_that_only_looks_like_a_window_is_left_alone(damaged: Any) -> None:
    """A key of that name may be the user's own."""
    passage = Passage(id="p", text="plain", metadata={"window": damaged})
    assert widened([passage]) == [passage]


def test_more_chunks_are_searched_until_there_are_enough_windows() -> None:
    """Three chunks a window: two windows need a second search; an index with fewer ends it."""
    chunks = [chunk(number, number // 3) for number in range(9)]
    asked = []

    def find(n: int) -> list[Passage]:
        asked.append(n)
        return chunks[:n]

    assert [passage.id for passage in search_widened(find, 2)] == ["d@0", "d@1"]
    assert len(search_widened(find, 5)) == 3
    assert max(asked) <= 20


def test_programs_read_windows_and_searches_find_chunks() -> None:
    """`search` gives chunks, a call gives windows, sync and async alike."""
    with open_retriever("memory:", embedder="none") as retriever:
        retriever.add([chunk(number, number // 3) for number in range(9)])
        assert {passage.text for passage in retriever.search("Rhine", 9)} == {f"river {n} Rhine" for n in range(9)}
        called = retriever("Rhine", 2)
        assert len({passage.id for passage in called}) == 2
        assert all(passage.text.startswith("window") for passage in called)
        assert asyncio.run(retriever.acall("Rhine", 2)) == called
