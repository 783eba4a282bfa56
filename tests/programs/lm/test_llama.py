"""Local models. The tests marked `model` run a real one, of 135M parameters: not what it says counts, but the form."""

import asyncio
import copy
import gc
import json
import math
import os
import pickle
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
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.programs.lm.conftest import FakeLlama, chat_reply

ROOT = Path(__file__).resolve().parents[3]


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


class Grade(dspy.Signature):
    """Grade how far the passage helps to answer the question, from what it states and not from what is likely."""

    question: str = dspy.InputField()
    passage: str = dspy.InputField()
    helps: Literal["yes", "no"] = dspy.OutputField()


class Choose(dspy.Signature):
    """Choose the colour that the passage is about, and no other; when it is about none, choose the nearest one."""

    passage: str = dspy.InputField()
    colour: Literal["red", "blue"] = dspy.OutputField()


def ask(text: str, *, system: str | None = None, model: str = "local/x", **config: Any) -> lm15.Request:
    """A request with one user message."""
    return lm15.Request(model=model, system=system, messages=(lm15.Message.user(text),), config=lm15.Config(**config))


def cached_tokens(lm: dspy.LM) -> int:
    """Prompt tokens of the LM's last call that it did not need to read again."""
    return int(lm.history[-1]["usage"]["prompt_tokens_details"]["cached_tokens"])


# Without a model


@pytest.mark.usefixtures("fake_llama")
def test_an_lm_has_its_file_s_name_and_careful_defaults(gguf: Path) -> None:
    """Temperature 0, 512 tokens, DSPy's cache on; each can be given."""
    lm = local_lm(f"local:{gguf}")
    assert (lm.model, lm.kwargs, lm.cache) == ("local/tiny", {"temperature": 0.0, "max_tokens": 512}, True)
    warm = local_lm(f"local:{gguf}", temperature=0.7, max_tokens=20, cache=False)
    assert (warm.kwargs, warm.cache) == ({"temperature": 0.7, "max_tokens": 20}, False)


def test_a_missing_file_is_known_before_a_program_runs() -> None:
    """The file is opened when the LM is made."""
    with pytest.raises(DataError, match=r"no file '/nowhere/x\.gguf'"):
        local_lm("local:/nowhere/x.gguf")


def test_settings_come_from_arguments_then_the_environment(
    fake_llama: FakeLlama, gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An argument wins over its environment variable, which wins over the default."""
    local_lm(f"local:{gguf}")
    monkeypatch.setenv("RRAG_LOCAL_CTX", "1024")
    monkeypatch.setenv("RRAG_LOCAL_SLOTS", "7")
    monkeypatch.setenv("RRAG_LOCAL_THREADS", "3")
    local_lm(f"local:{gguf}")
    local_lm(f"local:{gguf}", n_ctx=512, n_slots=1, n_threads=2)
    seen = [(p.kv_unified_per_slot, p.n_parallel, p.cpuparams.n_threads) for p in fake_llama.started]
    assert seen == [(8192, 4, os.cpu_count()), (1024, 7, 3), (512, 1, 2)]


@pytest.mark.parametrize("value", ["lots", "8k", "-1", "1.5"])
@pytest.mark.usefixtures("fake_llama")
def test_a_setting_that_is_no_number_is_named(value: str, gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the variable and what it holds."""
    monkeypatch.setenv("RRAG_LOCAL_CTX", value)
    with pytest.raises(ConfigError, match=f"`RRAG_LOCAL_CTX` must be a whole number, got {value!r}"):
        local_lm(f"local:{gguf}")


def test_lms_of_one_file_share_its_weights(fake_llama: FakeLlama, gguf: Path) -> None:
    """A second LM loads nothing, and the weights stay while either uses them."""
    first, second = local_lm(f"local:{gguf}", cache=False), local_lm(f"local:{gguf}", cache=False)
    first.engine.close()
    assert second("hi") == ["fine"]
    assert len(fake_llama.started) == 1


def test_closing_twice_is_closing_once(fake_llama: FakeLlama, gguf: Path) -> None:
    """Each LM gives the weights back once; a call afterwards is refused with what to do."""
    first, second = local_lm(f"local:{gguf}", cache=False), local_lm(f"local:{gguf}", cache=False)
    first.engine.close()
    first.engine.close()
    assert second("hi") == ["fine"]
    with pytest.raises(dspy.LMConfigurationError, match="was closed; make it again with `local_lm`"):
        first("hi")


def test_an_lm_that_is_gone_has_given_its_weights_back(fake_llama: FakeLlama, gguf: Path) -> None:
    """Forgetting an LM is enough: the next one loads the file anew."""
    lm = local_lm(f"local:{gguf}")
    del lm
    gc.collect()
    local_lm(f"local:{gguf}")
    assert len(fake_llama.started) == 2


def test_one_failed_call_is_one_call(fake_llama: FakeLlama, gguf: Path) -> None:
    """A prompt that is too long is not tried again, nor asked again in another format."""
    fake_llama.reply = lambda body: {
        "error": {"type": "exceed_context_size_error", "message": "…", "n_prompt_tokens": 9000, "n_ctx": 8192}
    }
    lm = local_lm(f"local:{gguf}", cache=False)
    with (
        dspy.context(lm=lm, adapter=dspy.ChatAdapter()),
        pytest.raises(dspy.ContextWindowExceededError, match="prompt has 9000 tokens, and the context holds 8192"),
    ):
        dspy.Predict("question -> answer")(question="?")
    assert len(fake_llama.bodies) == 1


def test_a_request_that_llama_cpp_cannot_read_is_an_lm_error(fake_llama: FakeLlama, gguf: Path) -> None:
    """Its own exception arrives as DSPy's, with its words."""

    def refuse(body: dict[str, Any]) -> dict[str, Any]:
        raise ValueError("cannot resolve $ref #/nope")

    fake_llama.reply = refuse
    with pytest.raises(dspy.LMInvalidRequestError, match="cannot resolve"):
        local_lm(f"local:{gguf}", cache=False)("hi")


def test_each_predictor_has_its_slot(fake_llama: FakeLlama, gguf: Path) -> None:
    """DSPy gives each predictor a system message of its own, which is what slots are kept by."""
    fake_llama.reply = lambda body: chat_reply(json.dumps({"helps": "yes", "colour": "red"}))
    grade, choose = dspy.Predict(Grade), dspy.Predict(Choose)
    with dspy.context(lm=local_lm(f"local:{gguf}", cache=False), adapter=dspy.JSONAdapter()):
        for n in range(2):
            grade(question=f"{n}?", passage="p")
            choose(passage=f"{n}")
    assert [body["id_slot"] for body in fake_llama.bodies] == [0, 1, 0, 1]


def test_the_adapter_s_schema_is_sent(fake_llama: FakeLlama, gguf: Path) -> None:
    """JSONAdapter learns that the engine takes a schema, and the schema holds the allowed values."""
    fake_llama.reply = lambda body: chat_reply('{"colour": "red"}')
    with dspy.context(lm=local_lm(f"local:{gguf}", cache=False), adapter=dspy.JSONAdapter()):
        dspy.Predict(Choose)(passage="p")
    schema = fake_llama.bodies[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["colour"]["enum"] == ["red", "blue"]


def test_copies_share_the_engine_and_pickles_open_later(fake_llama: FakeLlama, gguf: Path) -> None:
    """A deep copy is the engine itself; a pickle holds no weights and opens its file at the first call."""
    lm = local_lm(f"local:{gguf}", n_ctx=512, cache=False)
    assert copy.deepcopy(lm).engine is lm.engine
    assert lm.copy(temperature=1.0).engine is lm.engine
    thawed = pickle.loads(pickle.dumps(lm))
    lm.engine.close()
    assert len(fake_llama.started) == 1
    assert thawed("hi") == ["fine"]
    assert [params.kv_unified_per_slot for params in fake_llama.started] == [512, 512]


def test_a_pickle_whose_file_is_gone_is_an_lm_error(fake_llama: FakeLlama, gguf: Path) -> None:
    """Inside a call, errors of ours are DSPy's, so that a program's handling of LM errors sees them."""
    lm = local_lm(f"local:{gguf}", cache=False)
    thawed = pickle.loads(pickle.dumps(lm))
    gguf.unlink()
    with pytest.raises(dspy.LMConfigurationError, match="there is no file"):
        thawed("hi")


def test_a_program_with_a_local_lm_is_saved_by_its_model_string(
    fake_llama: FakeLlama, gguf: Path, tmp_path: Path
) -> None:
    """The saved state has the string and the settings that were given; a loaded program opens the file when called."""
    program = dspy.Predict("question -> answer")
    program.lm = local_lm(f"local:{gguf}", n_ctx=512, cache=False)
    program.save(tmp_path / "program.json")
    state = json.loads((tmp_path / "program.json").read_text())["lm"]
    assert state["engine"]["state"] == state["async_engine"]["state"] == {"spec": f"local:{gguf}", "n_ctx": 512}
    loaded = dspy.Predict("question -> answer")
    loaded.load(tmp_path / "program.json", allow_unsafe_lm_state=True)
    assert len(fake_llama.started) == 1
    assert loaded.lm("hi") == ["fine"]


@pytest.mark.usefixtures("fake_llama")
async def test_asynchronous_calls_are_the_same_calls(gguf: Path) -> None:
    """Calls made together all get their answer; closing the twin closes both."""
    lm = local_lm(f"local:{gguf}", cache=False)
    assert await asyncio.gather(*(lm.acall(f"{n}") for n in range(3))) == [["fine"]] * 3
    twin = AsyncLlamaEngine(lm.engine)
    events = [event async for event in twin.stream(ask("hi"))]
    assert [event.delta.text for event in events if event.type == "delta"] == ["fine"]
    await twin.aclose()
    with pytest.raises(lm15.ConfigurationError, match="was closed"):
        lm.engine.complete(ask("hi"))


# With a real model: `make test-model`


@pytest.mark.model
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


@pytest.mark.model
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


@pytest.mark.model
def test_a_response_s_log_probabilities(tiny_lm: dspy.LM) -> None:
    """Asked for in a request, they are on the response; 0 alternatives means the chosen tokens alone."""
    response = tiny_lm(request=ask("Say hi.", model=tiny_lm.model, max_tokens=4, logprobs=0))
    assert [token.top for token in response.logprobs] == [()] * 4
    assert "".join(token.token for token in response.logprobs) == response.text


@pytest.mark.model
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


@pytest.mark.model
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


@pytest.mark.model
def test_a_prompt_that_is_too_long_is_refused_with_numbers(tiny_lm: dspy.LM) -> None:
    """The prompt is counted before any of it is read."""
    with pytest.raises(dspy.ContextWindowExceededError, match=r"the prompt has \d{4} tokens, .* holds 1024"):
        tiny_lm("one two three four " * 400)


@pytest.mark.model
def test_a_prompt_that_leaves_no_room_for_the_answer_is_refused(tiny_gguf: Path) -> None:
    """An answer that the end of the context cuts is an error, not a short answer."""
    small = local_lm(f"local:{tiny_gguf}", n_ctx=256, cache=False)
    long = ask("one two three four " * 45, model=small.model, max_tokens=200, extensions={"ignore_eos": True})
    with pytest.raises(dspy.ContextWindowExceededError, match=r"leaves \d+ of 256 for the answer"):
        small(request=long)
    small.engine.close()


@pytest.mark.model
def test_llama_cpp_prints_nothing(tiny_gguf: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Loading, answering, refusing and closing are silent."""
    lm = local_lm(f"local:{tiny_gguf}", n_ctx=256, cache=False)
    lm.engine.complete(ask("Say hi.", max_tokens=3))
    with pytest.raises(lm15.ContextLengthError):
        lm.engine.complete(ask("one two " * 300))
    lm.engine.close()
    assert capfd.readouterr() == ("", "")


@pytest.mark.model
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


@pytest.mark.model
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


@pytest.mark.model
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_loads_its_own_weights(tiny_gguf: Path) -> None:
    """Parent and child both answer after a fork, and a child ends in its own way whether it used the model or not."""
    done = run_script(FORK, f"local:{tiny_gguf}")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.model
def test_the_weights_of_one_file_are_loaded_once(tiny_lm: dspy.LM, tiny_gguf: Path) -> None:
    """Another LM with the same settings has the same server; one with another context has its own."""
    same, other = LlamaEngine(f"local:{tiny_gguf}", n_ctx=1024), LlamaEngine(f"local:{tiny_gguf}", n_ctx=256)
    server = tiny_lm.engine.open()
    assert same.open() is server
    assert other.open() is not server
    for engine in (same, other):
        engine.close()
    assert tiny_lm.engine.complete(ask("Say hi.", max_tokens=2)).text
