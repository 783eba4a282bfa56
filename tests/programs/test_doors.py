"""Every public door takes what it says and refuses the rest with one error of ours, at once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest

from reflective_rag.programs import (
    CorrectiveRAG,
    EvidenceAssessor,
    NaiveRAG,
    ReflectiveRAG,
    SelfRAG,
    load_program,
    save_program,
)
from reflective_rag.signatures.errors import ConfigError, ContractError

UNTYPED: Any = (EvidenceAssessor, ReflectiveRAG, load_program, save_program)
"""The doors as code without type checks calls them."""
Assessor, Reflective, load, save = UNTYPED
ZERO = dict.fromkeys(("relevance", "consistency", "coverage", "freshness"), 0)
MODEL = {"relevance": "embedder"}


def search(query: str, k: int) -> list[str]:
    """One passage."""
    return ["Giotto was born in 1267."]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda: ReflectiveRAG(search, k="5"), "`k`: expected a number, not a text, got '5'", id="k text"),
        pytest.param(lambda: NaiveRAG(search, k="5"), "`k`: expected a number", id="naive k"),
        pytest.param(lambda: ReflectiveRAG(search, k=True), "`k`: expected a number, not true or false", id="k bool"),
        pytest.param(lambda: ReflectiveRAG(search, theta=True), "`theta`: expected a number", id="theta bool"),
        pytest.param(lambda: ReflectiveRAG(search, theta=float("inf")), "`theta`", id="theta inf"),
        pytest.param(lambda: ReflectiveRAG(search, theta_by_kind={"bridge": True}), "expected a number", id="kind"),
        pytest.param(lambda: ReflectiveRAG(search, budget={"lm_calls": True}), "`budget.lm_calls`", id="budget"),
        pytest.param(lambda: ReflectiveRAG(search, budget={"seconds": float("nan")}), "`budget.seconds`", id="nan"),
        pytest.param(lambda: ReflectiveRAG(search, weights=ZERO), "at least one weight must be above 0", id="weights"),
        pytest.param(
            lambda: SelfRAG(search, weights={"relevance": 0, "support": 0, "usefulness": 0}),
            "at least one weight must be above 0",
            id="self-rag weights",
        ),
        pytest.param(lambda: SelfRAG(search, weights={"support": True}), "expected a number", id="self-rag bool"),
        pytest.param(lambda: Assessor(weights=ZERO), "at least one weight", id="assessor weights"),
        pytest.param(lambda: ReflectiveRAG(search, critic_models=MODEL), "no judgement asks", id="unused model"),
        pytest.param(
            lambda: ReflectiveRAG(search, critics={"relevance": "models"}, critic_models={"nli": "x"}),
            "`critic_models.nli` is 'x', but no judgement asks",
            id="unused nli",
        ),
        pytest.param(lambda: SelfRAG(search, critic_models=MODEL), "no judgement asks", id="self-rag model"),
        pytest.param(lambda: CorrectiveRAG(search, critic_models=MODEL), "no judgement asks", id="corrective model"),
        pytest.param(lambda: Reflective(search, scorers=[1]), "`scorers` must be a dict", id="scorers"),
        pytest.param(lambda: Reflective(search, preset=None), "preset must be one of", id="preset"),
        pytest.param(lambda: Reflective(search, today="2020-01-01"), "`today` must be a", id="today"),
        pytest.param(lambda: Assessor(controls={"theta": 0.5}), "`controls` must be", id="controls"),
        pytest.param(lambda: load(None), "`folder` must be the path", id="load None"),
        pytest.param(lambda: load(["a"]), "`folder` must be the path", id="load list"),
        pytest.param(lambda: save(None, "x"), "`program` must be a program", id="save None"),
        pytest.param(lambda: save(ReflectiveRAG, "x"), "`program` must be", id="save a class"),
        pytest.param(lambda: save(dspy.Predict("a -> b"), "x"), "`program` must be", id="save DSPy's"),
        pytest.param(lambda: save(ReflectiveRAG(), None), "`folder` must be the path", id="save to None"),
        pytest.param(lambda: save(ReflectiveRAG(), "x", data=3), "`data` must be a dict", id="data"),
        pytest.param(lambda: save_program(ReflectiveRAG(), "x", notes={"a": object()}), "`notes` must be", id="notes"),
        pytest.param(lambda: ReflectiveRAG(search)(question=123), "`question` must be a string", id="question"),
        pytest.param(lambda: ReflectiveRAG(search=None)(question="Who?"), "has no `search`", id="no search"),
        pytest.param(
            lambda: EvidenceAssessor()(question="When?", passages=["a"], today="2020"), "`today` must", id="day"
        ),
    ],
)
def test_a_wrong_value_is_one_error_of_ours(
    call: Callable[[], Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the argument and what came; nothing is written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as raised:
        call()
    assert message in str(raised.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("passages", [None, [None], {"no": "text"}, "text", [{"no": "text"}], 5])
def test_passages_of_another_shape_are_refused(passages: Any) -> None:
    """What was expected is said."""
    with pytest.raises(ContractError, match="`passages` must be"):
        EvidenceAssessor()(question="When was Giotto born?", passages=passages)


def test_models_that_a_judgement_or_the_fallback_asks_are_taken() -> None:
    """A light relevance model for relevance, and any where models stand in for what failed."""
    chosen = ReflectiveRAG(search, critics={"relevance": "models"}, critic_models=MODEL)
    spare = ReflectiveRAG(search, fallback=("models", "rules"), critic_models=MODEL)
    assert chosen.settings.critic_models == spare.settings.critic_models


def test_keys_in_demos_and_notes_are_not_written_to_an_artefact(tmp_path: Path) -> None:
    """A passage of a demo may hold one, as may a note of the caller's."""
    key = "sk-" + "proj-" + "AbCdEfGhIjKlMnOpQrStUvWx"
    rag = ReflectiveRAG(search)
    rag.answer.demos = [dspy.Example(question="q", passages=f"the key {key}", answer="a")]
    folder = save_program(rag, tmp_path / "kept", notes={"said": key})
    assert all(key not in path.read_text(encoding="utf-8") for path in folder.iterdir())
    assert "[removed]" in str(load_program(folder, search).answer.demos)
