"""Replies on disk for a job that may be killed: one a request and sample, with its usage, whoever asks when."""

from datetime import date
from pathlib import Path
from typing import Any

import dspy
import pytest

from reflective_rag.programs.lm.kept import Kept, keep_replies
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.signatures.errors import DataError
from tests.fakes import FakeLM, chat_reply, fake_lm

TODAY = date(2026, 1, 2)


def counting(**options: Any) -> FakeLM:
    """A model whose replies differ each time, as those of a sampling one do."""
    asked: list[Any] = []

    def reply(request: Any) -> str:
        asked.append(request)
        return chat_reply(answer=f"reply {len(asked)}")

    return fake_lm(reply, **options)


def kept(lm: Any, path: Path) -> Kept:
    """The model with its replies in the file."""
    return keep_replies(Model(name="fake/model", lm=lm), path, today=TODAY)


def ask(lm: Any, question: str, **config: Any) -> str:
    """One call of a predictor."""
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        return str(dspy.Predict("question -> answer")(question=question, config=config).answer)


def test_a_second_process_is_answered_from_the_file(tmp_path: Path) -> None:
    """Same replies, same usage, and the model is asked for the rest alone."""
    first = kept(counting(), tmp_path / "calls.jsonl")
    said = [ask(first.model.lm, question) for question in ("a?", "b?")]
    first.close()
    lm = counting()
    second = kept(lm, tmp_path / "calls.jsonl")
    assert [ask(second.model.lm, question) for question in ("b?", "a?")] == said[::-1]
    assert lm.engine.calls == []
    ask(second.model.lm, "c?")
    assert len(lm.engine.calls) == 1
    spent, before = second.engine.spent, first.engine.spent
    assert (spent.calls, spent.kept, before.calls, before.kept) == (3, 2, 2, 0)
    assert second.engine.spent.prompt_tokens > before.prompt_tokens > 0
    second.close()


def test_samples_are_told_apart_by_their_rollout(tmp_path: Path) -> None:
    """In whatever order they come back: at a temperature each `rollout_id` has one reply of its own."""
    first = kept(counting(temperature=1.0), tmp_path / "calls.jsonl")
    said = {number: ask(first.model.lm, "q?", rollout_id=number, temperature=1.0) for number in (1, 2, 3)}
    assert len(set(said.values())) == 3
    assert ask(first.model.lm, "q?", rollout_id=2, temperature=1.0) == said[2]
    first.close()
    lm = counting(temperature=1.0)
    second = kept(lm, tmp_path / "calls.jsonl")
    for number in (3, 1, 2):
        copy = second.model.lm.copy(rollout_id=number, temperature=1.0)  # type: ignore[union-attr]  # there is one
        assert ask(copy, "q?") == said[number]
    assert lm.engine.calls == []
    second.close()


def test_without_a_temperature_a_request_has_one_reply(tmp_path: Path) -> None:
    """At temperature 0 another rollout is the same request."""
    lm = counting(temperature=0.0)
    only = kept(lm, tmp_path / "calls.jsonl")
    with pytest.warns(UserWarning, match="rollout_id has no effect"):
        said = [ask(only.model.lm, "q?", rollout_id=number) for number in (1, 2)]
    assert said == ["reply 1", "reply 1"]
    assert len(lm.engine.calls) == 1
    only.close()


async def test_asyncio_and_threads_share_the_file(tmp_path: Path) -> None:
    """What `acall` paid for is there for a plain call."""
    lm = counting(temperature=1.0)
    both = kept(lm, tmp_path / "calls.jsonl")
    with dspy.context(lm=both.model.lm, adapter=dspy.ChatAdapter()):
        prediction = await dspy.Predict("question -> answer").acall(question="q?", config={"rollout_id": 7})
    assert ask(both.model.lm, "q?", rollout_id=7) == prediction.answer
    assert len(lm.engine.calls) == 1
    both.close()


def test_a_failed_call_is_not_kept(tmp_path: Path) -> None:
    """It is counted, and asked again the next time."""

    def broken(request: Any) -> str:
        raise ZeroDivisionError("division by zero")

    lm = fake_lm(broken)
    failing = kept(lm, tmp_path / "calls.jsonl")
    for _ in range(2):
        with pytest.raises(Exception, match="division"):
            ask(failing.model.lm, "q?")
    assert len(lm.engine.calls) >= 2
    assert failing.engine.failing
    assert (failing.engine.spent.calls, failing.engine.spent.failed) == (0, len(lm.engine.calls))
    failing.close()


def test_replies_of_another_model_are_refused(tmp_path: Path) -> None:
    """One file holds the replies of one model with one set of settings."""
    kept(counting(), tmp_path / "calls.jsonl").close()
    with pytest.raises(DataError, match="another set-up"):
        kept(counting(model="fake/other"), tmp_path / "calls.jsonl")


def test_what_was_paid_is_known_from_the_file(tmp_path: Path) -> None:
    """Dollars by the price list, for a limit that holds over several attempts."""
    first = kept(counting(model="openai/gpt-4o-mini"), tmp_path / "calls.jsonl")
    ask(first.model.lm, "q?")
    paid = first.dollars()
    first.close()
    second = kept(counting(model="openai/gpt-4o-mini"), tmp_path / "calls.jsonl")
    assert second.dollars() == paid > 0
    second.close()
