"""Rules with much to read leave the event loop free and stop when the time is up."""

import asyncio
import threading

import pytest

from reflective_rag.programs import ReflectiveRAG
from reflective_rag.programs.rules import answer, assess, check_support, evidence
from reflective_rag.programs.rules import judge as judging
from reflective_rag.programs.rules.deadline import within
from reflective_rag.signatures.types import Passage

QUESTION = "How long is the Orlen Bridge?"
LONG = "The Orlen Bridge is 640 metres long. " + " ".join(f"Otter {i} sleeps by day." for i in range(600))
PASSAGES = [Passage(id="a", text=LONG)]


def _threads_of_rules(monkeypatch, text: str) -> set[str]:
    """The names of the threads in which the rules judge while a question over `text` is awaited."""
    seen: set[str] = set()
    gather = evidence.gather

    def watch(*args):
        seen.add(threading.current_thread().name)
        return gather(*args)

    monkeypatch.setattr(judging, "gather", watch)
    asyncio.run(ReflectiveRAG(search=lambda _, k: [text]).acall(question=QUESTION))
    return seen


def test_much_text_is_judged_off_the_event_loop(monkeypatch):
    """No long judgement runs in the thread of the event loop."""
    seen = _threads_of_rules(monkeypatch, LONG)
    assert seen
    assert threading.current_thread().name not in seen


def test_sync_async_and_stream_agree_over_a_long_passage():
    """Where the rules run makes no difference to the result."""
    rag = ReflectiveRAG(search=lambda _, k: [LONG])
    plain = rag(question=QUESTION)
    awaited = asyncio.run(rag.acall(question=QUESTION))
    streamed = next(event.result for event in rag.stream(question=QUESTION) if event.kind == "result")
    told = [(r.answer, r.evidence_score, r.stop_reason, r.citations, r.conflicts) for r in (plain, awaited, streamed)]
    assert told[0][0] == "640 metres"
    assert told[0] == told[1] == told[2]


def test_a_question_given_up_while_rules_read_leaves_nothing_broken():
    """A caller who stops waiting gets the cancellation, and the next question is answered."""
    rag = ReflectiveRAG(search=lambda _, k: [LONG])

    async def give_up() -> str:
        task = asyncio.create_task(rag.acall(question=QUESTION))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return str((await rag.acall(question=QUESTION)).answer)

    assert asyncio.run(give_up()) == "640 metres"


def test_rules_stop_when_the_time_is_up():
    """Past the limit a judgement is lost, an answer empty and a verdict None, in the middle of a passage."""
    with within(lambda: -1.0):
        assert assess(QUESTION, PASSAGES).lost
        assert answer(QUESTION, PASSAGES).answer == ""
        assert check_support(QUESTION, "640 metres", PASSAGES).support is None
    assert answer(QUESTION, PASSAGES).answer == "640 metres"


def test_an_answer_may_still_be_read_shortly_after_the_limit():
    """The limit ends the judging at once; what is there is answered from in the time of grace."""
    with within(lambda: 0.0):
        assert assess(QUESTION, PASSAGES).lost
        assert answer(QUESTION, PASSAGES).answer == "640 metres"
