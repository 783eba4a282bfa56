"""From a model string to a model: any DSPy name, `local:…` for llama.cpp in process, or `rules`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

import dspy

from reflective_rag.programs.lm.recording import Recording
from reflective_rag.programs.lm.recording_engine import header_for, recorded_lm
from reflective_rag.signatures.errors import ConfigError

RULES = "rules"
ENVIRONMENT = "RRAG_LM"
"""Environment variable with the model string to use where none is given."""

AdapterName = Literal["chat", "json"]


@dataclass(frozen=True, kw_only=True)
class Model:
    """A language model ready to use, or rules (`lm` is None)."""

    name: str
    lm: dspy.LM | None
    adapter: AdapterName = "chat"
    today: date | None = None
    """The date that a recording was made on; None is the real one."""
    recording: Recording | None = None

    @property
    def is_rules(self) -> bool:
        """Whether judging and answering is done by rules."""
        return self.lm is None

    @contextmanager
    def use(self) -> Iterator[None]:
        """Make it DSPy's model inside a `with` block, for this thread and those that inherit its context."""
        adapter = dspy.JSONAdapter() if self.adapter == "json" else dspy.ChatAdapter()
        try:
            with dspy.context(lm=self.lm, adapter=adapter):
                yield
        finally:
            if self.recording:
                self.recording.close()


def resolve_model(
    spec: str | None, *, record: str | Path | None = None, replay: str | Path | None = None, **options: Any
) -> Model:
    """The model for a string.

    Args:
        spec: `provider/model` as in `dspy.LM`, `local:PATH.gguf`, `local:HUB_REPO/FILE.gguf`, `rules`, or None for
            `$RRAG_LM`, else rules.
        record: File to record every call in (continued if it exists).
        replay: Recording to answer from, without a model; `spec` may be left out.
        options: Passed to `dspy.LM` (temperature, max_tokens, …).
    """
    if replay is not None:
        return _replayed(replay, record)
    spec = spec or os.environ.get(ENVIRONMENT) or RULES
    if spec == RULES:
        if record is not None:
            raise ConfigError("rules ask no model, so there is nothing to record; give a model with `--lm`")
        return Model(name=RULES, lm=None)
    lm, adapter = _live(spec, options)
    if record is None:
        return Model(name=lm.model, lm=lm, adapter=adapter)
    today = date.today()
    recording = Recording.create(record, header_for(lm, adapter=adapter, today=today.isoformat()))
    lm.cache = False  # the recording is the cache; a hit in another one would not be recorded
    lm.num_retries = 0  # the recorded LM around it retries, and would multiply these
    return Model(
        name=lm.model,
        lm=recorded_lm(recording, lm),
        adapter=adapter,
        today=date.fromisoformat(recording.header["today"]),
        recording=recording,
    )


def _replayed(path: str | Path, record: str | Path | None) -> Model:
    if record is not None:
        raise ConfigError("`--record` and `--replay` exclude each other")
    recording = Recording.load(path)
    header = recording.header
    return Model(
        name=f"{header['model']} (recording)",
        lm=recorded_lm(recording),
        adapter=header["adapter"],
        today=date.fromisoformat(header["today"]),
        recording=recording,
    )


def _live(spec: str, options: dict[str, Any]) -> tuple[dspy.LM, AdapterName]:
    if spec.startswith("local:"):
        from reflective_rag.programs.lm.llama import local_lm

        return local_lm(spec, **options), "json"
    if "/" not in spec or spec.endswith("/") or spec.startswith("/"):
        raise ConfigError(
            f"unknown model {spec!r}; expected `provider/model` (such as `openai/gpt-4o-mini` or `ollama_chat/qwen3`), "
            "`local:PATH.gguf`, `local:HUB_REPO/FILE.gguf`, or `rules`"
        )
    return dspy.LM(spec, **options), "chat"
