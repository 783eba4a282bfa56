"""Whether a state that DSPy has saved belongs to the program that is to load it."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import dspy

from reflective_rag.signatures.errors import DataError

_SHOWN = 6
"""How many names a message lists at most."""


def check_state(program: dspy.Module, name: str, state: Any) -> None:
    """Refuse the state of another program: DSPy itself loads the parts whose names it finds, and drops the others.

    Keys that are no predictor and no controls pass: DSPy puts some of its own there (`metadata`).

    Args:
        name: What the program is called in the message.

    Raises:
        DataError: Parts are missing, are not the program's, or are of a predictor with other fields.
    """
    if not isinstance(state, Mapping):
        raise DataError(f"a saved state must be an object with one part a predictor, got {type(state).__name__}")
    parts = dict(program.named_parameters())
    faults = []
    if missing := [part for part in parts if part not in state]:
        faults.append(f"it lacks {_listed(missing)}")
    if foreign := [part for part in state if part not in parts and _is_part(part, state) and not _has(program, part)]:
        faults.append(f"it holds {_listed(foreign)}, which this program does not have")
    if other := [part for part in parts if part in state and not _same_fields(parts[part], state[part])]:
        faults.append(f"the fields of {_listed(other)} are others")
    if faults:
        raise DataError(
            f"the saved state does not belong to this program (`{name}`, with {_listed(list(parts))}): "
            f"{'; '.join(faults)}. Load it into the program that saved it, built with the same options (such as "
            "`mode`), or compile this one"
        )


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    return (shown or "no parts") + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _is_part(name: str, state: Mapping[str, Any]) -> bool:
    value = state[name]
    return isinstance(value, Mapping) and ("signature" in value or name.rpartition(".")[2] == "controls")


def _has(program: dspy.Module, name: str) -> bool:
    """Whether it is there all the same: DSPy leaves out the parts of a module that it has frozen."""
    try:
        attrgetter(name)(program)
    except AttributeError:
        return False
    return True


def _same_fields(parameter: Any, part: Any) -> bool:
    """False where the numbers of fields differ; DSPy would shift their descriptions. What is damaged shows later."""
    signature = part.get("signature") if isinstance(part, Mapping) else None
    fields = signature.get("fields") if isinstance(signature, Mapping) else None
    if not isinstance(parameter, dspy.Predict) or not isinstance(fields, list):
        return True
    return len(fields) == len(parameter.signature.fields)
