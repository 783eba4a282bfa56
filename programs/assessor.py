"""Judges evidence: asks the critics of the chosen mode, side by side, and puts their verdicts together.

A door of its own, `EvidenceAssessor()(question=…, passages=[…]) -> Assessment`, and the part of ReflectiveRAG that
judges.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, cast

import dspy

from reflective_rag.data.partial import failed_part
from reflective_rag.programs import drivers
from reflective_rag.programs.judgements import gaps_of, judgement_of
from reflective_rag.programs.ledger import Ledger
from reflective_rag.programs.material import Reading, reading_ask
from reflective_rag.programs.module import as_day, check_question
from reflective_rag.programs.pool import EvidencePool
from reflective_rag.programs.reading import read_choice
from reflective_rag.programs.scorers.handle import Scorers
from reflective_rag.programs.scoring import RELEVANT, assess
from reflective_rag.programs.searching import SearchHandle, as_passages
from reflective_rag.programs.settings import (
    Budget,
    Controls,
    Critics,
    LoopControls,
    Mode,
    ReflectiveSettings,
    Weights,
    build,
)
from reflective_rag.programs.soft import GRADES, logprob_config, soft_grade, soft_yes
from reflective_rag.programs.steps import Ask, AskOutcome, Outcome, Score, ScoreOutcome, Step, Steps, Substeps
from reflective_rag.programs.verdicts import (
    JUDGED,
    NO_MODEL,
    UNREADABLE,
    Parts,
    Verdict,
    backends_of,
    by_rules,
    rules_verdict,
)
from reflective_rag.signatures.errors import ConfigError, ContractError
from reflective_rag.signatures.evidence import (
    AssessEvidence,
    JudgeConsistency,
    JudgeCoverage,
    JudgeFreshness,
    JudgeRelevance,
    JudgeSufficiency,
)
from reflective_rag.signatures.gaps import FindGaps
from reflective_rag.signatures.text import without_markup
from reflective_rag.signatures.types import Assessment, Backend, Gap, JudgementName, Passage, Requirement, Result

FIELD_OF: Mapping[JudgementName, str] = {
    "coverage": "needs",
    "relevance": "relevant",
    "consistency": "contradictions",
    "freshness": "outdated",
    "gaps": "gaps",
    "sufficiency": "sufficient",
}
"""Judgement → the output field of `AssessEvidence` that it is read from, in the signature's order."""
PAIRED_FIELDS = tuple(FIELD_OF.values())
_NARROW: Mapping[JudgementName, type[dspy.Signature]] = {
    "consistency": JudgeConsistency,
    "coverage": JudgeCoverage,
    "freshness": JudgeFreshness,
    "sufficiency": JudgeSufficiency,
}
Down = Collection[tuple[str, Backend]]
"""Back ends that failed for a judgement earlier in this question, and are not asked again."""


class EvidenceAssessor(dspy.Module):
    """Judge a set of passages for a question.

    Args:
        mode: How a language model is asked: `paired` (one call for all judgements) or `separate` (one narrow call
            each); `rules` asks none. `fused` belongs to ReflectiveRAG, which then builds the one predictor itself.
        critics: Another back end for single judgements, such as `{"relevance": "models"}`; see `Critics`.
        fallback: Back ends that take over, in this order, what failed or could not be read.
        scorers: Your own small models for the back end `models`, as for ReflectiveRAG; else the default names.
        weights: Weights of the four dimensions; `controls`: those of a loop, instead.
    """

    def __init__(
        self,
        mode: Mode = "paired",
        *,
        critics: Critics | Mapping[str, Any] | None = None,
        fallback: Sequence[Backend] = ("rules",),
        scorers: Scorers | Mapping[str, Any] | None = None,
        weights: Weights | None = None,
        controls: Controls | None = None,
        soft_verdicts: bool = True,
        relevant_at: float = RELEVANT,
    ) -> None:
        super().__init__()
        if controls is not None and not isinstance(controls, Controls):
            raise ConfigError(f"`controls` must be the `Controls` of a loop, got {controls!r:.80} (else `weights`)")
        if mode not in ("paired", "separate", "rules", "fused"):
            raise ConfigError(f"`mode` must be one of 'paired', 'separate', 'rules', got {mode!r}")
        asked = {"critics": critics or {}, "fallback": fallback, "relevant_at": relevant_at}
        settings = build(ReflectiveSettings, {**asked, "soft_verdicts": soft_verdicts})  # the loop's own checks
        self.mode = mode
        self.soft_verdicts = settings.soft_verdicts
        self.fallback = settings.fallback
        self.relevant_at = settings.relevant_at
        self.scorers = scorers if isinstance(scorers, Scorers) else Scorers(own=scorers or {})
        self.backends = backends_of(mode, settings.critics)
        self.insists = {name for name in JUDGED if getattr(settings.critics, name) == "lm"}
        """Judgements that were expressly given to a language model: without one, the result says where they fell."""
        # The loop shares its own controls, so that weights tuned for it count here too.
        self.controls = controls or Controls(build(LoopControls, {"weights": weights} if weights is not None else {}))
        self._build()

    def _build(self) -> None:
        """Only the predictors that the chosen mode and critics ask."""
        asked = self.judged_by("lm")
        narrow = set(asked) if self.mode in ("separate", "rules") else set()
        if "lm" in self.fallback:
            narrow |= set(self.judged_by("models"))
        if self.mode == "paired" and asked:
            self.assess = dspy.Predict(narrowed(AssessEvidence, asked))
        if "relevance" in narrow:
            self.relevance = dspy.Predict(JudgeRelevance)
        for name in (n for n in _NARROW if n in narrow):
            setattr(self, name, dspy.Predict(_NARROW[name]))
        if "gaps" in narrow:
            self.find_gaps = dspy.Predict(FindGaps)

    def judged_by(self, backend: Backend, down: Down = ()) -> list[JudgementName]:
        """The judgements that a back end makes here."""
        return [name for name in JUDGED if self.backends[name] == backend and (name, backend) not in down]

    @property
    def needs_steps(self) -> bool:
        """Whether any judgement is made by something else than rules."""
        return len(self.judged_by("rules")) < len(JUDGED)

    def forward(self, question: str, passages: Iterable[Any], today: date | None = None) -> Assessment:
        """Assess passages (Passages, dicts with a text, or strings). Without a configured model the rules judge."""
        check_question(question)
        reading = self._reading(question, passages, today)
        if self.mode == "fused":
            raise ConfigError("mode 'fused' judges and answers in one call; use ReflectiveRAG for it")
        if not reading.passages or not self.needs_steps:
            verdict = rules_verdict(reading)
        else:
            found: list[Verdict] = []
            drivers.run(self._single(reading, found), SearchHandle(None), Ledger(Budget()))
            verdict = found[0]
        return assess(
            verdict.judgement,
            reading.passages,
            self.controls.values,
            relevant_at=self.relevant_at,
            by_rules=verdict.by_rules,
            fallbacks=verdict.fallbacks,
        )

    async def aforward(self, question: str, passages: Iterable[Any], today: date | None = None) -> Assessment:
        """The same without blocking the event loop."""
        return await asyncio.to_thread(self.forward, question, passages, today)

    def _single(self, reading: Reading, found: list[Verdict]) -> Steps:
        predictors = self.predictors()
        has_model = dspy.settings.lm is not None or (bool(predictors) and all(p.lm is not None for p in predictors))
        steps = self.asks(reading, has_model=has_model)
        outcomes = (yield steps) if steps else ()
        found.append((yield from self.verdict(reading, steps, outcomes, has_model=has_model)))
        return Result(answer="")

    def _reading(self, question: str, passages: Iterable[Any], today: date | None) -> Reading:
        items = as_passages(passages, 1_000_000, "`passages` must be")
        if fault := failed_part(items):
            raise ContractError(fault)
        pool = EvidencePool()
        pool.add(items)
        return Reading(
            question=question,
            passages=pool.for_reading(len(items), {}),
            requirements=(),
            today=as_day(today) or date.today(),
            passage_chars=2400,
        )

    def asks(self, reading: Reading, down: Down = (), *, has_model: bool = True) -> list[Step]:
        """The critics' calls for one round; independent of each other."""
        asked = self.judged_by("lm", down) if has_model else []
        steps: list[Step] = []
        if self.mode == "paired" and asked:
            steps.append(
                reading_ask(
                    self.assess, "assess", "assess", reading, self.soft_config(self.assess, "sufficiency" in asked)
                )
            )
        elif self.mode in ("separate", "rules"):
            steps += self._narrow_asks(asked, reading)
        return steps + self.scorers.steps(self.judged_by("models", down), reading)

    def _narrow_asks(self, names: Iterable[JudgementName], reading: Reading) -> list[Step]:
        """One call a passage for relevance, one for each other judgement."""
        steps: list[Step] = []
        for name in (n for n in JUDGED if n in set(names)):
            if name == "relevance":
                steps += self._relevance_asks(reading)
            elif name != "gaps":
                config = self.soft_config(getattr(self, name), name == "sufficiency")
                steps.append(reading_ask(getattr(self, name), name, "assess", reading, config))
        return steps

    def soft_config(self, predictor: Any, wanted: bool) -> dict[str, Any]:
        """What makes the model report log-probabilities; nothing where it cannot, or where none are used."""
        lm = getattr(predictor, "lm", None) or dspy.settings.lm
        return logprob_config(lm) if wanted and self.soft_verdicts else {}

    def _relevance_asks(self, reading: Reading) -> list[Ask]:
        return [
            Ask(
                name="relevance",
                predictor=self.relevance,
                inputs={"question": without_markup(reading.question), "passage": reading.one(p)},
                phase="assess",
                config=self.soft_config(self.relevance, True),
            )
            for p in reading.passages
        ]

    def verdict(
        self, reading: Reading, steps: Sequence[Step], outcomes: Sequence[Outcome], down: Down = (), *, has_model: bool
    ) -> Substeps[Verdict]:
        """Put the outcomes of `asks` together; what failed or could not be read falls to the next back end."""
        parts = Parts(reading)
        self._take(parts, steps, outcomes)
        if not has_model:
            parts.fail([n for n in JUDGED if n in self.insists], "lm", NO_MODEL)
        for name, backend in self.backends.items():
            if (name, backend) in down and name not in parts.found:
                parts.fail([name], backend, "failed before")
        rest = [n for n in JUDGED if n not in parts.found and n not in parts.failed]
        if self._gaps_come_later(has_model, down):
            rest.remove("gaps")
        if rest:
            parts.put(by_rules(reading), rest, "rules")
        yield from self._fall_back(parts, has_model)
        return parts.verdict()

    def _take(self, parts: Parts, steps: Sequence[Step], outcomes: Sequence[Outcome]) -> None:
        """Read the replies and scores of one batch."""
        fields: dict[str, Any] = {}
        replied: list[JudgementName] = []
        graded: list[AskOutcome] = []
        for step, outcome in zip(steps, outcomes, strict=True):
            if isinstance(step, Score) and isinstance(outcome, ScoreOutcome):
                self.scorers.take(parts, step, outcome)
            elif isinstance(step, Ask) and isinstance(outcome, AskOutcome):
                names = self._carried(step.name)
                if parts.lost(outcome, names, "lm"):
                    continue
                replied += [n for n in names if n not in replied]
                if step.name == "relevance":
                    graded.append(outcome)
                else:
                    fields |= _with_probability(outcome.fields or {})
        replied = [n for n in replied if n not in parts.failed]
        if "relevance" in replied and graded:
            fields |= _grades(parts.reading.passages, graded)
        if replied:
            self._take_fields(parts, fields, replied)

    def _take_fields(self, parts: Parts, fields: Mapping[str, Any], replied: Sequence[JudgementName]) -> None:
        asked = [FIELD_OF[n] for n in replied if not (n == "relevance" and "grades" in fields)]
        reading = parts.reading
        judgement = judgement_of(fields, reading.passages, reading.requirements, asked=asked)
        parts.unreadable += judgement.unreadable
        parts.put(judgement, [n for n in replied if n not in judgement.lost], "lm")
        parts.fail(judgement.lost, "lm", UNREADABLE)

    def _carried(self, name: str) -> tuple[JudgementName, ...]:
        """The judgements that the reply of a predictor carries."""
        if name in ("assess", "assess_and_answer"):
            return tuple(self.judged_by("lm"))
        return (cast(JudgementName, name),)

    def _fall_back(self, parts: Parts, has_model: bool) -> Substeps[None]:
        for backend in self.fallback:
            names = parts.open(backend)
            if not names or (backend != "rules" and parts.refused) or (backend == "lm" and not has_model):
                continue
            if backend == "rules":
                parts.put(by_rules(parts.reading), names, "rules")
                continue
            steps = (
                self._narrow_asks(names, parts.reading) if backend == "lm" else self.scorers.steps(names, parts.reading)
            )
            before = dict(parts.failed)
            parts.failed = {n: why for n, why in before.items() if n not in names}
            outcomes = yield steps
            self._take(parts, steps, outcomes)
            parts.failed |= before  # what fell stays named after the back end that was chosen

    def _gaps_come_later(self, has_model: bool, down: Down) -> bool:
        """Whether a narrow call names the gaps, made only when the evidence was not enough."""
        narrow = self.mode in ("separate", "rules")
        return narrow and has_model and "gaps" in self.judged_by("lm", down)

    def gap_ask(
        self, reading: Reading, requirements: Sequence[Requirement], tried: Iterable[str], down: Down = ()
    ) -> Ask | None:
        """The call that names the gaps, where a narrow one does."""
        if not self._gaps_come_later(True, down):
            return None
        missing = "; ".join(r.need for r in requirements if r.status == "missing") or "not known"
        inputs = {**reading.inputs(), "missing": missing, "tried": "; ".join(tried)}
        return Ask(name="find_gaps", predictor=self.find_gaps, inputs=inputs, phase="assess", demo_inputs=reading.demo)

    def read_gaps(self, outcome: Outcome) -> tuple[tuple[Gap, ...], int]:
        """Gaps of `gap_ask`, and how many could not be read; none when the call failed."""
        fields = outcome.fields if isinstance(outcome, AskOutcome) else None
        return ((), 0) if fields is None else gaps_of(fields.get("gaps"))


def narrowed(signature: type[dspy.Signature], judgements: Iterable[JudgementName]) -> type[dspy.Signature]:
    """The signature without the output fields of judgements that another back end makes."""
    for name in (n for n in JUDGED if n not in set(judgements)):
        signature = signature.delete(FIELD_OF[name])
    return signature


def _with_probability(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, with the probability of "sufficient" where log-probabilities came with the reply."""
    readable = read_choice(fields.get("sufficient"), ("yes", "no"))
    found = soft_yes(fields.get("logprobs"), "sufficient") if readable and fields.get("logprobs") else None
    return {**fields, **({} if found is None else {"sufficiency": found})}


def _grades(passages: Sequence[Passage], outcomes: Sequence[AskOutcome]) -> dict[str, Any]:
    grades: dict[str, float] = {}
    for passage, outcome in zip(passages, outcomes, strict=True):
        fields = outcome.fields or {}
        if choice := read_choice(fields.get("relevance"), tuple(GRADES)):
            soft = soft_grade(fields.get("logprobs"))
            grades[passage.id] = GRADES[choice] if soft is None else soft
    return {"grades": grades, "unread_grades": len(passages) - len(grades)}
