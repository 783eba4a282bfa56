"""Labelled answers whose chance of being right is known."""

import random
from typing import Any

from reflective_rag.optimizers.calibration import Case
from reflective_rag.programs.signals import SIGNALS


def case(number: int, right: bool, **signals: float) -> Case:
    """A case with these signals; the others are 0."""
    return Case(f"q{number}", {**dict.fromkeys(SIGNALS, 0.0), **signals}, right)


def world(n: int, *, seed: int = 0, **fixed: float) -> list[Case]:
    """Answers that are right with the probability of their evidence score, which is uniform over 0..1."""
    draw = random.Random(seed)
    cases = []
    for number in range(n):
        score = draw.random()
        signals: dict[str, Any] = {"confidence": score**2, "evidence_score": score, "evidence_known": 1.0}
        noise = {"top_score": draw.random(), "coverage": draw.random(), "coverage_known": 1.0}
        cases.append(case(number, draw.random() < score, **signals, **noise, **fixed))
    return cases
