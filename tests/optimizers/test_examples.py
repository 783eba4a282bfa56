"""Records as DSPy examples."""

import json

import dspy
from dspy.evaluate import answer_exact_match

from reflective_rag.data.records import Record, supporting_keys
from reflective_rag.optimizers.examples import to_examples

RECORD = Record.model_validate(
    {
        "id": "q1",
        "question": "卢浮宫在哪里？",
        "answers": ["巴黎", "法国巴黎"],
        "answer_groups": [["巴黎"]],
        "wrong_answers": ["里昂"],
        "passages": [
            {"id": "p1", "text": "卢浮宫位于巴黎。", "supporting": True},
            {"id": "p2", "text": "里昂在罗讷河畔。", "supporting": False},
        ],
    }
)
SILENT = Record(id="q2", question="Who?", answerable=False, passages=())


def test_only_the_question_is_an_input() -> None:
    """Everything else of a record is a label, which no program gets to see."""
    (example,) = to_examples([RECORD])
    assert example.inputs().toDict() == {"question": "卢浮宫在哪里？"}
    labels = example.labels().toDict()
    assert set(labels.pop("supporting")) == supporting_keys(RECORD)
    assert labels == {
        "answer": "巴黎",
        "answers": ("巴黎", "法国巴黎"),
        "record_id": "q1",
        "lang": "zh",
        "answerable": True,
        "wrong_answers": ("里昂",),
        "answer_groups": (("巴黎",),),
    }


def test_stock_metrics_read_the_example() -> None:
    """DSPy's own exact match works on it, since `answer` is a text."""
    (example,) = to_examples([RECORD])
    assert answer_exact_match(example, dspy.Prediction(answer="巴黎"))


def test_an_unanswerable_record_has_an_empty_answer() -> None:
    """No accepted answer gives an empty `answer`, and `answerable` says why."""
    (example,) = to_examples([SILENT])
    assert (example.answer, example.answers, example.answerable, example.supporting) == ("", (), False, ())


def test_an_example_can_be_saved_as_json() -> None:
    """Labelled demos are saved with the program, so their fields must be JSON."""
    (example,) = to_examples([RECORD])
    assert json.loads(json.dumps(example.toDict()))["answers"] == ["巴黎", "法国巴黎"]
