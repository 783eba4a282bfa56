"""The truth about a result that came after the limit of time: rules take time of their own, which no step shows."""

from collections.abc import Collection

from reflective_rag.programs.messages import budget_detail, warning
from reflective_rag.signatures.text import language_of
from reflective_rag.signatures.types import Result, StopReason

_STRONGER: frozenset[StopReason] = frozenset(
    {
        "budget_calls",
        "budget_tokens",
        "budget_retrievals",
        "budget_seconds",
        "model_error",
        "retriever_error",
        "no_passages",
        "no_relevant_passages",
    }
)
"""Stop reasons that stay, since they say more of how the run ended than that it also was late."""


def late_result(result: Result, question: str, undone: Collection[str]) -> Result:
    """The result of a run that its limit has overtaken: never `sufficient`, degraded, with what was left undone."""
    left = budget_detail(question, None, dict.fromkeys(sorted(undone)))
    told = warning("budget_exhausted", question, left)
    earlier = next((w for w in result.warnings if w.code == "budget_exhausted"), None)
    if earlier is not None:  # it says what a budget refused; what rules left undone comes behind
        told = earlier.model_copy(update={"message": _added(earlier.message, left, question)})
    stop = result.stop_reason if result.stop_reason in _STRONGER else "budget_seconds"
    others = tuple(w for w in result.warnings if w is not earlier)
    return result.model_copy(update={"stop_reason": stop, "degraded": True, "warnings": (*others, told)})


def _added(message: str, left: str, question: str) -> str:
    if not left or left in message:
        return message
    return f"{message}（{left}）" if language_of(question) == "zh" else f"{message} ({left})"
