"""Judges evidence: asks the critics of the chosen mode, side by side, and puts their verdicts together.

A door of its own, `EvidenceAssessor()(question=…, passages=[…]) -> Assessment`, and the part of ReflectiveRAG that
judges.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

import dspy

from reflective_rag.programs import drivers, rules
from reflective_rag.programs.judgements import gaps_of, judgement_of
from reflective_rag.programs.ledger import Ledger
from reflective_rag.programs.module import check_question
from reflective_rag.programs.pool import DEMO_CHARS, EvidencePool, numbered
from reflective_rag.programs.reading import read_choice
from reflective_rag.programs.scoring import assess
from reflective_rag.programs.searching import SearchHandle, as_passages
from reflective_rag.programs.settings import Budget, Controls, LoopControls, Mode, Weights
from reflective_rag.programs.soft import GRADES, soft_grade
from reflective_rag.programs.steps import Ask, AskOutcome, Outcome, Step, Steps
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.evidence import (
    AssessEvidence,
    JudgeConsistency,
    JudgeCoverage,
    JudgeFreshness,
    JudgeRelevance,
    JudgeSufficiency,
)
from reflective_rag.signatures.gaps import FindGaps
from reflective_rag.signatures.text import tokenize, without_markup
from reflective_rag.signatures.types import Assessment, Gap, Judgement, Passage, Requirement, Result

PAIRED_FIELDS = ("needs", "relevant", "contradictions", "outdated", "gaps", "sufficient")
SEPARATE_FIELDS = ("needs", "contradictions", "outdated", "time_scope", "sufficient")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What the critics and the answerer of one round read."""

    question: str
    passages: Sequence[Passage]
    requirements: tuple[Requirement, ...]
    today: date
    passage_chars: int

    @cached_property
    def terms(self) -> frozenset[str]:
        """What a sentence must speak of to be kept when a passage is shortened."""
        return frozenset(tokenize(" ".join([self.question, *(r.need for r in self.requirements)])))

    def inputs(self) -> dict[str, str]:
        """Question and numbered passages."""
        return {"question": without_markup(self.question), "passages": self.numbered[0]}

    @cached_property
    def numbered(self) -> tuple[str, tuple[str, ...]]:
        """The numbered passages, and the ids of those that were shortened to fit."""
        return numbered(self.passages, self.terms, self.passage_chars)

    @cached_property
    def demo(self) -> dict[str, str]:
        """The passages as a bootstrapped demo carries them: same numbers, best sentences only."""
        return {"passages": numbered(self.passages, self.terms, DEMO_CHARS)[0]}

    def needs(self) -> str:
        """The requirements as the critics read them."""
        lines = (f"{i}. {r.need} ({r.status})" for i, r in enumerate(self.requirements, 1))
        return "\n".join(lines) or "not listed yet"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A judgement and where it came from."""

    judgement: Judgement
    by_rules: bool = False
    error: str = ""
    refused: str = ""


class EvidenceAssessor(dspy.Module):
    """Judge a set of passages for a question.

    Args:
        mode: `paired` (one call for all judgements), `separate` (one narrow call each) or `rules` (no model).
            `fused` belongs to ReflectiveRAG, which then builds no predictor here.
        weights: Weights of the four dimensions; `controls`: those of a loop, instead.
    """

    def __init__(
        self,
        mode: Mode = "paired",
        *,
        weights: Weights | None = None,
        controls: Controls | None = None,
        soft_verdicts: bool = True,
    ) -> None:
        super().__init__()
        if mode not in ("paired", "separate", "rules", "fused"):
            raise ConfigError(f"`mode` must be one of 'paired', 'separate', 'rules', got {mode!r}")
        self.mode = mode
        self.soft_verdicts = soft_verdicts
        # The loop shares its own controls, so that weights tuned for it count here too.
        self.controls = controls or Controls(LoopControls(weights=weights or Weights()))
        if mode == "paired":
            self.assess = dspy.Predict(AssessEvidence)
        elif mode == "separate":
            self.relevance = dspy.Predict(JudgeRelevance)
            self.consistency = dspy.Predict(JudgeConsistency)
            self.coverage = dspy.Predict(JudgeCoverage)
            self.freshness = dspy.Predict(JudgeFreshness)
            self.sufficiency = dspy.Predict(JudgeSufficiency)
            self.find_gaps = dspy.Predict(FindGaps)

    def forward(self, question: str, passages: Iterable[Any], today: date | None = None) -> Assessment:
        """Assess passages (Passages, dicts with a text, or strings). Without a configured model the rules judge."""
        check_question(question)
        reading = self._reading(question, passages, today)
        if self.mode == "fused":
            raise ConfigError("mode 'fused' judges and answers in one call; use ReflectiveRAG for it")
        has_model = dspy.settings.lm is not None or all(p.lm is not None for p in self.predictors())
        if not reading.passages or self.mode == "rules" or not has_model:
            verdict = rules_verdict(reading)
        else:
            ledger = Ledger(Budget())
            found: list[Verdict] = []
            drivers.run(self._single(reading, found), SearchHandle(None), ledger)
            verdict = found[0]
        return assess(verdict.judgement, reading.passages, self.controls.values.weights, by_rules=verdict.by_rules)

    def _single(self, reading: Reading, found: list[Verdict]) -> Steps:
        outcomes = yield self.asks(reading)
        found.append(self.read(reading, outcomes))
        return Result(answer="")

    def _reading(self, question: str, passages: Iterable[Any], today: date | None) -> Reading:
        items = as_passages(passages, 1_000_000, "`passages` must be")
        pool = EvidencePool()
        pool.add(items)
        return Reading(
            question=question,
            passages=pool.for_reading(len(items), {}),
            requirements=(),
            today=today or date.today(),
            passage_chars=2400,
        )

    def asks(self, reading: Reading) -> list[Step]:
        """The critics' calls for one round; independent of each other."""

        def ask(name: str) -> Ask:
            return reading_ask(getattr(self, name), name, "assess", reading)

        if self.mode == "paired":
            return [ask("assess")]
        narrow = [ask(name) for name in ("consistency", "coverage", "freshness", "sufficiency")]
        return [*self._relevance_asks(reading), *narrow]

    def _relevance_asks(self, reading: Reading) -> list[Ask]:
        soft = self.soft_verdicts and "logprobs" in getattr(dspy.settings.lm, "supported_params", ())
        return [
            Ask(
                name="relevance",
                predictor=self.relevance,
                inputs={
                    "question": without_markup(reading.question),
                    "passage": numbered([p], reading.terms, reading.passage_chars)[0],
                },
                phase="assess",
                config={"logprobs": 10} if soft else {},
            )
            for p in reading.passages
        ]

    def read(self, reading: Reading, outcomes: Sequence[Outcome]) -> Verdict:
        """Put the replies together. Where the model gave nothing at all, rules judge and the verdict says so."""
        asked = [o for o in outcomes if isinstance(o, AskOutcome)]
        error = next((o.error for o in asked if o.error), "")
        refused = next((o.refused for o in asked if o.refused), "") or ""
        if error or refused:
            return rules_verdict(reading, error=error, refused=refused)
        fields: dict[str, Any] = {}
        if self.mode == "separate":
            fields = _grades(reading.passages, asked)
            asked = asked[len(reading.passages) :]
        for outcome in asked:
            fields |= outcome.fields or {}
        return verdict_of(fields, reading, PAIRED_FIELDS if self.mode == "paired" else SEPARATE_FIELDS)

    def gap_ask(self, reading: Reading, requirements: Sequence[Requirement], tried: Iterable[str]) -> Ask | None:
        """In mode `separate`: the call that names the gaps, made only when the evidence was not enough."""
        if self.mode != "separate":
            return None
        missing = "; ".join(r.need for r in requirements if r.status == "missing") or "not known"
        inputs = {**reading.inputs(), "missing": missing, "tried": "; ".join(tried)}
        return Ask(name="find_gaps", predictor=self.find_gaps, inputs=inputs, phase="assess", demo_inputs=reading.demo)

    def read_gaps(self, outcome: Outcome) -> tuple[tuple[Gap, ...], int]:
        """Gaps of `gap_ask`, and how many could not be read; none when the call failed."""
        fields = outcome.fields if isinstance(outcome, AskOutcome) else None
        return ((), 0) if fields is None else gaps_of(fields.get("gaps"))


def reading_ask(predictor: Any, name: str, phase: Any, reading: Reading) -> Ask:
    """A call that reads the round's passages; its signature says which inputs it takes."""
    both = {**reading.inputs(), "requirements": reading.needs(), "today": reading.today.isoformat()}
    inputs = {key: both[key] for key in predictor.signature.input_fields}
    return Ask(name=name, predictor=predictor, inputs=inputs, phase=phase, demo_inputs=reading.demo)


def rules_verdict(reading: Reading, *, error: str = "", refused: str = "") -> Verdict:
    """The rules' judgement of a reading."""
    judgement = rules.assess(reading.question, reading.passages, reading.requirements, reading.today)
    return Verdict(judgement=judgement, by_rules=True, error=error, refused=refused)


def _says_nothing(judgement: Judgement) -> bool:
    """Whether verdicts could not be read and there is none that could."""
    said = (judgement.relevance, judgement.requirements, judgement.contradictions, judgement.outdated, judgement.gaps)
    return judgement.unreadable > 0 and judgement.sufficient is None and not any(said)


def verdict_of(fields: Mapping[str, Any], reading: Reading, asked: Sequence[str]) -> Verdict:
    """The judgement in a model's output fields; when none of them can be read, the rules judge and it is counted."""
    judgement = judgement_of(fields, reading.passages, reading.requirements, asked=asked)
    if _says_nothing(judgement):
        fallback = rules_verdict(reading).judgement
        return Verdict(judgement=fallback.model_copy(update={"unreadable": judgement.unreadable}), by_rules=True)
    return Verdict(judgement=judgement)


def _grades(passages: Sequence[Passage], outcomes: Sequence[AskOutcome]) -> dict[str, Any]:
    grades: dict[str, float] = {}
    unread = 0
    for passage, outcome in zip(passages, outcomes, strict=False):
        fields = outcome.fields or {}
        choice = read_choice(fields.get("relevance"), tuple(GRADES))
        grade = soft_grade(fields.get("logprobs")) if choice else None
        if grade is None and choice:
            grade = GRADES[choice]
        if grade is None:
            unread += 1
        else:
            grades[passage.id] = grade
    return {"grades": grades, "unread_grades": unread}
