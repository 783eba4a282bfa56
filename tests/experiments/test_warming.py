"""Times of several systems: what is loaded or read once is charged to none of them."""

from pathlib import Path

import dspy
import pytest

from reflective_rag.data.records import Record
from reflective_rag.experiments.measuring import measure
from reflective_rag.experiments.systems import System
from reflective_rag.experiments.warming import NOT_COUNTED, warm_up
from reflective_rag.programs import NoRetrieval, ReflectiveRAG
from reflective_rag.programs.question_kinds import question_kind
from tests.experiments.helpers import records, run_json, write_jsonl
from tests.fakes import chat_reply, fake_lm


class Counted:
    """A search that finds nothing and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def __call__(self, query: str, k: int) -> list[str]:
        """Nothing."""
        self.asked.append((query, k))
        return []


def test_every_question_is_embedded_once_and_no_model_is_asked() -> None:
    """One passage is searched for each question; the loading of the rules does not reach the model at hand."""
    search = Counted()
    lm = fake_lm(lambda request: chat_reply(answer="x"))
    with dspy.context(lm=lm):
        warm_up(search, ["a?", "乙？", "a?"])
    assert search.asked == [("a?", 1), ("乙？", 1)]
    assert lm.engine.requests == []


def test_a_retriever_that_fails_is_not_asked_again() -> None:
    """The questions will tell what is wrong with it, each in its row."""
    asked = []

    def search(query: str, k: int) -> list[str]:
        asked.append(query)
        raise OSError("gone")

    warm_up(search, ["a?", "b?"])
    assert asked == ["a?"]


def test_what_an_earlier_system_has_read_is_forgotten() -> None:
    """The next one reads it by itself, as the first did."""
    question_kind("Which is older, the Louvre or the Prado?")
    warm_up(None, [])
    assert question_kind.cache_info().currsize == 0


@pytest.mark.parametrize("resumed", [False, True])
def test_only_questions_that_are_still_to_be_asked_are_warmed_up(resumed: bool) -> None:
    """A resumed run searches nothing for rows that it has."""
    search = Counted()
    system = System("x", ReflectiveRAG(search, mode="rules", max_rounds=1))
    data = [Record(id="1", question="When was Giotto born?", answers=("1267",), passages=())]
    first = measure(system, data)
    assert search.asked[0] == ("When was Giotto born?", 1)
    search.asked.clear()
    measure(system, data, done={row.record_id: row for row in first.rows} if resumed else None)
    assert bool(search.asked) is not resumed


def test_a_program_that_does_not_search_is_measured_without_a_search() -> None:
    """It has no retriever to warm up."""
    data = [Record(id="1", question="When was Giotto born?", answers=("1267",), passages=())]
    with dspy.context(lm=fake_lm(lambda request: chat_reply(answer="1267"))):
        assert len(measure(System("none", NoRetrieval()), data).rows) == 1


def test_a_comparison_says_what_its_seconds_leave_out(workplace: Path) -> None:
    """In its notes, once."""
    data = write_jsonl(workplace / "data.jsonl", records())
    document = run_json(
        "compare", "naive", "reflective", "--data", data, "--lm", "rules", "--embedder", "none", "--tracking", "off"
    )
    assert document["notes"].count(NOT_COUNTED) == 1
