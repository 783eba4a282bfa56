"""NaiveRAG: one search, one answer, the same typed result as every program."""

from typing import Any

import dspy
import pytest

from reflective_rag.programs import NaiveRAG, result_of
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Passage, Result
from tests.fakes import FakeLM, chat_reply, fake_lm, field_of
from tests.programs.worlds import plain

QUESTION = "When was Giotto born?"
CORPUS = [Passage(id="a", text="Giotto was born in 1267."), Passage(id="b", text="Bananas are yellow.")]


def search(query: str, k: int) -> list[Passage]:
    """The whole corpus."""
    return CORPUS[:k]


def answering(answer: Any = "1267", cited: Any = (1,)) -> FakeLM:
    """A model with one answer."""
    return fake_lm(lambda request: chat_reply(answer=answer, cited=cited))


def ask(lm: FakeLM | None, **options: Any) -> dspy.Prediction:
    """One question."""
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        return NaiveRAG(search, **options)(question=QUESTION)


def test_one_search_and_one_call() -> None:
    """The baseline retrieves once, reads what it found, and does not judge it."""
    lm = answering()
    result = ask(lm)
    assert (result.answer, result.stop_reason, result.degraded) == ("1267", "single_pass", False)
    assert (len(lm.engine.calls), result.retrievals, result.retrieved_count) == (1, 1, 2)
    assert (result.evidence_score, result.confidence, result.rounds, result.warnings) == (None, None, (), ())
    assert [c.quote for c in result.citations] == ["Giotto was born in 1267."]


def test_the_result_is_the_common_type() -> None:
    """Every field of `Result` is there, and nothing else."""
    prediction = ask(answering())
    assert set(prediction.keys()) == set(Result.model_fields)
    assert isinstance(result_of(prediction), Result)


def test_k_limits_what_is_read() -> None:
    """`k` passages, numbered."""
    lm = answering()
    ask(lm, k=1)
    assert field_of(lm.engine.requests[0], "passages") == "[1] Giotto was born in 1267."


@pytest.mark.parametrize("options", [{"mode": "rules"}, {}], ids=["asked for", "no model configured"])
def test_without_a_model_it_extracts_and_says_so(options: dict[str, Any]) -> None:
    """Rules answer by extraction; the warning says that no model was used."""
    result = ask(None, **options)
    assert (result.answer, result.stop_reason) == ("1267", "single_pass")
    assert [w.code for w in result.warnings] == ["rules_only"]


@pytest.mark.parametrize(
    ("answer", "cited", "warned", "unparsed"),
    [
        pytest.param("unknown", [], {"no_answer"}, 0, id="the model abstains"),
        pytest.param("1267", [2], {"unverified_citation"}, 0, id="citation that does not carry the answer"),
        pytest.param("1267", [9], {"unreadable_verdict"}, 1, id="citation of a passage that is not there"),
    ],
)
def test_what_is_odd_is_said(answer: str, cited: list[int], warned: set[str], unparsed: int) -> None:
    """Abstentions and citations that do not hold are warnings; unreadable parts are counted."""
    result = ask(answering(answer, cited))
    assert {w.code for w in result.warnings} == warned
    assert (result.unparsed, result.abstained) == (unparsed, answer == "unknown")
    assert all(c.quote in CORPUS[0].text for c in result.citations)


def test_a_reply_of_noise_is_not_an_answer() -> None:
    """A reply that cannot be read is counted and said, and the program abstains instead of inventing."""
    result = ask(fake_lm(lambda request: "As an AI, I cannot."))
    assert (result.abstained, result.unparsed) == (True, 1)
    assert {"unreadable_verdict", "unreadable_answer"} == {w.code for w in result.warnings}


def test_citations_can_be_left_out() -> None:
    """`include_citations=False` leaves them out of the result."""
    assert ask(answering(), include_citations=False).citations == ()


async def test_sync_async_and_stream_agree() -> None:
    """One loop, four doors."""
    with dspy.context(lm=answering(), adapter=dspy.ChatAdapter()):
        rag = NaiveRAG(search)
        results = [rag(question=QUESTION), await rag.acall(question=QUESTION)]
        events = list(rag.stream(question=QUESTION))
        results += [events[-1].result, [e async for e in rag.astream(question=QUESTION)][-1].result]
    assert all(plain(r) == plain(results[0]) for r in results)
    assert [(e.kind, e.step) for e in events[:-1]] == [
        ("started", "search"), ("finished", "search"), ("started", "answer"), ("finished", "answer"),
    ]  # fmt: skip


def test_an_unknown_mode_is_refused() -> None:
    """The modes of the loop are not those of the baseline."""
    with pytest.raises(ConfigError, match=r"`mode`.*'lm' or 'rules'.*'paired'"):
        NaiveRAG(search, mode="paired")
