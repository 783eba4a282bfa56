"""ReflectiveRAG: retrieve, judge the evidence, then answer with citations or search again for what is missing."""

from datetime import date
from typing import Any, Self

import dspy

from reflective_rag.programs.assessor import (
    PAIRED_FIELDS,
    EvidenceAssessor,
    Reading,
    Verdict,
    reading_ask,
    rules_verdict,
    verdict_of,
)
from reflective_rag.programs.finishing import finish
from reflective_rag.programs.judgements import draft_of
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.searching import SearchFunction
from reflective_rag.programs.settings import PRESETS, Controls, LoopControls, PresetName, ReflectiveSettings, build
from reflective_rag.programs.state import BUDGET_STOPS, LoopState, joined, stop_reason
from reflective_rag.programs.steps import (
    Ask,
    AskOutcome,
    Report,
    Search,
    SearchOutcome,
    Steps,
    Substeps,
    answered,
    ask,
)
from reflective_rag.signatures.answering import AnswerQuestion, AssessAndAnswer, JudgeSupport, RepairAnswer
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.gaps import RewriteQuery
from reflective_rag.signatures.text import without_markup
from reflective_rag.signatures.types import Decision, Draft, StopReason

RULES_READ = 50
"""Most passages that the rules judge in a round."""


class ReflectiveRAG(RagModule):
    """Answer a question from evidence that is judged before it is used.

    Args:
        search: `search(query, k)` returning Passages, dicts with a text, or strings; sync or async.
        preset: `critical`, `general`, `research` or `exhaustive`: θ, rounds and k together.
        today: The date that "now" means; None is the real one.
        options: Any field of `LoopControls` (θ, weights, max_rounds, patience, …) or `ReflectiveSettings` (mode, k,
            budget, …); an unknown name is a `ConfigError`.
    """

    name = "reflective"

    def __init__(
        self,
        search: SearchFunction | None = None,
        *,
        preset: PresetName = "general",
        today: date | None = None,
        **options: Any,
    ) -> None:
        super().__init__(search, today=today)
        controls, settings = _split(preset, options)
        self.settings = settings
        self.controls = Controls(controls)
        self.assessor = EvidenceAssessor(settings.mode, controls=self.controls, soft_verdicts=settings.soft_verdicts)
        if settings.mode == "fused":
            self.assess_and_answer = dspy.Predict(AssessAndAnswer)
        else:
            self.answer = dspy.Predict(AnswerQuestion)
        if settings.mode != "rules":
            self.rewrite = dspy.Predict(RewriteQuery)
        if settings.repair and settings.support_check != "off":
            self.repair = dspy.Predict(RepairAnswer)
        if settings.support_check == "lm":
            self.support = dspy.Predict(JudgeSupport)

    def deepcopy(self) -> Self:
        """DSPy's copy. Where it copies part by part (a model that cannot be copied), the controls stay shared too."""
        copy: Self = super().deepcopy()
        copy.assessor.controls = copy.controls
        return copy

    def steps(self, question: str, *, rehearse: bool = False) -> Steps:
        """The loop: at most `max_rounds` turns of search, judge, decide; then one answer, checked.

        With `rehearse` every round also plays its ending, which makes the recorded pass of replay tuning exact.
        """
        controls: LoopControls = self.controls.values
        state = LoopState(question, self.settings, controls, self.today or date.today())
        queries: tuple[str, ...] = (question,)
        for number in range(1, controls.max_rounds + 1):
            (found,) = yield [Search(queries=queries, k=self.settings.k if number == 1 else self.settings.k_gap)]
            assert isinstance(found, SearchOutcome)
            new = state.add(found)
            if not new:
                state.stop = _nothing_new(number, found)
                break
            stop = yield from self._judge(state)
            if rehearse:
                yield [Report(judged=state.assessment)]
                yield [Report(ending=(yield from finish(self, state.fork())))]
            decision = stop or (yield from self._decide(state, number))
            yield [Report(round=state.close(number, queries, len(found.passages), len(new), decision))]
            if decision.action != "retrieve_more":
                break
            queries = decision.queries
        return (yield from finish(self, state))

    def _judge(self, state: LoopState) -> Substeps[Decision | None]:
        """Ask critics and answerer side by side. Returns a Decision when a model or a budget gave out, else None."""
        if self.settings.mode == "rules" or not self.uses_model():
            state.judge(rules_verdict(state.read(RULES_READ)))  # rules read for nothing, so they read all
            state.read()
            return None
        reading = state.read()
        if self.settings.mode == "fused":
            reply = yield from ask(reading_ask(self.assess_and_answer, "assess_and_answer", "assess", reading))
            verdict = _fused_verdict(reply, reading)
        else:
            # The answer comes first: when only one call is left in the budget, it is the one to spend it on.
            first = reading_ask(self.answer, "answer", "answer", reading)
            outcome, *judged = yield [first, *self.assessor.asks(reading)]
            reply, verdict = answered(outcome), self.assessor.read(reading, judged)
        state.judge(verdict)
        if verdict.by_rules and not (verdict.error or verdict.refused):
            state.warn("model_degraded", "none of its judgement could be read, so rules judged")
        if draft := draft_of(reply, reading.passages):
            state.unread(draft.unreadable)
            state.drafts.append(draft)
        elif not (reply.error or reply.refused):
            state.unread(1)
            state.drafts.append(Draft(answer=""))  # asked again with the same words it would not be read either
        return _gave_out(state, verdict, reply)

    def _decide(self, state: LoopState, number: int) -> Substeps[Decision]:
        """Generate, or the queries of the next round. Mode `separate` asks for the gaps only now, where they matter."""
        assessment = state.assessment
        assert assessment is not None
        lost: StopReason | None = None
        reason = stop_reason(assessment, state.controls, number, state.misses, has_gap=True)
        if reason is None and self.uses_model() and not assessment.gaps:
            lost = yield from self._ask_gaps(state)
        gaps = state.gaps()
        reason = reason or stop_reason(assessment, state.controls, number, state.misses, has_gap=bool(gaps))
        if reason is None:
            queries = state.new_queries(gap.query for gap in gaps)
            if not queries:
                queries, lost = yield from self._rewrite(state, gaps[0].need)
            if queries:
                return Decision(action="retrieve_more", reason=f"missing: {gaps[0].need}", queries=queries)
            reason = lost or "no_new_query"
        elif reason == "no_gap":
            reason = lost or reason
        state.stop = reason
        return Decision(action="generate", reason=reason)

    def _ask_gaps(self, state: LoopState) -> Substeps[StopReason | None]:
        """Put the gaps that a call of their own names into the assessment. Returns why there was no reply, if so."""
        assert state.assessment is not None
        assert state.reading is not None
        step = self.assessor.gap_ask(state.reading, state.requirements, state.tried)
        if step is None:
            return None
        outcome = yield from ask(step)
        gaps, bad = self.assessor.read_gaps(outcome)
        state.unread(bad)
        state.assessment = state.assessment.model_copy(update={"gaps": gaps})
        return state.lost(outcome)

    def _rewrite(self, state: LoopState, need: str) -> Substeps[tuple[tuple[str, ...], StopReason | None]]:
        """One new query where every gap's own would repeat a tried one, and why there was no reply, if so."""
        if self.settings.mode == "rules" or not self.uses_model():
            return state.new_queries([joined(state.question, need)]), None
        inputs = {
            "question": without_markup(state.question),
            "missing": need,
            "tried": "; ".join(state.tried),
            "problem": "the tried queries did not bring a passage that states what is missing",
        }
        outcome = yield from ask(Ask(name="rewrite", predictor=self.rewrite, inputs=inputs, phase="rewrite"))
        query = (outcome.fields or {}).get("query")
        state.unread(outcome.fields is not None and not query)
        return state.new_queries([str(query)] if query else []), state.lost(outcome)


def _fused_verdict(outcome: AskOutcome, reading: Reading) -> Verdict:
    if outcome.fields is None:
        return rules_verdict(reading, error=outcome.error, refused=outcome.refused or "")
    return verdict_of(outcome.fields, reading, PAIRED_FIELDS)


def _gave_out(state: LoopState, verdict: Verdict, reply: AskOutcome) -> Decision | None:
    """The decision when the model or a budget failed in this round: the loop ends with what it has."""
    if error := verdict.error or reply.error:
        state.warn("model_degraded", error)
        state.stop = "model_error"
    elif limit := verdict.refused or reply.refused:
        state.stop = BUDGET_STOPS[limit]
    else:
        return None
    return Decision(action="generate", reason=state.stop)


def _nothing_new(number: int, found: SearchOutcome) -> StopReason:
    if found.refused:
        return BUDGET_STOPS[found.refused]
    if found.error:
        return "retriever_error"
    return "no_passages" if number == 1 else "no_new_passages"


def _split(preset: PresetName, options: dict[str, Any]) -> tuple[LoopControls, ReflectiveSettings]:
    """Options sorted into controls and settings, on top of the preset."""
    if preset not in PRESETS:
        raise ConfigError(f"`preset` must be one of {', '.join(map(repr, PRESETS))}, got {preset!r}")
    unknown = set(options) - set(LoopControls.model_fields) - set(ReflectiveSettings.model_fields)
    if unknown:
        known = sorted({*LoopControls.model_fields, *ReflectiveSettings.model_fields})
        raise ConfigError(f"unknown option {', '.join(map(repr, sorted(unknown)))}; known: {', '.join(known)}")
    both = PRESETS[preset]
    controls = {**both["controls"], **{k: v for k, v in options.items() if k in LoopControls.model_fields}}
    settings = {**both["settings"], **{k: v for k, v in options.items() if k in ReflectiveSettings.model_fields}}
    return build(LoopControls, controls), build(ReflectiveSettings, settings)
