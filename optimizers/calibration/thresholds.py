"""The thresholds that a calibration carries: each wanted risk by both rules, and in words where it cannot be kept."""

import math
from collections.abc import Callable, Sequence
from typing import get_args

from reflective_rag.optimizers.calibration.cases import Case
from reflective_rag.optimizers.calibration.fit import cross_fit
from reflective_rag.optimizers.calibration.risk import (
    Threshold,
    feasible,
    learn_then_test,
    risk_control,
    sequence_to_test,
)
from reflective_rag.programs.calibration import Calibration, Kind, RiskRule, RiskThreshold

_PERCENT = tuple(step / 100 for step in range(1, 100))


def thresholds(
    fitted: Calibration,
    seen: Sequence[Case],
    unseen: Sequence[Case],
    kind: Kind,
    *,
    risks: Sequence[float],
    delta: float,
    rules: Sequence[str] = get_args(RiskRule),
    features: Sequence[str] | None = None,
    seed: int = 0,
) -> tuple[RiskThreshold, ...]:
    """For each risk the threshold by each of the `rules`.

    Args:
        seen: Cases that `fitted` was fitted on; they only choose where the tests begin.
        unseen: Cases that it has not seen; these decide.

    Raises:
        ConfigError: A risk or δ is not between 0 and 1.
    """
    learned = [case for case in seen if case.answered]
    guide: tuple[Sequence[float], Sequence[bool]] = (), ()
    if "selective" in rules:
        guide = cross_fit(learned, kind, features, seed=seed), [not case.right for case in learned]
    answers = [case for case in unseen if case.answered]
    sure = [fitted.probability(case.signals or {}) for case in answers]
    wrong = [not case.right for case in answers]
    everywhere = [fitted.probability(case.signals) if case.signals is not None else None for case in unseen]
    wrong_everywhere = [case.answered and not case.right for case in unseen]

    def selective(alpha: float) -> Threshold | None:
        sequence = sequence_to_test(*guide, alpha, delta, len(answers))
        return learn_then_test(sure, wrong, alpha, delta, sequence)

    def joint(alpha: float) -> Threshold | None:
        return risk_control(everywhere, wrong_everywhere, alpha)

    found = []
    for risk in dict.fromkeys(risks):
        for rule in dict.fromkeys(rules):
            if rule == "selective":
                found.append(_selective(risk, delta, selective, len(answers), len(unseen)))
            else:
                found.append(_joint(risk, joint, len(unseen)))
    return tuple(found)


def _selective(
    risk: float, delta: float, find: Callable[[float], Threshold | None], labels: int, questions: int
) -> RiskThreshold:
    possible = feasible(labels, risk, delta)
    chosen = find(risk) if possible.ok else None
    wanted = RiskThreshold(
        risk=risk, rule="selective", delta=delta, n=labels, method="learn-then-test, fixed sequence, exact binomial"
    )
    if chosen is None:
        needed = "" if possible.ok else f" ({possible.message})"
        return wanted.model_copy(update={"note": _cannot(risk, labels, find, questions) + needed})
    return _with(wanted, chosen, questions, chosen.wrong / chosen.answered)


def _joint(risk: float, find: Callable[[float], Threshold | None], questions: int) -> RiskThreshold:
    chosen = find(risk)
    wanted = RiskThreshold(risk=risk, rule="joint", n=questions, method="conformal risk control")
    if chosen is None:
        return wanted.model_copy(update={"note": _cannot(risk, questions, find, questions)})
    return _with(wanted, chosen, questions, chosen.wrong / questions)


def _with(wanted: RiskThreshold, chosen: Threshold, questions: int, observed: float) -> RiskThreshold:
    found = {"abstain_below": chosen.value, "coverage": chosen.answered / questions, "observed": observed}
    return wanted.model_copy(update=found)


def _cannot(risk: float, labels: int, find: Callable[[float], Threshold | None], questions: int) -> str:
    """“A risk of 5 % cannot be met with 60 labels; these answers reach 11 % at coverage .4”: the lowest found."""
    text = f"a risk of {_percent(risk)} % cannot be met with {labels} labels"
    for alpha in _PERCENT:
        if alpha > risk and (lowest := find(alpha)):
            return f"{text}; these answers meet {_percent(alpha)} % at coverage {lowest.answered / questions:.2f}"
    return f"{text}, nor can any other"


def _percent(risk: float) -> str:
    return f"{math.floor(risk * 1000 + 0.5) / 10:g}"
