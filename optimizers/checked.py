"""A metric whose failures are counted: what it raises and what is no number are errors of the metric, never a score."""

import math
import threading
from collections.abc import Callable
from numbers import Real
from typing import Any, Self

from reflective_rag.data.secrets import scrub
from reflective_rag.signatures.errors import ContractError, ReflectiveRAGError, described


def number_of(value: Any) -> float:
    """A metric's value as a float: a finite number, a bool, or a prediction with such a `score`.

    Raises:
        ContractError: None, a text, NaN, infinity, or anything else.
    """
    score = getattr(value, "score", value)
    if not isinstance(score, Real) or not math.isfinite(score):
        raise ContractError(f"`metric` must return a finite number or a prediction with `score`, got {score!r}.")
    return float(score)


class Checked:
    """A metric for DSPy's optimizers that passes on what the inner one returns, and remembers its failures.

    Optimizers log and swallow what a metric raises, and some go on with 0; so a metric that never works would look like
    a program that is always wrong. `summary` tells the errors apart, and `finish` refuses a run without one score.
    Thread-safe; copies share the counts.
    """

    def __init__(self, metric: Callable[..., Any]) -> None:
        self._metric = metric
        self._lock = threading.Lock()
        self.scored = 0
        self.errors = 0
        """Calls in which the metric raised, or returned nonsense, for an answer of the program."""
        self.crashed = 0
        """Calls without an answer: the program itself had raised."""
        self.first = ""
        """What the first error was."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __call__(
        self, example: Any, prediction: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> Any:
        """The inner metric's value. Raises what it raised, and `ContractError` for a value that is no number."""
        try:
            value = self._metric(example, prediction, trace, pred_name, pred_trace)
            number_of(value)
        except Exception as error:
            with self._lock:
                self.errors += prediction is not None
                self.crashed += prediction is None
                self.first = self.first or scrub(described(error))
            raise
        with self._lock:
            self.scored += 1
        return value

    def summary(self) -> dict[str, Any]:
        """`metric_errors` and the first of them, where there were any; else nothing."""
        return {"metric_errors": self.errors, "first_metric_error": self.first} if self.errors else {}

    def finish(self) -> None:
        """Raise `ReflectiveRAGError` if the metric was called and never gave a score."""
        if self.scored == 0 and (self.errors or self.crashed):
            raise ReflectiveRAGError(
                f"no answer could be scored: the metric failed {self.errors} time(s) and the program {self.crashed} "
                f"time(s), and nothing was compiled. First error: {self.first}"
            )
