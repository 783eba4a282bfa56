"""A limit of time holds in the middle of a huge passage, for every program, and the result says what it left undone.

The clock is one that goes on by a thousandth of a second each time that somebody looks at it, so that the limit passes
where rules are at work, and looks after it can be counted.
"""

from functools import partial
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from reflective_rag.programs import module
from reflective_rag.programs.beginnings import BEGINNING, extract
from reflective_rag.programs.citing import Sources, unused
from reflective_rag.programs.lateness import late_result
from reflective_rag.programs.ledger import Ledger
from reflective_rag.programs.messages import warning
from reflective_rag.programs.noise import redundancy
from reflective_rag.programs.pool import EvidencePool
from reflective_rag.programs.registry import make_program
from reflective_rag.programs.rules.deadline import within
from reflective_rag.programs.strips import strips_of
from reflective_rag.signatures.types import Passage, Result
from tests.fakes import asks_for, chat_reply, fake_lm

QUESTION = "Who influenced Lorenzo Monaco?"
SENTENCES = 3000
HUGE = "".join(f"Lorenzo Monaco number {i} was influenced by Giotto in {1000 + i % 900}. " for i in range(SENTENCES))
SECONDS = 1.0
ON_RULES = ["reflective", "self-rag", "naive", "always", "corrective"]
WITH_MODEL = ["reflective", "self-rag", "naive", "always", "corrective", "agentic", "react"]
REPLIES: dict[str, Any] = {
    "retrieve": "yes",
    "relevance": "relevant",
    "answer": "Giotto",
    "cited": [1],
    "problem": "none",
    "support": "supported",
    "usefulness": "5",
    "query": "painter who influenced the monk of Florence",
    "sub_questions": [{"question": QUESTION, "depends_on": []}],
    "next_thought": "search",
    "next_tool_name": "search",
    "next_tool_args": {"query": "Lorenzo Monaco influence"},
    "reasoning": "",
    "needs": [{"need": "influence", "passages": [1]}],
    "relevant": [1],
    "contradictions": [],
    "outdated": [],
    "gaps": [],
    "sufficient": "yes",
}


class Ticking:
    """Seconds that pass only while somebody looks."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.looks / 1000


def reply(request: Request) -> str:
    """Everything is well."""
    return chat_reply(**{field: value for field, value in REPLIES.items() if asks_for(request, field)})


def late(monkeypatch: pytest.MonkeyPatch, name: str, lm: Any = None, seconds: float = SECONDS) -> tuple[Any, Ticking]:
    """The result of a program over the huge passage, and the clock afterwards."""
    clock = Ticking()
    monkeypatch.setattr(module, "Ledger", partial(Ledger, clock=clock))
    program = make_program(name, lambda query, k: [Passage(id="h", text=HUGE)], budget={"seconds": seconds})
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
        return program(question=QUESTION), clock


CASES = [*((name, False) for name in ON_RULES), *((name, True) for name in WITH_MODEL)]


@pytest.mark.parametrize(("name", "model"), CASES, ids=[f"{n}-{'lm' if m else 'rules'}" for n, m in CASES])
def test_no_program_goes_on_long_after_the_limit_or_hides_it(
    monkeypatch: pytest.MonkeyPatch, name: str, model: bool
) -> None:
    """It ends within the grace and a few looks more, degraded, with `budget_seconds` and never with `sufficient`."""
    result, clock = late(monkeypatch, name, fake_lm(reply) if model else None)
    assert (result.stop_reason, result.degraded) == ("budget_seconds", True)
    assert "budget_exhausted" in [warning.code for warning in result.warnings]
    assert clock.looks < 1000 * SECONDS + 500


@pytest.mark.parametrize("name", ON_RULES)
def test_past_the_limit_the_beginning_is_answered_from_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What could not be read is named in the warning, so nothing is cut silently."""
    result, _ = late(monkeypatch, name)
    assert result.answer == "Giotto"
    told = next(warning.message for warning in result.warnings if warning.code == "budget_exhausted")
    assert "reading long passages beyond their beginning" in told


@pytest.mark.parametrize("name", ON_RULES)
def test_in_time_nothing_is_changed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """With time enough the same passage gives a sound answer with its citation, as without a limit."""
    result, _ = late(monkeypatch, name, seconds=10_000.0)
    assert (result.answer, result.degraded) == ("Giotto", False)
    assert [citation.passage_id for citation in result.citations] == ["h"]


def test_strips_past_the_limit_are_the_beginning() -> None:
    """The windows tell what was read: the first characters and no more."""
    undone: set[str] = set()
    with within(lambda: -1.0, undone):
        (strip,) = strips_of(Passage(id="h", text=HUGE), ["giotto"], 300)
    assert strip.start == 0
    assert 200 < strip.end <= 300
    assert undone == {"beginnings"}


def test_a_citation_that_was_not_looked_up_is_no_unverified_one() -> None:
    """Past the limit there are no citations, and no passage is blamed for carrying nothing."""
    passages, undone = [Passage(id="h", text=HUGE)], set[str]()
    with within(lambda: -1.0, undone):
        assert Sources(QUESTION + " ", passages).citations("Giotto", ["h"]) == ()
        assert unused(["h"], passages, [()]) == ()
    assert undone == {"citations"}
    assert unused(["h"], passages, [()]) == ("h",)


def test_passages_come_in_past_the_limit_though_nobody_compares_them() -> None:
    """They are accounted for; how much they repeat is then not known."""
    undone: set[str] = set()
    copies = [Passage(id="a", text="Giotto was a painter."), Passage(id="b", text="Giotto was a painter in Florence.")]
    pool = EvidencePool(0.5)
    with within(lambda: -1.0, undone):
        assert pool.add(copies) == copies
        assert redundancy(copies) is None
    assert pool.redundancy is None
    assert undone == {"redundancy"}


def test_extraction_past_the_limit_does_not_read_on() -> None:
    """An answer that stands behind the beginning is not found, and that is told."""
    behind = [Passage(id="h", text="Cats sleep. " * (BEGINNING // 10) + "Giotto influenced Lorenzo Monaco.")]
    undone: set[str] = set()
    with within(lambda: -1.0, undone):
        assert extract(QUESTION, behind, None).answer == ""
    assert undone == {"beginnings"}
    assert extract(QUESTION, behind, None).answer == "Giotto"


@pytest.mark.parametrize("earlier", [True, False], ids=["after-another", "alone"])
def test_one_warning_tells_all_that_a_budget_left_undone(earlier: bool) -> None:
    """What was refused before is not forgotten; a stop that says more than "late" stays."""
    refused = warning("budget_exhausted", QUESTION, "done by rules instead: the answer")
    result = Result(answer="Giotto", stop_reason="budget_calls" if earlier else "sufficient")
    result = result.model_copy(update={"warnings": (refused,) if earlier else ()})
    found = late_result(result, QUESTION, {"citations"})
    (told,) = found.warnings
    assert (found.stop_reason, found.degraded) == ("budget_calls" if earlier else "budget_seconds", True)
    assert ("the answer" in told.message, "not done: citations" in told.message) == (earlier, True)
