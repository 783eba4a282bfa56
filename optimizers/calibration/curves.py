"""Confidences in order: what the measures and the plots are computed from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reflective_rag.optimizers.ranking_metrics import wilson
from reflective_rag.signatures.errors import ContractError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

BINS = 10
"""Bins of equal mass, in the ECE and in the reliability diagram."""


class Groups:
    """Cases sorted by confidence, equal ones together."""

    def __init__(self, confidences: Sequence[float], right: Sequence[bool]) -> None:
        import numpy as np

        values = np.asarray(confidences, dtype=float)
        if not np.isfinite(values).all():
            raise ContractError(f"confidences must be finite numbers, got {values[~np.isfinite(values)][0]!r}")
        self.order = np.argsort(values, kind="stable")
        self.right = np.asarray([bool(label) for label in right], dtype=float)[self.order]
        self.starts = np.flatnonzero(np.r_[True, np.diff(values[self.order]) > 0])

    def surest_first(self, weights: "Numbers") -> tuple["Numbers", "Numbers", "Numbers", "Numbers"]:
        """For each group, the surest first: cases before it, cases in it, errors before it, errors in it."""
        import numpy as np

        drawn = weights[:, self.order]
        mass = np.add.reduceat(drawn, self.starts, axis=1)[:, ::-1]
        errors = np.add.reduceat(drawn * (1 - self.right), self.starts, axis=1)[:, ::-1]
        return np.cumsum(mass, axis=1) - mass, mass, np.cumsum(errors, axis=1) - errors, errors


def risk_coverage(confidences: Sequence[float], right: Sequence[bool]) -> list[tuple[float, float]]:
    """Points (coverage, risk) at each distinct confidence, the surest first."""
    import numpy as np

    before, mass, errors_before, errors = Groups(confidences, right).surest_first(np.ones((1, len(right))))
    answered = (before + mass)[0]
    return [
        (float(n / len(right)), float(wrong / n))
        for n, wrong in zip(answered, (errors_before + errors)[0], strict=True)
    ]


def reliability(confidences: Sequence[float], right: Sequence[bool], bins: int = BINS) -> list[dict[str, float]]:
    """For each bin of equal mass that is not empty: mean confidence, share right with Wilson's interval, n."""
    import numpy as np

    groups = Groups(confidences, right)
    values = np.asarray(confidences, dtype=float)[groups.order]
    sizes = np.diff(np.r_[groups.starts, len(values)])
    middle = (groups.starts + sizes / 2) / len(values)
    place = np.repeat(np.minimum((middle * bins).astype(int), bins - 1), sizes)
    rows = []
    for number in sorted(set(place.tolist())):
        inside = place == number
        share, n = float(groups.right[inside].mean()), int(inside.sum())
        low, high = wilson(share, n)
        rows.append({"confidence": float(values[inside].mean()), "right": share, "low": low, "high": high, "n": n})
    return rows
