"""Did a compile help? The paired difference on questions that it has not learnt from, and the verdict in words."""

from collections.abc import Mapping
from typing import Any

from reflective_rag.experiments.measuring import values_in_pairs
from reflective_rag.optimizers.evaluation import SCORES, Evaluation
from reflective_rag.optimizers.statistics import paired_difference
from reflective_rag.programs.calibrated import OUTSIDE

LEAST = 6
"""Questions below which no verdict is given: five that all got better are chance once in sixteen times."""


def difference(before: Evaluation, after: Evaluation, metric: str) -> dict[str, Any]:
    """The metric's column → compiled minus before on the same questions: {mean, low, high, n}, 95 % by bootstrap."""
    column = metric if metric in SCORES else "score"
    ours, theirs = values_in_pairs(after, before, column)
    return {column: paired_difference(ours, theirs).to_dict()}


def nothing_told(before: Mapping[str, Evaluation], after: Mapping[str, Evaluation], metric: str) -> list[str]:
    """Warnings where scores cannot tell anything: every question failed, or scored 0 before and after alike."""
    found = []
    for split in after:
        both = [before[split], after[split]] if split in before else [after[split]]
        rows = [row for each in both for row in each.rows]
        column = metric if metric in SCORES else "score"
        if rows and all(row.error is not None or row.stop_reason in OUTSIDE for row in rows):
            why = next((row.error for row in rows if row.error), "the model or the retriever gave out")
            found.append(f"every question of {split} failed, before and after: the scores say nothing ({why})")
        elif rows and not any(getattr(row, column) for row in rows):
            found.append(
                f"every question of {split} scored 0 by {metric!r}, before and after: it tells nothing apart, so "
                "nothing can be learnt from it. Look at why (`reflective-rag diagnose`), or take another metric"
            )
    return found


def verdicts(differences: Mapping[str, Mapping[str, Any]], metric: str) -> dict[str, str]:
    """Split → one sentence."""
    return {split: verdict(split, metric, found) for split, each in differences.items() for found in each.values()}


def verdict(split: str, metric: str, found: Mapping[str, Any]) -> str:
    """A gain or a loss only where the interval excludes 0: anything else may be chance."""
    if not found["n"]:
        return f"no question of {split} was scored both before and after: nothing can be said about a gain"
    if found["low"] is None:
        return f"one question of {split} tells nothing about a gain: {metric} difference {found['mean']:+.3f}"
    numbers = f"{found['mean']:+.3f} [{found['low']:+.3f}, {found['high']:+.3f}]"
    if found["n"] < LEAST:
        return f"too few questions of {split} (n = {found['n']}) to tell a gain: {metric} difference {numbers}"
    what = "a gain" if found["low"] > 0 else "a loss" if found["high"] < 0 else "no measurable gain"
    return f"{what} on {split} (n = {found['n']}): {metric} difference {numbers}, compiled minus before"
