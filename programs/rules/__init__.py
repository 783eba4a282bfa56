"""Deterministic judging and extractive answering for English and Chinese: no model, no network.

The embedded default when no model is configured, the fallback when one is down, and the ablation to compare with.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reflective_rag.programs.rules.contradiction import contradictions
    from reflective_rag.programs.rules.extraction import answer
    from reflective_rag.programs.rules.judge import assess
    from reflective_rag.programs.rules.leaving import left
    from reflective_rag.programs.rules.namesakes import differing_bearers
    from reflective_rag.programs.rules.settings import RuleSettings
    from reflective_rag.programs.rules.support import check_support

__all__ = ["RuleSettings", "answer", "assess", "check_support", "contradictions", "differing_bearers", "left"]

_LATER = {
    "RuleSettings": "settings",
    "answer": "extraction",
    "assess": "judge",
    "check_support": "support",
    "contradictions": "contradiction",
    "differing_bearers": "namesakes",
    "left": "leaving",
}


def __getattr__(name: str) -> Any:
    """Each door is imported when it is first asked for (PEP 562): half of the rules are needed by nobody before then."""
    if name in _LATER:
        return getattr(import_module(f"reflective_rag.programs.rules.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
