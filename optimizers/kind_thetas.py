"""θ for kinds of questions: learned on one part of the labels, and used only where it helps on the other part."""

from collections.abc import Sequence
from typing import Any, get_args

from reflective_rag.optimizers.replay import QuestionRecord
from reflective_rag.optimizers.replay_choice import best_rule, joined
from reflective_rag.optimizers.replay_table import ReplayTable
from reflective_rag.optimizers.statistics import paired_difference
from reflective_rag.programs.question_kinds import question_kind
from reflective_rag.programs.settings import LoopControls, QuestionKind

LEAST = 8
"""Questions of a kind that each part needs; with fewer the kind keeps the common θ."""
STEPS = 20
"""θ is tried in steps of 1 / STEPS."""


def thetas_by_kind(
    learnt: Sequence[QuestionRecord], held: Sequence[QuestionRecord], common: LoopControls, lam: float, mu: float
) -> tuple[LoopControls, dict[str, Any]]:
    """The common rule with a θ of its own for each kind of question that it helps.

    A kind's θ is the best on the questions of that kind in `learnt`. It is kept where its lead over the common θ on
    those in `held` is above 0 with the whole of its 95 % interval: a lead within chance would be noise in use.

    Returns:
        The rule, and for each kind `learnt` and `held` (questions), `theta` (None where nothing was learned), `gain`
        on the held-out questions, `kept`, and in words `why`; under `note`, the outcome in a sentence.
    """
    found: dict[QuestionKind, dict[str, Any]] = {}
    for kind in get_args(QuestionKind):
        first, second = ([r for r in part if question_kind(r.question) == kind] for part in (learnt, held))
        found[kind] = _of_kind(first, second, common, lam, mu)
    kept = {kind: about["theta"] for kind, about in found.items() if about["kept"]}
    note = (
        f"θ of its own for {', '.join(kept)}"
        if kept
        else "no kind of question has a θ of its own: none was shown to help on held-out questions"
    )
    return common.model_copy(update={"theta_by_kind": kept}), {"kinds": found, "note": note}


def _of_kind(
    learnt: Sequence[QuestionRecord],
    held: Sequence[QuestionRecord],
    common: LoopControls,
    lam: float,
    mu: float,
) -> dict[str, Any]:
    about: dict[str, Any] = {"learnt": len(learnt), "held": len(held), "theta": None, "gain": None, "kept": False}
    if min(len(learnt), len(held)) < LEAST:
        return about | {"why": f"fewer than {LEAST} questions in a part"}
    thetas = [step / STEPS for step in range(STEPS + 1)]
    rules = joined(common, [common.model_copy(update={"theta": theta}) for theta in thetas])
    theta = rules[best_rule(ReplayTable(learnt).try_rules(rules), lam, mu)].theta
    if theta == common.theta:
        return about | {"theta": theta, "why": "the common θ is the best here too"}
    pair = ReplayTable(held).try_rules([common.model_copy(update={"theta": theta}), common]).costed(lam, mu)
    gain = paired_difference(pair[0].tolist(), pair[1].tolist())
    kept = gain.low is not None and gain.low > 0
    why = "it helps on held-out questions" if kept else "its lead on held-out questions may be chance, or is none"
    return about | {"theta": theta, "gain": gain.to_dict(), "kept": kept, "why": why}
