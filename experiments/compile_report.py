"""What a compile did, or will do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reflective_rag.experiments.gains import difference, verdicts
from reflective_rag.experiments.recipes import Recipe
from reflective_rag.experiments.reporting import scored_summary
from reflective_rag.optimizers.evaluation import Evaluation


@dataclass(frozen=True, kw_only=True)
class CompileReport:
    """What a compile did, or with `dry_run` would do."""

    recipe: Recipe
    lm: str
    """`rules` where no model was asked."""
    n: Mapping[str, int]
    """Questions in train, val, dev and test."""
    plan: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    artifact: Path | None = None
    replaced: bool = False
    """Whether an older artefact stood there."""
    run_id: str | None = None
    before: Mapping[str, Evaluation] = field(default_factory=dict)
    after: Mapping[str, Evaluation] = field(default_factory=dict)
    chosen: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    dollars: float | None = None
    """Spent, where a limit was set."""
    run: str | None = None
    """Name of the compile, to go on with it after it was killed; None where nothing is paid for."""
    spent: Mapping[str, Any] = field(default_factory=dict)
    """Calls, tokens and dollars of all models, those of earlier attempts included."""

    @property
    def differences(self) -> dict[str, Any]:
        """Split → column → compiled minus before, paired, with its interval."""
        splits = [split for split in self.after if split in self.before]
        return {split: difference(self.before[split], self.after[split], self.recipe.metric) for split in splits}

    def as_json(self) -> dict[str, Any]:
        """Ready for `json.dumps`; `before` and `after` hold a summary for dev and test."""
        return {
            "artifact": str(self.artifact) if self.artifact else None,
            "replaced": self.replaced,
            "run_id": self.run_id,
            "recipe": self.recipe.name,
            "strategy": self.recipe.strategy,
            "stage": self.recipe.stage,
            "program": self.recipe.program,
            "started_from": self.recipe.artifact,
            "lm": self.lm,
            "n": dict(self.n),
            "before": self._summaries(self.before),
            "after": self._summaries(self.after),
            "differences": self.differences,
            "verdict": verdicts(self.differences, self.recipe.metric),
            "plan": dict(self.plan),
            "chosen": dict(self.chosen),
            "report": dict(self.report),
            "dollars": self.dollars,
            "run": self.run,
            "spent": dict(self.spent),
            "warnings": list(self.warnings),
        }

    def _summaries(self, evaluations: Mapping[str, Evaluation]) -> dict[str, Any]:
        return {split: scored_summary(evaluation, self.recipe.metric) for split, evaluation in evaluations.items()}
