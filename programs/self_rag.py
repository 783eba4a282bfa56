"""SelfRAG: decide whether to search, answer from each relevant passage alone, criticise every answer, keep the best."""

from collections.abc import Mapping
from datetime import date
from typing import Any

import dspy

from reflective_rag.programs.messages import ended
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.nearest import show_nearest
from reflective_rag.programs.pool import EvidencePool
from reflective_rag.programs.scorers.handle import OWN, Scorers, check_models, check_own
from reflective_rag.programs.searching import SearchFunction
from reflective_rag.programs.self_rag_answers import answer_alone, answer_each, from_memory, next_query
from reflective_rag.programs.self_rag_calls import fewest_and_most_calls
from reflective_rag.programs.self_rag_candidates import Candidate, shortfall, useless
from reflective_rag.programs.self_rag_critics import decide, grade
from reflective_rag.programs.self_rag_long import write_long
from reflective_rag.programs.self_rag_result import conclusion
from reflective_rag.programs.self_rag_rules import needs_retrieval
from reflective_rag.programs.self_rag_settings import SelfRagSettings, split_options
from reflective_rag.programs.self_rag_state import SelfRagState
from reflective_rag.programs.self_rag_support import criticise
from reflective_rag.programs.settings import Controls
from reflective_rag.programs.steps import Late, Report, Search, SearchOutcome, Steps, Substeps
from reflective_rag.signatures.answering import AnswerQuestion, JudgeSupport
from reflective_rag.signatures.gaps import RewriteQuery
from reflective_rag.signatures.self_rag import (
    AnswerAlone,
    ContinueAnswer,
    DecideRetrieval,
    JudgePassage,
    RateUsefulness,
)
from reflective_rag.signatures.types import Decision, StopReason

_CRITICS: Mapping[str, type[dspy.Signature]] = {
    "retrieve": DecideRetrieval,
    "relevance": JudgePassage,
    "support": JudgeSupport,
    "usefulness": RateUsefulness,
}


class SelfRAG(RagModule):
    """Answer by Self-RAG (Asai et al., 2023, arXiv 2310.11511) with any model: its four critics are signatures.

    [Retrieve] decides whether to search; [IsREL] filters the passages; each relevant one gives an answer; [IsSUP]
    checks its claims and [IsUSE] rates it; the best by the paper's score is taken. Where that is not good enough, the
    query is rewritten with the reason. Where none ever is, the best of all rounds is returned, marked as degraded. So
    is one about which relevant passages contradict each other, which rules find; its confidence is lower too.

    Args:
        search: `search(query, k)`; see `ReflectiveRAG`.
        today: The date that "now" means (used by the rules only).
        scorers: Your own small models for the back end `models`; see `ReflectiveRAG`.
        options: Any field of `SelfRagControls` (retrieval_threshold, weights, min_usefulness) or `SelfRagSettings`
            (mode, retrieval, k, max_rounds, long_form, critics, budget, …).
    """

    name = "self-rag"

    def __init__(
        self,
        search: SearchFunction | None = None,
        *,
        today: date | None = None,
        scorers: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(search, today=today)
        controls, settings = split_options(options)
        if scorers:  # an artefact cannot keep an object: it says that there was one
            names = settings.critic_models.model_copy(update=dict.fromkeys(check_own(scorers), OWN))
            settings = settings.model_copy(update={"critic_models": names})
        self.settings = settings
        self.controls = Controls(controls)
        check_models(settings)
        self.scorers = Scorers(settings.critic_models, scorers)
        for critic in settings.asked:
            if settings.backend(critic) == "lm":
                setattr(self, critic, dspy.Predict(_CRITICS[critic]))
        if settings.mode == "lm":
            self._build_writers(settings)
        self.asks_model = bool(self.predictors())
        show_nearest(self, settings.nearest_demos)

    def _build_writers(self, settings: SelfRagSettings) -> None:
        """What writes answers and queries in this configuration."""
        if settings.retrieval != "never":
            if settings.long_form:
                self.proceed = dspy.Predict(ContinueAnswer)
            else:
                self.answer = dspy.Predict(AnswerQuestion)
                self.rewrite = dspy.Predict(RewriteQuery)
        if settings.retrieval != "always" or settings.answer_from_memory:
            self.alone = dspy.Predict(AnswerAlone)

    def calls_per_question(self) -> tuple[int, int]:
        """From an answer that is good at once to every passage relevant in every round."""
        return fewest_and_most_calls(self.settings)

    def steps(self, question: str) -> Steps:
        """Decide whether to search; then at most `max_rounds` turns of search, filter, answer each, criticise."""
        state = SelfRagState(
            question=question,
            settings=self.settings,
            controls=self.controls.values,
            today=self.today or date.today(),
            pool=EvidencePool(self.settings.near_duplicate),
            has_model=self.uses_model(),
        )
        (needed,) = yield from decide(self, state, [("", False)])
        if needed == "no" and (yield from self._without_search(state)):
            return conclusion(state, [state.alone] if state.alone else [])
        if self.settings.long_form:
            return (yield from write_long(self, state))
        queries: tuple[str, ...] = (question,)
        for number in range(1, self.settings.max_rounds + 1):
            (found,) = yield [Search(queries=queries, k=self.settings.k)]
            assert isinstance(found, SearchOutcome)
            new = state.take(found)
            if not new:
                state.stop = state.nothing_new(number, found)
                yield from state.close_in_vain(found)
                break
            yield from grade(self, state, new)
            fresh = yield from answer_each(self, state, state.relevant(new))
            state.candidates += yield from criticise(self, state, fresh)
            (late,) = yield [Report()]
            if isinstance(late, Late):
                state.spend("budget_seconds")
            decision = yield from self._decide(state, number)
            best = state.best()
            parts = [best] if best else []
            yield [Report(round=state.close(number, found.ran, len(found.passages), new, decision, parts))]
            if decision.action != "retrieve_more":
                break
            queries = decision.queries
        return conclusion(state, (yield from self._chosen(state)))

    def _without_search(self, state: SelfRagState) -> Substeps[bool]:
        """Answer from the model alone; whether that ends the run. What is no good is searched for after all."""
        yield from answer_alone(self, state)
        good = state.alone is not None and not useless(state.question, state.alone, state.controls)
        by_rules = self.settings.mode == "rules" or not state.has_model
        if by_rules:
            state.warn("rules_only")
            good = not needs_retrieval(state.question)  # rules cannot talk, but they can search
        if good or self.settings.retrieval == "never":
            state.need_retrieval = False
            state.stop = state.spent or "no_retrieval"
            return True
        return False

    def _decide(self, state: SelfRagState, number: int) -> Substeps[Decision]:
        """The best candidate of all rounds is good enough, or the next query is written with the reason it is not."""
        best = state.best()
        reason = shortfall(state.question, best, state.controls, self.settings, relevant=state.relevant_count > 0)
        stop: StopReason | None = state.spent
        if stop is None and not reason:
            stop = "sufficient"
        if stop is None and number >= self.settings.max_rounds:
            stop = "max_rounds"
        if stop is None:
            queries, stop = yield from next_query(self, state, reason)
            if queries:
                return Decision(action="retrieve_more", reason=reason, queries=queries)
        state.stop = stop or "no_new_query"
        return ended(state.stop, state.question, detail=reason)

    def _chosen(self, state: SelfRagState) -> Substeps[list[Candidate]]:
        """The best candidate; where there is none, what the model says alone, if it may."""
        if best := state.best():
            return [best]
        return (yield from from_memory(self, state))
