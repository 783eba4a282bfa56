"""Evaluation: rows, summaries, and failures that stay visible. Programs are plain functions."""

from typing import Any

import dspy
import pytest

from reflective_rag.optimizers.evaluation import Evaluation, Row, evaluate
from reflective_rag.optimizers.metrics import metric
from reflective_rag.signatures.errors import ConfigError, DataError, ReplayError
from tests.optimizers.helpers import GOLD, RECORDS, full, record


def test_a_row_tells_everything_a_result_holds() -> None:
    """Scores, recall, cost over all phases, stop reason, warnings and confidence of one question."""
    (row,) = evaluate(lambda question: full(), RECORDS[:1], metric=metric("costed", lam=1, mu=0)).rows
    assert row.seconds >= 0
    assert row.signals
    assert row.usage is not None
    assert row.usage["assess"].prompt_tokens == 100
    assert row.read_tokens == len(f"{GOLD.title} {GOLD.text}") // 4
    assert row.trace is not None
    told = {"seconds": 0.0, "signals": None, "usage": None, "read_tokens": None, "trace": None}
    assert row.model_copy(update=told) == Row(
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
        citation_recall=0.0,
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
    none = {"mean": None, "low": None, "high": None, "n": 0}
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
        "unsupported": none,
        "citation_precision": none,
        "citation_recall": {"mean": 0.0, "low": 0.0, "high": 0.0, "n": 2},
        "claims": {},
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
def test_a_metric_that_returns_no_number_is_an_error_never_a_zero(score: Any) -> None:
    """The row says so and has no score, and the other questions are scored as ever."""

    def judge(example: dspy.Example, prediction: dspy.Prediction) -> Any:
        return score if example.record_id == "q1" else 1.0

    run = evaluate(lambda question: full(), RECORDS[:3], metric=judge)
    assert [row.score for row in run.rows] == [1.0, None, 1.0]
    assert "in the metric: ContractError: `metric` must return a finite number" in (run.rows[1].error or "")
    assert (run.summary()["failed"], run.interval("score").mean) == (1, 1.0)


@pytest.mark.parametrize(
    "score", [True, 1, dspy.Prediction(score=1.0, feedback="good")], ids=["bool", "int", "with feedback"]
)
def test_a_metric_may_return_what_dspy_accepts(score: Any) -> None:
    """Bools, numbers and predictions with `score` all count."""
    assert evaluate(lambda question: full(), RECORDS[:1], metric=lambda *_: score).rows[0].score == 1.0
