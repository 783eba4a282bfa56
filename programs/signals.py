"""What a result tells about its own chance of being right, as numbers: the input of every calibration."""

import itertools
import math
from collections import Counter
from collections.abc import Mapping

from reflective_rag.programs.scoring import unresolved
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.text import tokenize
from reflective_rag.signatures.types import Assessment, Result

DIMENSIONS = ("relevance", "consistency", "coverage", "freshness")

SIGNALS: Mapping[str, str] = {
    "confidence": "the program's own, uncalibrated confidence, 0..1",
    "evidence_score": "0..1; 0 where the program does not judge its evidence",
    "evidence_known": "1 where it does, else 0",
    "relevance": "dimension score of the last round, 0..1; 0 where it does not apply",
    "relevance_known": "1 where it applies, else 0",
    "consistency": "as relevance",
    "consistency_known": "as relevance_known",
    "coverage": "as relevance",
    "coverage_known": "as relevance_known",
    "freshness": "as relevance",
    "freshness_known": "as relevance_known",
    "needs_missing": "important requirements that no passage covers, a count",
    "gaps_open": "gaps that were never closed, a count",
    "gaps_closed": "gaps that a later round closed, a count",
    "contradictions": "pairs of passages that cannot both be right and that no date settles, a count",
    "rounds": "assessments made, a count",
    "enough": "1 where the loop stopped since the evidence sufficed, else 0",
    "passages": "passages that the answer was written from, a count",
    "top_score": "best retrieval score, in the retriever's own unit; 0 where none is known",
    "retrieval_margin": "how far the best score is above the second, as a share of the best, 0..1; 0 where not known",
    "margin_known": "1 where two passages have scores and the best is above 0, else 0",
    "redundancy": "share of the retrieved text that repeats other retrieved text, 0..1; 0 without passages",
    "support": "share of the answer's claims that the passages support, 0..1; a partly supported one counts half",
    "support_known": "1 where any claim was checked, else 0",
    "draft_agreement": "mean overlap (Dice over words) of the drafts of neighbouring rounds, 0..1; 0 below two drafts",
    "drafts_known": "1 from two drafts on, else 0",
    "verdict": "critic's own verdict, -1 no .. 1 yes: 2p - 1 of a soft one, ±1 of a written one, 0 without one",
    "verdict_soft": "1 where the verdict came as a probability, else 0",
    "unparsed": "model replies, or parts of them, that could not be read, a count",
}
"""Name → meaning, in the fixed order of `signals`. "Known" indicators let a fit tell a low score from none at all."""


def signals(result: Result) -> dict[str, float]:
    """Every signal of `SIGNALS` for one result, in that order, all finite. Pure: the same result, the same numbers.

    Raises:
        ConfigError: The result's confidence is calibrated already, so the program's own is lost.
    """
    if result.calibrated:
        raise ConfigError("`signals` needs a result without calibration: set `program.calibration = None` first")
    last = next((r.assessment for r in reversed(result.rounds) if r.assessment is not None), Assessment())
    values = {
        "confidence": result.confidence or 0.0,
        **_known("evidence_score", "evidence_known", result.evidence_score),
        **_evidence(result, last),
        **_retrieval(result),
        **_answer(result),
        **_verdict(last),
        "unparsed": float(result.unparsed),
    }
    return {name: float(values[name]) for name in SIGNALS}


def _known(name: str, indicator: str, value: float | None) -> dict[str, float]:
    return {name: value or 0.0, indicator: float(value is not None)}


def _evidence(result: Result, last: Assessment) -> dict[str, float]:
    values: dict[str, float] = {}
    for name in DIMENSIONS:
        values |= _known(name, f"{name}_known", getattr(last, name))
    closed = sum(record.status == "closed" for record in result.gaps)
    return values | {
        "needs_missing": sum(need.important and need.status == "missing" for need in last.requirements),
        "gaps_open": len(result.gaps) - closed,
        "gaps_closed": closed,
        "contradictions": len(result.conflicts or unresolved(last)),
        "rounds": sum(round_.assessment is not None for round_ in result.rounds),
        "enough": result.stop_reason == "sufficient",
    }


def _retrieval(result: Result) -> dict[str, float]:
    found = (*result.passages, *(dropped.passage for dropped in result.dropped))
    known = (passage.score for passage in found if passage.score is not None)
    scores = sorted((score for score in known if math.isfinite(score)), reverse=True)
    margin = (scores[0] - scores[1]) / scores[0] if len(scores) > 1 and scores[0] > 0 else None
    return {
        "passages": len(result.passages),
        "top_score": scores[0] if scores else 0.0,
        **_known("retrieval_margin", "margin_known", None if margin is None else min(1.0, margin)),
        "redundancy": result.redundancy_before or 0.0,
    }


def _answer(result: Result) -> dict[str, float]:
    drafts = [round_.draft for round_ in result.rounds if round_.draft]
    agreement = [_overlap(a, b) for a, b in itertools.pairwise(drafts)]
    checked = [claim.support for claim in result.claims if claim.support is not None]
    carried = sum(1.0 if verdict == "supported" else 0.5 * (verdict == "partially") for verdict in checked)
    return {
        **_known("support", "support_known", carried / len(checked) if checked else None),
        **_known("draft_agreement", "drafts_known", sum(agreement) / len(agreement) if agreement else None),
    }


def _overlap(a: str, b: str) -> float:
    """Dice coefficient of the two bags of words; texts without any word agree when they are equal."""
    left, right = Counter(tokenize(a)), Counter(tokenize(b))
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else float(a == b)


def _verdict(last: Assessment) -> dict[str, float]:
    if last.sufficiency is not None:
        return {"verdict": 2 * last.sufficiency - 1, "verdict_soft": 1.0}
    written = {None: 0.0, True: 1.0, False: -1.0}[last.sufficient]
    return {"verdict": written, "verdict_soft": 0.0}
