"""`controls`: choose the stopping rule by replay, with no model call beyond one recorded pass (see `replay.py`)."""

from collections.abc import Mapping, Sequence
from typing import Any

from reflective_rag.optimizers.metrics import LAM, MU, metric
from reflective_rag.optimizers.replay import MAX_ROUNDS, QuestionRecord, Stop, grid, record_pass, simulate
from reflective_rag.optimizers.statistics import bootstrap_mean
from reflective_rag.optimizers.strategies.base import Candidate, Compiled, CompileTask, Plan, calls_per_run
from reflective_rag.programs.reflective import ReflectiveRAG
from reflective_rag.programs.settings import LoopControls
from reflective_rag.signatures.errors import ConfigError


class TuneControls:
    """Tune θ, weights, rounds, patience and the critic's say for quality − λ·tokens/1000 − μ·retrievals.

    Uses train and val together: nothing is fitted but a handful of numbers. Of equals the default rule wins, then the
    cheaper.
    """

    name = "controls"
    changes = "controls"
    asks_model = False
    defaults: Mapping[str, Any] = {"lam": LAM, "mu": MU, "max_rounds": MAX_ROUNDS}

    def plan(self, task: CompileTask) -> Plan:
        """One run of every question to the last round, each round with its ending."""
        runs = len(task.train) + len(task.val)
        full = _program(task).deepcopy()
        rounds = int(task.options["max_rounds"])
        full.controls.values = full.controls.values.model_copy(update={"max_rounds": rounds})
        low, high = calls_per_run(full)
        return Plan(program_runs=runs, calls_low=runs * low, calls_high=runs * (high + 2 * (rounds - 1) * (high > 0)))

    def compile(self, task: CompileTask) -> Compiled:
        """Record, replay every rule of the grid, keep the best."""
        program = _program(task)
        rounds = int(task.options["max_rounds"])
        quality = metric(getattr(task.metric, "quality", "f1")) if task.metric.name == "costed" else task.metric
        records = record_pass(
            program,
            [*task.train, *task.val],
            quality.score,
            max_rounds=rounds,
            num_threads=task.num_threads,
            on_question=lambda done, total: task.progress("recorded pass", done, total),
        )
        lam, mu = float(task.options["lam"]), float(task.options["mu"])
        start = program.controls.values
        tried = [(rule, [simulate(r, rule) for r in records]) for rule in [start, *grid(rounds)]]
        best, stops = max(tried, key=lambda pair: _rank(pair[1], lam, mu))
        compiled = program.deepcopy()
        compiled.controls.values = best
        return Compiled(
            program=compiled, candidates=_frontier(tried, lam, mu), report=_report(records, stops, best, lam, mu)
        )


def _program(task: CompileTask) -> ReflectiveRAG:
    if not isinstance(task.program, ReflectiveRAG):
        raise ConfigError(f"strategy 'controls' tunes a loop; program {task.program.name!r} has no controls")
    return task.program


def _rank(stops: Sequence[Stop], lam: float, mu: float) -> tuple[float, int]:
    """Costed score, then cheapness; `max` keeps the first of equals, which is the rule the program came with."""
    return round(_costed(stops, lam, mu), 9), -sum(s.tokens for s in stops)


def _costed(stops: Sequence[Stop], lam: float, mu: float) -> float:
    return sum(s.score - lam * s.tokens / 1000 - mu * s.retrievals for s in stops) / len(stops)


def _frontier(tried: Sequence[tuple[LoopControls, Sequence[Stop]]], lam: float, mu: float) -> tuple[Candidate, ...]:
    """The rules that no other beats in quality at the same cost, cheapest first."""
    points: dict[tuple[float, float], Candidate] = {}
    for rule, stops in tried:
        n = len(stops)
        quality, tokens = sum(s.score for s in stops) / n, sum(s.tokens for s in stops) / n
        retrievals = sum(s.retrievals for s in stops) / n
        cost = lam * tokens / 1000 + mu * retrievals
        details = {"quality": quality, "tokens": tokens, "retrievals": retrievals, "controls": rule.model_dump()}
        points.setdefault(
            (cost, -quality),
            Candidate(name=f"θ={rule.theta:g} rounds={rule.max_rounds}", score=quality - cost, details=details),
        )
    frontier: list[Candidate] = []
    best = float("-inf")
    for (_, quality), candidate in sorted(points.items()):
        if -quality > best:
            best = -quality
            frontier.append(candidate)
    return tuple(frontier)


def _report(
    records: Sequence[QuestionRecord], stops: Sequence[Stop], best: LoopControls, lam: float, mu: float
) -> dict[str, Any]:
    costed = [s.score - lam * s.tokens / 1000 - mu * s.retrievals for s in stops]
    return {
        "chosen": best.model_dump(),
        "n": len(records),
        "costed": vars(bootstrap_mean(costed)),
        "quality": vars(bootstrap_mean([s.score for s in stops])),
        "stops": {reason: sum(s.reason == reason for s in stops) for reason in sorted({s.reason for s in stops})},
    }
