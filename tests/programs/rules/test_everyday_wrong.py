"""Everyday questions whose sentence holds a wrong answer too: a denial, another value, the old one, the other party."""

from pathlib import Path

import pytest

from reflective_rag.programs import ReflectiveRAG
from tests.programs.rules.worlds import passage

FOLDER = Path(__file__).parent / "everyday"


def _rows() -> list[tuple[str, str, str, str]]:
    """Kind, question, passages (parted by " || ") and what the answer holds (parted by &), lacks (after !), or "-"."""
    lines = (FOLDER / "wrong.txt").read_text(encoding="utf-8").splitlines()
    return [(a, b, c, d) for a, b, c, d in (line.split(" | ") for line in lines if line and not line.startswith("#"))]


ROWS = _rows()


@pytest.mark.parametrize(
    ("kind", "question", "texts", "wanted"), ROWS, ids=[f"{row[0]}-{i}" for i, row in enumerate(ROWS)]
)
def test_the_answer_is_the_asked_one_or_none(kind, question, texts, wanted):
    """No denial is read as a yes; no old value, no value of another clause or party, no wrong type is given."""
    documents = [passage(str(i), text) for i, text in enumerate(texts.split(" || "))]
    result = ReflectiveRAG(search=lambda _, k: documents)(question=question)
    abstained = not result.answer or any(warning.code == "no_answer" for warning in result.warnings)
    given = "" if abstained else result.answer
    if wanted == "-":
        assert given == "", kind
    elif wanted.startswith("!"):
        assert wanted[1:] not in given, kind
    else:
        assert all(part in given for part in wanted.split("&")), (kind, given)
