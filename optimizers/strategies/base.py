"""What a compile strategy is: a name, what it changes, what it will cost, and how it is done."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from reflective_rag.data.records import Record
from reflective_rag.optimizers.metrics import AnswerMetric
from reflective_rag.programs.module import RagModule


@dataclass(frozen=True, kw_only=True)
class CompileTask:
    """Everything a strategy works with. It must not look at other data."""

    program: RagModule
    train: Sequence[Record]
    """For demos and traces."""
    val: Sequence[Record]
    """For choosing among candidates; disjoint from train."""
    metric: AnswerMetric
    seed: int = 0
    num_threads: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    progress: Callable[[str, int, int], object] = lambda what, done, total: None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a strategy will ask of the models, before it asks. Calls are a range: one round may do, or take all."""

    program_runs: int
    """Questions answered with the program under compilation."""
    calls_low: int
    calls_high: int
    prompt_calls: int = 0
    """Calls to the model that writes instructions."""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A variant that was tried, with its score on `val` (higher is better)."""

    name: str
    score: float
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """The chosen program, and what it was chosen from."""

    program: RagModule
    candidates: tuple[Candidate, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)


class Strategy(Protocol):
    """One way to compile. Implementations must not change `task.program` in place."""

    name: str
    changes: str
    """`instructions`, `demos`, `controls`, or several."""
    asks_model: bool
    """Whether it needs a program with language-model predictors."""
    defaults: Mapping[str, Any]
    """Options and their defaults; anything else in a recipe is refused."""

    def plan(self, task: CompileTask) -> Plan:
        """The planned cost; asks nothing."""
        ...

    def compile(self, task: CompileTask) -> Compiled:
        """Do it."""
        ...


def calls_per_run(program: RagModule) -> tuple[int, int]:
    """Fewest and most model calls of one question: one round that suffices, or all rounds, rewrites and a repair."""
    if not program.predictors():
        return 0, 0
    settings = program.settings
    if program.name == "naive":
        return 1, 1
    rounds = program.controls.values.max_rounds
    each = {"paired": 2, "fused": 1, "separate": 5 + settings.max_passages, "rules": 0}[settings.mode]
    last = int(settings.mode == "rules") + int(settings.support_check == "lm")
    # A rewrite, and in `separate` the call that names the gaps; rules do both themselves.
    between = {"separate": 2, "rules": 0}.get(settings.mode, 1)
    repairs = (1 + (settings.support_check == "lm")) if settings.repair and settings.support_check != "off" else 0
    return each + last, rounds * each + (rounds - 1) * between + last + repairs
