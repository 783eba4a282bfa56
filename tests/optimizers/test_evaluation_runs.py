"""An evaluation as a run: what ends it at once, threads, the order of its rows, interruption and resuming."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import dspy
import pytest

import reflective_rag
from reflective_rag.optimizers.evaluation import Row, evaluate
from reflective_rag.signatures.errors import BudgetExceeded, ConfigError
from tests.optimizers.helpers import RECORDS, full


@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize(
    "error",
    [ConfigError("no model"), BudgetExceeded("enough", limit="calls"), KeyboardInterrupt(), SystemExit(2)],
    ids=lambda error: type(error).__name__,
)
def test_some_errors_end_the_run_at_once(error: BaseException, num_threads: int) -> None:
    """A setting that cannot work, a spent budget and an interruption are raised, not written into rows."""
    asked: list[str] = []

    def program(question: str) -> dspy.Prediction:
        asked.append(question)
        raise error

    with pytest.raises(type(error)):
        evaluate(program, RECORDS, num_threads=num_threads)
    assert len(asked) <= num_threads


@pytest.mark.parametrize("num_threads", [1, 3])
def test_finished_rows_are_handed_over_before_the_run_ends(num_threads: int) -> None:
    """When question 2 ends the run, the rows that were finished before it have been given to `on_result`."""
    two_done = threading.Semaphore(0)
    given: list[str] = []

    def program(question: str) -> dspy.Prediction:
        if question == "Question 2?":
            assert two_done.acquire(timeout=5)
            assert two_done.acquire(timeout=5)
            raise ConfigError("no model")
        if question in ("Question 0?", "Question 1?"):
            two_done.release()
            return full()
        threading.Event().wait(0.01)
        return full()

    with pytest.raises(ConfigError):
        evaluate(program, RECORDS[:3], num_threads=num_threads, on_result=lambda row, *_: given.append(row.record_id))
    assert set(given) == {"q0", "q1"}


def test_an_error_in_the_callback_is_raised() -> None:
    """Rows that cannot be written (a full disk) must not be lost without a word."""

    def full_disk(row: Row, done: int, total: int) -> None:
        raise OSError("disk full")

    for num_threads in (1, 2):
        with pytest.raises(OSError, match="disk full"):
            evaluate(lambda question: full(), RECORDS, num_threads=num_threads, on_result=full_disk)


def test_rows_keep_the_order_of_the_records_whatever_the_threads_do() -> None:
    """Questions that finish in reverse order come back in record order; progress counts up in the calling thread."""
    finished = [threading.Event() for _ in RECORDS]
    seen: list[tuple[str, int, int]] = []
    threads: set[threading.Thread] = set()

    def program(question: str) -> dspy.Prediction:
        number = int(question.split()[1][:-1])
        if number + 1 < len(RECORDS):
            assert finished[number + 1].wait(5)
        return full(answer=question)

    def on_result(row: Row, done: int, total: int) -> None:
        seen.append((row.record_id, done, total))
        threads.add(threading.current_thread())
        finished[int(row.record_id[1:])].set()

    run = evaluate(program, RECORDS, num_threads=len(RECORDS), on_result=on_result)
    assert [row.answer for row in run.rows] == [record.question for record in RECORDS]
    assert seen == [(f"q{5 - index}", index + 1, 6) for index in range(6)]
    assert threads == {threading.current_thread()}


@pytest.mark.parametrize("num_threads", [1, 2])
def test_dspy_context_holds_in_the_workers(num_threads: int) -> None:
    """Settings of a surrounding dspy.context reach every call; what a call changes stays in that call."""

    def program(question: str) -> dspy.Prediction:
        answer = str(dspy.settings.get("colour", "unset"))
        dspy.context(colour="changed").__enter__()
        return dspy.Prediction(answer=answer)

    with dspy.context(colour="red"):
        run = evaluate(program, RECORDS, num_threads=num_threads)
        assert dspy.settings.colour == "red"
    assert {row.answer for row in run.rows} == {"red"}


def test_an_interrupted_run_is_resumed_without_asking_again() -> None:
    """Rows of `done` are taken over, not asked and not reported again; progress starts behind them."""
    first = {row.record_id: row for row in evaluate(lambda question: full(), RECORDS[:4]).rows}
    asked: list[str] = []
    progress: list[tuple[int, int]] = []

    def program(question: str) -> dspy.Prediction:
        asked.append(question)
        return full(answer="Lyon")

    run = evaluate(
        program,
        RECORDS,
        done=first | {"gone": first["q0"]},
        on_result=lambda row, done, total: progress.append((done, total)),
    )
    assert asked == ["Question 4?", "Question 5?"]
    assert progress == [(5, 6), (6, 6)]
    assert [row.answer for row in run.rows] == ["Paris"] * 4 + ["Lyon"] * 2


INTERRUPTED = """
import signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits "ignore"
from reflective_rag.data.records import Record
from reflective_rag.optimizers.evaluation import evaluate

def program(question):
    sys.stdout.write("asked\\n")
    sys.stdout.flush()
    time.sleep(60)

records = [Record(id=str(n), question="Who?", answers=("x",), passages=()) for n in range(8)]
try:
    evaluate(program, records, num_threads=2)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def test_an_interruption_does_not_wait_for_running_calls() -> None:
    """Ctrl-C ends a threaded run and lets the process exit while model calls are still running."""
    environment = os.environ | {"PYTHONPATH": str(Path(reflective_rag.__file__).parents[1])}
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "asked\n"
            child.send_signal(signal.SIGINT)
            output, _ = child.communicate(timeout=20)
        finally:
            child.kill()
    assert output.splitlines()[-1] == "stopped"
    assert child.returncode == 0
