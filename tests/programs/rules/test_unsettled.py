"""What a sentence gives only as a plan or as hearsay is no settled answer: it is given, marked as partly supported."""

from pathlib import Path

import pytest

from reflective_rag.programs import ReflectiveRAG, rules
from tests.programs.rules.worlds import passage

LINES = (Path(__file__).parent / "everyday" / "unsettled.txt").read_text(encoding="utf-8").splitlines()
ROWS = [tuple(line.split(" | ")) for line in LINES if line and not line.startswith("#")]


@pytest.mark.parametrize(
    ("kind", "question", "text", "wanted"), ROWS, ids=[f"{row[0]}-{i}" for i, row in enumerate(ROWS)]
)
def test_a_plan_and_hearsay_are_told_from_a_statement(kind: str, question: str, text: str, wanted: str) -> None:
    """The answer is given in both cases; only the stated one counts as supported, and the other is degraded."""
    result = ReflectiveRAG(search=lambda _, k: [passage("only", text)])(question=question)
    assert not result.abstained, kind
    support = [claim.support for claim in result.claims]
    if wanted == "open":
        assert support == ["partially"], kind
        assert result.degraded, kind
        assert "unsupported_answer" in {warning.code for warning in result.warnings}
    else:
        assert support == ["supported"], kind
        assert not result.degraded, kind


@pytest.mark.parametrize(
    ("question", "texts", "answer"),
    [
        pytest.param(
            "Where is the headquarters of Bolt?",
            ("Bolt plans to move its headquarters to Turin in 2090.", "The headquarters of Bolt is in Ghent."),
            "Ghent",
            id="en plan",
        ),
        pytest.param(
            "Who composed Glass Tide?",
            ("Ida Brock may have composed Glass Tide.", "Nora Pell composed Glass Tide."),
            "Nora Pell",
            id="en hearsay",
        ),
        pytest.param(
            "海岩公司的总部在哪里？",
            ("海岩公司计划于2090年将总部迁至都灵。", "海岩公司的总部在杭州。"),
            "杭州",
            id="zh plan",
        ),
        pytest.param(
            "《玻璃潮》的作者是谁？",
            ("据说《玻璃潮》的作者是王海青。", "《玻璃潮》的作者是林马拉。"),
            "林马拉",
            id="zh hearsay",
        ),
    ],
)
def test_what_is_stated_goes_before_what_is_left_open(question: str, texts: tuple[str, ...], answer: str) -> None:
    """Beside a plan or a rumour, the passage that states an answer gives it, in whatever order they come."""
    documents = [passage(str(i), text) for i, text in enumerate(texts)]
    for order in (documents, documents[::-1]):
        found = rules.answer(question, order).answer
        assert found == answer


@pytest.mark.parametrize(
    ("question", "claim", "text", "support"),
    [
        pytest.param(
            "Who composed Glass Tide?",
            "Nora Pell composed Glass Tide.",
            "Nora Pell may have composed Glass Tide.",
            "partially",
            id="en hearsay",
        ),
        pytest.param(
            "Who composed Glass Tide?",
            "Nora Pell may have composed Glass Tide.",
            "Nora Pell may have composed Glass Tide.",
            "supported",
            id="en, claimed as hearsay",
        ),
        pytest.param(
            "Where is the headquarters of Bolt?",
            "Bolt moved its headquarters to Turin.",
            "Bolt plans to move its headquarters to Turin.",
            "partially",
            id="en plan",
        ),
        pytest.param(
            "《玻璃潮》的作者是谁？",
            "《玻璃潮》的作者是林马拉。",
            "据说《玻璃潮》的作者是林马拉。",
            "partially",
            id="zh hearsay",
        ),
    ],
)
def test_a_claim_that_says_more_than_its_source(question: str, claim: str, text: str, support: str) -> None:
    """A claim that states what the passage only supposes is partly supported; one that supposes it too is supported."""
    assert rules.check_support(question, claim, [passage("only", text)]).support == support
