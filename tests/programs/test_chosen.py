"""What is chosen in settings is done, refused, or said to have fallen: never passed over in silence."""

from typing import Any

import dspy
import pytest

from reflective_rag.programs import ReflectiveRAG, ReflectiveWrapper
from reflective_rag.programs.always import AlwaysRetrieve
from reflective_rag.programs.assessor import EvidenceAssessor
from reflective_rag.programs.corrective import CorrectiveRAG
from reflective_rag.programs.naive import NaiveRAG
from reflective_rag.signatures.errors import ConfigError

QUESTIONS = {"en": "When was Giotto born?", "zh": "乔托是哪一年出生的？"}
TEXTS = {"en": ["Giotto was born in 1267."], "zh": ["乔托出生于1267年。"]}


class _Scorer:
    def predict(self, pairs: Any) -> Any:
        """A constant."""
        return [0.5 for _ in pairs]


def _ask(language: str = "en", program: Any = ReflectiveRAG, **options: Any) -> Any:
    rag = program(lambda query, k: TEXTS[language], **options)
    with dspy.context(lm=None):
        return rag(question=QUESTIONS[language])


def _codes(result: Any) -> set[str]:
    return {warning.code for warning in result.warnings}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("options", "fell"),
    [
        pytest.param({"critics": {"support": "lm"}}, "support: lm → rules", id="support"),
        pytest.param({"critics": {"relevance": "lm"}, "mode": "rules"}, "relevance: lm → rules", id="relevance"),
        pytest.param({"mode": "paired"}, "sufficiency: lm → rules", id="paired"),
        pytest.param({"mode": "separate"}, "gaps: lm → rules", id="separate"),
        pytest.param({"critics": {"support": "lm"}, "fallback": ()}, "support: lm → –", id="to nobody"),
    ],
)
def test_a_model_that_is_chosen_and_missing_is_told(language: str, options: dict[str, Any], fell: str) -> None:
    """The warning names each judgement, where it fell and why, in the question's language; the result is degraded."""
    result = _ask(language, **options)
    (message,) = [w.message for w in result.warnings if w.code == "model_degraded"]
    assert fell in message
    assert "failed" not in message
    assert "失败" not in message
    assert {"en": "no language model is configured", "zh": "未配置语言模型"}[language] in message
    assert result.degraded


def test_what_is_not_chosen_falls_without_alarm() -> None:
    """Without any choice rules are the default without a model, and `rules_only` says so."""
    result = _ask()
    assert _codes(result) == {"rules_only"}
    assert not result.degraded


def test_the_assessor_says_it_too() -> None:
    """A critic that was expressly given to a model is named among the fallbacks."""
    with dspy.context(lm=None):
        found = EvidenceAssessor(critics={"relevance": "lm"})(question=QUESTIONS["en"], passages=TEXTS["en"])
    assert [(f.judgement, f.backend, f.to) for f in found.fallbacks] == [("relevance", "lm", "rules")]


@pytest.mark.parametrize(
    ("scorers", "critics"),
    [
        pytest.param({"relevance": _Scorer()}, {}, id="no critic"),
        pytest.param({"relevance": _Scorer()}, {"support": "models"}, id="another critic"),
        pytest.param({"nli": _Scorer()}, {"relevance": "models"}, id="nli"),
    ],
)
def test_scorers_that_nobody_asks_are_refused(scorers: dict[str, Any], critics: dict[str, Any]) -> None:
    """The message names the critic that would ask them."""
    with pytest.raises(ConfigError, match=r"no critic asks it: expected `critics` with"):
        ReflectiveRAG(scorers=scorers, critics=critics)


def test_scorers_as_fallback_are_asked() -> None:
    """A fallback to small models is a use of them."""
    rag = ReflectiveRAG(scorers={"relevance": _Scorer()}, fallback=("models", "rules"))
    assert rag.settings.critic_models.relevance == "own"


@pytest.mark.parametrize(("language", "text"), [("en", "judged by rules"), ("zh", "由规则")])
def test_a_wrapper_on_rules_says_who_judged(language: str, text: str) -> None:
    """Its answer is the generator's, so nothing else tells that no model judged the evidence."""
    rag = ReflectiveWrapper(lambda query: TEXTS[language], lambda question, passages: "1267")
    (message,) = [w.message for w in rag(question=QUESTIONS[language]).warnings if w.code == "rules_judged"]
    assert text in message


@pytest.mark.parametrize("program", [NaiveRAG, AlwaysRetrieve, CorrectiveRAG])
def test_no_judgement_no_confidence(program: Any) -> None:
    """A program that does not judge how sure it is gives no number, and 0 when it abstains."""
    assert _ask(program=program, mode="rules").confidence is None
    nothing = program(lambda query, k: [], mode="rules")(question=QUESTIONS["en"])
    assert (nothing.abstained, nothing.confidence) == (True, 0.0)


def test_rules_keep_the_time_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judging takes time of its own: once it is up, no further round begins, and the result says so."""
    now = iter(range(1000))

    def search(query: str, k: int) -> list[str]:
        return [f"Giotto painted {next(now)} frescoes."]

    rag = ReflectiveRAG(search, mode="rules", budget={"seconds": 0.05})
    slow = rag.assessor.verdict

    def verdict(*args: Any, **kwargs: Any) -> Any:
        import time

        time.sleep(0.1)
        return (yield from slow(*args, **kwargs))

    monkeypatch.setattr(rag.assessor, "verdict", verdict)
    result = rag(question=QUESTIONS["en"])
    assert (result.stop_reason, len(result.rounds), result.degraded) == ("budget_seconds", 1, True)
    assert result.rounds[0].decision.stop == "budget_seconds"
    assert "budget_exhausted" in _codes(result)
