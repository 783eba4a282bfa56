"""Answer metrics in DSPy's form, built by name. The scores themselves are pure functions in `scores`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from reflective_rag.optimizers.predictions import answer_of, tokens_of
from reflective_rag.optimizers.scores import (
    answer_groups,
    containment,
    costed,
    exact_match,
    f1,
    normalize_answer,
    retrieval_recall,
)
from reflective_rag.signatures.errors import ConfigError, ContractError

__all__ = [
    "AnswerMetric",
    "MetricName",
    "answer_groups",
    "containment",
    "costed",
    "exact_match",
    "f1",
    "grade",
    "metric",
    "normalize_answer",
    "retrieval_recall",
]

MetricName = Literal["f1", "em", "containment", "groups", "costed"]
THRESHOLDS: dict[MetricName, float] = {"f1": 0.5, "em": 1.0, "containment": 1.0, "groups": 1.0, "costed": 0.5}
"""From which score a bootstrapped trace counts as a success."""
LAM, MU = 0.02, 0.01
"""Default prices of `costed`: 1000 tokens cost two points of F1 in a hundred, a retrieval one."""


def grade(
    score: Callable[[str, Sequence[str]], float],
    answer: str,
    answers: Sequence[str],
    *,
    abstained: bool = False,
    answerable: bool = True,
) -> float:
    """Score an answer, with abstention: right (1) where the question is unanswerable, wrong (0) where it is answerable.

    A blank answer is an abstention. An answer to an unanswerable question scores 0, whatever its text.
    """
    silent = abstained or not answer.strip()
    if silent or not answerable:
        return float(silent and not answerable)
    return score(answer, answers)


@dataclass(frozen=True)
class AnswerMetric:
    """A metric for `dspy.Evaluate` and the optimizers; build it with `metric`.

    Called with `(example, prediction)` it returns a float, higher is better. While traces are bootstrapped (`trace` is
    given) it returns whether the score reaches `threshold`. GEPA names a predictor (`pred_name`) and gets the float.
    Examples need `answers` (or `answer`); `answerable`, `answer_groups` and `wrong_answers` are used where present.

    Raises (when called):
        ContractError: The prediction has no text `answer`, the example has no answers, or `costed` finds no usage.
    """

    name: MetricName
    threshold: float
    """The score from which a bootstrapped trace is kept."""
    lam: float = 0.0
    """Price of 1000 tokens (`costed` only)."""
    mu: float = 0.0
    """Price of one retrieval (`costed` only)."""

    def __call__(
        self, example: Any, prediction: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> float | bool:
        """The score, or in bootstrapping whether it reaches the threshold."""
        score = self.score(example, prediction)
        return score >= self.threshold if trace is not None and pred_name is None else score

    def score(self, example: Any, prediction: Any) -> float:
        """The score as a float: at most 1, at least 0 except for `costed`."""
        answer = answer_of(prediction)
        quality = grade(
            self._scorer(example),
            answer,
            _answers(example),
            abstained=bool(getattr(prediction, "abstained", False)),
            answerable=bool(getattr(example, "answerable", True)),
        )
        return self._costed(quality, prediction) if self.name == "costed" else quality

    def _scorer(self, example: Any) -> Callable[[str, Sequence[str]], float]:
        if self.name != "groups":
            return {"em": exact_match, "containment": containment}.get(self.name, f1)
        groups, wrong = (getattr(example, field, None) or () for field in ("answer_groups", "wrong_answers"))
        return lambda answer, answers: answer_groups(answer, groups or [answers], wrong)

    def _costed(self, quality: float, prediction: Any) -> float:
        tokens = tokens_of(prediction) if self.lam else 0
        retrievals = getattr(prediction, "retrievals", None) if self.mu else 0
        if tokens is None or retrievals is None:
            missing = "`usage` (or DSPy's `track_usage=True`)" if tokens is None else "`retrievals`"
            raise ContractError(
                f"metric 'costed' needs {missing} on the prediction, which is not there. "
                "Set that price (`lam`, `mu`) to 0, or use another metric for programs that do not report their cost."
            )
        return costed(quality, tokens, retrievals, self.lam, self.mu)


def metric(
    name: str, *, lam: float | None = None, mu: float | None = None, threshold: float | None = None
) -> AnswerMetric:
    """Build a metric by name.

    Args:
        name: `f1`, `em`, `containment`, `groups` (answer groups; the answers where an example has no groups), or
            `costed` (F1 less tokens and retrievals).
        lam: Price of 1000 tokens in points of F1, default .02; `costed` only.
        mu: Price of one retrieval, default .01; `costed` only.
        threshold: The score from which a bootstrapped trace is kept; default .5 for `f1` and `costed`, else 1.

    Raises:
        ConfigError: Unknown name, a price for a metric without one, or a number out of range.
    """
    known: tuple[MetricName, ...] = get_args(MetricName)
    chosen = next((item for item in known if item == name), None)
    if chosen is None:
        raise ConfigError(f"`metric` must be one of {', '.join(map(repr, known))}, got {name!r}.")
    if chosen != "costed" and (lam is not None or mu is not None):
        raise ConfigError(f"`lam` and `mu` are prices of the metric 'costed'; the metric {name!r} has none.")
    if threshold is not None and not (math.isfinite(threshold) and threshold <= 1):
        raise ConfigError(f"`threshold` must be a score of at most 1, got {threshold!r}.")
    threshold = THRESHOLDS[chosen] if threshold is None else threshold
    if chosen != "costed":
        return AnswerMetric(chosen, threshold)
    lam, mu = LAM if lam is None else lam, MU if mu is None else mu
    costed(0.0, 0, 0, lam, mu)  # refuses bad prices here, before anything is spent
    return AnswerMetric(chosen, threshold, lam, mu)


def _answers(example: Any) -> Sequence[str]:
    answers = getattr(example, "answers", None)
    if answers is None:
        answers = getattr(example, "answer", None)
    if answers is None:
        raise ContractError(
            "an example must have `answers` (texts) or `answer` (a text), got neither. Use `to_examples`."
        )
    return [answers] if isinstance(answers, str) else answers
