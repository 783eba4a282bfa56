"""Why an answer is wrong: one kind a question, decided by the labels."""

from typing import Any

import pytest

from reflective_rag.optimizers.diagnosis import diagnose, failure_of
from reflective_rag.optimizers.diagnosis_advice import ADVICE, bare
from reflective_rag.optimizers.evaluation import evaluate
from reflective_rag.optimizers.evaluation_rows import Row
from reflective_rag.optimizers.evaluation_traces import NOT_FOUND, PassageTrace, Trace
from reflective_rag.programs import PROGRAMS, make_program
from reflective_rag.signatures.types import DroppedPassage
from tests.optimizers.helpers import GOLD, RECORDS, full, record


def missing(*lost: str | None) -> Trace:
    """A trace in which supporting passages were not read, each with where it was lost."""
    return Trace(missed=tuple(PassageTrace(id=str(i), title=f"T{i}", lost=why) for i, why in enumerate(lost)))


def row(**about: Any) -> Row:
    """A wrong answer though everything was read, unless `about` says otherwise."""
    known: dict[str, Any] = {"answers": ("Paris",), "answer": "Lyon", "recall": 1.0, "trace": Trace()}
    return Row(record_id="q", question="?", **{**known, **about})


SILENT = {"answer": "", "abstained": True}
HALF: dict[str, Any] = {"recall": 0.5, "trace": missing(NOT_FOUND)}


@pytest.mark.parametrize(
    ("about", "kind"),
    [
        pytest.param({"f1": 1.0}, None, id="right"),
        pytest.param({"f1": 0.5, "unsupported": 1.0}, None, id="right enough, though not carried"),
        pytest.param({"error": "Timeout: late", "f1": 0.0}, "failed", id="raised"),
        pytest.param({"stop_reason": "model_error", **HALF}, "failed", id="the model gave out"),
        pytest.param({"stop_reason": "retriever_error", "recall": 0.0}, "failed", id="the retriever gave out"),
        pytest.param({"stop_reason": "model_error", "f1": 1.0}, None, id="gave out, right all the same"),
        pytest.param({**SILENT, "unparsed": 2}, "unreadable", id="nothing readable"),
        pytest.param({"unparsed": 2}, "wrong_despite_evidence", id="something was unreadable, an answer came"),
        pytest.param({**HALF, "stop_reason": "max_rounds"}, "retrieval_miss", id="never retrieved"),
        pytest.param({**HALF, **SILENT, "stop_reason": "no_gap"}, "retrieval_miss", id="never retrieved, silent"),
        pytest.param({**HALF, "stop_reason": "single_pass"}, "retrieval_miss", id="a program without a loop"),
        pytest.param({**HALF, "stop_reason": "sufficient"}, "false_sufficient", id="stopped too early"),
        pytest.param({**HALF, **SILENT, "stop_reason": "sufficient"}, "retrieval_miss", id="stopped early, but silent"),
        pytest.param({"recall": 0.5, "trace": missing("a repeat")}, "wrongly_dropped", id="dropped"),
        pytest.param(
            {"recall": 0.3, "trace": missing(NOT_FOUND, "rank 11"), "stop_reason": "sufficient"},
            "wrongly_dropped",
            id="one dropped, one not found, stopped early",
        ),
        pytest.param({"recall": 0.5, "trace": missing(None)}, "unclear", id="an old row does not tell"),
        pytest.param({**SILENT}, "over_conservative", id="all read, silent"),
        pytest.param({"answer": "  "}, "over_conservative", id="all read, blank"),
        pytest.param({"unsupported": 0.5}, "unsupported", id="all read, not carried"),
        pytest.param({"unsupported": 0.0}, "wrong_despite_evidence", id="all read, carried, another answer"),
        pytest.param({}, "wrong_despite_evidence", id="all read, nobody checked"),
        pytest.param({"recall": None}, "unclear", id="no labels"),
        pytest.param({"trace": None}, "unclear", id="a stock module"),
        pytest.param({"answerable": False, "answers": ()}, "false_sufficient", id="unanswerable, answered"),
        pytest.param({"answerable": False, "answers": ("x",)}, "false_sufficient", id="planted answers"),
        pytest.param({"answers": ()}, "false_sufficient", id="unanswerable in an old row"),
        pytest.param({"answerable": False, **SILENT, "f1": 1.0}, None, id="unanswerable, silent"),
    ],
)
def test_one_kind_a_question(about: dict[str, Any], kind: str | None) -> None:
    """The first thing that went wrong on the way from the question to the answer."""
    assert failure_of(row(**about)) == kind


def test_a_record_at_hand_counts_more_than_the_row() -> None:
    """Old rows do not tell that a question is unanswerable; the record does."""
    unanswerable = record(0, answerable=False, answers=["planted"])
    assert failure_of(row(answers=("planted",)), unanswerable) == "false_sufficient"
    assert failure_of(row(answers=("planted",))) == "wrong_despite_evidence"


def test_what_counts_as_right_is_the_callers_choice() -> None:
    """Half of the words are right by F1 and wrong by exact match."""
    half = row(f1=0.6, em=0.0)
    assert failure_of(half, correct="f1") is None
    assert failure_of(half, correct="em") == "wrong_despite_evidence"


def test_rows_tell_where_a_supporting_passage_was_lost() -> None:
    """Dropped with its reason, or not retrieved; what was read is not lost."""
    dropped = (DroppedPassage(passage=GOLD, reason="says the same as p9"),)
    cases = [full(answer="Lyon", passages=(), dropped=dropped), full(answer="Lyon", passages=()), full(answer="Lyon")]
    answers = iter(cases)
    rows = evaluate(lambda question: next(answers), RECORDS[:3]).rows
    assert [[p.lost for p in r.trace.missed] if r.trace else None for r in rows] == [
        ["says the same as p9"],
        [NOT_FOUND],
        [],
    ]
    kinds = ["wrongly_dropped", "false_sufficient", "wrong_despite_evidence"]
    assert diagnose(rows).kinds == kinds


def test_the_report_has_counts_with_intervals_examples_and_the_next_step() -> None:
    """Kinds in the order of the pipeline, shares of all questions, and the most frequent kind to work on."""
    rows = [row(**SILENT), row(**SILENT), row(**HALF, stop_reason="max_rounds"), row(f1=1.0, unsupported=0.5)]
    found = diagnose(rows).to_dict()
    assert list(found["kinds"]) == ["retrieval_miss", "over_conservative"]
    about = found["kinds"]["over_conservative"]
    assert (about["count"], about["share"]["mean"], about["share"]["n"]) == (2, 0.5, 4)
    assert 0 < about["share"]["low"] < 0.5 < about["share"]["high"] < 1
    assert about["examples"][0]["question"] == "?"
    assert (found["wrong"]["count"], found["right_but_unsupported"]) == (3, 1)
    assert found["next"]["kind"] == "over_conservative"
    assert found["next"]["predictors"] == []
    assert [line["kind"] for line in found["questions"]] == ["over_conservative", "over_conservative", "retrieval_miss"]
    assert found["questions"][2]["missed"] == ["T0"]


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        pytest.param([row(), row(), row(**HALF)], 0, id="answering is the most"),
        pytest.param([row(unsupported=0.5)], 0, id="unsupported"),
        pytest.param([row(), row(**HALF), row(**HALF)], None, id="retrieval is the most"),
        pytest.param([row(), row(**SILENT), row(unsupported=0.5), row(**HALF), row(**HALF)], -1, id="but not in one"),
        pytest.param([row(lm_calls=1), row()], None, id="a model answered"),
        pytest.param([row(f1=1.0)], None, id="all right"),
    ],
)
def test_rules_that_answer_wrongly_want_a_model(rows: list[Row], place: int | None) -> None:
    """Where rules answered and most failures are of the answering, no setting helps as much as `--lm`: it is named."""
    rows = [each.model_copy(update={"stop_reason": "max_rounds"}) for each in rows]
    found = diagnose(rows).brief()["next"]
    named = [bare(name) == "--lm" for name in found["settings"]] if found else []
    assert (named[place] if place is not None else any(named)) is (place is not None)
    assert sum(named) <= 1


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([row(**SILENT), row(**HALF)], "retrieval_miss"),
        ([row(recall=None), row(recall=None), row()], "wrong_despite_evidence"),
        ([row(recall=None)], "unclear"),
        ([row(f1=1.0)], None),
        ([], None),
    ],
    ids=["equals: the earlier", "unclear comes last", "unless there is nothing else", "all right", "no questions"],
)
def test_what_to_work_on_next(rows: list[Row], kind: str | None) -> None:
    """The most frequent kind that something can be done about."""
    assert diagnose(rows).next() == kind


def test_predictors_are_named_where_a_model_is_asked() -> None:
    """A run on rules has none to compile."""
    brief = diagnose([row(lm_calls=3)]).brief()
    assert brief["next"]["predictors"] == list(ADVICE["wrong_despite_evidence"].predictors)
    assert brief["kinds"] == {"wrong_despite_evidence": 1}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_only_what_the_program_has_is_named_to_work_on(name: str) -> None:
    """A setting of another program would be refused."""
    program = make_program(name)
    for about in ({}, SILENT, HALF, {"unsupported": 1.0}, {"recall": 0.5, "trace": missing("a repeat")}):
        named = diagnose([row(**about, lm_calls=1)], program=program).brief()["next"]
        held = {*type(program.settings).model_fields, "--embedder", "abstain_at_risk (calibrate)"}
        held |= set(type(program.controls.values).model_fields) if hasattr(program, "controls") else set()
        plain = {s.partition(".")[0] for s in named["settings"] if not s.startswith("the ")}
        assert plain - {"theta (strategy `controls`)"} <= held
        assert {p.partition(" (")[0] for p in named["predictors"]} <= set(dict(program.named_predictors()))


def test_self_rag_is_not_told_to_read_more_passages() -> None:
    """It reads each alone, so that it has no `max_passages`; a loop that has it is."""
    told = {
        n: diagnose([row()], program=make_program(n)).brief()["next"]["settings"] for n in ("self-rag", "reflective")
    }
    assert ("max_passages" in told["self-rag"], "max_passages" in told["reflective"]) == (False, True)
    assert "passage_chars" in told["self-rag"]
