"""Several systems on the same questions: one summary each, and paired differences to the first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reflective_rag.data.records import Record, record_fingerprint
from reflective_rag.experiments.efficiency import cost_column, efficiency
from reflective_rag.experiments.equal_cost import Curve
from reflective_rag.experiments.measuring import measure, summary_of, support_critic, values_in_pairs
from reflective_rag.experiments.models import model_named
from reflective_rag.experiments.reporting import failures_of, flat_metrics, rows_of
from reflective_rag.experiments.systems import System, why_not_available
from reflective_rag.optimizers.calibration.cases import Correct
from reflective_rag.optimizers.evaluation import Evaluation
from reflective_rag.optimizers.selective import ranked, selective
from reflective_rag.optimizers.statistics import paired_difference
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.signatures.errors import ConfigError

COMPARED = (
    "f1", "em", "containment", "recall", "score", "unsupported", "citation_precision", "citation_recall", "tokens",
    "retrievals",
)  # fmt: skip
"""Columns with a paired difference, where both systems have values."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One system of a comparison."""

    system: System
    lm: str
    """`rules` where it asks no model."""
    evaluation: Evaluation

    def as_json(self, baseline: "Compared", metric: str | None, correct: Correct) -> dict[str, Any]:
        """Name, summary, cost, selective answering, and the differences to the baseline (none for the baseline)."""
        about: dict[str, Any] = {"system": self.system.name, "program": self.system.program.name, "lm": self.lm}
        about["support_critic"] = support_critic(self.system, self.lm)
        base = None if self is baseline else baseline.evaluation
        return {**about, **measured(self.evaluation, base, metric, correct), "notes": list(self.system.notes)}


def measured(evaluation: Evaluation, base: Evaluation | None, metric: str | None, correct: Correct) -> dict[str, Any]:
    """Summary, cost, selective answering and paired differences of one system.

    Args:
        base: What it is compared to, on the same questions; None for the baseline itself.
    """
    order = ranked(evaluation.rows, correct)
    unsure = selective(order, None if base is None else ranked(base.rows, correct))
    unsure["curve"] = order.curve
    return {
        **summary_of(evaluation, metric),
        "differences": {} if base is None else differences_to(base, evaluation),
        "efficiency": efficiency(evaluation.rows, (base or evaluation).rows),
        "selective": unsure,
    }


def compare(
    systems: Sequence[System],
    records: Sequence[Record],
    model: Model,
    *,
    metric: str | None = None,
    threads: int = 1,
    equal_cost: bool = False,
    log: Any = None,
    keep: Callable[[System, str, Evaluation], object] | None = None,
    progress: Callable[[str, int, int], object] = lambda what, done, total: None,
) -> list[dict[str, Any]]:
    """Evaluate every system in turn, inside `model.use()`; the JSON of each, in order.

    One that cannot run with this model has `not_available` with the reason instead of numbers.

    Args:
        equal_cost: Also run the baseline, a NaiveRAG, with other k, until it spends what each of the others does.
        log: An open MLflow run, which gets one child a system as soon as it is done.
        keep: Called with each system, the name of its model and its rows as soon as it is done.
    """
    done: list[Compared] = []
    documents = []
    correct = correct_by(metric)
    for system in systems:
        if reason := why_not_available(system, model):
            documents.append(_not_available(system, model, reason))
            continue
        evaluation = measure(system, records, metric=metric, threads=threads, progress=progress)
        done.append(Compared(system=system, lm=model_named(system.program, model), evaluation=evaluation))
        if keep is not None:
            keep(system, done[-1].lm, evaluation)
        documents.append(done[-1].as_json(done[0], metric, correct))
        if log is not None:
            _log(log, done[-1], documents[-1])
    if equal_cost:
        how: dict[str, Any] = {"metric": metric, "threads": threads, "progress": progress}
        _at_equal_cost(done, [each for each in documents if "not_available" not in each], records, log, how)
    return documents


def correct_by(metric: str | None) -> Correct:
    """The column of a row that says whether an answer was right: the metric's own for `groups`, else F1."""
    return "score" if metric == "groups" else "f1"


def _at_equal_cost(
    done: Sequence[Compared], documents: Sequence[dict[str, Any]], records: Sequence[Record], log: Any, how: Any
) -> None:
    """Add `equal_cost` to the documents of all but the baseline."""
    base = done[0]

    def with_k(k: int) -> Evaluation:
        if k == base.system.program.settings.k:
            return base.evaluation
        program = base.system.program.deepcopy()
        program.search = base.system.program.search
        program.settings = program.settings.model_copy(update={"k": k})
        return measure(System(f"{base.system.name} k={k}", program), records, **how)

    curve = Curve(with_k, cost_column(documents))
    for each, document in zip(done[1:], documents[1:], strict=True):
        document["equal_cost"] = curve.against(each.evaluation)
        if log is not None:
            log.metrics(flat_metrics(document["equal_cost"]["equal_cost"], f"equal_cost.{each.system.name}."))


def _not_available(system: System, model: Model, reason: str) -> dict[str, Any]:
    about = {"system": system.name, "program": system.program.name, "lm": model.name}
    return {**about, "n": 0, "not_available": reason, "differences": {}, "notes": [*system.notes, reason]}


def check_baseline(systems: Sequence[System], model: Model, *, equal_cost: bool = False) -> None:
    """Raise `ConfigError` where the first system, which the others are compared to, cannot run with this model.

    For `equal_cost` it must be a NaiveRAG, whose k alone decides what it spends.
    """
    if reason := why_not_available(systems[0], model):
        raise ConfigError(f"the baseline {reason}, or put another system first")
    if equal_cost and systems[0].program.name != "naive":
        raise ConfigError(
            f"`--equal-cost` gives `naive` a larger k until it spends the same: put `naive` first, not "
            f"{systems[0].name!r}"
        )


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
        run.inputs({"dev": {"file": str(params.get("data", "")), **data}})
        return compare(systems, records, model, log=run, **how), run.run_id


DEFAULT_EXPERIMENT = "reflective-rag"
"""Name of the MLflow experiment where none is given."""


def check_form(
    systems: Sequence[str] | None,
    data: Sequence[str] | None,
    runs: Sequence[str] | None,
    experiment: str | None,
    exports: Mapping[str, Any],
    asking: Mapping[str, Any] | None = None,
) -> bool:
    """Whether runs of MLflow are to be compared, rather than systems on data.

    Args:
        exports: Switches that only a leaderboard has, with their values.
        asking: Those that only programs on data have, with their values.

    Raises:
        ConfigError: It cannot be told which, or something is missing.
    """
    if runs or (experiment is not None and not systems):
        if data:
            raise ConfigError(
                "a leaderboard of runs asks nothing: leave out `--data`, or name programs to compare on it"
            )
        if given := [name for name, value in (asking or {}).items() if value]:
            raise ConfigError(
                f"a leaderboard of runs asks nothing: {' and '.join(f'`{name}`' for name in given)} does nothing there"
            )
        return True
    if not systems:
        raise ConfigError("name the programs or artefacts to compare, or `--runs RUN…`, or `--experiment NAME`")
    if not data:
        raise ConfigError(
            "`--data` is missing: give labelled questions (JSONL), `sample:dev`, or a data set "
            "(`reflective-rag data list`)"
        )
    if given := [name for name, value in exports.items() if value is not None]:
        raise ConfigError(f"{' and '.join(f'`{name}`' for name in given)} exports a leaderboard of runs (`--runs`)")
    return False


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
    parts = ("differences", "efficiency", "selective")
    numbers = {name: value for name, value in document.items() if name not in parts}
    metrics = flat_metrics(numbers) | flat_metrics(document["differences"], "difference.")
    metrics |= flat_metrics(document["efficiency"], "efficiency.") | flat_metrics(document["selective"], "selective.")
    metrics |= flat_metrics(document["efficiency"]["phases"], "phase.")
    failures = failures_of(compared.evaluation, document.get("score", {}).get("metric"))
    metrics |= {f"failures.{kind}": float(count) for kind, count in failures.counts().items()}
    run.child(
        compared.system.name,
        params={"system": compared.system.name, "program": program.name, "lm": compared.lm, **params},
        metrics=metrics,
        tables={"rows": rows_of(compared.evaluation)} | ({"diagnosis": lines} if (lines := failures.table()) else {}),
    )
