"""DSPy's description of a signature's fields, written once and not again at every call.

An adapter derives the JSON schema of every output type anew for each prompt, which takes about a third of what a call
costs beside the model. The text depends on nothing but the adapter's kind and the fields' names and types.
"""

import copy
from functools import partial
from typing import Any

import dspy

_KNOWN = (dspy.ChatAdapter, dspy.JSONAdapter, dspy.XMLAdapter)
"""Adapters whose description of fields is known to depend on nothing else; others are used as they are."""
_KEPT = 256
_texts: dict[Any, str] = {}


def remembering(adapter: Any) -> Any:
    """A copy of DSPy's own adapter that writes the same prompts faster; any other adapter as it is.

    None, DSPy's "no adapter chosen", is its `ChatAdapter`.
    """
    adapter = dspy.ChatAdapter() if adapter is None else adapter
    if type(adapter) not in _KNOWN:
        return adapter
    clone = copy.copy(adapter)
    clone.format_field_structure = partial(_structure, adapter)
    return clone


def _structure(adapter: Any, signature: Any) -> str:
    fields = [*signature.input_fields.items(), None, *signature.output_fields.items()]
    try:
        key = (type(adapter), *((field[0], field[1].annotation) if field else None for field in fields))
        found = _texts.get(key)
    except TypeError:  # a type that cannot be hashed
        return str(adapter.format_field_structure(signature))
    if found is None:
        found = _texts[key] = str(adapter.format_field_structure(signature))
        if len(_texts) > _KEPT:
            _texts.clear()
    return found
