import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.programs.lm.llama_server import (
    LlamaServer,
    ServerClosedError,
    ServerSettings,
    SlotTable,
    acquire,
    release,
)
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.programs.lm.conftest import FakeLlama, chat_reply


def settings(path: Path, **changes: int) -> ServerSettings:
    """Settings of a small server."""
    return ServerSettings(path=path, **({"n_ctx": 256, "n_slots": 2, "n_threads": 1} | changes))


@pytest.mark.parametrize(
    ("prefixes", "slots"),
    [
        pytest.param("ABAB", [0, 1, 0, 1], id="each-its-own"),
        pytest.param("AAA", [0, 0, 0], id="one-prefix-one-slot"),
        pytest.param("ABC", [0, 1, 0], id="the-oldest-gives-way"),
        pytest.param("ABAC", [0, 1, 0, 1], id="use-keeps-a-slot"),
        pytest.param("ABCA", [0, 1, 0, 1], id="back-after-giving-way"),
    ],
)
def test_prefixes_share_two_slots(prefixes: str, slots: list[int]) -> None:
    """A prefix keeps its slot until it is the one unused for longest and another needs a slot."""
    table = SlotTable(2)
    assert [table.slot_for(prefix) for prefix in prefixes] == slots


@pytest.mark.parametrize(
    ("name", "value"), [("n_ctx", 255), ("n_slots", 0), ("n_threads", 0), ("n_threads", -2)], ids=str
)
def test_settings_have_a_least_value(name: str, value: int, gguf: Path) -> None:
    """The message names the setting, its least value and what came."""
    with pytest.raises(ConfigError, match=rf"`{name}` .* at least \d+, got {value}"):
        settings(gguf, **{name: value})


def test_without_the_extra_the_install_command_is_named(monkeypatch: pytest.MonkeyPatch, gguf: Path) -> None:
    """A missing `xllamacpp` is a ConfigError with the command that installs it."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ConfigError, match=r"pip install .+\[local\]"):
        LlamaServer(settings(gguf)).load()


def test_an_extra_that_does_not_load_gives_the_reason(
    monkeypatch: pytest.MonkeyPatch, gguf: Path, tmp_path: Path
) -> None:
    """Installing it again would not help where a system library is missing, so that is another message."""
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('libgomp.so.1: cannot open shared object file')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    with pytest.raises(ConfigError, match=r"does not work on this machine: libgomp\.so\.1"):
        LlamaServer(settings(gguf)).load()


@pytest.mark.parametrize(
    ("content", "got"),
    [(b"PK\x03\x04zip", "b'PK"), (b"", "b''"), (b"gguf", "b'gguf'"), (b"GG", "b'GG'")],
    ids=["zip", "empty", "case", "two-bytes"],
)
@pytest.mark.usefixtures("fake_llama")
def test_a_file_of_another_kind_is_refused(content: bytes, got: str, tmp_path: Path) -> None:
    """llama.cpp is not shown a file that does not begin as GGUF does."""
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"not a GGUF model file.*{got}"):
        LlamaServer(settings(path)).load()


@pytest.mark.usefixtures("fake_llama")
def test_a_file_that_cannot_be_read_is_a_data_error(tmp_path: Path) -> None:
    """The system's reason is in the message."""
    with pytest.raises(DataError, match="cannot be read: No such file"):
        LlamaServer(settings(tmp_path / "gone.gguf")).load()


def test_a_file_that_llama_cpp_refuses_is_a_data_error(fake_llama: FakeLlama, gguf: Path) -> None:
    """llama.cpp gives no reason, so the message lists them; a later try starts afresh."""
    fake_llama.refuses_to_load = True
    with pytest.raises(DataError, match="cut short or damaged"):
        acquire(settings(gguf))
    fake_llama.refuses_to_load = False
    release(acquire(settings(gguf)))
    assert len(fake_llama.started) == 1


def test_equal_settings_share_a_server(fake_llama: FakeLlama, gguf: Path) -> None:
    """A file is loaded once for each set of settings, and unloaded when the last user gives it back."""
    first, second = acquire(settings(gguf)), acquire(settings(gguf))
    other = acquire(settings(gguf, n_ctx=512))
    assert first is second
    assert other is not first
    release(first)
    assert first.chat({}, prefix="") == chat_reply()
    release(first)
    with pytest.raises(ServerClosedError):
        first.chat({}, prefix="")
    release(other)
    again = acquire(settings(gguf))
    release(again)
    assert len(fake_llama.started) == 3


def test_each_prefix_is_sent_to_its_slot(fake_llama: FakeLlama, gguf: Path) -> None:
    """Two predictors in turn keep their own prompt prefix, and the server is told to reuse it."""
    server = LlamaServer(settings(gguf))
    for prefix in ("grade", "answer", "grade"):
        server.chat({"messages": []}, prefix=prefix)
    assert [(body["id_slot"], body["cache_prompt"]) for body in fake_llama.bodies] == [(0, True), (1, True), (0, True)]


def test_calls_are_made_one_after_another(fake_llama: FakeLlama, gguf: Path) -> None:
    """A call finds the whole context free, however many threads ask."""
    inside, most = 0, 0

    def reply(body: dict[str, Any]) -> dict[str, Any]:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        threading.Event().wait(0.002)
        inside -= 1
        return chat_reply()

    fake_llama.reply = reply
    server = LlamaServer(settings(gguf))
    threads = [threading.Thread(target=server.chat, args=({},), kwargs={"prefix": str(n)}) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(fake_llama.bodies), most) == (6, 1)


def test_an_unloaded_server_loads_again(fake_llama: FakeLlama, gguf: Path) -> None:
    """After an unloading (before a fork) the next call brings the weights back."""
    server = LlamaServer(settings(gguf))
    server.load()
    server.unload()
    assert server.chat({}, prefix="") == chat_reply()
    assert len(fake_llama.started) == 2


def test_the_server_is_private_and_its_context_is_the_one_asked_for(fake_llama: FakeLlama, gguf: Path) -> None:
    """The port that llama.cpp opens asks for a key that nobody knows; a request may hold `n_ctx` tokens."""
    for _ in range(2):
        LlamaServer(settings(gguf)).load()
    first, second = fake_llama.started
    assert first.api_keys != second.api_keys
    assert len(first.api_keys[0]) > 30
    assert first.kv_unified_per_slot == 256
    assert first.n_ctx >= 256
