"""Fingerprints of what a compiled program depends on: the signatures a model is asked, and its whole state."""

import hashlib
import json
from typing import Any

import dspy
from pydantic import TypeAdapter


def signature_fingerprint(signature: Any) -> str:
    """16 hex digits over names, kinds, order and types of the fields.

    Instructions and descriptions stay out: they are what a compile changes.
    """
    fields = [
        [kind, name, _type_schema(info.annotation)]
        for kind, part in (("input", signature.input_fields), ("output", signature.output_fields))
        for name, info in part.items()
    ]
    return hashlib.sha256(json.dumps(fields, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


def program_fingerprints(program: dspy.Module) -> dict[str, str]:
    """Predictor name → fingerprint of its signature."""
    return {name: signature_fingerprint(predictor.signature) for name, predictor in program.named_predictors()}


def state_of(program: dspy.Module) -> dict[str, Any]:
    """DSPy's state without the models that predictors hold: an artefact names its model, it does not configure one."""
    state: dict[str, Any] = program.dump_state()
    for part in state.values():
        if isinstance(part, dict) and "lm" in part:
            part["lm"] = None
            part["traces"], part["train"] = [], []
    return state


def program_digest(program: Any) -> str:
    """16 hex digits over everything that shapes its answers: settings, instructions, demos, controls.

    The budget stays out: it is the app's, and a result that it ended says so.
    """
    settings = program.settings.model_dump(mode="json", exclude={"budget"})
    whole = [program.name, settings, state_of(program)]
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _type_schema(annotation: Any) -> Any:
    schema = TypeAdapter(annotation).json_schema()
    return _without_words(schema)


def _without_words(schema: Any) -> Any:
    """A JSON schema without descriptions and titles: rewording them does not change what a reply must look like."""
    if isinstance(schema, dict):
        return {k: _without_words(v) for k, v in schema.items() if k not in ("description", "title")}
    return [_without_words(v) for v in schema] if isinstance(schema, list) else schema
