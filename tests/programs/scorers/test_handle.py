"""The small models of one program: what cannot be loaded is not tried again at once."""

from typing import Any

import pytest

from reflective_rag.programs import ReflectiveRAG, result_of
from reflective_rag.programs.scorers import handle
from reflective_rag.programs.scorers.handle import Scorers
from reflective_rag.signatures.errors import DataError


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Attempts to load a relevance model, which is not to be had."""
    tried: list[Any] = []

    def absent(spec: Any) -> Any:
        tried.append(spec)
        raise DataError(f"{spec!r} could not be fetched")

    monkeypatch.setattr("reflective_rag.programs.scorers.resolve.relevance_scorer", absent)
    return tried


def test_a_model_that_cannot_be_loaded_is_tried_once_for_many_questions(loads: list[Any]) -> None:
    """Each question says why rules judged."""
    program = ReflectiveRAG(
        lambda query, k: ["Giotto was born in 1267."], mode="rules", critics={"relevance": "models"}
    )
    results = [result_of(program(question=f"When was {name} born?")) for name in ("Giotto", "Dante", "Duccio")]
    assert len(loads) == 1
    for result in results:
        assert any("could not be fetched" in w.message for w in result.warnings if w.code == "model_degraded")


def test_it_is_tried_again_later(loads: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub that was down may be up again: a server need not be started anew."""
    monkeypatch.setattr(handle, "RETRY_SECONDS", 0.0)
    scorers = Scorers()
    for _ in range(2):
        with pytest.raises(DataError, match="could not be fetched"):
            _ = scorers.relevance
    assert len(loads) == 2
