"""`controls`: choose the stopping rule by replay, with no model call beyond one recorded pass (see `replay.py`)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reflective_rag.optimizers.kind_thetas import thetas_by_kind
from reflective_rag.optimizers.replay import MAX_ROUNDS, record_pass
from reflective_rag.optimizers.replay_check import check_on_replies
from reflective_rag.optimizers.replay_choice import best_rule, figures_of, frontier, held_out_gain, joined
from reflective_rag.optimizers.replay_rules import Stop, grid, simulate
from reflective_rag.optimizers.replay_table import ReplayTable
from reflective_rag.optimizers.strategies.base import Candidate, Compiled, CompileTask, Plan, calls_per_run
from reflective_rag.optimizers.strategies.options import check_options
from reflective_rag.optimizers.strategies.prices import prices, quality
from reflective_rag.optimizers.strategies.settings import TuneSettings
from reflective_rag.programs.reflective import ReflectiveRAG
from reflective_rag.signatures.errors import ConfigError


class TuneControls:
    """Tune θ, weights, rounds, patience and the critic's say for quality − λ·tokens/1000 − μ·retrievals.

    Only ReflectiveRAG's loop can be replayed. Any other program's few numbers are tuned by running it, as strategy
    `settings` does, at its default number of trials.

    λ and μ are options of the strategy, else those of the metric `costed`, else its defaults. Train and val are used
    together: nothing is fitted but a handful of numbers, and what the choice gains on other questions is estimated.
    Of equals the cheaper rule wins, then the one nearest to the rule that the program has. With `by_kind` kinds of
    questions may have a θ of their own, see `kind_thetas`.
    """

    name = "controls"
    changes = "controls"
    asks_model = False
    defaults: Mapping[str, Any] = {"lam": None, "mu": None, "max_rounds": MAX_ROUNDS, "by_kind": False}
    most: Mapping[str, int] = {"max_rounds": 10}

    def plan(self, task: CompileTask) -> Plan:
        """One run of every question to the last round, each round with its ending."""
        check_options(self, task.options)
        if not isinstance(task.program, ReflectiveRAG):
            return TuneSettings().plan(_by_running(task))
        runs = len(task.train) + len(task.val)
        full = task.program.deepcopy()
        rounds = int(task.options["max_rounds"])
        full.controls.values = full.controls.values.model_copy(update={"max_rounds": rounds})
        low, high = calls_per_run(full)
        return Plan(program_runs=runs, calls_low=runs * low, calls_high=runs * (high + 2 * (rounds - 1) * (high > 0)))

    def compile(self, task: CompileTask) -> Compiled:
        """Record, replay every rule of the grid, keep the best, and run it on the recorded replies as a check."""
        check_options(self, task.options)
        if not isinstance(task.program, ReflectiveRAG):
            return TuneSettings().compile(_by_running(task))
        program = task.program
        rounds = int(task.options["max_rounds"])
        lam, mu = prices(task)
        asked = [*task.train, *task.val]
        records = record_pass(
            program,
            asked,
            quality(task).score,
            max_rounds=rounds,
            num_threads=task.num_threads,
            on_question=lambda done, total: task.progress("recorded pass", done, total),
        )
        table, start = ReplayTable(records), program.controls.values
        tried = table.try_rules(joined(start, list(grid(rounds))))
        best, points = tried.rules[best_rule(tried, lam, mu)], frontier(tried, lam, mu)
        report: dict[str, Any] = {"n": len(records), "rules": len(tried.rules), "lam": lam, "mu": mu}
        if task.options["by_kind"]:
            learnt, held = records[: len(task.train)], records[len(task.train) :]
            best, report["by_kind"] = thetas_by_kind(learnt, held, best, lam, mu)
        report |= figures_of(table.try_rules([start, best]), 1, lam, mu)
        report |= {"held_out_gain": held_out_gain(tried, lam, mu, seed=task.seed), "frontier": points}
        compiled = program.deepcopy()
        compiled.controls.values = best
        stops = [simulate(record, best) for record in records]
        report |= {"chosen": best.model_dump(mode="json"), "stops": _reasons(stops)}
        report["replayed"] = check_on_replies(compiled, asked, records, stops, quality(task).score)
        return Compiled(program=compiled, candidates=_candidates(points), report=report)


def _by_running(task: CompileTask) -> CompileTask:
    """The task of strategy `settings` for a program whose loop is not replayed, with the same prices.

    Raises:
        ConfigError: For options of the replay.
    """
    own = {"by_kind": False, "max_rounds": MAX_ROUNDS}
    for name in (name for name, default in own.items() if task.options.get(name, default) != default):
        raise ConfigError(f"`{name}` needs the replay of 'reflective'; {task.program.name!r} is tuned by running it")
    options = {**TuneSettings.defaults, **{name: task.options.get(name) for name in ("lam", "mu")}}
    return replace(task, options=options)


def _reasons(stops: Sequence[Stop]) -> dict[str, int]:
    return {reason: sum(s.reason == reason for s in stops) for reason in sorted({s.reason for s in stops})}


def _candidates(points: Sequence[Mapping[str, Any]]) -> tuple[Candidate, ...]:
    """The frontier as candidates, for a child run each."""
    return tuple(
        Candidate(
            name=f"θ={point['controls']['theta']:g} rounds={point['controls']['max_rounds']}",
            score=point["costed"],
            details={
                "quality": point["quality"]["mean"],
                **{name: point[name] for name in ("tokens", "retrievals", "controls")},
            },
        )
        for point in points
    )
