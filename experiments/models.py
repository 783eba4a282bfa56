"""Models for the command line: resolved with one clear error, reachable or not, and checked after a replay."""

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.exceptions import DSPyError, LMNotConfiguredError

from reflective_rag.data.secrets import scrub
from reflective_rag.experiments.console import note
from reflective_rag.programs.lm.recording_engine import RecordingEngine
from reflective_rag.programs.lm.resolve import ENVIRONMENT, Model, resolve_model
from reflective_rag.programs.module import RagModule
from reflective_rag.signatures.errors import ConfigError, ReflectiveRAGError, message_of


def open_model(lm: str | None, *, record: Path | None = None, replay: Path | None = None, **options: Any) -> Model:
    """`resolve_model`, with `None` options left out and DSPy's own complaints as `ConfigError`."""
    given = {name: value for name, value in options.items() if value is not None}
    try:
        model = resolve_model(lm, record=record, replay=replay, **given)
    except ReflectiveRAGError:
        raise
    except (DSPyError, ValueError, TypeError) as error:
        raise ConfigError(f"the model {lm!r} cannot be set up: {first_line(error)}") from error
    if given and (replay is not None or model.is_rules):
        names = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        if replay is not None:
            raise ConfigError(f"`{names}` does nothing with `--replay`: a recording has its own settings; leave it out")
        raise ConfigError(
            f"`{names}` is for a language model, and this runs on rules: name a model with `--lm`, or leave it out"
        )
    if replay is not None and lm and lm != os.environ.get(ENVIRONMENT) and lm not in model.name:
        note(f"`--lm {lm}` is not asked: the replies are those of {model.name}")
    return model


@contextmanager
def asking(model: Model) -> Iterator[None]:
    """Use the model; afterwards raise what its recording missed or could not write, in case something swallowed it."""
    try:
        with model.use():
            yield
    except Exception as error:
        if model.recording:
            model.recording.check()
        if missing := _missing_key(model.name, error):
            raise missing from error
        raise
    if model.recording:
        model.recording.check()


def is_recording(name: str) -> bool:
    """Whether a model of this name answers from a recording: its seconds are then not those of a model."""
    return name.endswith(" (recording)")


def ping(model: Model) -> None:
    """Ask the model for one word, past cache and recording. Does nothing for rules and replays.

    Raises:
        ConfigError: It cannot be reached or refuses; the message names it and gives the reason.
    """
    lm = _live_part(model)
    if lm is None:
        return
    once = copy.copy(lm)
    once.cache, once.num_retries, once.history = False, 1, []
    try:
        once("Reply with the single word: ready")
    except ReflectiveRAGError:
        raise
    except Exception as error:  # whatever a provider's client raises
        if missing := _missing_key(model.name, error):
            raise missing from error
        raise unreachable(model.name, first_line(error)) from error


def _missing_key(name: str, error: BaseException) -> ConfigError | None:
    """What to do about a key that is not set: DSPy tells how to do it in Python, a user of commands needs the shell."""
    cause = error if isinstance(error, LMNotConfiguredError) else error.__cause__
    variables = tuple(getattr(cause, "env_keys", None) or ()) if isinstance(cause, LMNotConfiguredError) else ()
    if not variables:
        return None
    listed = " or ".join(f"`{variable}`" for variable in variables)
    return ConfigError(
        f"the model {name!r} needs an API key: set the environment variable {listed} "
        f"(`export {variables[0]}=…`), or use `--lm rules`"
    )


def unreachable(name: str, reason: str) -> ConfigError:
    """The error for a model that answers nothing."""
    return ConfigError(
        f"the model {name!r} cannot be used: {reason.rstrip('.')}. Check its name, its key and its address "
        "(`reflective-rag doctor`), or use `--lm rules`"
    )


def _live_part(model: Model) -> dspy.LM | None:
    if model.lm is None:
        return None
    engine = model.lm.engine
    return engine.inner if isinstance(engine, RecordingEngine) else model.lm


def model_named(program: RagModule, model: Model) -> str:
    """What a report calls the model: `rules` also where the program asks none. Call it while the model is in use."""
    return model.name if program.uses_model() else "rules"


def first_line(error: BaseException) -> str:
    """Class and first line of an error, without secrets."""
    text = scrub(message_of(error).strip())
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__
