"""Results in the forms that MLflow, artefacts and JSON take."""

from collections.abc import Mapping
from typing import Any

from reflective_rag.optimizers.diagnosis import Diagnosis, diagnose
from reflective_rag.optimizers.evaluation import Evaluation
from reflective_rag.programs.module import RagModule


def scored_summary(evaluation: Evaluation, metric: str) -> dict[str, Any]:
    """The summary, with the metric's own score where it is none of those that are always there."""
    summary = evaluation.summary()
    if metric not in summary:
        summary["score"] = {"metric": metric, **evaluation.interval("score").to_dict()}
    return summary


def chosen_by(before: RagModule, after: RagModule) -> dict[str, Any]:
    """What the compile changed: settings, controls, instructions by predictor; and how many demos each has."""
    chosen: dict[str, Any] = {}
    was, now = (program.settings.model_dump(mode="json") for program in (before, after))
    if settings := {name: value for name, value in now.items() if value != was[name]}:
        chosen["settings"] = settings
    controls = getattr(after, "controls", None)
    if controls is not None and controls.values != before.controls.values:
        chosen["controls"] = controls.values.model_dump(mode="json")
    old = {name: predictor.signature.instructions for name, predictor in before.named_predictors()}
    new = {name: predictor.signature.instructions for name, predictor in after.named_predictors()}
    if changed := {name: text for name, text in new.items() if text != old.get(name, text)}:
        chosen["instructions"] = changed
    if demos := {name: len(predictor.demos) for name, predictor in after.named_predictors() if predictor.demos}:
        chosen["demos"] = demos
    return chosen


def rows_of(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The rows as plain JSON."""
    return [row.model_dump(mode="json") for row in evaluation.rows]


def failures_of(evaluation: Evaluation, metric: str | None) -> Diagnosis:
    """The diagnosis of an evaluation; what is right is told by the metric where it is `groups`, else by F1."""
    return diagnose(evaluation.rows, correct="score" if metric == "groups" else "f1")


def log_diagnosis(run: Any, evaluation: Evaluation, metric: str | None, table: str = "", name: str = "") -> None:
    """Why answers were wrong: the failed questions as a table `…diagnosis`, the kinds as metrics `…failures.KIND`."""
    found = failures_of(evaluation, metric)
    run.metrics({f"{name}failures.{kind}": count for kind, count in found.counts().items()})
    if lines := found.table():
        run.table(f"{table}diagnosis", lines)


def flat_metrics(summary: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """A summary as single numbers: the mean under the score's own name, its interval as `…_low` and `…_high`."""
    flat: dict[str, float] = {}
    for name, value in summary.items():
        if isinstance(value, Mapping) and "mean" in value:
            parts = {name: value["mean"], f"{name}_low": value["low"], f"{name}_high": value["high"]}
            flat |= {f"{prefix}{key}": float(part) for key, part in parts.items() if part is not None}
        elif isinstance(value, Mapping):
            flat |= {f"{prefix}{name}.{key}": float(part) for key, part in value.items() if is_number(part)}
        elif is_number(value):
            flat[f"{prefix}{name}"] = float(value)
    return flat


def is_number(value: Any) -> bool:
    """A plain number; bools are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)
