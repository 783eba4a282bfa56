"""Labels that come free: from supporting flags, planted passages, and twins of records with one thing changed.

Everything here is pure and depends on the records and the seed alone. What is dropped is dropped because its label
would not be exact.
"""

from reflective_rag.data.twins.cases import (
    Case,
    Judged,
    Unit,
    conflict_cases,
    contradiction_cases,
    freshness_cases,
    relevance_pairs,
    sufficiency_cases,
    support_cases,
    units_of,
)
from reflective_rag.data.twins.insufficient import insufficient_twin
from reflective_rag.data.twins.swaps import (
    ContradictoryTwin,
    StaleTwin,
    Swap,
    contradictory_twin,
    other_scope_twin,
    stale_twin,
)

__all__ = [
    "Case",
    "ContradictoryTwin",
    "Judged",
    "StaleTwin",
    "Swap",
    "Unit",
    "conflict_cases",
    "contradiction_cases",
    "contradictory_twin",
    "freshness_cases",
    "insufficient_twin",
    "other_scope_twin",
    "relevance_pairs",
    "stale_twin",
    "sufficiency_cases",
    "support_cases",
    "units_of",
]
