"""Pictures of figures with intervals."""

import pytest

from reflective_rag.experiments.plotting import error_bars, new_figure
from reflective_rag.optimizers.calibration.curves import reliability


@pytest.mark.parametrize("right", [[False] * 7, [True] * 7, [False] * 3 + [True] * 4])
def test_intervals_that_end_at_the_mean_can_be_drawn(right: list[bool]) -> None:
    """Where all or none are right the interval ends at the mean, or a rounding error beyond it."""
    rows = reliability([0.1 * n for n in range(7)], right)
    values = [{"mean": row["right"], "low": row["low"] + 1e-16, "high": row["high"] - 1e-16} for row in rows]
    means, spread = error_bars(values)
    assert all(reach >= 0 for reaches in spread for reach in reaches)
    new_figure().add_subplot().errorbar(range(len(means)), means, yerr=spread)
