"""The signals of a result: values by hand, finite whatever the result holds, in a fixed order."""

import math

import pytest

from reflective_rag.programs.calibration import SIGNALS, signals
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.types import (
    Assessment,
    ClaimSupport,
    Contradiction,
    DroppedPassage,
    Gap,
    GapRecord,
    Passage,
    Requirement,
    Result,
    Round,
)

GAP = Gap(kind="timeline", need="n", query="q")
CONFLICT = Contradiction(passage_a="a", span_a="1", passage_b="b", span_b="2", about="x")


def passage(name: str, score: float | None) -> Passage:
    """A passage with a retrieval score."""
    return Passage(id=name, text=f"text {name}", score=score)


FULL = Result(
    answer="Paris",
    confidence=0.4,
    evidence_score=0.6,
    stop_reason="sufficient",
    rounds=(
        Round(number=1, queries=("q",), retrieved=3, new=3, assessment=Assessment(relevance=0.1), draft="Lyon"),
        Round(
            number=2,
            queries=("r",),
            retrieved=2,
            new=1,
            assessment=Assessment(
                relevance=0.8,
                coverage=0.5,
                requirements=(Requirement(need="x"), Requirement(need="y", important=False)),
                sufficiency=0.75,
                sufficient=False,
            ),
            draft="Paris in France",
        ),
        Round(number=3, queries=("s",), retrieved=0, new=0, draft="Paris of France"),
    ),
    passages=(passage("a", 0.5), passage("b", None)),
    dropped=(DroppedPassage(passage=passage("c", 0.8), reason="tangential"),),
    claims=(
        ClaimSupport(claim="1", support="supported"),
        ClaimSupport(claim="2", support="partially"),
        ClaimSupport(claim="3", support=None),
    ),
    gaps=(GapRecord(gap=GAP, status="closed", opened=1), GapRecord(gap=GAP, status="given_up", opened=1)),
    conflicts=(CONFLICT,),
    redundancy_before=0.25,
    unparsed=2,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("confidence", 0.4),
        ("evidence_score", 0.6),
        ("evidence_known", 1),
        ("relevance", 0.8),
        ("relevance_known", 1),
        ("consistency", 0),
        ("consistency_known", 0),
        ("coverage", 0.5),
        ("needs_missing", 1),
        ("gaps_open", 1),
        ("gaps_closed", 1),
        ("contradictions", 1),
        ("rounds", 2),
        ("enough", 1),
        ("passages", 2),
        ("top_score", 0.8),
        ("retrieval_margin", 0.375),
        ("margin_known", 1),
        ("redundancy", 0.25),
        ("support", 0.75),
        ("support_known", 1),
        ("draft_agreement", (0 + 2 * 2 / 6) / 2),
        ("drafts_known", 1),
        ("verdict", 0.5),
        ("verdict_soft", 1),
        ("unparsed", 2),
    ],
)
def test_values_by_hand(name: str, expected: float) -> None:
    """Each signal of a result that has everything."""
    assert signals(FULL)[name] == pytest.approx(expected)


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(Result(answer=""), id="nothing"),
        pytest.param(FULL, id="everything"),
        pytest.param(Result(answer="a", passages=(passage("a", -1.0), passage("b", -2.0))), id="scores below 0"),
        pytest.param(Result(answer="a", passages=(passage("a", 0.0), passage("b", 0.0))), id="scores of 0"),
        pytest.param(Result(answer="a", passages=(passage("a", math.nan), passage("b", math.inf))), id="no numbers"),
    ],
)
def test_all_are_there_finite_and_in_order(result: Result) -> None:
    """No None, no NaN, the order of `SIGNALS`, plain floats."""
    found = signals(result)
    assert list(found) == list(SIGNALS)
    assert all(type(value) is float and math.isfinite(value) for value in found.values())


@pytest.mark.parametrize(("written", "expected"), [(True, 1.0), (False, -1.0), (None, 0.0)])
def test_a_written_verdict(written: bool | None, expected: float) -> None:
    """Without log-probabilities the verdict is yes, no or none."""
    round_ = Round(number=1, queries=("q",), retrieved=1, new=1, assessment=Assessment(sufficient=written))
    found = signals(Result(answer="a", rounds=(round_,)))
    assert (found["verdict"], found["verdict_soft"]) == (expected, 0.0)


def test_a_calibrated_result_has_lost_its_own_confidence() -> None:
    """Fitting on what a calibration made would calibrate twice."""
    with pytest.raises(ConfigError, match="without calibration"):
        signals(Result(answer="a", calibrated=True))
