"""The types that travel: immutable, strict about their fields, and clear about what does not apply."""

import json
from datetime import date
from pathlib import PurePosixPath
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from reflective_rag.signatures import errors
from reflective_rag.signatures.types import (
    Assessment,
    Candidate,
    Citation,
    ClaimSupport,
    Contradiction,
    Decision,
    Draft,
    DroppedPassage,
    Fallback,
    Frozen,
    Gap,
    GapRecord,
    Judgement,
    Passage,
    PhaseUsage,
    Requirement,
    Result,
    ResultWarning,
    Round,
    StopReason,
    Strip,
)

PASSAGE = Passage(id="a", text="Giotto was born in 1267.")
EXAMPLES: list[Frozen] = [
    PASSAGE,
    Requirement(need="birth year"),
    Gap(kind="missing_entity", need="birth year", query="Giotto born"),
    Contradiction(passage_a="a", span_a="1267", passage_b="b", span_b="1276", about="birth year"),
    Judgement(),
    Draft(answer="1267"),
    ClaimSupport(claim="1267", support=None),
    Fallback(judgement="relevance", backend="models", to="rules", reason="out of memory"),
    Strip(passage_id="a", start=0, end=24, score=0.5),
    GapRecord(gap=Gap(kind="timeline", need="when", query="when?"), opened=1),
    Assessment(),
    Decision(action="generate", reason="sufficient"),
    Citation(passage_id="a", quote="1267", start=19, end=23),
    ResultWarning(code="no_evidence", message="nothing"),
    DroppedPassage(passage=PASSAGE, reason="beyond max_passages"),
    Round(number=1, queries=("q",), retrieved=1, new=1),
    Candidate(passage_id="a", answer="1267", support="supported", usefulness=5.0, score=2.5, chosen=True),
    PhaseUsage(),
    Result(answer="1267"),
]
each_type = pytest.mark.parametrize("value", [pytest.param(e, id=type(e).__name__) for e in EXAMPLES])


def test_every_travelling_type_is_tested_here() -> None:
    """The list of examples holds every type of the module."""
    types = {kind for kind in Frozen.__subclasses__() if kind.__module__ == Frozen.__module__}
    assert {type(e) for e in EXAMPLES} == types


@each_type
def test_a_value_cannot_be_changed(value: Frozen) -> None:
    """What a round recorded stays as it was."""
    name = next(iter(type(value).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(value, name, getattr(value, name))


@each_type
def test_an_unknown_field_is_refused(value: Frozen) -> None:
    """A misspelt field is an error, not a value that is lost."""
    with pytest.raises(ValidationError, match="surprise"):
        type(value)(**{**value.model_dump(), "surprise": 1})


@each_type
def test_a_value_survives_json(value: Frozen) -> None:
    """Every type is written as JSON and read back equal."""
    assert type(value).model_validate_json(value.model_dump_json()) == value


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        pytest.param(Assessment, {"relevance": 1.1}, id="score above 1"),
        pytest.param(Assessment, {"confidence": -0.1}, id="score below 0"),
        pytest.param(Assessment, {"evidence_score": float("nan")}, id="NaN"),
        pytest.param(Gap, {"kind": "other", "need": "x", "query": "y"}, id="unknown kind of gap"),
        pytest.param(Decision, {"action": "stop", "reason": "x"}, id="unknown action"),
        pytest.param(Result, {"answer": "x", "stop_reason": "tired"}, id="unknown stop reason"),
        pytest.param(ResultWarning, {"code": "oops", "message": "x"}, id="unknown warning"),
    ],
)
def test_values_outside_their_set_or_range_are_refused(kind: Any, fields: dict[str, Any]) -> None:
    """Scores are in 0..1, and closed sets are closed."""
    with pytest.raises(ValidationError):
        kind(**fields)


def test_a_passage_is_identified_by_its_words() -> None:
    """Two indexes may give one text other ids and other punctuation: it is one passage. Other words make another."""
    assert PASSAGE.key == Passage(id="b", text="giotto was born in 1267", title="Giotto").key
    assert PASSAGE.key != Passage(id="a", text="Giotto was born in 1276.").key
    assert Passage(id="a", text="It is -5 °C.").key != Passage(id="a", text="It is 5 °C.").key
    assert PASSAGE.model_copy(update={"text": "other"}).key == Passage(id="c", text="other").key


@pytest.mark.parametrize(
    ("passage", "expected"),
    [
        pytest.param(Passage(id="a", text="t"), "t", id="text alone"),
        pytest.param(Passage(id="a", text="t", title="T"), "T: t", id="title"),
        pytest.param(Passage(id="a", text="t", published=date(2024, 1, 2)), "2024-01-02: t", id="date"),
        pytest.param(Passage(id="a", text="t", title="T", published=date(2024, 1, 2)), "T · 2024-01-02: t", id="both"),
    ],
)
def test_a_model_reads_title_date_and_text(passage: Passage, expected: str) -> None:
    """The date stands before the text, so that a model can judge freshness."""
    assert passage.for_model() == expected


def test_an_assessment_explains_itself() -> None:
    """A person reads each dimension, `n/a` where one does not apply, and everything that is missing or disagrees."""
    text = Assessment(
        relevance=1.0,
        coverage=0.5,
        evidence_score=0.75,
        requirements=(Requirement(need="birth year"), Requirement(need="name", status="covered", passage_ids=("a",))),
        contradictions=(Contradiction(passage_a="a", span_a="1267", passage_b="b", span_b="1276", about="birth"),),
        gaps=(Gap(kind="missing_attribute", need="birth year", query="Giotto born"),),
        unreadable=2,
    ).explain()
    assert text.splitlines() == [
        "evidence score 0.75 (relevance 1.00, consistency n/a, coverage 0.50, freshness n/a)",
        "missing: birth year",
        "conflict about birth: “1267” / “1276”",
        "gap (missing_attribute): birth year → Giotto born",
        "2 verdict(s) could not be read",
    ]


def test_every_stop_reason_names_its_budget() -> None:
    """Each of the four budgets has a stop reason of its own."""
    reasons = set(get_args(StopReason))
    assert {f"budget_{limit}" for limit in ("calls", "tokens", "seconds", "retrievals")} < reasons


def test_errors_form_one_tree() -> None:
    """`except ReflectiveRAGError` catches every error of this library; each is also the built-in kind it stands for."""
    own = [v for v in vars(errors).values() if isinstance(v, type)]
    assert all(issubclass(e, errors.ReflectiveRAGError) for e in own)
    assert issubclass(errors.ConfigError, ValueError)
    assert errors.BudgetExceeded("spent", limit="calls").limit == "calls"


def _itself() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


@pytest.mark.parametrize(
    ("metadata", "written"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param(
            {"page": 3, "tags": ["a", None], "书": "页"}, {"page": 3, "tags": ["a", None], "书": "页"}, id="JSON"
        ),
        pytest.param({"day": date(2024, 2, 3)}, {"day": "2024-02-03"}, id="date"),
        pytest.param({"set": {1}, "path": PurePosixPath("a/b")}, {"set": [1], "path": "a/b"}, id="other types"),
        pytest.param({"bytes": b"\xff"}, {"bytes": "_w=="}, id="bytes"),
        pytest.param({"text": ["\ud83d"]}, {"text": ["\ufffd"]}, id="half a character"),
        pytest.param({"number": float("nan")}, {"number": None}, id="not a number"),
        pytest.param({"object": slice(1)}, {"object": "slice(None, 1, None)"}, id="any object"),
        pytest.param(_itself(), {"self": "{'self': {...}}"}, id="an object that holds itself"),
    ],
)
def test_any_metadata_can_be_written_as_json(metadata: dict[str, Any], written: dict[str, Any]) -> None:
    """A retriever may return any object; a result with it is still JSON. In Python the metadata stays as it came."""
    passage = Passage(id="a", text="t", metadata=metadata)
    assert json.loads(passage.model_dump_json())["metadata"] == written
    assert json.loads(json.dumps(passage.model_dump(mode="json")))["metadata"] == written
    assert passage.metadata == metadata or "self" in metadata
