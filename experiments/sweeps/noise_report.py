"""A noise sweep as a document: every condition with intervals, paired differences, and the losses named."""

from collections.abc import Sequence
from typing import Any

from reflective_rag.experiments.sweeps.noise import DataSet, Done
from reflective_rag.optimizers.calibration.cases import Correct
from reflective_rag.optimizers.outcomes import differences, summarised


def cells_of(done: Sequence[Done], baseline: str, correct: Correct) -> list[dict[str, Any]]:
    """One entry a condition: the figures of `optimizers.outcomes`, and their differences to the baseline's."""
    base = {(each.data, each.noise, each.rate): each.rows for each in done if each.system == baseline}
    cells = []
    for each in done:
        about = {"data": each.data, "noise": each.noise, "rate": each.rate, "system": each.system}
        theirs = base[each.data, each.noise, each.rate]
        paired = {} if each.system == baseline else differences(each.rows, theirs, correct)
        cells.append({**about, **summarised(each.rows, correct), "differences": paired})
    return cells


def questions_of(data: Sequence[DataSet]) -> list[dict[str, Any]]:
    """How many questions of each file got noise of each kind, and how many could not."""
    return [
        {
            "data": each.name,
            "noise": noise.kind,
            "n": len(noise.of),
            "left_out": len(noise.left_out),
            "twins_per_question": noise.twins_per_question,
        }
        for each in data
        for noise in each.noise
    ]


def over_data(cells: Sequence[dict[str, Any]], figure: str = "accuracy", higher: bool = True) -> list[dict[str, Any]]:
    """For each kind, rate and system: on how many data sets it is better, worse or unclear, and where it is worst.

    Better and worse mean a paired interval without 0. A mean over data sets would hide a loss on one behind the others.
    """
    groups: dict[tuple[str, float, str], list[dict[str, Any]]] = {}
    for cell in cells:
        if figure in cell["differences"]:
            groups.setdefault((cell["noise"], cell["rate"], cell["system"]), []).append(cell)
    found = []
    for (noise, rate, system), group in groups.items():
        signs = [_sign(cell["differences"][figure]) * (1 if higher else -1) for cell in group]
        order = [(1 if higher else -1) * cell["differences"][figure]["mean"] for cell in group]
        worst = group[order.index(min(order))]
        found.append(
            {
                "noise": noise,
                "rate": rate,
                "system": system,
                "figure": figure,
                "better": signs.count(1),
                "unclear": signs.count(0),
                "worse": signs.count(-1),
                "worst": {"data": worst["data"], **worst["differences"][figure]},
            }
        )
    return found


def _sign(difference: dict[str, Any]) -> int:
    if difference["low"] is None:
        return 0
    return 1 if difference["low"] > 0 else -1 if difference["high"] < 0 else 0
