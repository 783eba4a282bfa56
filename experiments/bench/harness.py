"""`bench harness`: what evaluating, logging and replaying cost beside the program that is measured."""

import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any

import dspy

from reflective_rag.data.records import Record
from reflective_rag.experiments.bench.engine import steady_lm
from reflective_rag.experiments.bench.pairs import alternate, row_of
from reflective_rag.experiments.reporting import flat_metrics, log_diagnosis, rows_of
from reflective_rag.experiments.tracking import tracked
from reflective_rag.optimizers.evaluation import Evaluation, evaluate
from reflective_rag.optimizers.metrics import metric
from reflective_rag.optimizers.replay import QuestionRecord, RecordedRound
from reflective_rag.optimizers.replay_choice import best_rule, frontier, held_out_gain, joined
from reflective_rag.optimizers.replay_rules import grid
from reflective_rag.optimizers.replay_table import ReplayTable
from reflective_rag.programs import LoopControls, ReflectiveRAG
from reflective_rag.signatures.errors import ContractError
from reflective_rag.signatures.types import Assessment, Passage, Requirement, Result

THREADS = 8
LATENCY, QUESTIONS = 0.05, 96
"""Seconds of a model call, and questions, where the harness is compared with bare threads."""
LOGGED_LATENCY, LOGGED_QUESTIONS, LOGGED_REPEATS = 1.0, 200, 3
"""The same where an evaluation is logged; a pair of runs takes almost a minute."""
REPLAYED, REPLAY_LIMIT = 200, 5.0
"""Questions that are replayed, and the seconds that it may take."""


def run(repeats: int = 9) -> list[dict[str, Any]]:
    """Every measurement, as in `bench.loop`."""
    return [_overhead(repeats), _logging(min(repeats, LOGGED_REPEATS)), _replay(repeats)]


def _records(count: int) -> list[Record]:
    """Questions that the steady engine answers right, each with five passages of which one supports it."""
    return [
        Record.model_validate(
            {
                "id": f"q{number}",
                "question": f"Which painter influenced pupil {number} of the workshop?",
                "answers": ["Giotto"],
                "passages": [
                    {"id": f"q{number}-p{i}", "text": text, "supporting": i == 0}
                    for i, text in enumerate(_texts(number))
                ],
            }
        )
        for number in range(count)
    ]


def _texts(number: int) -> list[str]:
    more = [f"Painter {i} of workshop {number} was born near Florence and worked in Arezzo." for i in range(4)]
    return [f"Pupil {number} of the workshop was influenced by Giotto, a painter and architect.", *more]


def _program(records: Sequence[Record]) -> ReflectiveRAG:
    """A program whose search knows the passages of each question."""
    known = {record.question: [p.to_passage() for p in record.passages] for record in records}

    def search(query: str, k: int) -> list[Passage]:
        return known[query][:k]

    return ReflectiveRAG(search=search, k=5)


def _bare(program: ReflectiveRAG, records: Sequence[Record]) -> list[Any]:
    """The same questions in bare threads; each call needs the caller's context for its model."""
    with ThreadPoolExecutor(max_workers=THREADS) as pool:
        jobs = [pool.submit(copy_context().run, program, question=record.question) for record in records]
        return [job.result() for job in jobs]


def _overhead(repeats: int) -> dict[str, Any]:
    """`evaluate` with its rows, scores and a metric, against threads that only call the program."""
    records, score = _records(QUESTIONS), metric("costed")
    program = _program(records)

    def ours() -> Evaluation:
        return evaluate(program, records, metric=score, num_threads=THREADS)

    with dspy.context(lm=steady_lm(LATENCY)):
        pairs = alternate(ours, lambda: _bare(program, records), repeats, inner=1)
    name = f"evaluate {QUESTIONS} questions of {LATENCY * 1000:.0f} ms on {THREADS} threads / bare threads"
    return row_of(name, pairs, "<= 1.1", lambda ratio: ratio <= 1.1)


def _logging(repeats: int) -> dict[str, Any]:
    """An evaluation that is logged to a warm SQLite store, traces off, against the same evaluation alone."""
    with _warm_store() as logged, dspy.context(lm=steady_lm(LOGGED_LATENCY)):
        records = _records(LOGGED_QUESTIONS)
        program = _program(records)

        def ask() -> Evaluation:
            return evaluate(program, records, num_threads=THREADS)

        pairs = [_pair(lambda: logged(ask), ask) for _ in range(repeats)]
    name = f"{LOGGED_QUESTIONS} questions of {LOGGED_LATENCY:g} s on {THREADS} threads, logged to MLflow / not logged"
    return row_of(name, pairs, "<= 1.1", lambda ratio: ratio <= 1.1)


def _pair(ours: Callable[[], Any], bare: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of both, without the warm-up that `alternate` would add."""
    started = time.perf_counter()
    ours()
    between = time.perf_counter()
    bare()
    return between - started, time.perf_counter() - between


@contextmanager
def _warm_store() -> Iterator[Callable[[Callable[[], Evaluation]], None]]:
    """A function that runs an evaluation and logs it as a run; the store has one already."""
    with tempfile.TemporaryDirectory() as folder:
        uri = _new_store(Path(folder))

        def logged(ask: Callable[[], Evaluation]) -> None:
            params = {"program": "reflective", "threads": THREADS}
            with tracked("bench", experiment="bench", uri=uri, params=params) as run_:
                evaluation = ask()
                run_.inputs({"dev": {"file": "bench.jsonl", "n": len(evaluation.rows), "fingerprint": "0" * 16}})
                run_.metrics(flat_metrics(evaluation.summary()))
                run_.table("rows", rows_of(evaluation))
                log_diagnosis(run_, evaluation, None)

        few = _records(THREADS)
        with dspy.context(lm=steady_lm(0.0)):
            logged(lambda: evaluate(_program(few), few, num_threads=THREADS))
        yield logged


def _new_store(folder: Path) -> str:
    """The address of a store that does not exist yet."""
    return f"sqlite:///{folder / 'mlflow.db'}"


class _NoModel:
    """Stands for a model where none may be asked."""

    model = "none"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise ContractError("a replay asked a model")


def _replay(repeats: int) -> dict[str, Any]:
    """The whole choice: build the grid, replay every rule, take the best, the frontier, the gain on other questions."""
    dice = random.Random(0)
    records = [_recorded(number, dice) for number in range(REPLAYED)]
    start = LoopControls(theta=0.53)
    rules = len(joined(start, list(grid())))

    def choose() -> None:
        tried = ReplayTable(records).try_rules(joined(start, list(grid())))
        best_rule(tried, 0.02, 0.01)
        frontier(tried, 0.02, 0.01)
        held_out_gain(tried, 0.02, 0.01)

    with dspy.context(lm=_NoModel()):
        pairs = [(seconds, REPLAY_LIMIT) for seconds in _timed(choose, repeats)]
    name = f"{rules:,} stopping rules on {REPLAYED} questions of 4 rounds, no model / {REPLAY_LIMIT:g} s"
    return row_of(name, pairs, "<= 1", lambda ratio: ratio <= 1)


def _timed(work: Callable[[], None], repeats: int) -> list[float]:
    seconds = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return seconds[1:]


def _recorded(number: int, dice: random.Random) -> QuestionRecord:
    """A recorded pass with critics that say anything."""
    record = QuestionRecord(f"q{number}", f"Question {number}?")
    for turn in range(1, 5):
        dimensions: dict[str, Any] = {
            name: dice.random() for name in ("relevance", "consistency", "coverage", "freshness")
        }
        status: Any = dice.choice(["covered", "covered", "missing"])
        assessment = Assessment(
            **dimensions, requirements=(Requirement(need="x", status=status),), sufficiency=dice.random()
        )
        record.rounds.append(
            RecordedRound(
                assessment=assessment,
                ending=Result(answer="x"),
                score=dice.random(),
                refusal_score=0.0,
                support="supported",
                tokens=1000 * turn + dice.randrange(500),
                tokens_after_gaps=1000 * turn + 600,
                retrievals=turn,
            )
        )
    record.last_retrievals = 4
    return record
