"""ReflectiveWrapper: an existing RAG's own retriever and generator inside the evidence loop."""

import asyncio
import copy
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest

from reflective_rag.programs import ReflectiveWrapper, save_program
from reflective_rag.signatures import evidence, gaps
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import Passage
from tests.fakes import fake_lm
from tests.programs.faults import good
from tests.programs.worlds import TODAY, plain

QUESTION = "When was Giotto born?"
TEXTS = ["Giotto was born in 1267.", "Bananas are yellow."]
CHINESE = ("乔托出生在哪里？", ["乔托于1267年出生在佛罗伦萨附近。", "香蕉是黄色的。"], "佛罗伦萨附近")


def retrieve(query: str) -> list[str]:
    """The retriever of the existing RAG."""
    return TEXTS


def generate(question: str, passages: Any) -> str:
    """Its generator."""
    return "1267"


def wrapped(retriever: Any = retrieve, generator: Any = generate, **options: Any) -> ReflectiveWrapper:
    """The two in the loop, always on the same day."""
    return ReflectiveWrapper(retriever, generator, **{"today": TODAY, **options})


async def by_every_door(rag: ReflectiveWrapper, question: str = QUESTION) -> list[dict[str, Any]]:
    """The results of the four ways to ask, as JSON."""
    results = [await asyncio.to_thread(rag, question=question), await rag.acall(question=question)]
    results.append(await asyncio.to_thread(lambda: list(rag.stream(question=question))[-1].result))
    results.append([event async for event in rag.astream(question=question)][-1].result)
    return [plain(result) for result in results]


class Writer:
    def __call__(self, question: str, passages: Any) -> str:
        return "1267"

    async def later(self, question: str, passages: Any) -> str:
        await asyncio.sleep(0)
        return "1267"


class AsyncWriter:
    async def __call__(self, question: str, passages: Any) -> str:
        await asyncio.sleep(0)
        return "1267"


@pytest.mark.parametrize(
    "generator",
    [
        pytest.param(generate, id="function"),
        pytest.param(Writer(), id="object"),
        pytest.param(AsyncWriter(), id="async object"),
        pytest.param(Writer().later, id="async method"),
        pytest.param(functools.partial(Writer.later, Writer()), id="partial of an async method"),
        pytest.param(lambda question, passages: Writer().later(question, passages), id="function giving a coroutine"),
    ],
)
async def test_any_generator_serves_by_every_door(generator: Any) -> None:
    """Sync or async: one call, its answer, checked and cited; the four doors agree in everything but seconds."""
    first, *others = await by_every_door(wrapped(generator=generator))
    assert others == [first] * 3
    assert (first["answer"], first["stop_reason"], first["degraded"]) == ("1267", "sufficient", False)
    assert [citation["quote"] for citation in first["citations"]] == TEXTS[:1]
    assert first["usage"]["answer"] == {"calls": 1, "cached": 0, "prompt_tokens": 0, "completion_tokens": 0}
    assert ([w["code"] for w in first["warnings"]], first["unparsed"]) == (["rules_judged"], 0)


async def _async_k(query: str, k: int) -> list[str]:
    return TEXTS[:k]


async def _async_query(query: str) -> list[str]:
    return TEXTS


class Store:
    def find(self, query: str, *, filters: Any = None, top_k: int = 99) -> list[str]:
        return TEXTS[:top_k]

    def with_other_options(self, query: str, language: str = "en") -> list[str]:
        return TEXTS if language == "en" else []

    async def __call__(self, query: str) -> list[str]:
        return TEXTS


retrievers = pytest.mark.parametrize(
    ("retriever", "count"),
    [
        pytest.param(retrieve, 2, id="query"),
        pytest.param(lambda query, k: TEXTS[:k], 1, id="query, k"),
        pytest.param(lambda query, limit: TEXTS[:limit], 1, id="needs a second argument"),
        pytest.param(lambda query, *, k=99: TEXTS[:k], 1, id="k by keyword"),
        pytest.param(functools.partial(lambda query, k: TEXTS[:k], k=99), 1, id="k in a partial"),
        pytest.param(Store().find, 1, id="method with top_k"),
        pytest.param(Store().with_other_options, 2, id="other options keep their defaults"),
        pytest.param(lambda *args, **kwargs: TEXTS if (args, kwargs) == ((QUESTION,), {}) else [], 2, id="anything"),
        pytest.param(_async_query, 2, id="async, query"),
        pytest.param(_async_k, 1, id="async, query and k"),
        pytest.param(functools.partial(_async_k), 1, id="partial of async"),
        pytest.param(Store(), 2, id="async object"),
        pytest.param(lambda query: asyncio.sleep(0, TEXTS), 2, id="function giving a coroutine"),
        pytest.param(lambda query: [{"text": text, "title": "T"} for text in TEXTS], 2, id="dicts"),
        pytest.param(lambda query: [Passage(id=text[:3], text=text) for text in TEXTS], 2, id="Passages"),
        pytest.param(lambda query: iter(TEXTS), 2, id="iterator"),
    ],
)


@retrievers
async def test_any_retriever_serves_by_every_door(retriever: Any, count: int) -> None:
    """Sync or async, of a query alone or of `k` too; without `k` what comes is cut at k."""
    results = await by_every_door(wrapped(retriever, k=1))
    assert results == [results[0]] * 4
    assert (results[0]["answer"], results[0]["retrieved_count"]) == ("1267", 1)
    assert (await wrapped(retriever, k=2).acall(question=QUESTION)).retrieved_count == 2


def test_the_generator_reads_what_was_judged_worth_reading() -> None:
    """Question and Passages, best first, in both languages; retrieval goes on for what is missing before it writes."""
    question, texts, answer = CHINESE
    asked: list[tuple[str, list[str]]] = []

    def keep(question: str, passages: Any) -> str:
        asked.append((question, [passage.text for passage in passages]))
        return answer

    result = wrapped(lambda query: texts[::-1], keep, max_passages=1)(question=question)
    assert asked == [(question, texts[:1])]
    assert (result.answer, result.stop_reason) == (answer, "sufficient")
    assert result.citations[0].quote in texts[0]


def test_a_gap_is_searched_before_the_generator_is_called_once() -> None:
    """What round 1 lacks is asked of the retriever by another query; the generator writes at the end alone."""
    queries: list[str] = []

    def two_steps(query: str) -> list[str]:
        queries.append(query)
        return [TEXTS[1]] if query == QUESTION else TEXTS

    result = wrapped(two_steps)(question=QUESTION)
    assert (result.answer, result.stop_reason) == ("1267", "sufficient")
    assert (len(queries), len(result.rounds), result.usage["answer"].calls) == (result.retrievals, 2, 1)


def test_what_the_passages_do_not_carry_is_said() -> None:
    """The generator's answer is checked as a model's is: an unsupported one is warned of, and not cited."""
    result = wrapped(generator=lambda question, passages: "in 1850")(question=QUESTION)
    assert "unsupported_answer" in {warning.code for warning in result.warnings}
    assert (result.answer, result.citations) == ("in 1850", ())


def test_the_stream_tells_the_steps_in_order() -> None:
    """Search, the round with its decision, the generator, the result."""
    events = list(wrapped().stream(question=QUESTION))
    assert [(event.kind, event.step) for event in events] == [
        ("started", "search"), ("finished", "search"), ("round", ""), ("started", "generate"), ("finished", "generate"),
        ("result", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, {}, id="rules"),
        pytest.param(
            {"mode": "paired"}, {"assessor.assess": evidence.AssessEvidence, "rewrite": gaps.RewriteQuery}, id="paired"
        ),
    ],
)
def test_optimizers_see_the_critics_alone(options: dict[str, Any], expected: dict[str, Any]) -> None:
    """No `answer` and no `repair`: a predictor that is never asked must not be optimised."""
    assert {name: p.signature for name, p in wrapped(**options).named_predictors()} == expected


def test_a_model_may_judge_what_the_own_generator_answers() -> None:
    """In mode `paired` the critic is the model's, the answer the caller's, side by side in every round."""
    lm = fake_lm(good)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        result = wrapped(mode="paired")(question=QUESTION)
    assert (result.answer, result.stop_reason, len(lm.engine.calls)) == ("1267", "sufficient", 1)
    assert (result.usage["assess"].calls, result.usage["answer"].calls) == (1, 1)


def test_a_stock_optimizer_compiles_the_critics() -> None:
    """BootstrapFewShot gives the critic demos and leaves the generator alone."""
    trainset = [dspy.Example(question=QUESTION, answer="1267").with_inputs("question")]
    optimizer = dspy.BootstrapFewShot(metric=lambda example, prediction, trace=None: prediction.answer == "1267")
    with dspy.context(lm=fake_lm(good), adapter=dspy.ChatAdapter()):
        compiled = optimizer.compile(wrapped(mode="paired"), trainset=trainset)
    assert len(compiled.assessor.assess.demos) == 1


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda rag: rag.deepcopy(), lambda rag: rag.reset_copy()]
)
def test_copies_share_both_callables(duplicate: Callable[[Any], Any]) -> None:
    """Optimizers copy programs; the caller's clients are shared, the controls are not."""

    class Client:
        def __deepcopy__(self, memo: Any) -> Any:
            raise TypeError("a client cannot be copied")

        def __call__(self, *args: Any) -> Any:
            return TEXTS if len(args) == 1 else "1267"

    rag = wrapped(Client(), Client())
    assert duplicate(rag)(question=QUESTION).answer == "1267"


def test_an_artefact_is_refused_and_the_state_is_saved(tmp_path: Path) -> None:
    """An artefact cannot hold callables; what was tuned survives `.save` and `.load`."""
    rag = wrapped(theta=0.9, max_rounds=2)
    with pytest.raises(ConfigError, match=r"ReflectiveWrapper cannot be kept as an artefact.*\.save.*\.load"):
        save_program(rag, tmp_path / "artefact")
    assert not (tmp_path / "artefact").exists()
    rag.save(tmp_path / "state.json")
    again = wrapped()
    again.load(tmp_path / "state.json")
    assert (again.controls.values.theta, again.controls.values.max_rounds) == (0.9, 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param({"retriever": None}, "`retrieve` must be a callable.*got None", id="no retriever"),
        pytest.param({"retriever": "http://index"}, "`retrieve` must be a callable", id="an address"),
        pytest.param({"retriever": Store}, "`retrieve` must be a callable.*class", id="a class as retriever"),
        pytest.param({"generator": None}, "`generate` must be a callable.*got None", id="no generator"),
        pytest.param({"generator": Writer}, "`generate` must be a callable.*class", id="a class as generator"),
        pytest.param({"mode": "fused"}, "mode 'fused'.*own generator", id="fused"),
        pytest.param({"search": retrieve}, "as `retrieve`, not as `search`", id="search"),
        pytest.param({"thta": 1}, "unknown option 'thta'", id="unknown option"),
    ],
)
def test_what_cannot_work_is_refused_at_once(arguments: dict[str, Any], said: str) -> None:
    """The error names the argument, before anything is asked."""
    with pytest.raises(ConfigError, match=said):
        wrapped(**arguments)
