"""Labelled questions as a calibration sees them: the signals of the answer, and whether it was right."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from reflective_rag.optimizers.evaluation import Row
from reflective_rag.programs.calibrated import OUTSIDE
from reflective_rag.programs.signals import SIGNALS
from reflective_rag.signatures.errors import ConfigError, DataError

Correct = Literal["f1", "em", "containment", "score"]
"""The column of a `Row` that says whether an answer was right."""
RIGHT_AT: dict[Correct, float] = {"f1": 0.5, "em": 1.0, "containment": 1.0, "score": 1.0}
"""From which value it counts as right."""
LEAST_OF_EACH = 4
"""Right answers, and wrong ones, that a calibration needs: two of each for the fit, two for the thresholds."""


@dataclass(frozen=True)
class Case:
    """One question. Without `signals` the program gave no answer to it, which is neither right nor wrong."""

    id: str
    signals: Mapping[str, float] | None
    right: bool

    @property
    def answered(self) -> bool:
        """Whether there is an answer to be sure or unsure of."""
        return self.signals is not None


@dataclass(frozen=True)
class Labelled:
    """The cases of a run, and what had to be left out."""

    cases: tuple[Case, ...]
    failed: int = 0
    """Questions at which the program raised."""
    outages: int = 0
    """Questions at which the model or the retriever failed: no guide to how sure an answer is without an outage."""

    @property
    def answered(self) -> tuple[Case, ...]:
        """The cases with an answer."""
        return tuple(case for case in self.cases if case.answered)


def collect(rows: Sequence[Row], correct: Correct = "f1") -> Labelled:
    """The cases in the rows of an evaluation.

    Raises:
        ConfigError: `correct` is no such column.
        DataError: A row has no signals: the program tells none, a calibration was in use, or an older version wrote it.
    """
    if correct not in RIGHT_AT:
        raise ConfigError(f"`correct` must be one of {', '.join(map(repr, get_args(Correct)))}, got {correct!r}")
    whole = [row for row in rows if row.error is None]
    sound = [row for row in whole if row.stop_reason not in OUTSIDE]
    cases = tuple(_case(row, correct) for row in sound)
    return Labelled(cases, failed=len(rows) - len(whole), outages=len(whole) - len(sound))


def _case(row: Row, correct: Correct) -> Case:
    if row.abstained or not row.answer.strip():
        return Case(row.record_id, None, right=False)
    if row.signals is None:
        raise DataError(
            f"the row of question {row.record_id!r} holds no signals: its program tells none, had a calibration in "
            "use, or was evaluated by an older version. Evaluate it again without a calibration"
        )
    value = getattr(row, correct)
    if value is None:
        raise DataError(f"the row of question {row.record_id!r} has no `{correct}`; evaluate it with a metric")
    return Case(row.record_id, row.signals, right=value >= RIGHT_AT[correct])


def check(cases: Sequence[Case]) -> None:
    """Raise `DataError` where the answered cases cannot carry a calibration."""
    right = sum(case.right for case in cases)
    wrong = len(cases) - right
    if min(right, wrong) < LEAST_OF_EACH:
        raise DataError(
            f"a calibration needs at least {LEAST_OF_EACH} right and {LEAST_OF_EACH} wrong answers, got {right} right "
            f"and {wrong} wrong; give more labelled questions, or ones that are harder or easier"
        )
    for case in cases:
        for name, value in (case.signals or {}).items():
            if not math.isfinite(value):
                raise DataError(f"signal `{name}` of question {case.id!r} must be a finite number, got {value!r}")
        if missing := [name for name in SIGNALS if name not in (case.signals or {})]:
            raise DataError(f"the signals of question {case.id!r} lack `{missing[0]}`; evaluate it with this version")


def halves(cases: Sequence[Case], *, seed: int = 0) -> tuple[list[Case], list[Case]]:
    """Two disjoint halves with as many right, wrong and unanswered cases each (±1), in the order given."""
    numbers = deal([(case.answered, case.right) for case in cases], 2, seed=seed)
    parts = [[case for case, n in zip(cases, numbers, strict=True) if n == half] for half in (0, 1)]
    return parts[0], parts[1]


def deal(kinds: Sequence[object], parts: int, *, seed: int = 0) -> list[int]:
    """A part, 0 to `parts` - 1, for each case, so that each part gets its share of every kind."""
    order = list(range(len(kinds)))
    random.Random(seed).shuffle(order)
    dealt = [0] * len(kinds)
    by_kind = sorted(order, key=lambda index: repr(kinds[index]))  # stable: shuffled inside each kind
    for position, index in enumerate(by_kind):
        dealt[index] = position % parts
    return dealt
