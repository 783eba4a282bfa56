"""A program's critics as a program of their own: one labelled case in, one verdict out."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import dspy

from reflective_rag.data.records import Record
from reflective_rag.data.twins import Case, Judged, Unit, units_of
from reflective_rag.optimizers.strategies.base import CompileTask
from reflective_rag.programs.judgements import support_of
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.pool import numbered
from reflective_rag.programs.steps import AskOutcome
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.text import tokenize, without_markup
from reflective_rag.signatures.types import Assessment, Passage

PASSAGE_CHARS = 2400
"""Longest passage that the support critic reads whole, as by default in ReflectiveRAG."""


class CriticProgram(RagModule):
    """The critics of a program that a language model makes and that labels come free for. It shares its predictors.

    Raises:
        ConfigError: There are none (mode `fused` judges and answers in one call, mode `rules` asks no model).
    """

    name = "critics"
    needs_search = False

    def __init__(self, program: RagModule) -> None:
        super().__init__()
        self.settings = program.settings
        assessor = getattr(program, "assessor", None)
        self.judgements: tuple[Judged, ...] = ()
        if assessor is not None and assessor.mode != "fused":
            asked = assessor.judged_by("lm")
            self.judgements = tuple(name for name in get_args(Judged) if name in asked)
            self.assessor = assessor
        if hasattr(program, "support") and "support" in program.support.signature.output_fields:
            self.judgements += ("support",)
            self.support = program.support
        if not self.judgements:
            raise ConfigError(
                "stage 'critics' needs critics that a language model makes, apart from the answer: mode 'paired' or "
                "'separate', or `critics` with 'lm' for relevance, sufficiency, consistency, freshness or support"
            )

    def calls_per_question(self) -> tuple[int, int]:
        """One verdict."""
        return 1, 1

    def forward(self, question: str, case: Case | None = None) -> dspy.Prediction:
        """Judge one case; `verdict` is None where the reply could not be read or the back end failed."""
        if case is None:
            raise ConfigError("critics judge a `case` of data/twins, got none")
        if case.judgement == "support":
            return dspy.Prediction(verdict=self._support(case))
        only = copy.copy(self.assessor)  # the same predictors; what this case does not label is left to the rules
        only.backends = {n: b if n == case.judgement else "rules" for n, b in self.assessor.backends.items()}
        only.fallback = ()
        read = _one(case) if case.judgement == "relevance" and only.mode != "paired" else case.passages
        assessment: Assessment = only(question=question, passages=list(read), today=case.today)
        return dspy.Prediction(verdict=self._verdict(case, assessment))

    def _verdict(self, case: Case, assessment: Assessment) -> bool | None:
        if any(fallback.judgement == case.judgement for fallback in assessment.fallbacks):
            return None
        if case.judgement == "relevance":
            grade = assessment.passage_relevance.get(case.target)
            return None if grade is None else grade >= self.assessor.relevant_at
        if case.judgement == "sufficiency":
            return assessment.sufficient
        if case.judgement == "consistency":
            return bool(assessment.contradictions)
        return case.target in assessment.outdated

    def _support(self, case: Case) -> bool | None:
        text, _ = numbered(case.passages, tokenize(f"{case.question} {case.answer}"), PASSAGE_CHARS)
        reply = self.support(question=without_markup(case.question), answer=case.answer, passages=text)
        verdict = support_of(AskOutcome(fields=dict(reply.items())), case.answer, case.passages).support
        return None if verdict is None else verdict == "supported"


def _one(case: Case) -> tuple[Passage, ...]:
    return tuple(passage for passage in case.passages if passage.id == case.target)


@dataclass(frozen=True)
class VerdictMetric:
    """1 for a verdict that agrees with the case's label, 0 for another or none."""

    name: str = "verdict"
    threshold: float = 1.0

    def __call__(
        self, example: Any, prediction: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> float | bool:
        """The score; while traces are bootstrapped, whether it is 1."""
        score = self.score(example, prediction)
        return score if trace is None else score >= self.threshold

    def score(self, example: Any, prediction: Any) -> float:
        """0 or 1."""
        return float(prediction.verdict is not None and prediction.verdict == example.case.label)


def critic_task(task: CompileTask) -> CompileTask:
    """The task of compiling only the critics, on cases made of the same records, train and val apart.

    Raises:
        DataError: The records label nothing that the program's critics judge.
    """
    program = CriticProgram(task.program.deepcopy())
    parts: Mapping[str, Sequence[Any]] = {
        name: _cases(program.judgements, records, task.seed)
        for name, records in (("train", task.train), ("val", task.val))
    }
    for name, cases in parts.items():
        if not cases:
            raise DataError(
                f"stage 'critics' finds no labelled case for {', '.join(program.judgements)} in the {len(task.train)} "
                f"training and {len(task.val)} validation questions ({name}); they need supporting passages and others"
            )
    return replace(
        task, program=program, train=parts["train"], val=parts["val"], metric=VerdictMetric(), examples=_examples
    )


def _examples(cases: Sequence[Any]) -> list[dspy.Example]:
    return [dspy.Example(question=case.question, case=case).with_inputs("question", "case") for case in cases]


def _cases(judgements: Sequence[Judged], records: Sequence[Record], seed: int) -> list[Case]:
    """About two cases a record, judgements in turn; whole units, so that true and false ones balance."""
    units: list[list[Unit]] = [units_of(judgement, records, seed=seed) for judgement in judgements]
    cases: list[Case] = []
    for turn in range(max(map(len, units), default=0)):
        for found in units:
            if turn < len(found) and len(cases) < 2 * len(records):
                cases += found[turn]
    return cases
