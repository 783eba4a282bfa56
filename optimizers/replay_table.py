"""Thousands of stopping rules on a recorded pass at once: the arithmetic of `replay_rules.simulate` on arrays.

Scores and confidences are computed by the loop's own functions, once a round and set of weights; what is done with
arrays is comparing and choosing, so the figures are those of `simulate` to the last bit.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reflective_rag.optimizers.replay import QuestionRecord, RecordedRound
from reflective_rag.optimizers.replay_rules import rescored, score_of
from reflective_rag.programs.scoring import confidence, stale, unresolved
from reflective_rag.programs.settings import LoopControls, Weights
from reflective_rag.signatures.types import Assessment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Flags = NDArray[np.bool_]

CHUNK = 1_000
"""Rules whose rounds are compared at once; bounds the memory."""
_PLAIN = LoopControls()


@dataclass(frozen=True)
class Tried:
    """What each rule (row) gives on each question (column)."""

    rules: Sequence[LoopControls]
    score: "Numbers"
    """Quality under the metric."""
    tokens: "Numbers"
    retrievals: "Numbers"

    def costed(self, lam: float, mu: float) -> "Numbers":
        """Quality less λ a thousand tokens and μ a retrieval, of each rule and question."""
        return self.score - lam * self.tokens / 1000 - mu * self.retrievals


class ReplayTable:
    """A recorded pass as arrays over questions and rounds."""

    def __init__(self, records: Sequence[QuestionRecord]) -> None:
        import numpy as np

        self.records = records
        self.shape = len(records), max((len(r.rounds) for r in records), default=0) or 1
        self.count = np.array([len(record.rounds) for record in records], dtype=int)
        self.there = np.arange(self.shape[1]) < self.count[:, None]
        self.blocked = self._each(lambda this: _blocked(this.assessment)) > 0
        self.covered = self._each(lambda this: sum(r.status == "covered" for r in this.assessment.requirements))
        self.verdict = self._each(lambda this: _verdict(this.assessment))
        self.score = self._each(lambda this: this.score)
        self.refusal = self._each(lambda this: this.refusal_score)
        self.tokens = self._each(lambda this: this.tokens)
        self.retrievals = self._each(lambda this: this.retrievals)
        self._last()
        self.abstains = np.array([np.nan if r.min_confidence is None else r.min_confidence for r in records])

    def try_rules(self, rules: Sequence[LoopControls]) -> Tried:
        """Every rule on every question."""
        import numpy as np

        shape = (len(rules), len(self.records))
        tried = Tried(rules, *(np.empty(shape) for _ in range(3)))
        groups: dict[tuple[float, ...], list[int]] = defaultdict(list)
        for index, rule in enumerate(rules):
            groups[tuple(vars(rule.weights).values())].append(index)
        for indices in groups.values():
            judged = _Judged(self, rules[indices[0]].weights)
            for start in range(0, len(indices), CHUNK):
                rows = indices[start : start + CHUNK]
                tried.score[rows], tried.tokens[rows], tried.retrievals[rows] = self._stops(
                    [rules[row] for row in rows], judged
                )
        return tried

    def _stops(self, rules: Sequence[LoopControls], judged: "_Judged") -> tuple["Numbers", "Numbers", "Numbers"]:
        import numpy as np

        def column(values: list[Any]) -> Any:
            return np.array(values)[:, None, None]

        theta = np.array([self._thetas(rule) for rule in rules])[:, :, None]
        says_no = self.verdict < column([rule.sufficient_at for rule in rules])
        kept = column([rule.respect_verdict for rule in rules]) & says_no
        enough = column([rule.stop_when_enough for rule in rules]) & ~self.blocked & (judged.score >= theta) & ~kept
        number = np.arange(1, self.shape[1] + 1)
        ends = enough | (number >= column([rule.max_rounds for rule in rules]))
        ends |= judged.misses >= column([rule.patience for rule in rules])
        ends &= self.there
        ended = ends.any(axis=2)
        index = np.where(ended, ends.argmax(axis=2), np.maximum(self.count - 1, 0))
        score = _at(self.score, index)
        if judged.sure is not None:
            sure = np.where(_pick(says_no, index), _at(judged.sure[0], index), _at(judged.sure[1], index))
            sufficient = np.where(ended, _pick(enough, index), self.last_sufficient)
            score = np.where((sure < self.abstains) & ~sufficient, _at(self.refusal, index), score)
        tokens = np.where(ended, _at(self.tokens, index), self.last_tokens)
        retrievals = np.where(ended, _at(self.retrievals, index), self.last_retrievals)
        empty = self.count == 0
        return np.where(empty, self.empty_score, score), tokens, retrievals

    def _thetas(self, rule: LoopControls) -> list[float]:
        if not rule.theta_by_kind:
            return [rule.theta] * len(self.records)
        return [rule.for_question(record.question).theta for record in self.records]

    def _last(self) -> None:
        """What each question gives where no rule ends it: the pass itself ended."""
        import numpy as np

        rounds = [record.rounds[-1].tokens_after_gaps if record.rounds else 0 for record in self.records]
        self.last_tokens = np.array(rounds, dtype=float)
        self.last_retrievals = np.array([record.last_retrievals for record in self.records], dtype=float)
        self.last_sufficient = np.array([record.last_stop == "sufficient" for record in self.records], dtype=bool)
        self.empty_score = np.array([record.empty_score for record in self.records], dtype=float)

    def _each(self, value: Any) -> "Numbers":
        """A value of every round; 0 where a question has fewer."""
        import numpy as np

        table = np.zeros(self.shape)
        for row, record in enumerate(self.records):
            for column, this in enumerate(record.rounds):
                table[row, column] = value(this)
        return table


class _Judged:
    """What depends on the weights: the evidence score, the rounds without progress, and how sure the answer is."""

    def __init__(self, table: ReplayTable, weights: Weights) -> None:
        import numpy as np

        self.score = table._each(lambda this: score_of(this.assessment, weights))
        self.misses = np.zeros(table.shape)
        for column in range(1, table.shape[1]):
            better = self.score[:, column] > self.score[:, column - 1] + 1e-9
            better |= table.covered[:, column] > table.covered[:, column - 1]
            self.misses[:, column] = np.where(better, 0, self.misses[:, column - 1] + 1)
        self.sure: tuple[Numbers, Numbers] | None = None
        if not np.isnan(table.abstains).all():
            no, other = (table._each(lambda this, n=n: _sure(this, weights, says_no=n)) for n in (True, False))
            self.sure = no, other


def _sure(this: RecordedRound, weights: Weights, *, says_no: bool) -> float:
    """Confidence of stopping here, by the loop's own formula, with or without the critic's no."""
    verdict = {"sufficiency": None, "sufficient": not says_no}
    return confidence(rescored(this.assessment, weights).model_copy(update=verdict), _PLAIN, this.support)


def _blocked(assessment: Assessment) -> bool:
    """Whether the enough-rule says no whatever the score: see `is_enough`."""
    missing = any(r.status == "missing" and r.important for r in assessment.requirements)
    return missing or bool(unresolved(assessment)) or stale(assessment)


def _verdict(assessment: Assessment) -> float:
    """The critic's verdict as a number that is below `sufficient_at` where it means no; see `says_sufficient`."""
    if assessment.sufficiency is not None:
        return assessment.sufficiency
    return -1.0 if assessment.sufficient is False else 2.0


def _at(table: "Numbers", index: Any) -> "Numbers":
    """The value of each question at the round of each rule."""
    import numpy as np

    return np.asarray(table[np.arange(table.shape[0]), index])


def _pick(table: "Flags", index: Any) -> "Flags":
    """The same from a table that has a layer a rule."""
    import numpy as np

    return np.asarray(np.take_along_axis(table, index[:, :, None], axis=2)[:, :, 0])
