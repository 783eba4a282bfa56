"""The language model as a critic: one narrow call a case gives the written verdict and, where reported, a soft one."""

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from reflective_rag.data.twins import Case, Judged
from reflective_rag.data.twins.swaps import TODAY
from reflective_rag.experiments.bench.critics_backends import SUPPORT_SCORES, set_score
from reflective_rag.experiments.bench.critics_verdicts import Verdict
from reflective_rag.programs.asking import AskRun
from reflective_rag.programs.judgements import judgement_of
from reflective_rag.programs.ledger import Ledger
from reflective_rag.programs.material import Reading
from reflective_rag.programs.reading import read_choice
from reflective_rag.programs.soft import GRADES, logprob_config, soft_choice, soft_grade, soft_yes
from reflective_rag.programs.steps import Ask, AskOutcome
from reflective_rag.signatures.answering import JudgeSupport
from reflective_rag.signatures.evidence import JudgeConsistency, JudgeFreshness, JudgeRelevance, JudgeSufficiency
from reflective_rag.signatures.types import PhaseUsage

SIGNATURES: Mapping[Judged, Any] = {
    "relevance": JudgeRelevance,
    "sufficiency": JudgeSufficiency,
    "consistency": JudgeConsistency,
    "freshness": JudgeFreshness,
    "support": JudgeSupport,
}
FIELDS: Mapping[Judged, str] = {
    "relevance": "relevance",
    "sufficiency": "sufficient",
    "consistency": "contradictions",
    "freshness": "outdated",
    "support": "support",
}
CLOSED: frozenset[Judged] = frozenset({"relevance", "sufficiency", "support"})
"""Judgements whose verdict is a member of a closed set; the others are lists, which have no soft verdict."""

HARD, SOFT = "lm hard", "lm soft"


class LanguageModel:
    """The model that `model.use()` made DSPy's own. Replies come from DSPy's cache where it has them."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._predictors = {judgement: dspy.Predict(signature) for judgement, signature in SIGNATURES.items()}

    def columns(self, judgement: Judged) -> tuple[str, ...]:
        """Soft verdicts only of closed sets, and where the model reports log-probabilities."""
        return (HARD, SOFT) if judgement in CLOSED and logprob_config(dspy.settings.lm) else (HARD,)

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One call for a set, one for each passage where relevance is judged."""
        if cases[0].judgement == "relevance":
            return [verdict for case in cases for verdict in self._judge([case])]
        return self._judge(cases)

    def _judge(self, cases: Sequence[Case]) -> list[Verdict]:
        ledger = Ledger()
        outcome = AskRun(self._ask(cases[0]), ledger).run()
        usage = ledger.usage.get("assess", PhaseUsage())
        found = []
        for case in cases:
            scores = {HARD: None, SOFT: None} if outcome.fields is None else _scores(case, outcome)
            found += [
                Verdict(
                    case=case.id,
                    by=column,
                    model=self.model,
                    score=scores[column],
                    seconds=usage.seconds / len(cases),
                    calls=usage.calls / len(cases),
                    cached=usage.cached / len(cases),
                    prompt_tokens=usage.prompt_tokens / len(cases),
                    completion_tokens=usage.completion_tokens / len(cases),
                    error=outcome.error,
                )
                for column in self.columns(case.judgement)
            ]
        return found

    def _ask(self, case: Case) -> Ask:
        reading = Reading(
            question=case.question,
            passages=case.passages,
            requirements=(),
            today=case.today or TODAY,
            passage_chars=2400,
        )
        known = {**reading.inputs(), "today": reading.today.isoformat(), "answer": case.answer}
        if case.judgement == "relevance":
            known["passage"] = reading.one(next(p for p in case.passages if p.id == case.target))
        predictor = self._predictors[case.judgement]
        return Ask(
            name=case.judgement,
            predictor=predictor,
            inputs={name: known[name] for name in predictor.signature.input_fields},
            phase="assess",
            config=logprob_config(dspy.settings.lm) if case.judgement in CLOSED else {},
        )


def _scores(case: Case, outcome: AskOutcome) -> dict[str, float | None]:
    """Both verdicts of one reply; None for what cannot be read."""
    fields = outcome.fields or {}
    logprobs = fields.get("logprobs")
    if case.judgement == "relevance":
        grade = read_choice(fields.get("relevance"), tuple(GRADES))
        return {HARD: None if grade is None else GRADES[grade], SOFT: soft_grade(logprobs) if grade else None}
    if case.judgement == "support":
        support = read_choice(fields.get("support"), tuple(SUPPORT_SCORES))
        chances = soft_choice(logprobs, "support", tuple(SUPPORT_SCORES)) if support else None
        soft = None if chances is None else sum(SUPPORT_SCORES[value] * p for value, p in chances.items())
        return {HARD: None if support is None else SUPPORT_SCORES[support], SOFT: soft}
    if case.judgement == "sufficiency":
        verdict = read_choice(fields.get("sufficient"), ("yes", "no"))
        hard = None if verdict is None else float(verdict == "yes")
        return {HARD: hard, SOFT: soft_yes(logprobs, "sufficient") if verdict else None}
    judgement = judgement_of(fields, case.passages, (), asked=(FIELDS[case.judgement],))
    return {HARD: None if case.judgement in judgement.lost else set_score(judgement, case), SOFT: None}
