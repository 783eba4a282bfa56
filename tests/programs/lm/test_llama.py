"""Local models without one: a stand-in for the engine shows what is sent, shared, kept and refused."""

import asyncio
import copy
import gc
import json
import os
import pickle
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy import lm15

from reflective_rag.programs.lm.llama import AsyncLlamaEngine, local_lm
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.programs.lm.asking import Choose, Grade, ask
from tests.programs.lm.conftest import FakeLlama, chat_reply


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
