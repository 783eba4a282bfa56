"""`settings`: choose what changes prompts or searches (k, mode, noise limits, …) by running, in a few Optuna trials."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, product
from math import prod
from typing import Any

from reflective_rag.optimizers.statistics import bootstrap_mean, paired_difference
from reflective_rag.optimizers.strategies.base import Compiled, CompileTask, Plan, calls_per_run
from reflective_rag.optimizers.strategies.options import check_options
from reflective_rag.optimizers.strategies.spaces import Space, now, space_of
from reflective_rag.optimizers.strategies.trials import Trial, key_of, plain, run_trial
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
        check_options(self, task.options)
        space = space_of(task.program, task.options["space"])
        runs = len(task.train) + len(task.val)
        trials = min(int(task.options["trials"]), prod(map(len, space.values())) + 1)
        calls = [calls_per_run(task.program), *(calls_per_run(made) for made in _corners(task.program, space))]
        low, high = min(low for low, _ in calls), max(high for _, high in calls)
        note = f"trials differ in {', '.join(f'`{name}`' for name in space)}"
        return Plan(program_runs=runs * trials, calls_low=runs * low, calls_high=runs * trials * high, note=note)

    def compile(self, task: CompileTask) -> Compiled:
        """Run the trials, keep the best of those that measured what they name."""
        check_options(self, task.options)
        space = space_of(task.program, task.options["space"])
        start = plain(now(task.program, space))
        first = run_trial(task, with_options(task.program), start, 0)
        if first.failed == len(first.quality):
            raise ReflectiveRAGError(f"no answer could be scored, and nothing was compiled. First error: {first.error}")
        tried, refused = [first], list[str]()
        suggested = _suggested(task, space, tried, refused)
        tried += islice(suggested, int(task.options["trials"]) - 1)
        if len(tried) == 1 and refused:
            raise ConfigError(f"none of the {len(refused)} other combination(s) of `space` can be run: {refused[0]}")
        known = {what for fallen in first.fallen for what in fallen}
        sound = [trial for trial in tried if trial is first or not trial.fell_back(known)]
        best = min(sound, key=lambda trial: (-round(trial.mean, 9), sum(trial.tokens), len(trial.changes(start))))
        program = task.program.deepcopy() if best is first else best.program
        report = _told(tried, best) | _left_out(tried, known, refused)
        return Compiled(program=program, candidates=tuple(t.candidate(start, known) for t in tried), report=report)


def _suggested(task: CompileTask, space: Space, tried: Sequence[Trial], refused: list[str]) -> Iterator[Trial]:
    """Trials that are not among `tried`, the most promising first. Why others cannot be run goes into `refused`."""
    seen = {key_of(trial.values) for trial in tried}
    unable: set[str] = set()
    if prod(map(len, space.values())) <= int(task.options["trials"]):
        asked: Iterator[tuple[Mapping[str, Any], Any]] = ((values, None) for values in _combinations(space))
    else:
        asked = _asked(space, task, tried)
    known = {what for fallen in tried[0].fallen for what in fallen}
    for values, tell in asked:
        if (asked_for := key_of(plain(values))) in unable:
            continue
        try:
            made = with_options(task.program, **values)
            if (key := key_of(held := plain(now(made, space)))) in seen:
                continue
            seen.add(key)
            trial = run_trial(task, made, held, len(tried))
        except ConfigError as error:
            with_options(task.program)  # a fault of the program itself ends the compile
            unable.add(asked_for)
            refused.append(f"{' '.join(f'{name}={value}' for name, value in plain(values).items())}: {error}")
            continue
        if tell is not None:
            tell(None if trial.fell_back(known) else trial.mean)
        yield trial


def _asked(space: Space, task: CompileTask, tried: Sequence[Trial]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Optuna's suggestions, each with what takes its score. Values go by index: Optuna knows no None among numbers."""
    import optuna

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=task.seed))
    places: dict[str, Any] = {
        name: optuna.distributions.CategoricalDistribution(range(len(values))) for name, values in space.items()
    }
    first, plainly = tried[0].values, {name: plain(values) for name, values in space.items()}
    if all(first[name] in values for name, values in plainly.items()):
        at = {name: values.index(first[name]) for name, values in plainly.items()}
        study.add_trial(optuna.trial.create_trial(params=at, distributions=places, value=tried[0].mean))
    for _ in range(_ASKS * int(task.options["trials"])):
        trial = study.ask(places)
        yield {name: space[name][trial.params[name]] for name in space}, partial(_tell, study, trial)


def _tell(study: Any, trial: Any, score: float | None) -> None:
    """A score; None for a trial that measured something else than its values."""
    import optuna

    study.tell(trial, score, state=optuna.trial.TrialState.FAIL if score is None else None)


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


def _left_out(tried: Sequence[Trial], known: Collection[str], refused: Sequence[str]) -> dict[str, Any]:
    """How many combinations could not be chosen, each kind with the first reason; nothing where all could."""
    start = tried[0].values
    fell = [f"{trial.told(start)}: {reason}" for trial in tried[1:] if (reason := trial.fell_back(known))]
    kinds = {"fell_back": fell, "not_run": refused}
    found = {kind: {"n": len(why), "first": why[0]} for kind, why in kinds.items() if why}
    return {"left_out": found} if found else {}
