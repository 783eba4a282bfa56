"""A stand-in for the package `xllamacpp`, and one tiny real model for the tests marked `model`."""

import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import dspy
import pytest

from reflective_rag.programs.lm.llama import local_lm


def chat_reply(text: str = "fine", *, finish: str = "stop", prompt: int = 10, answer: int = 3) -> dict[str, Any]:
    """A reply as llama.cpp gives it."""
    return {
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer},
        "timings": {"cache_n": 0, "prompt_n": prompt},
    }


class FakeLlama:
    """What the stand-in saw: the servers that were started, and every body that was sent."""

    def __init__(self) -> None:
        self.reply: Callable[[dict[str, Any]], dict[str, Any]] = lambda body: chat_reply()
        self.refuses_to_load = False
        self.started: list[Any] = []
        self.bodies: list[dict[str, Any]] = []

    def module(self) -> ModuleType:
        """The package, as far as the engine uses it."""

        class Server:
            def __init__(server, params: Any) -> None:  # noqa: N805 - `self` is the FakeLlama
                if self.refuses_to_load:
                    raise RuntimeError("Failed to init server, please check the input params.")
                self.started.append(params)

            def handle_chat_completions(server, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N805 - the same
                self.bodies.append(body)
                return self.reply(body)

            def handle_metrics(server) -> str:  # noqa: N805 - the same
                return ""

        def parameters() -> Any:
            return SimpleNamespace(
                model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
            )

        module = ModuleType("xllamacpp")
        vars(module).update(Server=Server, CommonParams=parameters)
        return module


@pytest.fixture
def fake_llama(monkeypatch: pytest.MonkeyPatch) -> FakeLlama:
    """`xllamacpp` replaced by a stand-in that answers "fine"."""
    fake = FakeLlama()
    monkeypatch.setitem(sys.modules, "xllamacpp", fake.module())
    return fake


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    """A file that begins as a GGUF file does."""
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF\x03\x00\x00\x00")
    return path


@pytest.fixture(scope="session")
def tiny_lm(tiny_gguf: Path) -> Iterator[dspy.LM]:
    """A real model of 135M parameters with a context of 1024 tokens, loaded once."""
    if not find_spec("xllamacpp"):  # not imported here: that is for the engine to do, in its own way
        pytest.skip("needs the extra `local`: run `make setup`")
    lm = local_lm(f"local:{tiny_gguf}", n_ctx=1024, cache=False)
    yield lm
    lm.engine.close()
