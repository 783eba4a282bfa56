"""NaiveRAG: one search with a fixed k, one answer. The baseline, on the same parts as everything else."""

from datetime import date
from typing import Any

import dspy

from reflective_rag.programs.module import RagModule
from reflective_rag.programs.nearest import show_nearest
from reflective_rag.programs.plain import ask_answer, plain_result, take_search
from reflective_rag.programs.run_state import RunState
from reflective_rag.programs.searching import SearchFunction
from reflective_rag.programs.settings import NaiveSettings, build
from reflective_rag.programs.steps import Search, SearchOutcome, Steps
from reflective_rag.signatures.answering import AnswerQuestion


class NaiveRAG(RagModule):
    """Retrieve `k` passages, answer from them. It judges no evidence: `evidence_score` and `confidence` are None.

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
        show_nearest(self, self.settings.nearest_demos)

    def calls_per_question(self) -> tuple[int, int]:
        """The answer."""
        calls = int(self.asks_model)
        return calls, calls

    def steps(self, question: str) -> Steps:
        """Search once, answer once."""
        state = RunState(question=question, settings=self.settings, today=self.today or date.today())
        (found,) = yield [Search(queries=(question,), k=self.settings.k)]
        assert isinstance(found, SearchOutcome)
        take_search(state, found)
        draft = yield from ask_answer(self, state, self.settings.k)
        return plain_result(state, draft)
