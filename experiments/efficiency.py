"""What an answer costs: retrievals, calls, tokens and seconds a question and a phase, as shares of the baseline's."""

from collections.abc import Sequence
from typing import Any

from reflective_rag.optimizers.evaluation import Row
from reflective_rag.optimizers.statistics import bootstrap_mean

PER_PHASE = ("calls", "prompt_tokens", "completion_tokens", "seconds")
COSTS = ("retrievals", "lm_calls", "prompt_tokens", "completion_tokens", "tokens", "read_tokens", "seconds")
"""Columns of a `Row`, prompt and completion apart."""


def efficiency(rows: Sequence[Row], baseline: Sequence[Row]) -> dict[str, Any]:
    """Each cost a question as {mean, low, high, n, percent}, and what each phase takes of it.

    `percent` is the mean in percent of the baseline's, None where that is 0 or not told. Failed questions are left out:
    they would look cheap.
    """
    costs = {}
    for name in COSTS:
        values, base = _values(rows, name), _values(baseline, name)
        whole = sum(base) / len(base) if base else 0.0
        mean = bootstrap_mean(values).to_dict()
        percent = None if mean["mean"] is None or not whole else 100 * mean["mean"] / whole
        costs[name] = mean | {"percent": percent}
    return {**costs, "phases": _phases(rows)}


def cost_column(documents: Sequence[dict[str, Any]]) -> str:
    """`tokens` where a model was asked, else `read_tokens`: on rules the size of what is read stands for them."""
    told = [document["efficiency"]["tokens"]["mean"] for document in documents if "efficiency" in document]
    return "tokens" if any(told) else "read_tokens"


def mean_cost(rows: Sequence[Row], column: str) -> float:
    """Mean of a cost over the questions that did not fail; 0 without one."""
    values = _values(rows, column)
    return sum(values) / len(values) if values else 0.0


def _values(rows: Sequence[Row], name: str) -> list[float]:
    sound = [row for row in rows if row.error is None]
    if name in ("prompt_tokens", "completion_tokens"):
        told = [row.usage for row in sound if row.usage is not None]
        return [float(sum(getattr(phase, name) for phase in usage.values())) for usage in told]
    return [float(value) for row in sound if (value := getattr(row, name)) is not None]


def _phases(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Phase → mean of each cost over all questions that tell their usage; a phase that did not happen costs 0."""
    told = [row.usage for row in rows if row.error is None and row.usage is not None]
    names = dict.fromkeys(name for usage in told for name in usage)
    return {
        phase: {
            name: sum(getattr(usage[phase], name) for usage in told if phase in usage) / len(told) for name in PER_PHASE
        }
        for phase in names
    }
