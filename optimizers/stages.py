"""Compiling a part of a program: its critics on labels that come free, or its answerer on answers.

What a stage leaves alone is hidden from the optimizer, not restored afterwards: so candidates are scored as they will
run, and nothing is paid for instructions and demos that would be thrown away.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

from reflective_rag.optimizers.critic_cases import CriticProgram, critic_task
from reflective_rag.optimizers.loop_demos import kind_of
from reflective_rag.optimizers.strategies import Compiled, CompileTask, Plan, Strategy
from reflective_rag.programs.module import RagModule
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.spelling import check_name

Stage = Literal["all", "critics", "answer"]
FOR_CRITICS = ("bootstrap", "bootstrap-rs", "mipro")
"""Strategies of stage `critics`: the others read answers, or write their demos from other labels."""


def check_stage_name(name: str) -> None:
    """Raise `ConfigError` unless a compile has such a stage."""
    check_name("stage", name, get_args(Stage))


def staged(strategy: Strategy, stage: Stage, program: RagModule) -> Strategy:
    """The strategy, for the part of a program that `stage` names.

    Args:
        stage: `all`; `critics`, the predictors that judge evidence and support and for which labels come free
            (`data/twins`), on these; or `answer`, those that write answers.

    Raises:
        ConfigError: The program has no such part, or one predictor does both, or the strategy cannot.
    """
    if stage == "all":
        return strategy
    if not strategy.asks_model:
        raise ConfigError(f"strategy {strategy.name!r} changes {strategy.changes} and has no stages; use stage 'all'")
    if stage == "answer":
        return AnswerStage(strategy, answering(program))
    if strategy.name not in FOR_CRITICS:
        raise ConfigError(f"stage 'critics' works with {', '.join(map(repr, FOR_CRITICS))}, got {strategy.name!r}")
    return CriticStage(strategy, program)


def answering(program: RagModule) -> list[str]:
    """Names of the predictors that write the answer: the answerer, and the one that repairs it.

    Raises:
        ConfigError: There is none that does nothing else.
    """
    found = [name for name, p in program.named_predictors() if "answer" in p.signature.output_fields]
    if not found or any(kind_of(p) == "both" for _, p in program.named_predictors()):
        raise ConfigError(
            "stage 'answer' needs a predictor that answers and does not judge (mode 'fused' asks one for both); "
            "use stage 'all', or another mode"
        )
    return found


class _Part:
    """A strategy for a part of a program, under the name and options of the whole one."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self.name, self.changes, self.asks_model = strategy.name, strategy.changes, strategy.asks_model
        self.defaults: Mapping[str, Any] = strategy.defaults


class AnswerStage(_Part):
    """Compile the answering predictors; the others run as they are."""

    def __init__(self, strategy: Strategy, names: Collection[str]) -> None:
        super().__init__(strategy)
        self.names = names

    def plan(self, task: CompileTask) -> Plan:
        """The strategy's, with only these predictors to work on."""
        return self._strategy.plan(self._task(task))

    def compile(self, task: CompileTask) -> Compiled:
        """Hide, compile, show again."""
        compiled = self._strategy.compile(self._task(task))
        return replace(compiled, program=shown(compiled.program))

    def _task(self, task: CompileTask) -> CompileTask:
        return replace(task, program=hidden(task.program.deepcopy(), self.names))


class CriticStage(_Part):
    """Compile the critics on labelled cases made from the task's records; the rest is not asked."""

    def __init__(self, strategy: Strategy, program: RagModule) -> None:
        super().__init__(strategy)
        CriticProgram(program)  # refuses a program without such critics

    def plan(self, task: CompileTask) -> Plan:
        """One call a case."""
        return self._strategy.plan(critic_task(task))

    def compile(self, task: CompileTask) -> Compiled:
        """Compile the critics alone and put them into a copy of the program."""
        work = critic_task(task)
        compiled = self._strategy.compile(work)
        whole = task.program.deepcopy()
        predictors = dict(whole.named_predictors())
        for name, predictor in compiled.program.named_predictors():
            predictors[name].signature, predictors[name].demos = predictor.signature, predictor.demos
        cases = {"critic_cases": {"train": len(work.train), "val": len(work.val)}}
        return replace(compiled, program=whole, report={**compiled.report, **cases})


class Hidden:
    """A predictor that DSPy does not see: it works, and is neither optimized nor reset."""

    def __init__(self, predictor: Any) -> None:
        self.predictor = predictor

    def __call__(self, **inputs: Any) -> Any:
        """Call it."""
        return self.predictor(**inputs)

    async def acall(self, **inputs: Any) -> Any:
        """Call it on the event loop."""
        return await self.predictor.acall(**inputs)

    def __getattr__(self, name: str) -> Any:
        if name == "predictor" or name.startswith("__"):  # while a copy is under way there is none yet
            raise AttributeError(name)
        return getattr(self.predictor, name)


def hidden(program: RagModule, names: Collection[str]) -> RagModule:
    """The program with every predictor hidden that is not named. Changes it in place."""
    for name, predictor in program.named_predictors():
        if name not in names:
            owner, attribute = _place(program, name)
            setattr(owner, attribute, Hidden(predictor))
    return program


def shown(program: RagModule) -> RagModule:
    """The program with every hidden predictor back. Changes it in place."""
    for _, module in program.named_sub_modules():
        for attribute, value in list(vars(module).items()):
            if isinstance(value, Hidden):
                setattr(module, attribute, value.predictor)
    return program


def _place(program: Any, name: str) -> tuple[Any, str]:
    """The module that holds a predictor, and the attribute it stands under."""
    *path, attribute = name.split(".")
    for part in path:
        program = getattr(program, part)
    if not hasattr(program, attribute):
        raise ConfigError(f"stage 'answer' cannot hide the predictor `{name}`: it stands in a list; use stage 'all'")
    return program, attribute
