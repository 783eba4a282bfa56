"""SelfRAG under trouble: verdicts outside the value sets, failing models and retrievers, budgets of every size."""

import asyncio
from typing import Any

import dspy
import pytest

from reflective_rag.programs import SelfRAG
from reflective_rag.signatures.types import Passage
from tests.fakes import fake_lm
from tests.programs.scorers.fakes import Fake, yes
from tests.programs.self_rag_worlds import (
    BORN,
    FRUIT,
    QUESTION,
    WRONG,
    ZH_BORN,
    ZH_FRUIT,
    ZH_QUESTION,
    Model,
    Shelf,
    ask,
    codes,
)


@pytest.mark.parametrize(
    ("role", "said"),
    [
        ("retrieve", "[No Retrieval]"),
        ("relevance", "partly"),
        ("relevance", "yes and no"),
        ("support", "mostly"),
        ("support", "supported, contradicted"),
        ("usefulness", "6"),
        ("usefulness", "very"),
        ("usefulness", ""),
    ],
)
@pytest.mark.parametrize(
    ("question", "corpus"), [(QUESTION, [BORN, FRUIT]), (ZH_QUESTION, [ZH_BORN, ZH_FRUIT])], ids=["en", "zh"]
)
def test_a_verdict_outside_its_values_is_judged_by_rules_and_named(
    role: str, said: Any, question: str, corpus: list[Passage]
) -> None:
    """It is no "no": the answer stands, and the result says which critic gave nothing."""
    result = ask(Model(**{role: said}), Shelf({"": corpus}), question)
    assert ("1267" in result.answer, result.stop_reason) == (True, "sufficient")
    assert {"unreadable_verdict", "model_degraded"} <= codes(result)
    assert result.unparsed > 0
    fallen = [f for r in result.rounds for f in r.assessment.fallbacks]
    assert {(f.judgement, f.backend, f.to) for f in fallen} == {(role, "lm", "rules")}


@pytest.mark.parametrize(
    ("role", "said", "passages"),
    [
        ("relevance", {"1267": "relevant", "*": "dunno"}, [BORN, FRUIT]),
        ("support", {"1267": "supported"}, [BORN, WRONG]),
    ],
)
def test_one_unreadable_verdict_among_others_does_not_make_the_result_degraded(
    role: str, said: Any, passages: list[Passage]
) -> None:
    """Rules judge that one; the rest of the critic's work stands."""
    result = ask(Model(**{role: said}), Shelf({"": passages}))
    assert (result.answer, result.degraded, codes(result)) == ("1267", False, {"unreadable_verdict"})
    assert [f.judgement for f in result.rounds[0].assessment.fallbacks] == [role]


@pytest.mark.parametrize("role", ["retrieve", "relevance", "support", "usefulness"])
def test_a_critic_that_fails_falls_to_rules_and_is_not_asked_again(role: str) -> None:
    """Its retries are spent; the answer stands, marked as degraded."""
    model = Model(raises=frozenset({role}), usefulness={"1276": "1", "*": "5"})
    shelf = Shelf({"date of birth": [BORN], "": [WRONG]})
    result = ask(model, shelf, min_usefulness=3)
    assert result.answer in ("1267", "1276")
    assert (result.degraded, "model_degraded" in codes(result)) == (True, True)
    assert model.count(role) == 1
    assert any(f.judgement == role and "no " + role in f.reason for r in result.rounds for f in r.assessment.fallbacks)


def test_an_answerer_that_fails_leaves_the_rules_to_extract() -> None:
    """The run ends with what rules find, and says that the model failed."""
    result = ask(Model(raises=frozenset({"answer"})))
    assert (result.answer, result.stop_reason, result.degraded) == ("1267", "model_error", True)
    assert {"model_degraded", "rules_only"} <= codes(result)


def test_a_model_that_only_raises_still_gives_what_rules_find() -> None:
    """Every role is down."""

    def broken(request: Any) -> str:
        raise RuntimeError("down")

    with dspy.context(lm=fake_lm(broken)):
        result = SelfRAG(Shelf({"": [BORN, FRUIT]}))(question=QUESTION)
    assert (result.answer, result.stop_reason, result.degraded) == ("1267", "model_error", True)


def test_a_model_that_writes_noise_never_loops_or_crashes() -> None:
    """No verdict can be read: rules judge, no passage gives a candidate, and the run ends within its rounds."""
    with dspy.context(lm=fake_lm(lambda request: "As an AI, I cannot.")):
        result = SelfRAG(Shelf({"": [BORN]}), max_rounds=3)(question=QUESTION)
    assert (result.degraded, "unreadable_verdict" in codes(result)) == (True, True)
    assert result.unparsed > 0
    assert result.citations == ()
    assert result.retrievals <= 3


def raising(query: str, k: int) -> list[Passage]:
    """A dead index."""
    raise ConnectionError("the index is away")


@pytest.mark.parametrize(
    ("search", "stop", "warned"),
    [
        pytest.param(raising, "retriever_error", "retriever_degraded", id="raises"),
        pytest.param(lambda query, k: None, "retriever_error", "retriever_degraded", id="returns None"),
        pytest.param(lambda query, k: [], "no_passages", "no_evidence", id="nothing"),
        pytest.param(lambda query, k: ["", "  "], "no_passages", "no_evidence", id="empty texts"),
    ],
)
def test_a_retriever_that_fails_or_finds_nothing(search: Any, stop: str, warned: str) -> None:
    """The model answers alone, marked; without one nobody does."""
    result = ask(Model(), search)
    assert (result.answer, result.stop_reason, result.degraded) == ("1267", stop, True)
    assert [(r.queries, r.new, r.decision.stop) for r in result.rounds] == [((QUESTION,), 0, stop)]
    assert {warned, "from_memory"} <= codes(result)
    assert ask(None, search, mode="rules").abstained


def test_duplicates_and_thousands_of_passages_are_read_once_and_up_to_k() -> None:
    """A careless retriever costs no calls."""
    model = Model()
    ask(model, lambda query, k: [BORN.text] * 50 + [f"Noise number {i}." for i in range(3000)], k=5)
    assert model.count("relevance") == 1
    model = Model()
    ask(model, lambda query, k: [f"Noise number {i} {i * 17}." for i in range(3000)], k=5, max_rounds=1)
    assert model.count("relevance") == 5


def test_a_failing_second_search_leaves_the_first_rounds_answer() -> None:
    """Degraded, with the retriever named."""

    def search(query: str, k: int) -> list[Passage]:
        return [BORN] if query == QUESTION else raising(query, k)

    result = ask(Model(support="partially"), search)
    assert (result.answer, result.stop_reason, result.degraded) == ("1267", "retriever_error", True)


LABELS = ("entailment", "neutral", "contradiction")
TWO_ROUNDS: dict[str, Any] = {"support": {"1276": "contradicted", "*": "supported"}}


@pytest.mark.parametrize("calls", range(16))
def test_a_budget_of_calls_is_never_exceeded(calls: int) -> None:
    """Whatever its size: as many calls at most, a true stop reason, an answer or an abstention with a warning."""
    model = Model(**TWO_ROUNDS)
    result = ask(model, Shelf({"date of birth": [BORN], "": [WRONG, FRUIT]}), budget={"lm_calls": calls})
    assert len(model.asked) == sum(usage.calls for usage in result.usage.values()) <= calls
    needed = 11  # retrieve, 2 relevance, answer, support, use, query, relevance, answer, support, use
    assert (result.stop_reason == "sufficient") == (calls >= needed)
    assert (result.stop_reason == "budget_calls") == (calls < needed)
    assert result.degraded == (calls < needed)
    assert calls >= needed or "budget_exhausted" in codes(result)


@pytest.mark.parametrize("calls", [1, 2, 3, 6, 11, 12])
def test_a_tight_budget_keeps_a_call_for_the_answer(calls: int) -> None:
    """Fewer passages are judged by the model, those that rules find best first; the answer is of the best of them."""
    noise = [Passage(id=f"n{i}", text=f"Bananas of the kind {i} are {word}.") for i, word in enumerate("abcdefghi")]
    model = Model(relevance={"1267": "relevant", "*": "irrelevant"})
    result = ask(model, Shelf({"": [*noise, BORN]}), near_duplicate=None, budget={"lm_calls": calls})
    assert (result.answer, result.abstained, result.degraded) == ("1267", False, True)
    assert (result.stop_reason, "budget_exhausted" in codes(result)) == ("budget_calls", True)
    assert len(model.asked) <= calls
    assert model.count("answer") == 1
    judged = [inputs["passage"] for inputs in model.inputs("relevance")]
    assert len(judged) == min(10, max(0, calls - 2))  # [Retrieve] and the answer are asked too
    assert not judged or any("1267" in passage for passage in judged)


@pytest.mark.parametrize("tokens", [0, 1, 200, 600, 1500, 3000, 10_000])
def test_a_budget_of_tokens_is_overshot_by_one_call_at_most(tokens: int) -> None:
    """Counted as the engine counts them."""
    model = Model(**TWO_ROUNDS)
    result = ask(model, Shelf({"date of birth": [BORN], "": [WRONG]}), budget={"tokens": tokens})
    spent = [u.prompt_tokens + u.completion_tokens for u in result.usage.values()]
    assert sum(spent) <= tokens + 600
    assert (result.stop_reason == "budget_tokens") == result.degraded


@pytest.mark.parametrize(
    ("retrievals", "stop"), [(0, "budget_retrievals"), (1, "budget_retrievals"), (2, "sufficient")]
)
def test_a_budget_of_searches(retrievals: int, stop: str) -> None:
    """Without a search the model answers alone; with one the first round's best is given."""
    shelf = Shelf({"date of birth": [BORN], "": [WRONG]})
    result = ask(Model(**TWO_ROUNDS), shelf, budget={"retrievals": retrievals})
    assert (len(shelf.queries), result.retrievals, result.stop_reason) == (retrievals, retrievals, stop)
    assert result.degraded == (stop != "sufficient")
    assert ("from_memory" in codes(result)) == (retrievals == 0)


def test_no_time_at_all() -> None:
    """Nothing is asked and nothing searched."""
    model, shelf = Model(), Shelf({"": [BORN]})
    result = ask(model, shelf, budget={"seconds": 0.0})
    assert (model.asked, shelf.queries, result.stop_reason, result.abstained) == ([], [], "budget_seconds", True)


async def test_a_blocking_retriever_does_not_outlast_the_deadline() -> None:
    """An awaited search that never ends."""

    async def search(query: str, k: int) -> list[Passage]:
        await asyncio.sleep(60)
        return [BORN]

    with dspy.context(lm=Model().lm):
        result = await SelfRAG(search, budget={"seconds": 0.2}).acall(question=QUESTION)
    assert (result.stop_reason, result.abstained) == ("budget_seconds", True)


def test_small_models_grade_and_check() -> None:
    """The back end `models` for relevance and support; the calls that are left are the model's."""
    model = Model()
    grades = Fake(lambda pairs: [float("1267" in text) for _, text in pairs])
    nli = Fake(lambda pairs: [yes() for _ in pairs], labels=LABELS)
    scorers = {"relevance": grades, "nli": nli}
    result = ask(model, scorers=scorers, critics={"relevance": "models", "support": "models"})
    assert set(model.roles()) == {"retrieve", "answer", "usefulness"}
    assert result.answer == "1267"


class Broken:
    """A small model that raises."""

    labels = LABELS

    def predict(self, pairs: Any) -> Any:
        """Never works."""
        raise RuntimeError("out of memory")


def test_small_models_that_fail_fall_to_rules() -> None:
    """Named, and the answer stands."""
    scorers = {"relevance": Broken(), "nli": Broken()}
    result = ask(Model(), scorers=scorers, critics={"relevance": "models", "support": "models"})
    assert (result.answer, result.degraded) == ("1267", True)
    fallen = {(f.judgement, f.backend) for r in result.rounds for f in r.assessment.fallbacks}
    assert fallen == {("relevance", "models"), ("support", "models")}


def test_conflicting_passages_are_said() -> None:
    """Each answer saw one passage; that two of them disagree is found beside the critics."""
    corpus = [
        Passage(id="a", text="Giotto was born in 1267 in Florence."),
        Passage(id="b", text="Giotto was born in 1276 in Florence."),
    ]
    result = ask(Model(), Shelf({"": corpus}), near_duplicate=None)
    assert "conflicting_evidence" in codes(result)
    assert {(c.passage_a, c.passage_b) for c in result.conflicts} == {("a", "b")}
    assert (result.degraded, result.evidence_score, result.confidence) == (True, 1.0, 0.7)
