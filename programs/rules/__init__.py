"""Deterministic judging and extractive answering for English and Chinese: no model, no network.

The embedded default when no model is configured, the fallback when one is down, and the ablation to compare with.
"""

from reflective_rag.programs.rules.extraction import answer
from reflective_rag.programs.rules.judge import assess
from reflective_rag.programs.rules.settings import RuleSettings
from reflective_rag.programs.rules.support import check_support

__all__ = ["RuleSettings", "answer", "assess", "check_support"]
