"""Answer metrics in DSPy's form, built by name. The scores themselves are pure functions in `scores`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from reflective_rag.optimizers.evidence_scores import (
    citation_scores,
    groundedness,
    passages_of,
    supporting_of,
)
from reflective_rag.optimizers.predictions import answer_of, tokens_of
from reflective_rag.optimizers.scores import (
    abstention_aware,
    answer_groups,
    containment,
    costed,
    exact_match,
    f1,
    normalize_answer,
    retrieval_recall,
)
from reflective_rag.signatures.errors import ConfigError, ContractError
from reflective_rag.signatures.spelling import did_you_mean

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

QualityName = Literal["f1", "em", "containment", "groups"]
MetricName = Literal[
    "f1", "em", "containment", "groups", "costed", "abstention", "citations", "retrieval_recall", "groundedness"
]
THRESHOLDS: dict[MetricName, float] = {
    "f1": 0.5,
    "em": 1.0,
    "containment": 1.0,
    "groups": 1.0,
    "costed": 0.5,
    "abstention": 0.5,
    "citations": 0.5,
    "retrieval_recall": 1.0,
    "groundedness": 1.0,
}
"""From which score a bootstrapped trace counts as a success."""
LAM, MU = 0.02, 0.01
"""Default prices of `costed`: 1000 tokens cost two points of F1 in a hundred, a retrieval one."""
PENALTY = 1.0
"""Default price of a wrong answer in `abstention`: it costs as much as a right one brings."""


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
    silent = _is_silent(answer, abstained)
    if silent or not answerable:
        return float(silent and not answerable)
    return score(answer, answers)


def _is_silent(answer: str, abstained: bool) -> bool:
    return abstained or not answer.strip()


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
    penalty: float = 0.0
    """Price of a wrong answer (`abstention` only)."""
    quality: QualityName = "f1"
    """What a right answer is worth (`costed` and `abstention` only)."""

    def __call__(
        self, example: Any, prediction: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> float | bool:
        """The score, or in bootstrapping whether it reaches the threshold."""
        score = self.score(example, prediction)
        return score >= self.threshold if trace is not None and pred_name is None else score

    def score(self, example: Any, prediction: Any) -> float:
        """The score as a float: at most 1, at least 0 except for `costed` and `abstention`."""
        answer = answer_of(prediction)
        abstained = bool(getattr(prediction, "abstained", False))
        answerable = bool(getattr(example, "answerable", True))
        if self.name in ("citations", "retrieval_recall", "groundedness"):
            return grade(
                lambda *_: self._evidence(example, prediction), answer, (), abstained=abstained, answerable=answerable
            )
        quality = grade(self._scorer(example), answer, _answers(example), abstained=abstained, answerable=answerable)
        if self.name == "abstention":
            return abstention_aware(quality, self.penalty, silent=_is_silent(answer, abstained))
        return self._costed(quality, prediction) if self.name == "costed" else quality

    def _evidence(self, example: Any, prediction: Any) -> float:
        if self.name == "groundedness":
            return groundedness(prediction)
        supporting = supporting_of(example, self.name)
        if self.name == "citations":
            return citation_scores(prediction, supporting).f1
        return retrieval_recall(passages_of(prediction), supporting) or 0.0

    def _scorer(self, example: Any) -> Callable[[str, Sequence[str]], float]:
        name = self.quality if self.name in PRICED else self.name
        if name != "groups":
            return {"em": exact_match, "containment": containment}.get(name, f1)
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
    name: str,
    *,
    lam: float | None = None,
    mu: float | None = None,
    penalty: float | None = None,
    quality: str | None = None,
    threshold: float | None = None,
) -> AnswerMetric:
    """Build a metric by name.

    Args:
        name: `f1`, `em`, `containment`, `groups` (answer groups without wrong answers; the answers where an example has
            no groups), `costed` (quality less tokens and retrievals), `abstention` (a wrong answer costs, silence does
            not), `citations` (F1 of the cited against the supporting passages), `retrieval_recall` (share of the
            supporting passages that were read), or `groundedness` (mean support of the answer's claims). The last three
            give silence on an answerable question 0.
        lam: Price of 1000 tokens in points of quality, default .02; `costed` only.
        mu: Price of one retrieval, default .01; `costed` only.
        penalty: Price of a wrong answer, default 1; `abstention` only.
        quality: What `costed` and `abstention` start from: `f1` (default), `em`, `containment` or `groups`.
        threshold: The score from which a bootstrapped trace is kept; default .5, and 1 for `em`, `containment`,
            `groups`, `retrieval_recall` and `groundedness`.

    Raises:
        ConfigError: Unknown name, an option of another metric, or a number out of range.
    """
    chosen = _known("metric", name, get_args(MetricName))
    for option, value, owners in (
        ("lam", lam, ("costed",)),
        ("mu", mu, ("costed",)),
        ("penalty", penalty, ("abstention",)),
        ("quality", quality, PRICED),
    ):
        if value is not None and chosen not in owners:
            raise ConfigError(_OTHERS[option].format(name=name))
    if threshold is not None and not (math.isfinite(threshold) and threshold <= 1):
        raise ConfigError(f"`threshold` must be a score of at most 1, got {threshold!r}.")
    threshold = THRESHOLDS[chosen] if threshold is None else threshold
    base = _known("quality", quality or "f1", get_args(QualityName))
    if chosen == "costed":
        lam, mu = LAM if lam is None else lam, MU if mu is None else mu
        costed(0.0, 0, 0, lam, mu)  # refuses bad prices here, before anything is spent
        return AnswerMetric(chosen, threshold, lam, mu, quality=base)
    if chosen == "abstention":
        penalty = PENALTY if penalty is None else penalty
        abstention_aware(0.0, penalty, silent=False)
        return AnswerMetric(chosen, threshold, penalty=penalty, quality=base)
    return AnswerMetric(chosen, threshold)


PRICED: tuple[MetricName, ...] = ("costed", "abstention")
"""Metrics that start from the quality of another."""
_OTHERS = {
    "lam": "`lam` and `mu` are prices of the metric 'costed'; the metric {name!r} has none.",
    "mu": "`lam` and `mu` are prices of the metric 'costed'; the metric {name!r} has none.",
    "penalty": "`penalty` is the price of the metric 'abstention'; the metric {name!r} has none.",
    "quality": "`quality` is what the metrics 'costed' and 'abstention' start from; the metric {name!r} has none.",
}


def check_metric_name(name: str) -> None:
    """Raise `ConfigError` unless there is such a metric; the error says which was probably meant."""
    _known("metric", name, get_args(MetricName))


def _known(what: str, name: str, known: tuple[Any, ...]) -> Any:
    if name not in known:
        listed = ", ".join(map(repr, known))
        raise ConfigError(f"`{what}` must be one of {listed}, got {name!r}{did_you_mean(name, known)}")
    return name


def _answers(example: Any) -> Sequence[str]:
    answers = getattr(example, "answers", None)
    if answers is None:
        answers = getattr(example, "answer", None)
    if answers is None:
        raise ContractError(
            "an example must have `answers` (texts) or `answer` (a text), got neither. Use `to_examples`."
        )
    return [answers] if isinstance(answers, str) else answers
