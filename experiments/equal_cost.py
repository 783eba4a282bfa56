"""Quality at equal tokens, and tokens at equal quality: NaiveRAG with as many passages as it takes."""

from collections.abc import Callable
from typing import Any

from reflective_rag.experiments.efficiency import mean_cost
from reflective_rag.experiments.measuring import values_in_pairs
from reflective_rag.optimizers.evaluation import Evaluation
from reflective_rag.optimizers.statistics import paired_difference

KS = (1, 2, 5, 10, 20, 40)
"""Passages a search that are tried first; between two of them the distance is halved."""
MOST_K = 100
CLOSE = 0.02
"""Spending that differs by less counts as equal."""


class Curve:
    """NaiveRAG at every k that was tried.

    Args:
        measure: Runs it with that k over all questions.
        cost: The column that is spent: `tokens`, or `read_tokens` where no model is asked.
        quality: The column that counts as quality.
    """

    def __init__(self, measure: Callable[[int], Evaluation], cost: str, quality: str = "f1") -> None:
        self._measure, self._cost, self._quality = measure, cost, quality
        self._runs: dict[int, Evaluation] = {}

    def at(self, k: int) -> Evaluation:
        """The run with that k; measured once."""
        if k not in self._runs:
            self._runs[k] = self._measure(k)
        return self._runs[k]

    def spent(self, k: int) -> float:
        """Mean cost with that k."""
        return mean_cost(self.at(k).rows, self._cost)

    def spending(self, target: float) -> int:
        """The k whose mean cost is nearest to the target; `MOST_K` where none spends so much."""
        low = KS[0]
        for high in (*KS[1:], MOST_K):
            if self.spent(high) > target:
                break
            low = high
        else:
            return MOST_K
        while high - low > 1 and abs(self.spent(low) - target) > CLOSE * target:
            middle = (low + high) // 2
            low, high = (middle, high) if self.spent(middle) <= target else (low, middle)
        return min((low, high), key=lambda k: abs(self.spent(k) - target))

    def against(self, evaluation: Evaluation) -> dict[str, Any]:
        """The two comparisons with another system's run, for JSON."""
        target = mean_cost(evaluation.rows, self._cost)
        k = self.spending(target)
        same = self.at(k)
        differences = {}
        for column in dict.fromkeys((self._quality, "f1", "containment", "recall")):
            ours, theirs = values_in_pairs(evaluation, same, column)
            if ours:
                differences[column] = paired_difference(ours, theirs).to_dict()
        at_equal_cost = {"k": k, "spent": self.spent(k), self._quality: same.interval(self._quality).to_dict()}
        return {
            "cost": self._cost,
            "spent": target,
            "equal_cost": {**at_equal_cost, "differences": differences},
            "equal_quality": self._equal_quality(evaluation, target),
        }

    def _equal_quality(self, evaluation: Evaluation, target: float) -> dict[str, Any]:
        """The cheapest k that is as good; `k` None where none of those tried is, with the best of them."""
        wanted = evaluation.interval(self._quality).mean or 0.0
        for k in KS:
            self.at(k)
        means = {k: run.interval(self._quality).mean or 0.0 for k, run in self._runs.items()}
        good = sorted((self.spent(k), k) for k, mean in means.items() if mean >= wanted)
        if good:
            spent, k = good[0]
            return {"k": k, "spent": spent, "percent": 100 * spent / target if target else None}
        best = max(means, key=lambda k: (means[k], -k))
        return {"k": None, "best": {"k": best, self._quality: means[best], "spent": self.spent(best)}}
