"""NaiveRAG: one search with a fixed k, one answer. The baseline, on the same parts as everything else."""

from datetime import date
from typing import Any

import dspy

from reflective_rag.programs import rules
from reflective_rag.programs.assessor import Reading
from reflective_rag.programs.citing import cite
from reflective_rag.programs.judgements import draft_of
from reflective_rag.programs.messages import abstention, warning
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.pool import EvidencePool
from reflective_rag.programs.searching import SearchFunction
from reflective_rag.programs.settings import NaiveSettings, build
from reflective_rag.programs.state import BUDGET_STOPS
from reflective_rag.programs.steps import Ask, AskOutcome, Search, SearchOutcome, Steps
from reflective_rag.signatures.answering import AnswerQuestion
from reflective_rag.signatures.types import Draft, Result, StopReason, WarningCode


class NaiveRAG(RagModule):
    """Retrieve `k` passages, answer from them. No judgement of the evidence: `evidence_score` is None, `confidence` 0.

    Args:
        search: `search(query, k)`; see `ReflectiveRAG`.
        today: The date that "now" means (used by the rules only).
        options: Any field of `NaiveSettings` (mode, k, budget, …).
    """

    name = "naive"

    def __init__(self, search: SearchFunction | None = None, *, today: date | None = None, **options: Any) -> None:
        super().__init__(search, today=today)
        self.settings = build(NaiveSettings, options)
        self.asks_model = self.settings.mode != "rules"
        if self.asks_model:
            self.answer = dspy.Predict(AnswerQuestion)

    def steps(self, question: str) -> Steps:
        """Search once, answer once."""
        (found,) = yield [Search(queries=(question,), k=self.settings.k)]
        assert isinstance(found, SearchOutcome)
        pool = EvidencePool()
        new = pool.add(*found.results)
        reading = Reading(
            question=question,
            passages=pool.for_reading(self.settings.k, {}),
            requirements=(),
            today=self.today or date.today(),
            passage_chars=self.settings.passage_chars,
        )
        outcome: AskOutcome | None = None
        if new and self.uses_model():
            ask = Ask(
                name="answer", predictor=self.answer, inputs=reading.inputs(), phase="answer", demo_inputs=reading.demo
            )
            (answered,) = yield [ask]
            assert isinstance(answered, AskOutcome)
            outcome = answered
        return self._result(reading, found, outcome)

    def _result(self, reading: Reading, found: SearchOutcome, outcome: AskOutcome | None) -> Result:
        stop, warnings = _stop(reading, found, outcome)
        draft = draft_of(outcome, reading.passages) if outcome else None
        unread = bool(outcome and outcome.fields is not None and draft is None)
        if unread or (draft and draft.unreadable):
            warnings["unreadable_verdict"] = ""
        if draft is None and not unread:  # no model, or it failed
            draft = rules.answer(reading.question, reading.passages, reading.today)
        draft = draft or Draft(answer="")
        citations, failed = cite(reading.question, draft, reading.passages) if draft.answer else ((), ())
        if failed:
            warnings["unverified_citation"] = ", ".join(failed)
        if not draft.answer:
            warnings.setdefault("no_answer" if reading.passages else "no_evidence", "")
        return Result(
            answer=draft.answer or abstention(reading.question),
            citations=citations if self.settings.include_citations else (),
            evidence_score=None,
            abstained=not draft.answer,
            degraded=stop != "single_pass" or not draft.answer,
            stop_reason=stop,
            warnings=tuple(warning(code, reading.question, detail) for code, detail in warnings.items()),
            passages=tuple(reading.passages),
            retrieved_count=len(found.passages),
            candidate_count=int(bool(draft.answer)),
            unparsed=draft.unreadable + unread,
        )


def _stop(
    reading: Reading, found: SearchOutcome, outcome: AskOutcome | None
) -> tuple[StopReason, dict[WarningCode, str]]:
    """Why it ended, with the warnings that belong to it."""
    if found.error:
        return "retriever_error", {"retriever_degraded": found.error}
    if outcome is not None and outcome.error:
        return "model_error", {"model_degraded": outcome.error}
    if limit := found.refused or (outcome.refused if outcome else None):
        return BUDGET_STOPS[limit], {"budget_exhausted": ""}
    if not reading.passages:
        return "no_passages", {"no_evidence": ""}
    return "single_pass", {} if outcome is not None else {"rules_only": ""}
