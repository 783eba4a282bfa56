"""`settings`: choose what changes prompts or searches (k, mode, noise limits, …) by running, in a few Optuna trials."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Any

from reflective_rag.optimizers.evaluation import evaluate
from reflective_rag.optimizers.metrics import metric
from reflective_rag.optimizers.statistics import bootstrap_mean, paired_difference
from reflective_rag.optimizers.strategies.base import Candidate, Compiled, CompileTask, Plan, calls_per_run
from reflective_rag.optimizers.strategies.prices import prices
from reflective_rag.optimizers.strategies.spaces import Space, now, space_of
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.variants import with_options
from reflective_rag.signatures.errors import ConfigError, ReflectiveRAGError

_ASKS = 20
"""Suggestions a trial: Optuna comes back to what it likes, and nothing is run twice."""


class TuneSettings:
    """Try settings for quality − λ·tokens/1000 − μ·retrievals, on train and val together, the present ones first.

    What it tries stands in `spaces.py`, or in the option `space` (name → list of values). Where there are no more
    combinations than `trials`, all are run; else Optuna's TPE (Bergstra et al. 2011) suggests them. λ and μ are
    options, else those of the metric `costed`, else its defaults. Of equals the cheaper wins, then the one with fewer
    changes. The best of several trials looks better on the questions it was chosen on than it is: the scores on dev
    tell.
    """

    name = "settings"
    changes = "settings"
    asks_model = False
    defaults: Mapping[str, Any] = {"trials": 10, "lam": None, "mu": None, "space": {}}
    least: Mapping[str, int] = {"trials": 2}

    def plan(self, task: CompileTask) -> Plan:
        """Every trial once on every question, with as few or as many calls as a combination of the space takes."""
        space = space_of(task.program, task.options["space"])
        runs = len(task.train) + len(task.val)
        trials = min(int(task.options["trials"]), prod(map(len, space.values())) + 1)
        calls = [calls_per_run(task.program), *(calls_per_run(made) for made in _corners(task.program, space))]
        low, high = min(low for low, _ in calls), max(high for _, high in calls)
        note = f"trials differ in {', '.join(f'`{name}`' for name in space)}"
        return Plan(program_runs=runs * trials, calls_low=runs * low, calls_high=runs * trials * high, note=note)

    def compile(self, task: CompileTask) -> Compiled:
        """Run the trials, keep the best."""
        space = space_of(task.program, task.options["space"])
        start = now(task.program, space)
        first = _run(task, start, 0)
        if first.failed == len(first.quality):
            raise ReflectiveRAGError(f"no answer could be scored, and nothing was compiled. First error: {first.error}")
        tried = [first]
        suggested = _suggested(task, space, tried)
        tried += islice(suggested, int(task.options["trials"]) - 1)
        best = min(tried, key=lambda trial: (-round(trial.mean, 9), sum(trial.tokens), trial.distance(start)))
        program = task.program.deepcopy() if best is first else with_options(task.program, **best.values)
        return Compiled(program=program, candidates=tuple(t.candidate(start) for t in tried), report=_told(tried, best))


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One combination and what it scored on each question."""

    values: Mapping[str, Any]
    quality: Sequence[float]
    costed: Sequence[float]
    tokens: Sequence[float]
    retrievals: Sequence[float]
    failed: int
    error: str

    @property
    def mean(self) -> float:
        """The costed score."""
        return sum(self.costed) / len(self.costed)

    def changes(self, start: Mapping[str, Any]) -> dict[str, Any]:
        """What differs from the program's own values."""
        return {name: value for name, value in self.values.items() if value != start[name]}

    def distance(self, start: Mapping[str, Any]) -> int:
        """How many values differ."""
        return len(self.changes(start))

    def candidate(self, start: Mapping[str, Any]) -> Candidate:
        """As a child run shows it."""
        name = " ".join(f"{name}={value}" for name, value in self.changes(start).items()) or "as it is"
        means = {key: sum(v) / len(v) for key in ("quality", "tokens", "retrievals") if (v := getattr(self, key))}
        return Candidate(name=name, score=self.mean, details={**means, "failed": self.failed, "settings": self.values})


def _run(task: CompileTask, values: Mapping[str, Any], number: int) -> Trial:
    """One combination on every question. Raises `ConfigError` where its values do not go together."""
    quality = metric(getattr(task.metric, "quality", "f1")) if task.metric.name == "costed" else task.metric
    lam, mu = prices(task)
    what = f"trial {number + 1} of {task.options['trials']}"
    found = evaluate(
        with_options(task.program, **values),
        [*task.train, *task.val],
        metric=quality.score,
        num_threads=task.num_threads,
        on_result=lambda _, done, total: task.progress(what, done, total),
    )
    rows = found.rows
    scores = [0.0 if row.score is None else row.score for row in rows]
    tokens, searches = [float(row.tokens or 0) for row in rows], [float(row.retrievals or 0) for row in rows]
    return Trial(
        values=values,
        quality=scores,
        costed=[s - lam * t / 1000 - mu * r for s, t, r in zip(scores, tokens, searches, strict=True)],
        tokens=tokens,
        retrievals=searches,
        failed=sum(row.error is not None for row in rows),
        error=next((row.error for row in rows if row.error), ""),
    )


def _suggested(task: CompileTask, space: Space, tried: Sequence[Trial]) -> Iterator[Trial]:
    """Trials that are not among `tried`, the most promising first, without combinations that do not go together."""
    seen = [dict(trial.values) for trial in tried]
    if prod(map(len, space.values())) <= int(task.options["trials"]):
        asked: Iterator[tuple[Mapping[str, Any], Any]] = ((values, None) for values in _combinations(space))
    else:
        asked = _asked(space, task, tried)
    for values, tell in asked:
        if values in seen:
            continue
        seen.append(dict(values))
        try:
            trial = _run(task, values, len(tried))
        except ConfigError:
            with_options(task.program)  # a fault of the program itself ends the compile
            continue
        if tell is not None:
            tell(trial.mean)
        yield trial


def _asked(space: Space, task: CompileTask, tried: Sequence[Trial]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Optuna's suggestions, each with what takes its score. Values go by index: Optuna knows no None among numbers."""
    import optuna

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=task.seed))
    places: dict[str, Any] = {
        name: optuna.distributions.CategoricalDistribution(range(len(values))) for name, values in space.items()
    }
    first = tried[0].values
    if all(first[name] in values for name, values in space.items()):
        at = {name: values.index(first[name]) for name, values in space.items()}
        study.add_trial(optuna.trial.create_trial(params=at, distributions=places, value=tried[0].mean))
    for _ in range(_ASKS * int(task.options["trials"])):
        trial = study.ask(places)
        yield {name: space[name][trial.params[name]] for name in space}, lambda score, t=trial: study.tell(t, score)


def _combinations(space: Space) -> Iterator[Mapping[str, Any]]:
    return (dict(zip(space, values, strict=True)) for values in product(*space.values()))


def _corners(program: RagModule, space: Space) -> Iterator[RagModule]:
    """Programs with the fewest and with the most calls: with every word, and all numbers least or all greatest."""
    numbers = {
        name: sorted(value for value in values if isinstance(value, int | float) and not isinstance(value, bool))
        for name, values in space.items()
    }
    words = {name: values for name, values in space.items() if not numbers[name]}
    for end in (0, -1):
        amounts = {name: (values[end],) for name, values in numbers.items() if values}
        for values in _combinations({**words, **amounts}):
            try:
                yield with_options(program, **values)
            except ConfigError:
                continue


def _told(tried: Sequence[Trial], best: Trial) -> dict[str, Any]:
    """Costed score, quality and cost of the chosen settings with intervals, and their lead over the present ones."""
    first = tried[0]
    names = ("costed", "quality", "tokens", "retrievals")
    return {
        "n": len(first.quality),
        "trials": len(tried),
        "chosen": best.changes(first.values),
        "before": {name: sum(getattr(first, name)) / len(first.quality) for name in names},
        **{name: bootstrap_mean(getattr(best, name)).to_dict() for name in names},
        "gain": paired_difference(best.costed, first.costed).to_dict(),
        "failed": best.failed,
    }
