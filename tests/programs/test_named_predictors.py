"""The predictors of each program and mode: what an optimizer tunes and an artefact holds.

A change here breaks saved artefacts and recordings; it is made on purpose or not at all.
"""

from typing import Any

import pytest

from reflective_rag.programs import EvidenceAssessor, NaiveRAG, ReflectiveRAG
from reflective_rag.signatures import answering, evidence, gaps

REPAIR = {"repair": answering.RepairAnswer}
LOOP = {"rewrite": gaps.RewriteQuery, **REPAIR}
ANSWER = {"answer": answering.AnswerQuestion}
NARROW = {
    "relevance": evidence.JudgeRelevance,
    "consistency": evidence.JudgeConsistency,
    "coverage": evidence.JudgeCoverage,
    "freshness": evidence.JudgeFreshness,
    "sufficiency": evidence.JudgeSufficiency,
    "find_gaps": gaps.FindGaps,
}
INNER = {f"assessor.{name}": signature for name, signature in NARROW.items()}


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        pytest.param(NaiveRAG(), ANSWER, id="naive"),
        pytest.param(NaiveRAG(mode="rules"), {}, id="naive, rules"),
        pytest.param(ReflectiveRAG(), {**ANSWER, **LOOP, "assessor.assess": evidence.AssessEvidence}, id="paired"),
        pytest.param(ReflectiveRAG(mode="fused"), {"assess_and_answer": answering.AssessAndAnswer, **LOOP}, id="fused"),
        pytest.param(ReflectiveRAG(mode="separate"), {**ANSWER, **LOOP, **INNER}, id="separate"),
        pytest.param(ReflectiveRAG(mode="rules"), {**ANSWER, **REPAIR}, id="rules judge, a model answers"),
        pytest.param(
            ReflectiveRAG(mode="rules", critics={"support": "lm"}),
            {**ANSWER, **REPAIR, "support": answering.JudgeSupport},
            id="support checked by the model",
        ),
        pytest.param(ReflectiveRAG(mode="rules", repair=False), ANSWER, id="without repair"),
        pytest.param(ReflectiveRAG(mode="rules", critics={"support": "off"}), ANSWER, id="without a check"),
        pytest.param(EvidenceAssessor(), {"assess": evidence.AssessEvidence}, id="assessor, paired"),
        pytest.param(EvidenceAssessor("separate"), NARROW, id="assessor, separate"),
        pytest.param(EvidenceAssessor("rules"), {}, id="assessor, rules"),
    ],
)
def test_only_the_predictors_of_the_active_mode_are_built(program: Any, expected: dict[str, Any]) -> None:
    """Names and signatures are pinned; a predictor that is never asked would only cost an optimizer's trials."""
    assert {name: p.signature for name, p in program.named_predictors()} == expected


def test_controls_are_parameters_and_not_predictors() -> None:
    """θ and its kin are in DSPy's state, out of sight of optimizers."""
    rag = ReflectiveRAG()
    predictors = {name for name, _ in rag.named_predictors()}
    assert {name for name, _ in rag.named_parameters()} - predictors == {"controls"}
