"""What a row keeps of how an answer came about, and how well the answer stands on its evidence."""

from typing import Any

import pytest

from reflective_rag.optimizers.evaluation import Evaluation, Row, evaluate
from reflective_rag.optimizers.evaluation_traces import LONGEST_QUOTE, evidence_columns, trace_of
from reflective_rag.signatures.types import (
    Assessment,
    Citation,
    ClaimSupport,
    Contradiction,
    Decision,
    Gap,
    Passage,
    Requirement,
    Result,
    ResultWarning,
    Round,
)
from tests.optimizers.helpers import RECORDS, full, record

PARIS = Passage(id="a", title="Paris", text="The capital of France is Paris.")
LYON = Passage(id="b", text="Lyon lies on the Rhône.")


def cited(*passages: Passage, **known: Any) -> Result:
    """A result that read both passages and cites these."""
    citations = tuple(Citation(passage_id=p.id, quote=p.text[:5], start=0, end=5) for p in passages)
    return Result(**{"answer": "Paris", "passages": (PARIS, LYON), "citations": citations} | known)


def claims(*verdicts: Any) -> tuple[ClaimSupport, ...]:
    """One claim a verdict."""
    return tuple(ClaimSupport(claim="c", support=verdict) for verdict in verdicts)


@pytest.mark.parametrize(
    ("result", "precision", "recall"),
    [
        (cited(PARIS), 1.0, 1.0),
        (cited(PARIS, LYON), 0.5, 1.0),
        (cited(LYON), 0.0, 0.0),
        (cited(), None, 0.0),
        (cited(PARIS, abstained=True), None, None),
        (cited(PARIS, answer=" "), None, None),
    ],
    ids=["the right one", "one too many", "a wrong one", "none", "abstained", "blank"],
)
def test_citations_against_the_supporting_passages(result: Result, precision: Any, recall: Any) -> None:
    """Without citations there is nothing to be precise about; without an answer neither applies."""
    found = evidence_columns(RECORDS[0], result)
    assert (found["citation_precision"], found["citation_recall"]) == (precision, recall)


def test_without_labels_citations_cannot_be_scored() -> None:
    """A record that marks no supporting passage says nothing of citations."""
    blank = record(0, passages=[{"id": "p", "text": "Paris."}])
    found = evidence_columns(blank, cited(PARIS))
    assert (found["citation_precision"], found["citation_recall"]) == (None, None)
    assert trace_of(blank, cited(PARIS)).citations[0].supporting is None


@pytest.mark.parametrize(
    ("verdicts", "share", "counts"),
    [
        ((), None, None),
        (("supported", "partially"), 0.0, {"supported": 1, "partially": 1}),
        (("not_supported", "contradicted"), 1.0, {"not_supported": 1, "contradicted": 1}),
        (("not_supported", "supported", None), 0.5, {"not_supported": 1, "supported": 1, "unread": 1}),
        ((None,), None, {"unread": 1}),
    ],
    ids=["not checked", "carried", "none carried", "unread apart", "all unread"],
)  # fmt: skip
def test_the_share_of_claims_that_nothing_supports(verdicts: Any, share: Any, counts: Any) -> None:
    """Not supported and contradicted, of the claims with a verdict; one that could not be read is no "no"."""
    found = evidence_columns(RECORDS[0], cited(PARIS, claims=claims(*verdicts)))
    assert (found["unsupported"], found["claims"]) == (share, counts)


def test_the_summary_has_them_with_intervals_and_counts() -> None:
    """Over the questions where they apply, n beside them; claims of all answers are counted by verdict."""
    about: dict[str, Any] = {"question": "?", "answer": "a", "answers": ("a",)}
    rows = [
        Row(record_id="1", **about, unsupported=0.0, claims={"supported": 2}, citation_recall=1.0),
        Row(record_id="2", **about, unsupported=1.0, claims={"contradicted": 1}, citation_precision=0.5),
        Row(record_id="3", **about),
    ]
    summary = Evaluation(tuple(rows)).summary()
    assert (summary["unsupported"]["mean"], summary["unsupported"]["n"]) == (0.5, 2)
    assert (summary["citation_precision"]["n"], summary["citation_recall"]["n"]) == (1, 1)
    assert summary["claims"] == {"supported": 2, "contradicted": 1}


def test_a_trace_tells_how_the_answer_came_about() -> None:
    """Rounds with scores, gaps, conflicts and decision; citations and passages with their labels; what was missed."""
    gap = Gap(kind="missing_entity", need="the river", query="river of Lyon")
    conflict = Contradiction(passage_a="a", span_a="Paris", passage_b="b", span_b="Lyon", about="capital")
    needs = (Requirement(need="capital", status="covered"), Requirement(need="river"))
    judged = Assessment(evidence_score=0.4, coverage=0.5, gaps=(gap,), contradictions=(conflict,), requirements=needs)
    decided = Decision(action="generate", reason="enough", stop="sufficient")
    turn = Round(number=1, queries=("q",), retrieved=3, new=2, assessment=judged, decision=decided, draft="Paris?")
    long = Passage(id="b", text="x" * 1000)
    result = cited(
        passages=(long,),
        citations=(Citation(passage_id="b", quote="x" * 900, start=0, end=900),),
        rounds=(turn, Round(number=2, queries=(), retrieved=0, new=0)),
        claims=claims("supported"),
        warnings=(ResultWarning(code="no_evidence", message="Nothing."),),
    )
    trace = trace_of(RECORDS[0], result)
    first, second = trace.rounds
    assert (first.evidence_score, first.coverage, first.relevance, first.missing) == (0.4, 0.5, None, ("river",))
    assert (first.gaps, first.conflicts, first.action, first.stop) == ((gap,), (conflict,), "generate", "sufficient")
    assert (second.evidence_score, second.action) == (None, None)
    assert (len(trace.citations[0].quote), trace.citations[0].supporting) == (LONGEST_QUOTE, False)
    assert [passage.start for passage in trace.missed] == ["The capital of France is Paris."]
    assert (trace.messages, trace.claims[0].support) == (("Nothing.",), "supported")


def test_rows_with_a_trace_survive_json() -> None:
    """A trace comes back from a file of rows as it was."""
    (row,) = evaluate(lambda question: full(), RECORDS[:1]).rows
    assert row.trace is not None
    assert Row.model_validate_json(row.model_dump_json()) == row
