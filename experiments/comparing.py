"""Several systems on the same questions: one summary each, and paired differences to the first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reflective_rag.data.records import Record, record_fingerprint
from reflective_rag.experiments.measuring import measure, summary_of, values_in_pairs
from reflective_rag.experiments.models import model_named
from reflective_rag.experiments.reporting import flat_metrics, rows_of
from reflective_rag.experiments.systems import System, why_not_available
from reflective_rag.optimizers.evaluation import Evaluation
from reflective_rag.optimizers.statistics import paired_difference
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.signatures.errors import ConfigError

COMPARED = ("f1", "em", "containment", "recall", "score", "tokens", "retrievals")
"""Columns with a paired difference, where both systems have values."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One system of a comparison."""

    system: System
    lm: str
    """`rules` where it asks no model."""
    evaluation: Evaluation

    def as_json(self, baseline: "Compared", metric: str | None) -> dict[str, Any]:
        """Name, summary, and the differences to the baseline (empty for the baseline itself)."""
        differences = {} if self is baseline else differences_to(baseline.evaluation, self.evaluation)
        about = {"system": self.system.name, "program": self.system.program.name, "lm": self.lm}
        notes = {"notes": list(self.system.notes)}
        return {**about, **summary_of(self.evaluation, metric), "differences": differences, **notes}


def compare(
    systems: Sequence[System],
    records: Sequence[Record],
    model: Model,
    *,
    metric: str | None = None,
    threads: int = 1,
    log: Any = None,
    progress: Callable[[str, int, int], object] = lambda what, done, total: None,
) -> list[dict[str, Any]]:
    """Evaluate every system in turn, inside `model.use()`; the JSON of each, in order.

    One that cannot run with this model has `not_available` with the reason instead of numbers.

    Args:
        log: An open MLflow run, which gets one child a system as soon as it is done.
    """
    done: list[Compared] = []
    documents = []
    for system in systems:
        if reason := why_not_available(system, model):
            documents.append(_not_available(system, model, reason))
            continue
        evaluation = measure(system, records, metric=metric, threads=threads, progress=progress)
        done.append(Compared(system=system, lm=model_named(system.program, model), evaluation=evaluation))
        documents.append(done[-1].as_json(done[0], metric))
        if log is not None:
            _log(log, done[-1], documents[-1])
    return documents


def _not_available(system: System, model: Model, reason: str) -> dict[str, Any]:
    about = {"system": system.name, "program": system.program.name, "lm": model.name}
    return {**about, "not_available": reason, "differences": {}, "notes": [*system.notes, reason]}


def check_baseline(systems: Sequence[System], model: Model) -> None:
    """Raise `ConfigError` where the first system, which the others are compared to, cannot run with this model."""
    if reason := why_not_available(systems[0], model):
        raise ConfigError(f"the baseline {reason}, or put another system first")


def tracked_comparison(
    systems: Sequence[System],
    records: Sequence[Record],
    model: Model,
    experiment: str,
    uri: str,
    *,
    params: Mapping[str, Any],
    **how: Any,
) -> tuple[list[dict[str, Any]], str | None]:
    """`compare` in an MLflow run of its own, and the run's id (None with `uri` off)."""
    from reflective_rag.experiments.tracking import tracked

    texts = {name: ", ".join(value) if isinstance(value, list) else value for name, value in params.items()}
    data = {"n": len(records), "fingerprint": record_fingerprint(records)}
    with tracked("compare", experiment=experiment, uri=uri, params=texts | data, tags={"kind": "compare"}) as run:
        return compare(systems, records, model, log=run, **how), run.run_id


def check_names(names: Sequence[str]) -> None:
    """Raise `ConfigError` where two systems share a name."""
    if len(set(names)) < len(names):
        raise ConfigError(f"each system can be compared once, got {', '.join(names)}")


def differences_to(baseline: Evaluation, other: Evaluation) -> dict[str, Any]:
    """Column → mean of (other − baseline) with its interval, over the questions where both have a value."""
    differences = {}
    for column in COMPARED:
        ours, theirs = values_in_pairs(other, baseline, column)
        if ours:
            differences[column] = paired_difference(ours, theirs).to_dict()
    return differences


def _log(run: Any, compared: Compared, document: Mapping[str, Any]) -> None:
    program = compared.system.program
    params = {f"program.{name}": value for name, value in program.settings.model_dump(mode="json").items()}
    controls = getattr(program, "controls", None)
    if controls is not None:
        params |= {f"controls.{name}": value for name, value in controls.values.model_dump(mode="json").items()}
    numbers = {name: value for name, value in document.items() if name != "differences"}
    metrics = flat_metrics(numbers) | flat_metrics(document["differences"], "difference.")
    run.child(
        compared.system.name,
        params={"system": compared.system.name, "program": program.name, "lm": compared.lm, **params},
        metrics=metrics,
        tables={"rows": rows_of(compared.evaluation)},
    )
