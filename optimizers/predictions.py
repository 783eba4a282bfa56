"""Reading a prediction, made by one of our programs (the fields of `Result`) or a stock DSPy module (`answer` only).

What a prediction does not tell is None, never 0: an unknown cost must not look like no cost.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from reflective_rag.programs.module import result_of
from reflective_rag.programs.signals import signals
from reflective_rag.signatures.errors import ContractError
from reflective_rag.signatures.types import PhaseUsage, Result


def answer_of(prediction: object) -> str:
    """The answer's text.

    Raises:
        ContractError: There is no `answer`, or it is not a text.
    """
    answer = getattr(prediction, "answer", None)
    if isinstance(answer, str):
        return answer
    if answer is None:
        fields = sorted(prediction.keys()) if hasattr(prediction, "keys") else type(prediction).__name__
        raise ContractError(f"a prediction must have the text field `answer`, got {fields}. Name the output `answer`.")
    raise ContractError(f"`answer` must be a text, got {answer!r}. Declare the output field as `answer: str`.")


def usage_of(prediction: object) -> dict[str, PhaseUsage] | None:
    """The usage of each phase by its name, or None where the prediction does not tell it."""
    usage = getattr(prediction, "usage", None)
    if usage is None:
        return None
    if not isinstance(usage, Mapping):
        raise ContractError(f"`usage` must map phases to `PhaseUsage`, got {usage!r}.")
    return {str(name): PhaseUsage.model_validate(phase) for name, phase in usage.items()}


def phases_of(prediction: object) -> Sequence[PhaseUsage] | None:
    """The usage of each phase, or None where the prediction does not tell it. No phases: no model was asked."""
    usage = usage_of(prediction)
    return None if usage is None else list(usage.values())


def tokens_of(prediction: object) -> int | None:
    """Prompt and completion tokens: from `usage`, else from DSPy's own tracking (`track_usage=True`), else None."""
    phases = phases_of(prediction)
    if phases is not None:
        return sum(phase.prompt_tokens + phase.completion_tokens for phase in phases)
    tracked: Mapping[str, Mapping[str, Any]] | None = getattr(prediction, "get_lm_usage", lambda: None)()
    if not tracked:
        return None
    return sum(int(lm.get(key) or 0) for lm in tracked.values() for key in ("prompt_tokens", "completion_tokens"))


def whole_result(prediction: object) -> Result | None:
    """The prediction as a `Result`; None for a stock module, or somebody else's with fields of the same names."""
    keys: Any = getattr(prediction, "keys", tuple)()
    if not set(Result.model_fields) <= set(keys):
        return None
    try:
        return result_of(prediction)
    except ValidationError:
        return None


def signals_of(prediction: object) -> dict[str, float] | None:
    """What a calibration is fitted on; None for a stock module, and where a calibration is in use already."""
    result = whole_result(prediction)
    return None if result is None or result.calibrated else signals(result)
