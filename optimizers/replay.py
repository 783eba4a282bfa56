"""Replay tuning of the stopping rule: record every question once to its last round, then try rules without a model.

`LoopControls` change neither prompts nor searches, only where the loop stops. So one recorded pass, in which every
round also plays its ending, holds the result of every rule: `replay_rules` reads off one rule with the loop's own
functions, `replay_table` thousands at once, and `replay_question` runs the program itself on the recorded replies.
"""

import copy
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from typing import Any

from reflective_rag.data.records import Record
from reflective_rag.optimizers.examples import to_examples
from reflective_rag.programs import drivers
from reflective_rag.programs.ledger import Ledger
from reflective_rag.programs.module import prediction
from reflective_rag.programs.reflective import ReflectiveRAG
from reflective_rag.programs.steps import Ask, Outcome, Report, Score, Search, Step, Write
from reflective_rag.signatures.errors import ContractError
from reflective_rag.signatures.types import Assessment, Result, StopReason, Support

MAX_ROUNDS = 4
"""How far the recorded pass goes, and so the most rounds that can be chosen."""


@dataclass(frozen=True)
class RecordedRound:
    """One round of the recorded pass and what stopping there gives."""

    assessment: Assessment
    ending: Result
    score: float
    """Quality of the ending's answer under the metric."""
    refusal_score: float
    """Quality of the ending when the answer is withheld as too unsure."""
    support: Support | None
    """The verdict on the ending's answer, which its confidence depends on."""
    tokens: int
    """Spent when the loop stops right after this round's judgement, its ending included."""
    tokens_after_gaps: int
    """Spent when the loop also asked for gaps or a new query, and stops since there was none."""
    retrievals: int


@dataclass
class QuestionRecord:
    """A question's recorded pass: its rounds, how the pass ended, and every step with its outcome."""

    record_id: str
    question: str = ""
    min_confidence: float | None = None
    """Confidence below which the program abstains; None when it never does."""
    rounds: list[RecordedRound] = field(default_factory=list)
    last_stop: StopReason = "max_rounds"
    last_retrievals: int = 0
    empty: Result | None = None
    """The result when nothing was retrieved, so that no round took place."""
    empty_score: float = 0.0
    outcomes: dict[str, Outcome] = field(default_factory=dict)


def record_pass(
    program: ReflectiveRAG,
    records: Sequence[Record],
    metric: Callable[[Any, Any], Any],
    *,
    max_rounds: int = MAX_ROUNDS,
    num_threads: int = 1,
    on_question: Callable[[int, int], object] | None = None,
) -> list[QuestionRecord]:
    """Run every question to its last round, answering in every round. The program itself is not changed.

    Args:
        metric: `metric(example, prediction)`, higher is better; called once a round.
    """
    full = copy.deepcopy(program)
    full.controls.values = full.controls.values.model_copy(
        update={"stop_when_enough": False, "max_rounds": max_rounds, "patience": 10}
    )
    examples = to_examples(records)
    done = 0
    out: list[QuestionRecord] = []
    threads = ThreadPoolExecutor(max_workers=num_threads)
    try:
        jobs = [threads.submit(copy_context().run, _record_one, full, example, metric) for example in examples]
        for job in jobs:
            out.append(job.result())
            done += 1
            if on_question is not None:
                on_question(done, len(examples))
    finally:  # after Ctrl-C the questions that are queued must not be asked any more
        threads.shutdown(wait=False, cancel_futures=True)
    return out


def _record_one(program: ReflectiveRAG, example: Any, metric: Callable[[Any, Any], Any]) -> QuestionRecord:
    settings = program.settings
    least = settings.min_confidence if settings.abstain else None
    record = QuestionRecord(example.record_id, example.question, least)
    ledger = Ledger(program.settings.budget)
    watch = _Watch(record, ledger, example, metric)
    result = drivers.record(program.steps(example.question, rehearse=True), program.search, ledger, watch.observe)
    record.last_stop = result.stop_reason
    record.last_retrievals = ledger.retrievals
    if not record.rounds:
        record.empty = result
        record.empty_score = float(metric(example, prediction(result, ledger)))
    return record


class _Watch:
    """Turns the steps of a rehearsal into recorded rounds with what each would have cost on its own."""

    def __init__(self, record: QuestionRecord, ledger: Ledger, example: Any, metric: Callable[[Any, Any], Any]) -> None:
        self.record, self.ledger, self.example, self.metric = record, ledger, example, metric
        self._rehearsed = 0  # tokens spent on endings so far, which a real run would not spend
        self._judged = 0  # tokens at the last judgement
        self._ending = 0  # tokens of the last ending
        self._assessment = Assessment()

    def observe(self, step: Step, outcome: Outcome) -> None:
        if not isinstance(step, Report):
            self.record.outcomes[step_key(step)] = outcome
        elif step.judged is not None:
            self._assessment, self._judged = step.judged, self._tokens()
        elif step.ending is not None:
            self._end(step)
        elif step.round is not None and step.round.assessment is not None:
            last = self.record.rounds[-1]
            gaps = self._tokens() - self._judged - self._ending
            self.record.rounds[-1] = replace(last, tokens_after_gaps=last.tokens + gaps)

    def _score(self, result: Result | None) -> float:
        assert result is not None
        return float(self.metric(self.example, prediction(result, self.ledger)))

    def _end(self, step: Report) -> None:
        assert step.ending is not None
        main = self._judged - self._rehearsed
        self._ending = self._tokens() - self._judged
        self._rehearsed += self._ending
        self.record.rounds.append(
            RecordedRound(
                assessment=self._assessment,
                ending=step.ending,
                score=self._score(step.ending),
                refusal_score=self._score(step.refusal),
                support=step.support,
                tokens=main + self._ending,
                tokens_after_gaps=main + self._ending,
                retrievals=self.ledger.retrievals,
            )
        )

    def _tokens(self) -> int:
        return sum(u.prompt_tokens + u.completion_tokens for u in self.ledger.usage.values())


def replay_question(program: ReflectiveRAG, record: QuestionRecord, question: str) -> Result:
    """Run the program itself on the recorded replies: the check that `simulate` tells the truth."""

    def outcome(step: Step) -> Outcome:
        if (key := step_key(step)) not in record.outcomes:
            raise ContractError(f"the recorded pass of {record.record_id!r} holds no outcome for {key[:200]}")
        return record.outcomes[key]

    return drivers.replay(program.steps(question), outcome)


def step_key(step: Step) -> str:
    """A step's identity: what it asks, not when."""
    if isinstance(step, Search):
        return json.dumps(["search", step.queries, step.k], ensure_ascii=False)
    if isinstance(step, Score):
        return json.dumps([step.name, step.pairs], ensure_ascii=False)
    if isinstance(step, Write):
        return json.dumps([step.name, step.question, [p.id for p in step.passages]], ensure_ascii=False)
    assert isinstance(step, Ask)
    return json.dumps([step.name, dict(step.inputs)], ensure_ascii=False, sort_keys=True, default=str)
