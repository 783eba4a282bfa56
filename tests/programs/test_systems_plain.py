"""NoRetrieval and AlwaysRetrieve: the model alone, and a fixed number of blind searches."""

import pytest
from dspy.lm15 import Request

from reflective_rag.programs import AlwaysRetrieve, NoRetrieval
from reflective_rag.signatures import answering, gaps, self_rag
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Passage
from tests.fakes import chat_reply, fake_lm, fields_of
from tests.programs.systems import QUESTION, ZH, ask, codes, good, on_rules, search


def test_predictors_are_pinned() -> None:
    """A change here breaks saved artefacts; it is made on purpose or not at all."""
    both = {"answer": answering.AnswerQuestion, "rewrite": gaps.RewriteQuery}
    assert {n: p.signature for n, p in NoRetrieval().named_predictors()} == {"answer": self_rag.AnswerAlone}
    assert {n: p.signature for n, p in AlwaysRetrieve().named_predictors()} == both
    assert {n for n, _ in AlwaysRetrieve(rounds=1).named_predictors()} == {"answer"}
    assert AlwaysRetrieve(mode="rules").named_predictors() == []


@pytest.mark.parametrize("question", [QUESTION, ZH], ids=["en", "zh"])
def test_the_model_alone_is_marked_as_such(question: str) -> None:
    """No search, no evidence, no citation; the answer is from memory, and that is a warning, not a failure."""
    lm = fake_lm(good)
    result = ask(NoRetrieval(), lm, question)
    assert set(fields_of(lm.engine.requests[0])) == {"question"}
    assert (result.need_retrieval, result.retrievals, result.stop_reason, result.degraded) == (
        False,
        0,
        "single_pass",
        False,
    )
    assert (result.evidence_score, result.confidence, result.citations, result.passages) == (None, None, (), ())
    assert codes(result) == {"from_memory"}


@pytest.mark.parametrize("reply", ["unknown", "I don't know.", "不知道"])
def test_a_model_that_does_not_know_abstains(reply: str) -> None:
    """A refusal is no answer, and no claim from memory."""
    result = ask(NoRetrieval(), fake_lm(lambda r: chat_reply(answer=reply)))
    assert (result.abstained, result.degraded) == (True, True)
    assert codes(result) == {"no_answer"}


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_every_round_is_searched(rounds: int) -> None:
    """The question first, then rewritten queries, whatever the earlier ones brought; one answer over all of it."""
    lm = fake_lm(good)
    result = ask(AlwaysRetrieve(search, rounds=rounds), lm)
    assert [r.queries[0] for r in result.rounds] == [QUESTION, "Ada Lane birthplace", "Norburg"][:rounds]
    assert (result.retrievals, len(lm.engine.calls)) == (rounds, rounds)
    assert result.stop_reason == ("finished" if rounds > 1 else "single_pass")
    assert [r.decision.action for r in result.rounds] == ["retrieve_more"] * (rounds - 1) + ["generate"]


def test_the_rewriter_is_told_what_was_tried_and_no_judgement() -> None:
    """Blind: it sees queries, no passages."""
    lm = fake_lm(good)
    ask(AlwaysRetrieve(search), lm)
    seen = fields_of(lm.engine.requests[1])
    assert seen["tried"] == f"{QUESTION}; Ada Lane birthplace"
    assert "passages" not in seen


def test_a_repeated_query_ends_the_rounds() -> None:
    """A model that only repeats itself costs no further search, and the end is not called a finished plan."""

    def reply(request: Request) -> str:
        return chat_reply(query=QUESTION.upper()) if "tried" in fields_of(request) else good(request)

    result = ask(AlwaysRetrieve(search), fake_lm(reply))
    assert (result.stop_reason, result.degraded, result.retrievals) == ("no_new_query", True, 1)


def test_max_passages_bounds_what_is_read() -> None:
    """The best of all rounds; the rest is told."""

    def many(query: str, k: int) -> list[Passage]:
        return [Passage(id=f"{query}{i}", text=f"{query} {i} Norburg") for i in range(k)]

    result = ask(AlwaysRetrieve(many, k=5, max_passages=4))
    assert (len(result.passages), len(result.dropped), result.retrieved_count) == (4, 11, 15)


@pytest.mark.parametrize(
    ("corpus", "stop"),
    [
        pytest.param(["Bananas are yellow."], "max 3", id="gaps are searched"),
        pytest.param(["Ada Lane was born in Norburg in 1900."], "finished", id="nothing is missing"),
    ],
)
def test_on_rules_the_gaps_give_the_queries(corpus: list[str], stop: str) -> None:
    """Rules name what is missing; where nothing is, there is nothing more to search for."""
    result = on_rules(AlwaysRetrieve(lambda query, k: corpus), "When was Ada Lane born?")
    if stop == "finished":
        assert (result.stop_reason, result.retrievals) == ("finished", 1)
    else:
        assert result.retrievals > 1
    assert "rules_only" in codes(result)


@pytest.mark.parametrize("rounds", [0, 11, "two"])
def test_bad_rounds_are_refused(rounds: object) -> None:
    """One to ten."""
    with pytest.raises(ConfigError, match="`rounds`"):
        AlwaysRetrieve(rounds=rounds)
