"""Three plain confidences that a calibration has to beat: a constant, the top retrieval score, the program's own.

The program's own stands for the self-rated one: the heuristic confidence, and the evidence score that it is made from.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from reflective_rag.optimizers.calibration.cases import Case
from reflective_rag.optimizers.calibration.fit import cross_fit
from reflective_rag.signatures.errors import DataError


@dataclass(frozen=True)
class Baseline:
    """A confidence for each case."""

    values: tuple[float, ...]
    probabilities: bool = True
    """Whether they are meant as probabilities, so that ECE and Brier say something."""


def baselines(cases: Sequence[Case], *, seed: int = 0) -> dict[str, Baseline]:
    """Name → confidences of the answered cases.

    `constant` is the share that is right, over all cases: the best constant there is. `top_score` is the retriever's
    best score, made a probability by a cross-fitted logistic regression of its own, and ranked by its own order.
    `confidence` and `evidence_score` are as the program gave them; what no case has is left out.
    """
    share = sum(case.right for case in cases) / len(cases)
    found = {
        "constant": Baseline((share,) * len(cases)),
        "confidence": Baseline(_signal(cases, "confidence")),
    }
    if any(_signal(cases, "evidence_known")):
        found["evidence_score"] = Baseline(_signal(cases, "evidence_score"))
    top = _signal(cases, "top_score")
    if len(set(top)) > 1:
        found["top_score"] = Baseline(top, probabilities=False)
        with suppress(DataError):  # in some fold all may have the same score
            found["top_score_fitted"] = Baseline(tuple(cross_fit(cases, "logistic", ["top_score"], seed=seed)))
    return found


def _signal(cases: Sequence[Case], name: str) -> tuple[float, ...]:
    return tuple((case.signals or {}).get(name, 0.0) for case in cases)
