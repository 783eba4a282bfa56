"""Evaluation: rows, failures that stay visible, threads, interruption, resuming. Programs are plain functions."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import dspy
import pytest

import reflective_rag
from reflective_rag.data.records import Record
from reflective_rag.optimizers.evaluation import Evaluation, Row, evaluate
from reflective_rag.optimizers.metrics import metric
from reflective_rag.signatures.errors import BudgetExceeded, ConfigError, ContractError, DataError, ReplayError
from reflective_rag.signatures.types import Passage, PhaseUsage, Result, ResultWarning

GOLD = Passage(id="elsewhere", text="the capital of france is paris")


def record(number: int, **changes: Any) -> Record:
    """Record q0, q1, …; its answer is Paris, and one of its two passages is supporting."""
    passages = [
        {"id": "p1", "text": "The capital of France is Paris.", "supporting": True},
        {"id": "p2", "text": "Lyon lies on the Rhône.", "supporting": False},
    ]
    good = {"id": f"q{number}", "question": f"Question {number}?", "answers": ["Paris"], "passages": passages}
    return Record.model_validate(good | changes)


RECORDS = [record(number) for number in range(6)]


def full(**changes: Any) -> dspy.Prediction:
    """What one of our programs returns."""
    result = Result(
        answer="Paris",
        confidence=0.9,
        evidence_score=0.8,
        stop_reason="sufficient",
        warnings=(ResultWarning(code="outdated_info", message="…"),),
        passages=(GOLD,),
        retrievals=2,
        unparsed=1,
        usage={
            "assess": PhaseUsage(calls=2, cached=1, prompt_tokens=100, completion_tokens=10),
            "answer": PhaseUsage(calls=1, prompt_tokens=50, completion_tokens=5),
        },
    )
    return dspy.Prediction(**(dict(result) | changes))


def test_a_row_tells_everything_a_result_holds() -> None:
    """Scores, recall, cost over all phases, stop reason, warnings and confidence of one question."""
    (row,) = evaluate(lambda question: full(), RECORDS[:1], metric=metric("costed", lam=1, mu=0)).rows
    assert row.seconds >= 0
    assert row.model_copy(update={"seconds": 0.0}) == Row(
        record_id="q0",
        question="Question 0?",
        answer="Paris",
        answers=("Paris",),
        em=1.0,
        f1=1.0,
        containment=1.0,
        score=1 - 0.165,
        recall=1.0,
        tokens=165,
        lm_calls=3,
        cached_calls=1,
        retrievals=2,
        stop_reason="sufficient",
        unparsed=1,
        warnings=("outdated_info",),
        confidence=0.9,
        evidence_score=0.8,
    )


def test_a_stock_module_has_scores_and_no_invented_costs() -> None:
    """A prediction with `answer` alone is scored; what it does not tell is None, not 0."""
    (row,) = evaluate(lambda question: dspy.Prediction(answer="in Paris"), RECORDS[:1]).rows
    assert [row.em, row.f1, row.containment] == pytest.approx([0, 2 / 3, 1])
    unknown = (row.recall, row.tokens, row.lm_calls, row.cached_calls, row.retrievals, row.stop_reason, row.score)
    assert set(unknown) == {None}
    assert (row.abstained, row.unparsed, row.warnings, row.error) == (False, 0, (), None)


def test_rows_survive_json() -> None:
    """A row that was written to a file comes back equal, so a run can be resumed from it."""
    (row,) = evaluate(lambda question: full(), RECORDS[:1]).rows
    assert Row.model_validate_json(row.model_dump_json()) == row


def test_the_summary_has_exactly_its_keys() -> None:
    """The keys that reports and MLflow read; every mean comes with interval and n."""
    answers = {"Question 0?": full(), "Question 1?": full(answer="Lyon", passages=(), stop_reason="max_rounds")}
    summary = evaluate(lambda question: answers[question], RECORDS[:2]).summary()
    assert summary.pop("seconds") >= 0
    half = {"mean": 0.5, "low": 0.0, "high": 1.0, "n": 2}
    assert summary == {
        "n": 2,
        "failed": 0,
        "unparsed": 2,
        "abstained": 0,
        "degraded": 0,
        "em": half,
        "f1": half,
        "containment": half,
        "recall": half,
        "tokens_per_question": 165,
        "lm_calls_per_question": 3,
        "retrievals_per_question": 2,
        "stop_reasons": {"max_rounds": 1, "sufficient": 1},
    }


def test_nothing_known_is_none_in_the_summary() -> None:
    """No records, or no costs told, gives None: not 0, and no crash."""
    empty = Evaluation(()).summary()
    assert empty["n"] == 0
    assert empty["f1"] == {"mean": None, "low": None, "high": None, "n": 0}
    stock = evaluate(lambda question: dspy.Prediction(answer="x"), RECORDS[:2]).summary()
    assert (stock["tokens_per_question"], stock["recall"]["mean"], stock["stop_reasons"]) == (None, None, {})


def failing(question: str) -> dspy.Prediction:
    """Raises on every second question."""
    if question in ("Question 1?", "Question 3?"):
        raise ValueError(f"no luck with {question}")
    return full()


@pytest.mark.parametrize("num_threads", [1, 3])
def test_a_failure_is_a_row_with_its_error_and_counts_as_zero(num_threads: int) -> None:
    """A raising program does not stop the run; the mean includes the failure as 0, and `failed` tells how many."""
    run = evaluate(failing, RECORDS[:4], num_threads=num_threads)
    assert [row.error for row in run.rows] == [
        None,
        "ValueError: no luck with Question 1?",
        None,
        "ValueError: no luck with Question 3?",
    ]
    assert (run.rows[1].answer, run.rows[1].f1, run.rows[1].tokens, run.rows[1].recall) == ("", 0.0, None, None)
    summary = run.summary()
    assert (summary["n"], summary["failed"], summary["f1"]["mean"], summary["f1"]["n"]) == (4, 2, 0.5, 4)
    assert (summary["recall"]["n"], summary["tokens_per_question"]) == (2, 165)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (dspy.Prediction(response="Paris"), "ContractError: a prediction must have the text field `answer`"),
        (dspy.Prediction(answer=None), "ContractError: a prediction must have the text field `answer`"),
        (None, "ContractError: a prediction must have the text field `answer`"),
        (full(retrievals="many"), "ValidationError: "),
        (full(usage=3), "ContractError: `usage` must map phases"),
    ],
    ids=["other field", "no answer", "nothing", "words for a number", "usage of another kind"],
)
def test_an_unusable_prediction_is_a_failure_not_a_wrong_answer(made: Any, said: str) -> None:
    """What cannot be read is counted in `failed`."""
    run = evaluate(lambda question: made, RECORDS[:1])
    assert run.rows[0].error is not None
    assert run.rows[0].error.startswith(said)
    assert run.summary()["failed"] == 1


def test_a_replay_miss_is_one_questions_failure() -> None:
    """Only errors that every question would meet end the run."""

    def program(question: str) -> dspy.Prediction:
        raise ReplayError("not recorded")

    assert evaluate(program, RECORDS[:2]).summary()["failed"] == 2


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


def test_rows_of_other_data_cannot_be_resumed() -> None:
    """A finished row whose question differs from the record's is an error, not a silent mixture."""
    (row,) = evaluate(lambda question: full(), RECORDS[:1]).rows
    with pytest.raises(DataError, match="'q0' is for the question 'Question 0\\?'"):
        evaluate(lambda question: full(), [record(0, question="Another?")], done={"q0": row})


def test_two_records_with_one_id_are_refused() -> None:
    """Rows are told apart by record id."""
    with pytest.raises(DataError, match="'q0' more than once"):
        evaluate(lambda question: full(), [record(0), record(0)])


def test_a_thread_count_below_one_is_refused() -> None:
    """0 threads would ask nothing."""
    with pytest.raises(ConfigError, match="`num_threads` must be at least 1, got 0"):
        evaluate(lambda question: full(), RECORDS, num_threads=0)


@pytest.mark.parametrize(
    ("changes", "answerable", "f1", "abstained"),
    [
        ({"answer": "", "abstained": True}, False, 1.0, 1),
        ({"answer": ""}, False, 1.0, 0),
        ({"answer": "Paris"}, False, 0.0, 0),
        ({"answer": "Perhaps Paris", "abstained": True}, True, 0.0, 1),
    ],
    ids=["rightly", "blank", "answered", "wrongly"],
)
def test_abstentions_are_scored_and_counted(
    changes: dict[str, Any], answerable: bool, f1: float, abstained: int
) -> None:
    """Abstaining is right where the question is unanswerable and 0 where it is not; either way it is counted."""
    run = evaluate(lambda question: full(**changes), [record(0, answerable=answerable)])
    assert run.rows[0].f1 == f1
    assert run.summary()["abstained"] == abstained


def test_recall_needs_supporting_passages() -> None:
    """A record without supporting passages has no recall and does not enter its mean."""
    unlabelled = record(1, passages=[{"id": "p", "text": "t", "supporting": False}])
    run = evaluate(lambda question: full(passages=()), [record(0), unlabelled])
    assert [row.recall for row in run.rows] == [0.0, None]
    assert run.summary()["recall"]["n"] == 1


def test_a_failing_metric_is_one_questions_failure() -> None:
    """A judge that raises leaves EM and F1 in place, no score, and an error that blames the metric."""

    def judge(example: dspy.Example, prediction: dspy.Prediction) -> float:
        if example.record_id == "q0":
            raise TimeoutError("judge is busy")
        return 0.25

    run = evaluate(lambda question: full(), RECORDS[:2], metric=judge)
    assert [(row.f1, row.score) for row in run.rows] == [(1.0, None), (1.0, 0.25)]
    assert run.rows[0].error == "in the metric: TimeoutError: judge is busy"
    assert run.interval("score").n == 1


@pytest.mark.parametrize(
    "score", [None, "0.5", float("nan"), dspy.Prediction(feedback="good")], ids=["none", "text", "nan", "no score"]
)
def test_a_metric_that_returns_no_number_ends_the_run_at_once(score: Any) -> None:
    """The fault is found at the first question, not after the last has been paid for."""
    asked: list[str] = []

    def program(question: str) -> dspy.Prediction:
        asked.append(question)
        return full()

    with pytest.raises(ContractError, match="`metric` must return a finite number"):
        evaluate(program, RECORDS, metric=lambda example, prediction: score)
    assert len(asked) == 1


@pytest.mark.parametrize(
    "score", [True, 1, dspy.Prediction(score=1.0, feedback="good")], ids=["bool", "int", "with feedback"]
)
def test_a_metric_may_return_what_dspy_accepts(score: Any) -> None:
    """Bools, numbers and predictions with `score` all count."""
    assert evaluate(lambda question: full(), RECORDS[:1], metric=lambda *_: score).rows[0].score == 1.0


INTERRUPTED = """
import sys, threading, time
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
