"""CorrectiveRAG: grade what was retrieved, then refine it, replace it, or do both (CRAG, Yan et al., 2024).

arXiv 2401.15884: a passage graded at `upper` or more makes the evidence *correct*; all below `lower` make it
*incorrect*; anything else is *ambiguous*. Correct evidence is cut into strips, of which the best are read; incorrect
evidence is thrown away and a second source is asked with a keyword query; ambiguous evidence gets both. What the second
source brings is graded by the same critic before it is read: an answer from nothing relevant is not called sound.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import dspy

from reflective_rag.programs.correcting import IRRELEVANT, CorrectiveState, action_of, excerpt, recomposed, thresholds
from reflective_rag.programs.disputes import open_conflicts, warn_of_conflicts, warn_of_namesakes
from reflective_rag.programs.grading import grade
from reflective_rag.programs.ledger import Ledger
from reflective_rag.programs.material import Reading, reading_ask
from reflective_rag.programs.messages import ended
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.nearest import show_nearest
from reflective_rag.programs.plain import plain_result, take_answer
from reflective_rag.programs.pool import UNGRADED
from reflective_rag.programs.rewriting import keywords, rewrite_ask, rewritten
from reflective_rag.programs.scorers.handle import OWN, Scorers, check_models, check_own
from reflective_rag.programs.searching import SearchFunction, SearchHandle
from reflective_rag.programs.settings import build
from reflective_rag.programs.steps import Search, SearchOutcome, Steps, Substeps, ask
from reflective_rag.programs.strips import strips_of
from reflective_rag.programs.system_settings import CorrectiveSettings
from reflective_rag.signatures.answering import AnswerQuestion
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.evidence import JudgeRelevance
from reflective_rag.signatures.gaps import RewriteQuery
from reflective_rag.signatures.text import tokenize
from reflective_rag.signatures.types import Backend, Decision, Draft, Passage


class CorrectiveRAG(RagModule):
    """Search, grade each passage, act on the best and worst grade, answer from the strips that are kept.

    `rounds[0].decision.reason` begins with the action (`correct`, `incorrect`, `ambiguous`); `evidence_score` is the
    best grade of what is read; `confidence` stays 0. Citations point into the original passages. What the passages that
    are read contradict each other in is found by rules and told; it makes the result degraded.

    Args:
        search: `search(query, k)`; see `ReflectiveRAG`.
        fallback_search: The second source (a web search, another corpus), called in the same way; by default `search`
            is asked again with a keyword query and `fallback_k`.
        scorers: Your own scorer for the critic `models`, `{"relevance": …}`; see `ReflectiveRAG`.
        options: Any field of `CorrectiveSettings` (critic, upper, lower, k, mode, budget, …).
    """

    name = "corrective"

    def __init__(
        self,
        search: SearchFunction | None = None,
        *,
        fallback_search: SearchFunction | None = None,
        today: date | None = None,
        scorers: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(search, today=today)
        if fallback_search is not None:
            options["second_source"] = "own"
        settings = build(CorrectiveSettings, options)
        if scorers:
            names = settings.critic_models.model_copy(update=dict.fromkeys(check_own(scorers), OWN))
            settings = settings.model_copy(update={"critic_models": names})
        self.settings = settings
        self.second = SearchHandle(fallback_search)
        check_models(settings)
        self.scorers = Scorers(settings.critic_models, scorers)
        self.critic: Backend = settings.critic or ("rules" if settings.mode == "rules" else "lm")
        thresholds(settings, self.critic)
        self.asks_model = settings.mode != "rules" or self.critic == "lm"
        if self.critic == "lm":
            self.relevance = dspy.Predict(JudgeRelevance)
        if settings.mode != "rules":
            self.answer = dspy.Predict(AnswerQuestion)
            self.rewrite = dspy.Predict(RewriteQuery)
        show_nearest(self, settings.nearest_demos)

    def calls_per_question(self) -> tuple[int, int]:
        """A grade for each passage that is found, where a model gives them, and the answer.

        Unless the first search is judged correct, a rewrite too, and the grades of the second search.
        """
        asked, writes = int(self.critic == "lm"), int(self.settings.mode != "rules")
        first = self.settings.k * asked + writes
        return asked + writes, first + self.settings.fallback_k * asked + writes

    def _start(self, question: str) -> Ledger:
        ledger = super()._start(question)
        if self.settings.second_source == "own":
            try:
                self.second.require()
            except ConfigError:
                raise ConfigError(
                    "this program was made with a second source of its own: give it again, as `fallback_search=…`, or "
                    'choose `second_source="same"`'
                ) from None
        return ledger

    def writes(self) -> bool:
        """Whether a model writes queries and the answer."""
        return self.settings.mode != "rules" and self.uses_model()

    def steps(self, question: str) -> Steps:
        """Search, grade, correct, answer."""
        state = CorrectiveState(question=question, settings=self.settings, today=self.today or date.today())
        (found,) = yield [Search(queries=(question,), k=self.settings.k)]
        assert isinstance(found, SearchOutcome)
        new = state.take(found)
        yield from self._judge(state)
        settled = state.action == "correct" or state.is_closed
        query = "" if settled else (yield from self._rewrite(state))
        if found.ran:
            decision, judged = self._decision(state, query), state.assessment(state.judged)
            yield [state.close(found.ran, len(found.passages), len(new), decision, assessment=judged)]
        if query:
            yield from self._second(state, query)
        else:
            state.end("sufficient")
        draft = yield from self._answer(state)
        conflicts = open_conflicts(question, state.kept, state.today)
        warn_of_conflicts(state, draft.answer, conflicts)
        warn_of_namesakes(state, draft.answer, state.kept, conflicts)
        return plain_result(state, draft, conflicts=tuple(conflicts), **state.more())

    def _judge(self, state: CorrectiveState) -> Substeps[None]:
        """Grade the passages; decide the action and what is kept."""
        first = state.read(self.settings.k).passages
        state.judged = yield from grade(self, state, first)
        state.grades = dict(state.judged.of)
        upper, lower = thresholds(self.settings, state.judged.by)
        grades = [state.grades.get(passage.id) for passage in first]
        state.action = action_of(grades, upper, lower)
        if state.action != "incorrect":
            state.kept = [p for p in first if (own := state.grades.get(p.id)) is None or own >= lower]

    def _decision(self, state: CorrectiveState, query: str) -> Decision:
        if not query:
            return Decision(action="generate", reason=state.grounds())
        return Decision(action="retrieve_more", reason=state.grounds(), queries=(query,))

    def _rewrite(self, state: CorrectiveState) -> Substeps[str]:
        """The query for the second source: by the model, else the names and content words of the question."""
        if not self.writes() or state.is_over or not state.may_ask(1):
            return keywords(state.question)
        step = rewrite_ask(self.rewrite, state.question, state.tried, IRRELEVANT[state.action])
        outcome = yield from ask(step)
        if not state.took(outcome):
            return keywords(state.question)
        if query := rewritten(state, outcome):
            return query
        state.replaced("rewrite: lm → rules")
        return keywords(state.question)

    def _second(self, state: CorrectiveState, query: str) -> Substeps[None]:
        """Ask the second source, and keep what the critic does not throw away of either search."""
        source = self.second if self.settings.second_source == "own" else None
        thrown = {p.id for p in state.pool.for_reading(self.settings.k, {})} - {p.id for p in state.kept}
        (found,) = yield [Search(queries=(query,), k=self.settings.fallback_k, source=source)]
        assert isinstance(found, SearchOutcome)
        new = state.take(found)
        more = [p for p in map(state.pool.find, found.passages) if p is not None and p.id not in thrown]
        helps = yield from self._judge_more(state, more)
        if not len(state.pool):
            state.end("no_passages")
        elif not new:
            state.end("no_new_passages")
        elif not helps:
            state.end("no_progress" if state.kept else "no_relevant_passages")
        state.end("finished")
        if found.ran:
            done = ended(state.stop, state.question)
            judged = state.assessment(state.again)
            yield [state.close(found.ran, len(found.passages), len(new), done, assessment=judged)]

    def _judge_more(self, state: CorrectiveState, passages: Sequence[Passage]) -> Substeps[bool]:
        """Grade what the second search brought beside what is kept, and keep of it what helps; whether anything does.

        What a budget leaves without a grade is kept: it is neither good nor bad.
        """
        known = {p.id for p in state.kept}
        more = [p for p in passages if p.id not in known]
        if not more:
            return False
        state.again = yield from grade(self, state, more)
        state.grades |= state.again.of
        good = [p for p in more if not state.is_bad(p)]
        state.kept += good
        return bool(good)

    def _answer(self, state: CorrectiveState) -> Substeps[Draft]:
        """The answer from the best strips. Where everything was thrown away for nothing, from what there is."""
        material = state.kept or state.pool.for_reading(self.settings.k, {})
        yield from self._refine(state, material)
        by_id = {p.id: p for p in material}
        ids = list(dict.fromkeys(strip.passage_id for strip in state.strips))
        state.kept = [by_id[id_] for id_ in ids]
        refined = [recomposed(by_id[id_], [s for s in state.strips if s.passage_id == id_]) for id_ in ids]
        state.reading = reading = state.reading_of(refined)
        if state.rounds:
            state.rounds[-1] = state.rounds[-1].model_copy(update={"strips": state.strips})
        draft = yield from self._draft(state, reading)
        state.reading = replace(reading, passages=state.kept)
        return draft

    def _draft(self, state: CorrectiveState, reading: Reading) -> Substeps[Draft]:
        if not reading.passages:
            return Draft(answer="")
        if not self.writes() or state.stop == "model_error":
            state.warn("rules_only")
            return state.rules_draft()
        return take_answer(state, (yield from ask(reading_ask(self.answer, "answer", "answer", reading))))

    def _refine(self, state: CorrectiveState, passages: Sequence[Passage]) -> Substeps[None]:
        """Cut the passages into strips and keep the best, by the strip's own grade and that of its passage."""
        terms = tokenize(state.question)
        cut = [(p, strip) for p in passages for strip in strips_of(p, terms, self.settings.strip_chars)]
        texts = [excerpt(p, strip, i) for i, (p, strip) in enumerate(cut)]
        scored = yield from grade(self, state, texts, strips=True)
        own = [scored.of.get(text.id, 0.0) for text in texts]
        worth = [g + state.grades.get(p.id, UNGRADED) for g, (p, _) in zip(own, cut, strict=True)]
        best = sorted(range(len(cut)), key=lambda i: (-worth[i], i))[: self.settings.strips]
        state.strips = tuple(cut[i][1].model_copy(update={"score": round(own[i], 4)}) for i in sorted(best))
