"""From a model string to a model."""

from datetime import date
from pathlib import Path
from typing import Any

import dspy
import pytest

from reflective_rag.programs.lm.resolve import resolve_model
from reflective_rag.signatures.errors import ConfigError, DataError

KEY = "s" + "k-resolve-secret-0123456789"


@pytest.mark.parametrize("spec", [None, "", "rules"])
def test_rules_are_the_default(spec: str | None) -> None:
    """Without a model string nothing is needed and nothing is asked."""
    model = resolve_model(spec)
    assert (model.name, model.lm, model.is_rules) == ("rules", None, True)


@pytest.mark.parametrize(
    "spec", ["openai/gpt-4o-mini", "ollama_chat/qwen3", "anthropic/claude-sonnet", "openrouter/meta-llama/llama-3"]
)
def test_any_dspy_name_is_taken(spec: str) -> None:
    """The name goes to DSPy as it is, with the chat adapter and the caller's options."""
    model = resolve_model(spec, temperature=0.3, api_key=KEY)
    assert model.lm is not None
    assert (model.name, model.lm.model, model.adapter, model.is_rules) == (spec, spec, "chat", False)
    assert model.lm.kwargs["temperature"] == 0.3
    assert KEY not in repr(model)


@pytest.mark.parametrize("spec", ["gpt-4o-mini", "openai/", "/model", "rule", "Rules "])
def test_a_string_that_names_no_model_is_refused(spec: str) -> None:
    """The message shows every form that works."""
    with pytest.raises(ConfigError, match=r"unknown model .*`provider/model`.*`local:PATH\.gguf`.*`rules`"):
        resolve_model(spec)


def test_a_missing_local_file_is_named(tmp_path: Path) -> None:
    """`local:` with a path that leads nowhere says so before anything is loaded."""
    missing = tmp_path / "missing.gguf"
    with pytest.raises((ConfigError, DataError), match=r"missing\.gguf"):
        resolve_model(f"local:{missing}")


def test_the_environment_names_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """`RRAG_LM` is used where no string is given, and gives way to one."""
    monkeypatch.setenv("RRAG_LM", "openai/from-environment")
    assert resolve_model(None).name == "openai/from-environment"
    assert resolve_model("rules").is_rules


@pytest.mark.parametrize(
    ("options", "named"),
    [
        pytest.param({"spec": "rules", "record": "a.jsonl"}, "nothing to record", id="rules recorded"),
        pytest.param({"spec": None, "record": "a", "replay": "b"}, "exclude each other", id="both"),
    ],
)
def test_options_that_exclude_each_other_are_refused(options: dict[str, Any], named: str) -> None:
    """Before a file is made."""
    with pytest.raises(ConfigError, match=named):
        resolve_model(**options)


def test_recording_and_replaying_keep_the_set_up(tmp_path: Path) -> None:
    """A replay has the recorded model's name, settings, adapter and date, and no key."""
    file = tmp_path / "calls.jsonl"
    live = resolve_model("openai/some-model", record=file, temperature=0.0, api_key=KEY)
    with live.use():
        assert dspy.settings.lm is live.lm
    replayed = resolve_model(None, replay=file)
    assert replayed.name == "openai/some-model (recording)"
    assert replayed.lm is not None
    assert replayed.lm.model == "openai/some-model"
    assert replayed.lm.kwargs["temperature"] == 0.0
    assert replayed.today == live.today == date.fromisoformat(str(live.today))
    assert KEY not in file.read_text()


def test_a_replay_of_nothing_is_a_data_error(tmp_path: Path) -> None:
    """The message says how to make a recording."""
    with pytest.raises(DataError, match="--record"):
        resolve_model(None, replay=tmp_path / "missing.jsonl")


def test_use_sets_model_and_adapter_for_the_block() -> None:
    """Inside the block it is DSPy's model; afterwards everything is as before."""
    before = dspy.settings.lm
    with resolve_model("openai/some-model").use():
        assert dspy.settings.lm.model == "openai/some-model"
        assert isinstance(dspy.settings.adapter, dspy.ChatAdapter)
    with resolve_model("rules").use():
        assert dspy.settings.lm is None
    assert dspy.settings.lm is before
