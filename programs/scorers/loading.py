"""Opening the files of an ONNX model: graph, tokenizer, configuration."""

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reflective_rag.programs.scorers.files import locate
from reflective_rag.signatures.errors import ConfigError, DataError, message_of
from reflective_rag.signatures.installing import install_hint

INSTALL_MODELS = install_hint("models")
MAX_LENGTH = 512
"""Tokens of a pair where neither tokenizer nor configuration says how many the model takes."""
INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
"""Inputs that can be given → attribute of a tokenizer's encoding."""
_POSITIONS_FROM_2 = ("roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "mpnet")
"""Model types whose position table holds two places more than they take tokens."""


@dataclass(frozen=True)
class Loaded:
    """An open model: `inputs` are those it declares, with their ONNX types; `labels` its `id2label` or None."""

    session: Any
    tokenizer: Any
    inputs: dict[str, str]
    output: str
    max_length: int
    pad: int
    labels: Any


def load(name: str, *, threads: int, max_length: int | None) -> Loaded:
    """Find and open the files of a model. Raises `DataError` where one is missing, damaged or of another kind."""
    files = locate(name)
    config = _json(files.config)
    session = _session(files.onnx, name, threads)
    inputs = {item.name: str(item.type) for item in session.get_inputs()}
    if unknown := set(inputs) - set(INPUTS):
        raise DataError(
            f"the model {name!r} asks for {', '.join(sorted(unknown))}: only {', '.join(INPUTS)} can be given. "
            "It is no classifier of text pairs"
        )
    outputs = [item.name for item in session.get_outputs()]
    pad = config.get("pad_token_id")
    return Loaded(
        session=session,
        tokenizer=_tokenizer(files.tokenizer, name),
        inputs=inputs,
        output="logits" if "logits" in outputs else outputs[0],
        max_length=max_length or _limit(config, _json(files.tokenizer_config)),
        pad=pad if isinstance(pad, int) else 0,
        labels=config.get("id2label"),
    )


def require_runtime(wanted_by: str) -> None:
    """Raises `ConfigError` where the packages of the extra `models` are not installed."""
    for package in ("onnxruntime", "tokenizers"):
        if importlib.util.find_spec(package) is None:
            raise ConfigError(f"the model {wanted_by!r} needs `{package}`, not installed here: `{INSTALL_MODELS}`")


def _session(path: Path, name: str, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors; the runtime warns of every graph it could have optimised more
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # each kind of damage has a type of its own in the runtime's private module
        raise DataError(
            f"the model {name!r}: {path.name!r} cannot be loaded ({reason_of(error)}). Fetch or export it again"
        ) from error


def _tokenizer(path: Path, name: str) -> Any:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # `tokenizers` raises plain Exception
        raise DataError(f"the model {name!r}: {path.name!r} cannot be read ({reason_of(error)})") from error
    tokenizer.no_truncation()  # what the file may have switched on; done here, by pair and by batch
    tokenizer.no_padding()
    return tokenizer


def _json(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path.name!r} of a model cannot be read: {reason_of(error)}") from error
    if not isinstance(value, dict):
        raise DataError(f"{path.name!r} of a model must be a JSON object, got {type(value).__name__}")
    return value


def _limit(config: dict[str, Any], tokenizer_config: dict[str, Any]) -> int:
    """The smaller of what tokenizer and position table take; "no limit" is written as 10^30."""
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and config.get("model_type") in _POSITIONS_FROM_2:
        positions -= 2
    stated = [n for n in (positions, tokenizer_config.get("model_max_length")) if isinstance(n, int) and 8 <= n < 10**6]
    return min(stated, default=MAX_LENGTH)


def reason_of(error: Exception) -> str:
    """Type and first line of an exception."""
    lines = message_of(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200] if lines else 'no reason given'}"
