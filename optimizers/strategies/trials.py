"""Trials of strategy `settings`: a combination of values, run on every question, and what it scored."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from reflective_rag.optimizers.evaluation import evaluate
from reflective_rag.optimizers.predictions import whole_result
from reflective_rag.optimizers.strategies.base import Candidate, CompileTask
from reflective_rag.optimizers.strategies.prices import prices, quality
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.verdicts import LIMIT_REACHED


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One combination and what it scored on each question. `values` are plain JSON."""

    program: RagModule
    values: Mapping[str, Any]
    quality: Sequence[float]
    costed: Sequence[float]
    tokens: Sequence[float]
    retrievals: Sequence[float]
    failed: int
    error: str
    fallen: Sequence[Mapping[str, str]]
    """Of each question that was answered: what another back end did in place of the chosen one, and why."""

    @property
    def mean(self) -> float:
        """The costed score."""
        return sum(self.costed) / len(self.costed)

    def changes(self, start: Mapping[str, Any]) -> dict[str, Any]:
        """What differs from the program's own values."""
        return {name: value for name, value in self.values.items() if value != start[name]}

    def told(self, start: Mapping[str, Any]) -> str:
        """The changes in words."""
        return " ".join(f"{name}={value}" for name, value in self.changes(start).items()) or "as it is"

    def fell_back(self, known: Collection[str]) -> str:
        """Why this measured something else than its values: on every question a back end other than chosen did a part.

        Empty where it did not. `known` falls back under the present values too, and counts for nothing.
        """
        others = [{what: why for what, why in fallen.items() if what not in known} for fallen in self.fallen]
        if not others or not all(others):
            return ""
        return "; ".join(others[0].values())

    def candidate(self, start: Mapping[str, Any], known: Collection[str]) -> Candidate:
        """As a child run shows it."""
        means = {key: sum(v) / len(v) for key in ("quality", "tokens", "retrievals") if (v := getattr(self, key))}
        more = {"left_out": reason} if (reason := self.fell_back(known)) else {}
        details = {**means, "failed": self.failed, "settings": dict(self.values), **more}
        return Candidate(name=self.told(start), score=self.mean, details=details)


def plain(values: Any) -> Any:
    """Settings as JSON values, whether they were given as tables or as models."""
    return TypeAdapter(Any).dump_python(values, mode="json")


def key_of(values: Mapping[str, Any]) -> str:
    """The same for equal values."""
    return json.dumps(values, sort_keys=True)


def run_trial(task: CompileTask, program: RagModule, values: Mapping[str, Any], number: int) -> Trial:
    """A program with these values on every question. Raises `ConfigError` where they do not go together."""
    lam, mu = prices(task)
    what = f"trial {number + 1} of {task.options['trials']}"
    fallen: list[Mapping[str, str]] = []

    def score(example: Any, prediction: Any) -> float:
        fallen.append(_fallen(prediction))
        return quality(task).score(example, prediction)

    rows = evaluate(
        program,
        [*task.train, *task.val],
        metric=score,
        num_threads=task.num_threads,
        on_result=lambda _, done, total: task.progress(what, done, total),
    ).rows
    scores = [0.0 if row.score is None else row.score for row in rows]
    tokens, searches = [float(row.tokens or 0) for row in rows], [float(row.retrievals or 0) for row in rows]
    return Trial(
        program=program,
        values=values,
        quality=scores,
        costed=[s - lam * t / 1000 - mu * r for s, t, r in zip(scores, tokens, searches, strict=True)],
        tokens=tokens,
        retrievals=searches,
        failed=sum(row.error is not None for row in rows),
        error=next((row.error for row in rows if row.error), ""),
        fallen=tuple(fallen),
    )


def _fallen(prediction: Any) -> dict[str, str]:
    """What was done in another way than chosen (`relevance: models`, else `model`) and why. A budget is no failure."""
    result = whole_result(prediction)
    said = next((w.message for w in result.warnings if w.code == "model_degraded"), "") if result else ""
    if result is None or not said:
        return {}
    rounds = (each.assessment.fallbacks for each in result.rounds if each.assessment is not None)
    found = [f for fallbacks in rounds for f in fallbacks if f.reason != LIMIT_REACHED]
    if not found:
        return {"model": said}
    return {(chosen := f"{f.judgement}: {f.backend}"): f"{chosen} → {f.to or '–'} ({f.reason})" for f in found}
