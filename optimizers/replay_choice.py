"""Choosing a stopping rule from those that were tried: by quality less cost, with what can be said of the choice."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reflective_rag.optimizers.replay_table import Tried
from reflective_rag.optimizers.statistics import bootstrap_mean, paired_difference
from reflective_rag.programs.settings import LoopControls

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 200
"""Choices that are made again on resampled questions."""


def best_rule(tried: Tried, lam: float, mu: float) -> int:
    """The row of the best mean costed score. Of equals the cheaper, then the one nearest to the first rule wins."""
    import numpy as np

    means = tried.costed(lam, mu).mean(axis=1).round(9)
    tokens = tried.tokens.sum(axis=1)
    equals = np.flatnonzero(means == means.max())
    cheapest = [int(row) for row in equals if tokens[row] == tokens[equals].min()]
    return min(cheapest, key=lambda row: (changes(tried.rules[0], tried.rules[row]), row))


def changes(before: LoopControls, after: LoopControls) -> int:
    """How many settings differ."""
    return sum(getattr(before, name) != getattr(after, name) for name in type(before).model_fields)


def frontier(tried: Tried, lam: float, mu: float) -> list[dict[str, Any]]:
    """The rules that no other beats in quality at the same price or a lower one, cheapest first.

    The price is in tokens, or in retrievals where nothing was spent on tokens; `x` says which. Quality comes with its
    bootstrap interval over the questions.
    """
    x = "tokens" if tried.tokens.any() else "retrievals"
    price, quality = getattr(tried, x).mean(axis=1).round(9), tried.score.mean(axis=1).round(9)
    costed = tried.costed(lam, mu).mean(axis=1)
    near = [changes(tried.rules[0], rule) for rule in tried.rules]
    points: list[dict[str, Any]] = []
    highest = float("-inf")
    for row in sorted(range(len(tried.rules)), key=lambda row: (price[row], -quality[row], near[row], row)):
        if quality[row] <= highest:
            continue
        highest = quality[row]
        points.append(
            {
                "x": x,
                "quality": bootstrap_mean(tried.score[row].tolist()).to_dict(),
                "tokens": float(tried.tokens[row].mean()),
                "retrievals": float(tried.retrievals[row].mean()),
                "costed": float(costed[row]),
                "controls": tried.rules[row].model_dump(mode="json"),
            }
        )
    return points


def figures_of(tried: Tried, row: int, lam: float, mu: float) -> dict[str, Any]:
    """Costed score, quality and cost of one rule, each with its interval, and its lead over the first rule.

    `before` has the means of the first rule.
    """
    costed = tried.costed(lam, mu)
    before = {"costed": costed, "quality": tried.score, "tokens": tried.tokens, "retrievals": tried.retrievals}
    return {
        "before": {name: float(values[0].mean()) for name, values in before.items()},
        "costed": bootstrap_mean(costed[row].tolist()).to_dict(),
        "quality": bootstrap_mean(tried.score[row].tolist()).to_dict(),
        "tokens": bootstrap_mean(tried.tokens[row].tolist()).to_dict(),
        "retrievals": bootstrap_mean(tried.retrievals[row].tolist()).to_dict(),
        "gain": paired_difference(costed[row].tolist(), costed[0].tolist()).to_dict(),
    }


def held_out_gain(tried: Tried, lam: float, mu: float, *, seed: int = 0) -> dict[str, Any] | None:
    """What choosing this way gains on questions that did not take part in the choice, over the first rule.

    The best of thousands of rules looks better on the questions it was chosen on than it is. So the choice is made
    again on resampled questions, and its lead is taken on those that the resample left out (the out-of-bag estimate of
    Efron and Tibshirani 1997). `mean`, and the range that holds 95 % of the resamples; None below 10 questions.
    """
    import numpy as np

    n = len(tried.score[0]) if len(tried.rules) else 0
    if n < 10:
        return None
    costed = tried.costed(lam, mu)
    generator = np.random.default_rng(seed)
    drawn = np.stack([np.bincount(generator.integers(0, n, n), minlength=n) for _ in range(RESAMPLES)])
    leads = [_lead(costed, means, times == 0) for means, times in zip((drawn @ costed.T) / n, drawn, strict=True)]
    found = [lead for lead in leads if lead is not None]
    low, high = np.quantile(found, [0.025, 0.975])
    return {"mean": float(np.mean(found)), "low": float(low), "high": float(high), "n": n}


def _lead(costed: "NDArray[np.float64]", means: "NDArray[np.float64]", out: "NDArray[np.bool_]") -> float | None:
    """Of the rule of the best mean over the first rule, on the questions that were left out."""
    if not out.any():
        return None
    means = means.round(9)
    row = 0 if means[0] == means.max() else int(means.argmax())
    return float((costed[row] - costed[0])[out].mean())


def joined(first: LoopControls, rules: Sequence[LoopControls]) -> list[LoopControls]:
    """The rules to try: the program's own first, then the others, each once."""
    return [first, *(rule for rule in rules if rule != first)]
