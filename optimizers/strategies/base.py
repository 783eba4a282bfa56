"""What a compile strategy is: a name, what it changes, what it will cost, and how it is done."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import dspy

from reflective_rag.data.records import Record
from reflective_rag.optimizers.examples import to_examples
from reflective_rag.programs.claims import MAX_CLAIMS
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.programs.module import RagModule


class TaskMetric(Protocol):
    """A metric in DSPy's form that also tells its score apart from the verdict that bootstrapping wants."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def threshold(self) -> float:
        """The score from which a bootstrapped trace is kept."""
        ...

    def __call__(
        self, example: Any, prediction: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> float | bool:
        """The score; with a trace and no predictor's name, whether it reaches the threshold."""
        ...

    def score(self, example: Any, prediction: Any) -> float:
        """The score alone."""
        ...


@dataclass(frozen=True, kw_only=True)
class CompileTask:
    """Everything a strategy works with. It must not look at other data.

    With `examples` of its own, `train` and `val` may hold what these are made of instead of records.
    """

    program: RagModule
    train: Sequence[Record]
    """For demos and traces."""
    val: Sequence[Record]
    """For choosing among candidates; disjoint from train."""
    metric: TaskMetric
    seed: int = 0
    num_threads: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    progress: Callable[[str, int, int], object] = lambda what, done, total: None
    models: Mapping[str, Model] = field(default_factory=dict)
    """Other models by role (`teacher`, `prompt_model`) that the caller has opened; else the options name them."""
    examples: Callable[[Sequence[Record]], list[dspy.Example]] = to_examples
    """How records become the examples that an optimizer works with."""

    @property
    def train_examples(self) -> list[dspy.Example]:
        """`train` as DSPy's examples."""
        return self.examples(self.train)

    @property
    def val_examples(self) -> list[dspy.Example]:
        """`val` as DSPy's examples."""
        return self.examples(self.val)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a strategy will ask of the models, before it asks. Calls are a range: one round may do, or take all."""

    program_runs: int
    """Questions answered with the program under compilation."""
    calls_low: int
    calls_high: int
    prompt_calls: int = 0
    """Most calls to the model that writes instructions."""
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
    if (told := program.calls_per_question()) is not None:
        return told
    settings = program.settings
    rounds = program.controls.values.max_rounds
    judged = program.assessor.judged_by("lm")
    narrow = settings.mode in ("separate", "rules")
    each = int(settings.mode != "rules")  # the draft
    if narrow:
        each += sum(settings.max_passages if name == "relevance" else 1 for name in judged if name != "gaps")
    else:
        each += int(settings.mode == "paired" and bool(judged))
    between = int(settings.mode != "rules") + int(narrow and "gaps" in judged)  # a rewrite, and the gaps' own call
    last = int(settings.mode == "rules")
    checks = (1, MAX_CLAIMS) if settings.critics.support == "lm" else (0, 0)
    repairs = 1 + checks[1] if settings.repair and settings.critics.support != "off" else 0
    return each + last + checks[0], rounds * each + (rounds - 1) * between + last + checks[1] + repairs
