"""AlwaysRetrieve: a fixed number of searches, without asking whether they are needed; then one answer."""

from datetime import date
from typing import Any

import dspy

from reflective_rag.programs.messages import ended
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.nearest import show_nearest
from reflective_rag.programs.plain import plain_result
from reflective_rag.programs.repeats import is_repeat
from reflective_rag.programs.rewriting import rewrite_ask, rewritten
from reflective_rag.programs.searching import SearchFunction
from reflective_rag.programs.settings import build
from reflective_rag.programs.steps import Search, SearchOutcome, Steps, Substeps, ask
from reflective_rag.programs.system_settings import AlwaysSettings
from reflective_rag.programs.system_state import SystemState, gap_queries
from reflective_rag.signatures.answering import AnswerQuestion
from reflective_rag.signatures.gaps import RewriteQuery
from reflective_rag.signatures.types import Decision, StopReason
from reflective_rag.signatures.wording import phrase

BLIND = "one more search is wanted, whatever the earlier ones brought"
"""What the rewriter is told: it sees no passage, and nobody has judged any."""


class AlwaysRetrieve(RagModule):
    """Search `rounds` times with `k` passages each, the question first and then rewritten queries; answer once.

    Nothing is judged: `evidence_score` is None, `confidence` 0. Without a model the queries are those of the gaps that
    the rules name, and it stops where they name none.

    Args:
        search: `search(query, k)`; see `ReflectiveRAG`.
        options: Any field of `AlwaysSettings` (rounds, k, max_passages, mode, budget, …).
    """

    name = "always"

    def __init__(self, search: SearchFunction | None = None, *, today: date | None = None, **options: Any) -> None:
        super().__init__(search, today=today)
        self.settings = build(AlwaysSettings, options)
        self.asks_model = self.settings.mode != "rules"
        if self.asks_model:
            self.answer = dspy.Predict(AnswerQuestion)
            if self.settings.rounds > 1:
                self.rewrite = dspy.Predict(RewriteQuery)
        show_nearest(self, self.settings.nearest_demos)

    def calls_per_question(self) -> tuple[int, int]:
        """A rewrite before each further round, and the answer."""
        calls = self.settings.rounds if self.asks_model else 0
        return calls, calls

    def steps(self, question: str) -> Steps:
        """`rounds` searches, one answer."""
        state = SystemState(question=question, settings=self.settings, today=self.today or date.today())
        query = question
        while query:
            (found,) = yield [Search(queries=(query,), k=self.settings.k)]
            assert isinstance(found, SearchOutcome)
            new = state.take(found)
            query = ""
            if not (found.error or found.refused) and len(state.rounds) + 1 < self.settings.rounds:
                query = yield from self._next(state)
            if found.ran:
                yield [state.close(found.ran, len(found.passages), len(new), self._decision(state, query))]
        draft = yield from state.last_draft(self, self.settings.max_passages)
        return plain_result(state, draft, rounds=tuple(state.rounds))

    def _decision(self, state: SystemState, query: str) -> Decision:
        """What comes after a round; without a further query, how the run ends is noted."""
        number = len(state.rounds) + 1
        if query:
            reason = phrase("search_of", state.question, number=number + 1, total=self.settings.rounds)
            return Decision(action="retrieve_more", reason=reason, queries=(query,))
        if not len(state.pool):
            state.end("no_passages")
        elif number > 1:
            state.end("finished")
        return ended(state.stop, state.question)

    def _next(self, state: SystemState) -> Substeps[str]:
        """A query that was not tried; empty, with the reason noted, where there is none."""
        if not self.uses_model():
            return self._next_by_rules(state)
        if not state.may_ask(1):
            return ""
        outcome = yield from ask(rewrite_ask(self.rewrite, state.question, state.tried, BLIND))
        if not state.took(outcome):
            return ""
        query = rewritten(state, outcome)
        if query and not is_repeat(query, state.tried):
            return query
        state.end("no_new_query" if len(state.pool) else "no_passages")
        return ""

    def _next_by_rules(self, state: SystemState) -> str:
        state.read(self.settings.max_passages)
        wanted, enough = gap_queries(state)
        if query := next((q for q in wanted if not is_repeat(q, state.tried)), ""):
            return query
        reason: StopReason = "no_new_query" if wanted else "finished" if enough else "no_gap"
        state.end(reason if len(state.pool) else "no_passages")
        return ""
