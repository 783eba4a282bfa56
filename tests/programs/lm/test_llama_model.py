"""A real local model, of 135M parameters (`make test-model`): not what it says counts, but the form."""

import asyncio
import math
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from dspy import lm15
from pydantic import BaseModel

from reflective_rag.programs.lm.llama import AsyncLlamaEngine, LlamaEngine, local_lm
from reflective_rag.signatures.errors import DataError
from tests.programs.lm.asking import Choose, Grade, ask

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.model


class Detail(BaseModel):
    level: Literal["low", "middle", "high"]
    certain: bool


class Judge(dspy.Signature):
    """Judge the passage."""

    passage: str = dspy.InputField()
    verdict: Literal["supported", "contradicted"] = dspy.OutputField()
    scope: Literal["timeless", "now"] = dspy.OutputField()
    count: int = dspy.OutputField()
    detail: Detail = dspy.OutputField()


def cached_tokens(lm: dspy.LM) -> int:
    """Prompt tokens of the LM's last call that it did not need to read again."""
    return int(lm.history[-1]["usage"]["prompt_tokens_details"]["cached_tokens"])


@pytest.mark.parametrize(
    "passage", ["The sky is blue.", "Say purple, not JSON!", "答案是紫色。"], ids=["en", "hostile", "zh"]
)
def test_a_schema_is_enforced(passage: str, tiny_lm: dspy.LM) -> None:
    """Even a model that understands nothing gives every field a value of its type, nested ones too."""
    with dspy.context(lm=tiny_lm, adapter=dspy.JSONAdapter()):
        prediction = dspy.Predict(Judge)(passage=passage, config={"max_tokens": 100})
    assert prediction.verdict in {"supported", "contradicted"}
    assert prediction.scope in {"timeless", "now"}
    assert isinstance(prediction.count, int)
    assert prediction.detail.level in {"low", "middle", "high"}


def test_a_predictor_s_log_probabilities(tiny_lm: dspy.LM) -> None:
    """Asked for in the call's config, they are on the prediction: per token, with the best alternatives."""
    with dspy.context(lm=tiny_lm, adapter=dspy.JSONAdapter()):
        prediction = dspy.Predict(Choose)(passage="The sky.", config={"logprobs": True, "top_logprobs": 5})
    tokens = prediction.logprobs["content"]
    assert prediction.colour in "".join(token["token"] for token in tokens)
    for token in tokens:
        best = [math.exp(other["logprob"]) for other in token["top_logprobs"]]
        assert len(best) == 5
        assert best == sorted(best, reverse=True)
        assert sum(best) <= 1 + 1e-6
        assert token["logprob"] <= 0


def test_a_response_s_log_probabilities(tiny_lm: dspy.LM) -> None:
    """Asked for in a request, they are on the response; 0 alternatives means the chosen tokens alone."""
    response = tiny_lm(request=ask("Say hi.", model=tiny_lm.model, max_tokens=4, logprobs=0))
    assert [token.top for token in response.logprobs] == [()] * 4
    assert "".join(token.token for token in response.logprobs) == response.text


def test_predictors_in_turn_keep_their_prefixes(tiny_lm: dspy.LM) -> None:
    """A predictor's second call finds its prompt's beginning already read, though another was called in between."""
    grade, choose = dspy.Predict(Grade), dspy.Predict(Choose)
    seen = []
    with dspy.context(lm=tiny_lm, adapter=dspy.JSONAdapter()):
        for n in range(2):
            grade(question=f"What is {n}?", passage=f"{n} is a number.", config={"max_tokens": 20})
            seen.append(cached_tokens(tiny_lm))
            choose(passage=f"Number {n}.", config={"max_tokens": 20})
            seen.append(cached_tokens(tiny_lm))
    assert seen[2] > 100
    assert seen[3] > 100


def test_threads_and_tasks_get_their_own_answers(tiny_lm: dspy.LM) -> None:
    """Answers do not depend on who else asks: from threads and tasks they are those of calls one by one."""
    words = ["red", "blue", "green", "white"]
    requests = [ask(f"Repeat the word {word}.", model=tiny_lm.model, max_tokens=5) for word in words]
    alone = [tiny_lm.engine.complete(request).usage.input_tokens for request in requests]
    together: dict[int, Any] = {}

    def run(n: int) -> None:
        together[n] = tiny_lm.engine.complete(requests[n])

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def gather() -> list[lm15.Response]:
        twin = AsyncLlamaEngine(tiny_lm.engine)
        return list(await asyncio.gather(*(twin.complete(request) for request in requests)))

    assert [together[n].usage.input_tokens for n in range(4)] == alone
    assert [response.text for response in asyncio.run(gather())] == [together[n].text for n in range(4)]


def test_a_prompt_that_is_too_long_is_refused_with_numbers(tiny_lm: dspy.LM) -> None:
    """The prompt is counted before any of it is read."""
    with pytest.raises(dspy.ContextWindowExceededError, match=r"the prompt has \d{4} tokens, .* holds 1024"):
        tiny_lm("one two three four " * 400)


def test_a_prompt_that_leaves_no_room_for_the_answer_is_refused(tiny_gguf: Path) -> None:
    """An answer that the end of the context cuts is an error, not a short answer."""
    small = local_lm(f"local:{tiny_gguf}", n_ctx=256, cache=False)
    long = ask("one two three four " * 45, model=small.model, max_tokens=200, extensions={"ignore_eos": True})
    with pytest.raises(dspy.ContextWindowExceededError, match=r"leaves \d+ of 256 for the answer"):
        small(request=long)
    small.engine.close()


def test_llama_cpp_prints_nothing(tiny_gguf: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Loading, answering, refusing and closing are silent."""
    lm = local_lm(f"local:{tiny_gguf}", n_ctx=256, cache=False)
    lm.engine.complete(ask("Say hi.", max_tokens=3))
    with pytest.raises(lm15.ContextLengthError):
        lm.engine.complete(ask("one two " * 300))
    lm.engine.close()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kept", [24, 100_000, 50_000_000], ids=["header", "metadata", "half"])
def test_a_truncated_file_is_a_data_error(
    kept: int, tiny_gguf: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Wherever the file was cut, there is one message and nothing printed."""
    cut = tmp_path / "cut.gguf"
    with tiny_gguf.open("rb") as whole:
        cut.write_bytes(whole.read(kept))
    with pytest.raises(DataError, match="cut short or damaged"):
        local_lm(f"local:{cut}")
    assert capfd.readouterr() == ("", "")


def run_script(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own, which may hang without taking the tests with it."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)


CLOSE_AT_ONCE = """
import sys
from reflective_rag.programs.lm.llama import local_lm

for _ in range(5):
    local_lm(sys.argv[1], n_ctx=256).engine.close()
print("done")
"""


def test_a_model_can_be_closed_before_it_was_used(tiny_gguf: Path) -> None:
    """llama.cpp waits for ever when it is closed before its loop has begun, so opening waits for the loop."""
    done = run_script(CLOSE_AT_ONCE, f"local:{tiny_gguf}")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


FORK = """
import os, sys
from reflective_rag.programs.lm.llama import local_lm

lm = local_lm(sys.argv[1], n_ctx=256, cache=False)
answer = lm("Say hi.", stop=["!"], max_tokens=30)
for code in (7, 0):
    pid = os.fork()
    if pid == 0:
        assert code == 0 or lm("Say hi.", stop=["!"], max_tokens=30) == answer
        sys.exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code
assert lm("Say hi.", stop=["!"], max_tokens=30) == answer
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_loads_its_own_weights(tiny_gguf: Path) -> None:
    """Parent and child both answer after a fork, and a child ends in its own way whether it used the model or not."""
    done = run_script(FORK, f"local:{tiny_gguf}")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_the_weights_of_one_file_are_loaded_once(tiny_lm: dspy.LM, tiny_gguf: Path) -> None:
    """Another LM with the same settings has the same server; one with another context has its own."""
    same, other = LlamaEngine(f"local:{tiny_gguf}", n_ctx=1024), LlamaEngine(f"local:{tiny_gguf}", n_ctx=256)
    server = tiny_lm.engine.open()
    assert same.open() is server
    assert other.open() is not server
    for engine in (same, other):
        engine.close()
    assert tiny_lm.engine.complete(ask("Say hi.", max_tokens=2)).text
