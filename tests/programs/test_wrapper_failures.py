"""ReflectiveWrapper around a retriever or a generator that fails: budgets hold, and the result says what happened."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import dspy
import pytest

from reflective_rag.programs import ReflectiveWrapper, result_of
from reflective_rag.signatures.errors import ConfigError
from tests.fakes import fake_lm
from tests.programs.faults import codes, good
from tests.programs.worlds import TODAY

QUESTION = "When was Giotto born?"
TEXTS = ["Giotto was born in 1267.", "Bananas are yellow."]


def retrieve(query: str) -> list[str]:
    """A sound retriever."""
    return TEXTS


def generate(question: str, passages: Any) -> str:
    """A sound generator."""
    return "1267"


async def ask(
    door: str, retriever: Any = retrieve, generator: Any = generate, question: str = QUESTION, **options: Any
) -> dspy.Prediction:
    """One question by one door; the result must be fit for JSON whatever happened."""
    rag = ReflectiveWrapper(retriever, generator, today=TODAY, **options)
    if door == "sync":
        result = await asyncio.to_thread(rag, question=question)
    else:
        result = await rag.acall(question=question)
    assert json.loads(result_of(result).model_dump_json())["answer"] == result.answer
    return result


doors = pytest.mark.parametrize("door", ["sync", "async"])


def raising(*args: Any) -> Any:
    """Something that is down, with half a character and a key in its message."""
    raise ConnectionError("down \ud83d api_key=abcdefghijkl")


async def araising(*args: Any) -> Any:
    """The same, async."""
    raising()


@doors
@pytest.mark.parametrize("generator", [raising, araising])
async def test_a_generator_that_raises_is_said(door: str, generator: Any) -> None:
    """One call, no retry; the rules extract the answer, marked as degraded, and the reason holds no key."""
    result = await ask(door, generator=generator)
    assert (result.stop_reason, result.answer, result.degraded) == ("model_error", "1267", True)
    assert codes(result) == {"model_degraded", "rules_only"}
    message = next(w.message for w in result.warnings if w.code == "model_degraded")
    assert "ConnectionError: down \ufffd api_key=[removed]" in message
    assert result.usage["answer"].calls == 1


@doors
@pytest.mark.parametrize(
    "found", [None, 7, b"1267", ["1267"], {"answer": "1267"}], ids=lambda found: type(found).__name__
)
async def test_a_generator_that_returns_no_text_is_said(door: str, found: Any) -> None:
    """Nothing is guessed from another type; the warning names it."""
    result = await ask(door, generator=lambda question, passages: found)
    assert (result.stop_reason, result.degraded) == ("model_error", True)
    assert f"`generate` must return the answer as a string, got {type(found).__name__}" in " ".join(
        w.message for w in result.warnings
    )


@doors
@pytest.mark.parametrize("found", ["", "  \n", "unknown", "不知道"])
async def test_a_generator_without_an_answer_abstains(door: str, found: str) -> None:
    """An empty text or a refusal is an abstention, though the evidence was enough."""
    result = await ask(door, generator=lambda question, passages: found)
    assert (result.stop_reason, result.abstained, result.degraded) == ("sufficient", True, True)
    assert codes(result) == {"no_answer", "rules_judged"}


@doors
async def test_half_characters_are_replaced(door: str) -> None:
    """In an answer and in a passage, its title and its metadata."""
    passage = {"text": "Giotto was born in 1267 \ud83d.", "title": "G\udc00", "page": ["\ud83d"]}
    result = await ask(door, lambda query: [passage], lambda question, passages: "in 1267 \ud83d")
    assert result.answer == "in 1267 \ufffd"
    assert (result.passages[0].text, result.passages[0].title) == ("Giotto was born in 1267 \ufffd.", "G\ufffd")
    dumped = result_of(result).model_dump(mode="json")["passages"][0]["metadata"]
    assert dumped == {"page": ["\ufffd"]}


def test_a_mistake_that_the_caller_must_mend_is_raised() -> None:
    """A `ConfigError` of the generator, a missing key say, is no failure of a model."""

    def unset(question: str, passages: Any) -> str:
        raise ConfigError("set the key of the generator")

    with pytest.raises(ConfigError, match="set the key"):
        ReflectiveWrapper(retrieve, unset)(question=QUESTION)


@doors
@pytest.mark.parametrize(
    ("retriever", "stop", "warned"),
    [
        pytest.param(raising, "retriever_error", "ConnectionError: down", id="raises"),
        pytest.param(araising, "retriever_error", "ConnectionError: down", id="raises, async"),
        pytest.param(lambda query: None, "retriever_error", "got NoneType", id="returns None"),
        pytest.param(lambda query: [1], "retriever_error", "item of type int", id="returns numbers"),
        pytest.param(lambda query: [], "no_passages", "No usable evidence", id="finds nothing"),
        pytest.param(lambda query: ["", " "], "no_passages", "No usable evidence", id="finds empty texts"),
    ],
)
async def test_without_evidence_the_generator_is_not_asked(door: str, retriever: Any, stop: str, warned: str) -> None:
    """It would answer from nothing: the program abstains and says why."""
    result = await ask(door, retriever, raising)
    assert (result.stop_reason, result.abstained, result.degraded) == (stop, True, True)
    assert warned in " ".join(w.message for w in result.warnings)
    assert "answer" not in result.usage


async def test_a_chinese_question_gets_chinese_words() -> None:
    """Warning and abstention are in the question's language."""
    result = await ask("sync", lambda query: [], question="乔托出生在哪里？")
    assert (result.answer, result.stop_reason) == ("现有证据无法回答该问题。", "no_passages")
    result = await ask("sync", lambda query: ["乔托出生在佛罗伦萨。"], raising, question="乔托出生在哪里？")
    assert (result.answer, result.stop_reason) == ("佛罗伦萨", "model_error")
    assert all("一" <= w.message[0] <= "鿿" for w in result.warnings)


def test_a_retriever_that_fails_later_leaves_the_first_evidence() -> None:
    """The generator writes from what round 1 found, and the failure of round 2 is said."""

    def once(query: str) -> list[str]:
        return [TEXTS[1]] if query == QUESTION else raising()

    seen: list[Any] = []

    def keep(question: str, passages: Any) -> str:
        seen.append(passages)
        return "1267"

    result = ReflectiveWrapper(once, keep)(question=QUESTION)
    assert (result.stop_reason, result.degraded, len(seen)) == ("retriever_error", True, 1)
    assert [passage.text for passage in seen[0]] == [TEXTS[1]]


@doors
async def test_duplicates_are_read_once(door: str) -> None:
    """The same text under other ids, cases and punctuation."""
    texts = [
        {"id": n, "text": text} for n, text in enumerate(["Giotto was born in 1267.", "GIOTTO was born in 1267!"] * 9)
    ]
    result = await ask(door, lambda query: texts)
    assert (result.stop_reason, len(result.passages)) == ("sufficient", 1)


@doors
async def test_thousands_of_passages_are_cut_at_k(door: str) -> None:
    """What comes beyond `k` is not even read: an endless retriever ends."""

    def endless(query: str) -> Iterator[str]:
        yield TEXTS[0]
        while True:
            yield TEXTS[1]

    result = await ask(door, endless, k=5)
    assert (result.answer, result.stop_reason, result.retrieved_count) == ("1267", "sufficient", 5)


@doors
@pytest.mark.parametrize(
    ("budget", "stop", "answer", "calls"),
    [
        pytest.param({"lm_calls": 0}, "budget_calls", "1267", 0, id="no call"),
        pytest.param({"lm_calls": 1}, "sufficient", "1267", 1, id="one call"),
        pytest.param({"tokens": 0}, "budget_tokens", "1267", 0, id="no token"),
        pytest.param({"seconds": 0}, "budget_seconds", None, 0, id="no second"),
        pytest.param({"retrievals": 0}, "budget_retrievals", None, 0, id="no retrieval"),
    ],
)
async def test_budgets_hold(door: str, budget: dict[str, Any], stop: str, answer: str | None, calls: int) -> None:
    """A generator's call is a call; where it is refused the rules extract, and what ended the run is named."""
    result = await ask(door, budget=budget)
    assert (result.stop_reason, result.degraded) == (stop, stop != "sufficient")
    assert result.answer == answer or (answer is None and result.abstained)
    assert sum(usage.calls for usage in result.usage.values()) == calls


def test_a_retrieval_budget_ends_the_search_for_gaps() -> None:
    """The first search is the last; the generator still writes, from what there is."""
    queries: list[str] = []

    def unhelpful(query: str) -> list[str]:
        queries.append(query)
        return [f"Bananas of kind {len(queries)} are yellow."]

    result = ReflectiveWrapper(unhelpful, generate, budget={"retrievals": 1})(question=QUESTION)
    assert (result.stop_reason, result.retrievals, len(queries)) == ("budget_retrievals", 1, 1)
    assert (result.answer, result.degraded, result.usage["answer"].calls) == ("1267", True, 1)


def test_generator_and_critics_share_the_budget() -> None:
    """In mode `paired` with one call left, the generator has it: an answer is worth more than a judgement."""
    lm = fake_lm(good)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        result = ReflectiveWrapper(retrieve, generate, mode="paired", budget={"lm_calls": 1})(question=QUESTION)
    assert (result.answer, result.stop_reason, lm.engine.calls) == ("1267", "budget_calls", [])


@pytest.fixture
def blocked() -> Iterator[Callable[..., Any]]:
    """Blocks the thread that calls it until the test is over."""
    over = threading.Event()

    def block(*args: Any) -> Any:
        over.wait(30)
        return TEXTS if len(args) == 1 else "1267"

    yield block
    over.set()


async def ablocked(*args: Any) -> Any:
    """Never ends by itself, on the event loop."""
    await asyncio.sleep(30)


@doors
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
async def test_a_generator_that_blocks_is_left_behind(door: str, is_async: bool, blocked: Any) -> None:
    """At the limit of seconds the call counts once, and the rules extract from what was found."""
    result = await ask(door, generator=ablocked if is_async else blocked, budget={"seconds": 0.3})
    assert (result.stop_reason, result.answer, result.degraded) == ("budget_seconds", "1267", True)
    assert result.usage["answer"].calls == 1


@doors
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
async def test_a_retriever_that_blocks_is_left_behind(door: str, is_async: bool, blocked: Any) -> None:
    """At the limit of seconds there is nothing to answer from."""
    result = await ask(door, ablocked if is_async else blocked, budget={"seconds": 0.3})
    assert (result.stop_reason, result.abstained, result.degraded) == ("budget_seconds", True, True)
