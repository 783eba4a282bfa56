"""The invariants of the loop, over seeded worlds whose retriever and model err in every way that is known to happen.

 1. Never more than `max_rounds` assessments.
 2. Never more than any budget: calls, tokens, seconds, retrievals. Calls and tokens are overshot by at most one call.
 3. A passage never enters twice.
 4. A query that was tried is never sent again; the rounds hold every query that was sent.
 5. The stop reason is true.
 6. A degraded exit always carries its warning.
 7. An unreadable verdict is counted, said, and never taken for "no".
 8. With the same replies two calls give the same result.
 9. Sync, async and the last event of a stream give the same result.
10. No state is kept on `self`.
11. Every citation is a verbatim span of a passage that was read.
12. The DSPy trace is in step order, whatever the threads do.
13. Usage equals an independent count at the model.
"""

import inspect
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from reflective_rag.programs import ReflectiveRAG
from reflective_rag.programs.messages import WARNING_OF_STOP
from reflective_rag.signatures.text import normalize, tokenize
from reflective_rag.signatures.types import Passage
from tests.fakes import Call, asks_for, chat_reply, fake_lm
from tests.programs.oracle import Run, is_true, tokens_of
from tests.programs.worlds import MODES, World, make_world, plain

SEEDS = range(160)


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    """Every world, played once."""
    return [play(make_world(seed)) for seed in SEEDS]


def play(world: World) -> Run:
    """One plain call."""
    lm = world.lm()
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        result = world.program()(question=world.question)
    return Run(world, result, lm.engine.calls)


def each(runs: list[Run]) -> Iterator[tuple[str, Run, dspy.Prediction]]:
    """Label, run, result."""
    for run in runs:
        yield f"seed {run.world.seed}, mode {run.world.mode}", run, run.result


def test_the_worlds_are_varied(runs: list[Run]) -> None:
    """The worlds reach every stop reason that needs no clock, every mode, and unreadable replies."""
    reasons = {run.result.stop_reason for run in runs}
    assert {
        "sufficient", "no_passages", "no_gap", "no_new_query", "no_new_passages", "no_progress", "max_rounds",
        "budget_calls", "budget_tokens", "budget_seconds", "budget_retrievals", "model_error", "retriever_error",
    } <= reasons  # fmt: skip
    assert {run.world.mode for run in runs} == set(MODES)
    assert sum(run.result.unparsed > 0 for run in runs) > 15
    assert sum(len(run.result.rounds) > 1 for run in runs) > 15


def test_01_never_more_assessments_than_max_rounds(runs: list[Run]) -> None:
    """`max_rounds` is a promise, and rounds are numbered from 1."""
    for label, run, result in each(runs):
        assert [r.number for r in result.rounds] == list(range(1, len(result.rounds) + 1)), label
        assert sum(r.assessment is not None for r in result.rounds) <= run.world.options["max_rounds"], label


def test_02_never_more_than_a_budget(runs: list[Run]) -> None:
    """All four budgets are hard; calls and tokens may be overshot by one call."""
    for label, run, result in each(runs):
        budget = run.world.budget
        spent = [sum(tokens_of(call)) for call in run.calls]
        if budget.lm_calls is not None:
            assert len(run.calls) <= budget.lm_calls + 1, label
        if budget.tokens is not None:
            assert sum(spent) <= budget.tokens + max(spent, default=0), label
        if budget.retrievals is not None:
            assert len(run.world.searched) <= budget.retrievals, label
        if budget.seconds == 0.0:
            assert not run.calls, label
            assert not run.world.searched, label
        assert result.retrievals == len(run.world.searched), label


def test_03_a_passage_never_enters_twice(runs: list[Run]) -> None:
    """What was read holds each text once; what was left out as a repeat says of which passage."""
    for label, _, result in each(runs):
        repeats = [d for d in result.dropped if "duplicate of" in d.reason or "重复" in d.reason]
        others = [d.passage for d in result.dropped if d not in repeats]
        passages = [*result.passages, *others]
        assert len({p.key for p in passages}) == len(passages), label
        assert len({p.id for p in passages}) == len(passages), label
        known = {p.id for p in passages} | {d.passage.id for d in repeats}
        assert all(not known.isdisjoint(d.reason.split()) for d in repeats), label
        assert sum(r.new for r in result.rounds) >= len(passages), label


def test_04_a_tried_query_is_never_sent_again(runs: list[Run]) -> None:
    """Neither the same words in another form nor the same set of words go to the retriever twice."""
    for label, run, _ in each(runs):
        sent = run.world.searched
        assert len({normalize(q) for q in sent}) == len(sent), label
        assert len({frozenset(tokenize(q)) for q in sent}) == len(sent), label


def test_04_every_search_is_on_record(runs: list[Run]) -> None:
    """The rounds hold the queries that were sent and no others, also of a search that brought nothing new."""
    for label, run, result in each(runs):
        assert sorted(q for r in result.rounds for q in r.queries) == sorted(run.world.searched), label
        assert all(r.assessment is not None or r is result.rounds[-1] for r in result.rounds), label


def test_05_the_stop_reason_is_true(runs: list[Run]) -> None:
    """Each stop reason follows from the rounds on record, or from what the model and the retriever really did."""
    for label, run, result in each(runs):
        assert is_true(run), f"{label}: {result.stop_reason}"


def test_06_a_degraded_exit_carries_its_warning(runs: list[Run]) -> None:
    """Whatever ends a run short of enough evidence is said, in the question's language."""
    for label, run, result in each(runs):
        codes = {w.code for w in result.warnings}
        if result.stop_reason != "sufficient":
            assert result.degraded, label
            assert WARNING_OF_STOP[result.stop_reason] in codes, label
        if result.degraded or result.abstained:
            assert codes, label
        assert len(codes) == len(result.warnings), label
        chinese = run.world.options["language"] == "zh"
        assert all(("一" <= w.message[0] <= "鿿") == chinese for w in result.warnings), label


def test_06_an_abstention_says_so_and_cites_nothing(runs: list[Run]) -> None:
    """An abstained result has confidence 0, no citation, and is never an empty text."""
    for label, _, result in each(runs):
        assert result.answer.strip(), label
        if result.abstained:
            assert (result.confidence, result.citations) == (0.0, ()), label


def test_07_what_could_not_be_read_is_counted_and_said(runs: list[Run]) -> None:
    """Unreadable parts of assessments add up in `unparsed` and give a warning."""
    for label, _, result in each(runs):
        unreadable = sum(r.assessment.unreadable for r in result.rounds if r.assessment)
        assert result.unparsed >= unreadable, label
        if unreadable:
            assert "unreadable_verdict" in {w.code for w in result.warnings}, label


def judged(sufficient: str, calls_for_more: bool = False) -> Any:
    """A model whose evidence is perfect but for its own verdict."""

    def reply(request: Request) -> str:
        if not asks_for(request, "sufficient"):
            return chat_reply(answer="1267", cited=[1])
        gap = {"kind": "missing_entity", "need": "more", "query": "Giotto's teacher", "importance": "high"}
        return chat_reply(
            needs=[{"need": "year of birth", "passages": [1]}],
            relevant=[1],
            contradictions=[],
            outdated=[],
            gaps=[gap] if calls_for_more else [],
            sufficient=sufficient,
        )

    return fake_lm(reply)


@pytest.mark.parametrize(
    ("verdict", "stop", "unparsed"),
    [
        pytest.param("yes", "sufficient", 0, id="yes"),
        pytest.param("no", "no_new_passages", 0, id="no"),
        pytest.param("that depends", "sufficient", 1, id="unreadable"),
        pytest.param("不充分", "no_new_passages", 0, id="Chinese no"),
    ],
)
def test_07_an_unreadable_verdict_is_not_a_no(verdict: str, stop: str, unparsed: int) -> None:
    """A "no" sends the loop searching; a verdict that cannot be read leaves the decision to the scores."""
    rag = ReflectiveRAG(lambda query, k: [Passage(id="a", text="Giotto was born in 1267.")])
    with dspy.context(lm=judged(verdict, calls_for_more=True), adapter=dspy.ChatAdapter()):
        result = rag(question="When was Giotto born?")
    assert (result.stop_reason, result.unparsed, result.answer) == (stop, unparsed, "1267")


def test_08_the_same_replies_give_the_same_result(runs: list[Run]) -> None:
    """A second call, by a fresh program or the same one, changes nothing."""
    for label, run, result in each(runs[::3]):
        world = make_world(run.world.seed)
        program = world.program()
        with dspy.context(lm=world.lm(), adapter=dspy.ChatAdapter()):
            again, once_more = (plain(program(question=world.question)) for _ in range(2))
        assert again == once_more == plain(result), label


async def test_09_sync_async_and_stream_agree(runs: list[Run]) -> None:
    """There is one loop: however it is driven, the result is the same, usage included."""
    for label, run, result in each(runs[::3]):
        world = make_world(run.world.seed)
        with dspy.context(lm=world.lm(), adapter=dspy.ChatAdapter()):
            program = world.program()
            awaited = await program.acall(question=world.question)
            *_, event = program.stream(question=world.question)
            events = [e async for e in program.astream(question=world.question)]
        assert event.kind == events[-1].kind == "result", label
        assert plain(awaited) == plain(event.result) == plain(events[-1].result) == plain(result), label


def snapshot(value: Any, seen: frozenset[int] = frozenset()) -> Any:
    """A program's whole inside as plain values; DSPy's own history of calls is left out."""
    if id(value) in seen or inspect.isroutine(value):
        return type(value).__name__
    deeper = seen | {id(value)}
    if isinstance(value, dict):
        return {str(k): snapshot(v, deeper) for k, v in value.items() if k != "history"}
    if isinstance(value, list | tuple | set):
        return [snapshot(v, deeper) for v in value]
    if isinstance(value, dspy.Module) or type(value).__module__.startswith("reflective_rag"):
        return snapshot(vars(value), deeper)
    return repr(value)


def test_10_no_state_is_kept_on_the_program() -> None:
    """After a call the program is what it was before, so that one object may serve many questions at once."""
    for seed in range(12):
        world = make_world(seed)
        program = world.program()
        world_before = snapshot(program)
        with dspy.context(lm=world.lm(), adapter=dspy.ChatAdapter()):
            program(question=world.question)
        assert snapshot(program) == world_before


def test_10_one_program_serves_many_questions_at_once() -> None:
    """Questions that run at the same time on one object get the answers they get alone."""
    world = make_world(0, "paired")
    questions = [f"{world.question} {word}" for word in ("a", "b", "c", "d", "e", "f")]
    program = world.program()
    with dspy.context(lm=world.lm(), adapter=dspy.ChatAdapter()):
        alone = [plain(program(question=q)) for q in questions]
        batch = program.batch([dspy.Example(question=q).with_inputs("question") for q in questions], num_threads=4)
    assert [plain(p) for p in batch] == alone


def test_11_citations_are_verbatim(runs: list[Run]) -> None:
    """`passage.text[start:end] == quote`, and the passage is one that the answer was written from."""
    cited = 0
    for label, _, result in each(runs):
        by_id = {p.id: p for p in result.passages}
        for citation in result.citations:
            assert by_id[citation.passage_id].text[citation.start : citation.end] == citation.quote != "", label
            cited += 1
    assert cited > 20


@pytest.mark.parametrize("slow", ["answer", "sufficient"])
@pytest.mark.parametrize("workers", [1, 4])
def test_12_the_trace_is_in_step_order(slow: str, workers: int) -> None:
    """Whichever of two calls side by side ends first, the trace names them in the loop's order."""

    def reply(request: Request) -> str:
        if asks_for(request, slow):
            time.sleep(0.02)
        gaps = [{"kind": "missing_entity", "need": "teacher", "query": "Giotto's teacher", "importance": "high"}]
        if asks_for(request, "sufficient"):
            return chat_reply(needs=[], relevant=[1], contradictions=[], outdated=[], gaps=gaps, sufficient="no")
        if asks_for(request, "query"):
            return chat_reply(query="giotto's TEACHER")
        return chat_reply(answer="Giotto", cited=[1])

    def search(query: str, k: int) -> list[str]:
        return [f"Giotto: {query}"]

    def one(_: int) -> list[str]:
        rag = ReflectiveRAG(search)
        names = {id(p): name for name, p in rag.named_predictors()}
        with dspy.context(lm=fake_lm(reply), adapter=dspy.ChatAdapter(), trace=[]):
            rag(question="Who is Giotto?")
            return [names[id(entry[0])] for entry in dspy.settings.trace]

    with ThreadPoolExecutor(workers) as pool:
        traces = list(pool.map(one, range(workers)))
    assert traces == [["answer", "assessor.assess", "answer", "assessor.assess", "rewrite"]] * workers


def used(result: dspy.Prediction) -> tuple[int, int, int]:
    """Calls, prompt tokens, completion tokens over all phases."""
    return (
        sum(u.calls for u in result.usage.values()),
        sum(u.prompt_tokens for u in result.usage.values()),
        sum(u.completion_tokens for u in result.usage.values()),
    )


def counted(calls: list[Call]) -> tuple[int, int, int]:
    """The same from the engine's own log; a call that failed has no tokens."""
    tokens = [tokens_of(call) for call in calls if call.reply is not None]
    return len(calls), sum(t[0] for t in tokens), sum(t[1] for t in tokens)


def test_13_usage_equals_the_count_at_the_model(runs: list[Run]) -> None:
    """Fall-backs after a parse failure and failed calls are calls too; nothing is counted twice."""
    for label, run, result in each(runs):
        assert used(result) == counted(run.calls), label


@pytest.mark.parametrize("mode", MODES)
def test_13_a_cache_hit_costs_what_the_call_cost(mode: str) -> None:
    """Answers from DSPy's cache count with the tokens they once took, and are marked, so a figure hangs on no cache."""
    world = make_world(1, mode)
    world.broken_model, world.options["budget"] = 0, {}
    lm = world.lm(cache=True)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        first, second = (world.program()(question=world.question) for _ in range(2))
    calls = lm.engine.calls
    assert used(first) == used(second)
    assert sum(u.cached for u in first.usage.values()) == used(first)[0] - len(calls)
    assert sum(u.cached for u in second.usage.values()) == used(second)[0] > 0


@pytest.mark.parametrize("mode", MODES)
def test_13_usage_holds_under_an_outer_tracker_and_without_history(mode: str) -> None:
    """DSPy's own tracker around a call, or its history switched off, does not change what is counted."""
    for settings in ({"track_usage": True}, {"disable_history": True}, {"max_history_size": 0}):
        world = make_world(2, mode)
        world.options["budget"] = {}
        lm = world.lm()
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter(), **settings), dspy.track_usage():
            result = world.program()(question=world.question)
        assert used(result) == counted(lm.engine.calls)
        assert lm.engine.calls


def test_13_a_model_pinned_to_one_predictor_is_counted() -> None:
    """A predictor with a model of its own costs what that model saw."""
    world = make_world(4, "paired")
    world.options["budget"] = {}
    own, common = world.lm(), world.lm()
    program = world.program()
    program.answer.lm = own
    with dspy.context(lm=common, adapter=dspy.ChatAdapter()):
        result = program(question=world.question)
    assert own.engine.calls
    assert used(result) == counted([*own.engine.calls, *common.engine.calls])
