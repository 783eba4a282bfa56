"""The noise sweep: every system, at every share of every kind of noise, on the same questions."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from reflective_rag.data.noise import Noise, NoisySearch, noisy_questions
from reflective_rag.data.records import Record
from reflective_rag.data.retrieval import Retriever
from reflective_rag.experiments.measuring import Progress, about_run, measure, rows_header
from reflective_rag.experiments.models import model_named
from reflective_rag.experiments.rows import Rows, open_rows
from reflective_rag.experiments.systems import System, named_system, why_not_available
from reflective_rag.experiments.tracking_values import file_name
from reflective_rag.optimizers.calibration.cases import Correct
from reflective_rag.optimizers.evaluation import Row
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.searching import SearchHandle
from reflective_rag.signatures.errors import DataError

BLIND = "always"
"""AlwaysRetrieve: searches each question as often as the loop did, without a look at what it found."""
MOST_ROUNDS = 10
"""More than so many searches AlwaysRetrieve does not make."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is swept."""

    systems: Sequence[System]
    """The first is what the others are compared to."""
    model: Model
    kinds: Sequence[str]
    rates: Sequence[float]
    correct: Correct
    metric: str | None
    """The further metric that `correct` needs."""
    k: int | None = None
    seed: int = 0
    threads: int = 1

    @property
    def names(self) -> list[str]:
        """The systems that run, in order; AlwaysRetrieve last, beside the loop that it copies."""
        names = [system.name for system in self.systems if not why_not_available(system, self.model)]
        return [*names, BLIND] if self.loop else names

    @property
    def loop(self) -> str:
        """The first ReflectiveRAG, by its name or as an artefact; empty without one."""
        return next((system.name for system in self.systems if system.program.name == "reflective"), "")

    @property
    def not_available(self) -> dict[str, str]:
        """System → why it cannot run with this model."""
        reasons = {system.name: why_not_available(system, self.model) for system in self.systems}
        return {name: reason for name, reason in reasons.items() if reason}


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """One file of questions with its noise."""

    name: str
    everything: Sequence[Record]
    """The whole file: its passages are the corpus `own`, and noise is taken from it."""
    noise: Sequence[Noise]
    """One for each kind that some question can be given."""
    asked: int
    """Questions before those were left out that noise cannot be made for."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """One system under one condition."""

    data: str
    noise: str
    rate: float
    system: str
    rows: tuple[Row, ...] = field(repr=False)


def data_set(name: str, everything: Sequence[Record], records: Sequence[Record], plan: Plan) -> DataSet:
    """The questions with every kind of noise.

    Raises:
        DataError: Not one question can be given noise of any kind.
    """
    made = [noisy_questions(records, kind, others=everything, seed=plan.seed) for kind in plan.kinds]
    if not any(noise.of for noise in made):
        raise DataError(
            f"no question of `{name}` can be given noise of kind {' or '.join(map(repr, plan.kinds))}: there are no "
            "other passages, or no answers that can be exchanged; give a file with more questions, or other `--kinds`"
        )
    return DataSet(name=name, everything=everything, noise=made, asked=len(records))


def planned(data: Sequence[DataSet], plan: Plan) -> int:
    """Questions × systems × rates, summed over data sets and kinds."""
    return sum(len(noise.of) for each in data for noise in each.noise) * len(plan.names) * len(plan.rates)


@contextmanager
def open_cells(
    out: Path | None, data: DataSet, search: Retriever, corpus: Sequence[str], plan: Plan
) -> Iterator[dict[str, Rows]]:
    """System → its rows of this data, in `out`/rows if that is given.

    Raises:
        DataError: Rows of another setting are there, or another sweep is writing them; see `RowFile`.
    """
    with ExitStack() as opened:
        found = {}
        for name in plan.names:
            system = _blind(plan, 1) if name == BLIND else _named(plan, name)
            path = (
                out
                and out / "rows" / file_name(data.name.replace("/", "_")) / f"{file_name(name.replace('/', '_'))}.jsonl"
            )
            asked = model_named(system.program, plan.model)
            header = rows_header(
                system, lm=asked, data=data.everything, corpus=corpus, search=search, metric=plan.metric
            )
            header |= {"seed": plan.seed}
            about = about_run(system, lm=asked, data=data.name, n=data.asked)
            found[name] = opened.enter_context(open_rows(path, header, name=f"`{path}`", about=about))
        yield found


def run(data: DataSet, search: Retriever, cells: dict[str, Rows], plan: Plan, progress: Progress) -> Iterator[Done]:
    """Every condition in turn, each as soon as it is done. `progress` is told the questions done of this data set."""
    total, before = planned([data], plan), 0
    for noise in data.noise:
        for rate in plan.rates if noise.of else ():
            loop: Sequence[Row] = ()
            for name in plan.names:
                told = partial(_told, progress, data.name, before, total)
                rows = _condition(name, noise, rate, search, cells[name], plan, told, loop)
                before += len(rows)
                loop = rows if name == plan.loop else loop
                yield Done(data=data.name, noise=noise.kind, rate=rate, system=name, rows=rows)


def _told(progress: Progress, what: str, before: int, total: int, _: str, done: int, __: int) -> None:
    progress(what, before + done, total)


def _condition(
    name: str,
    noise: Noise,
    rate: float,
    search: Retriever,
    rows: Rows,
    plan: Plan,
    progress: Progress,
    loop: Sequence[Row],
) -> tuple[Row, ...]:
    # Without noise the kinds do not differ, but for the questions that `outdated` binds to the present.
    cell = f"{noise.kind if rate or noise.kind == 'outdated' else 'none'} {rate:g}"
    evaluation = measure(
        _named(plan, name) if name != BLIND else _blind(plan, 1),
        noise.records,
        metric=plan.metric,
        threads=plan.threads,
        done=rows.cell(cell),
        keep=partial(rows.add, cell=cell),
        progress=progress,
        program_for=_programs(name, noise, rate, search, plan, loop),
    )
    return evaluation.rows


def _programs(
    name: str, noise: Noise, rate: float, search: Retriever, plan: Plan, loop: Sequence[Row]
) -> Callable[[Record], RagModule]:
    """The program for one record: the system over a search of this record's own."""
    searches = {row.record_id: row.retrievals or 1 for row in loop}
    blind = cache(lambda rounds: _blind(plan, rounds).program)

    def program_for(record: Record) -> RagModule:
        question = noise.of[record.id]
        base = _named(plan, name).program if name != BLIND else blind(min(searches[record.id], MOST_ROUNDS))
        program = copy.copy(base)  # shares all but what is set here
        program.search = SearchHandle(NoisySearch(SearchHandle(search), question, rate, seed=plan.seed))
        program.today = question.today or base.today
        return program

    return program_for


def _named(plan: Plan, name: str) -> System:
    return next(system for system in plan.systems if system.name == name)


def _blind(plan: Plan, rounds: int) -> System:
    options: dict[str, Any] = {"rounds": rounds} | ({} if plan.k is None else {"k": plan.k})
    return replace(named_system(BLIND, plan.model, options=options), name=BLIND)
