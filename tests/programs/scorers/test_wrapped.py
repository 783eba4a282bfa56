"""Any object with `predict(pairs)`: numbers of one kind, in order, or one clear error."""

import copy
import math
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest

from reflective_rag.programs.scorers.base import Nli
from reflective_rag.programs.scorers.normalise import nli_labels
from reflective_rag.programs.scorers.wrapped import Entailment, Relevance
from reflective_rag.signatures.errors import ConfigError, ContractError, DataError
from tests.programs.scorers.fakes import Fake, Tensor, always, configured

np = pytest.importorskip("numpy")
PAIRS = [("q", "a"), ("q", "b")]
LOGISTIC_2 = 1 / (1 + math.exp(-2))
ENC = ("entailment", "neutral", "contradiction")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param([0.25, 1.0], [0.25, 1.0], id="list of probabilities"),
        pytest.param((0, 1), [0.0, 1.0], id="tuple of integers"),
        pytest.param([0.0, 2.0], [0.5, LOGISTIC_2], id="logits"),
        pytest.param([-800.0, 800.0], [0.0, 1.0], id="huge logits"),
        pytest.param([[0.25], [1.0]], [0.25, 1.0], id="column"),
        pytest.param(np.array([0.25, 1.0]), [0.25, 1.0], id="array"),
        pytest.param(np.array([[0.0], [2.0]], dtype=np.float16), [0.5, LOGISTIC_2], id="half precision column"),
        pytest.param([np.float32(0.25), np.float32(1)], [0.25, 1.0], id="list of numpy numbers"),
        pytest.param([np.array([0.25]), np.array([1.0])], [0.25, 1.0], id="list of arrays"),
        pytest.param(Tensor([0.25, 1.0]), [0.25, 1.0], id="tensor"),
        pytest.param([Tensor(0.25), Tensor(1.0)], [0.25, 1.0], id="list of tensors"),
        pytest.param([Fraction(1, 4), 1], [0.25, 1.0], id="fractions"),
        pytest.param([[0.75, 0.25], [0.0, 1.0]], [0.25, 1.0], id="two classes, probabilities"),
        pytest.param([[1.0, 1.0], [1.0, 3.0]], [0.5, LOGISTIC_2], id="two classes, logits"),
    ],
)
def test_relevance_is_read_from_any_shape(raw: Any, expected: list[float]) -> None:
    """Lists, arrays and tensors of one or two columns, logits or probabilities, become numbers in 0..1."""
    assert Relevance(always(raw)).predict(PAIRS) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        pytest.param([0.5], "asked about 2 pair", id="too few"),
        pytest.param([0.5] * 3, "returned 3 score", id="too many"),
        pytest.param([], "returned 0 score", id="none"),
        pytest.param([0.5, math.nan], "finite", id="nan"),
        pytest.param([0.5, math.inf], "finite", id="infinite"),
        pytest.param([[0.1, 0.2, 0.7], [0.1, 0.2, 0.7]], "looks like a model for inference", id="three columns"),
        pytest.param([[0.1] * 5, [0.1] * 5], "5 numbers a pair", id="five columns"),
        pytest.param([[0.1], [0.2, 0.3]], "equally long", id="ragged"),
        pytest.param([[0.1], 0.2], None, id="mixed"),
        pytest.param([[], []], "equally long", id="empty rows"),
        pytest.param([[[0.1]], [[0.2]]], "must return numbers", id="three dimensions"),
        pytest.param(["0.5", "0.6"], "must return numbers", id="text"),
        pytest.param([True, False], "must return numbers", id="truth values"),
        pytest.param([{"score": 1}, {"score": 0}], "must return numbers", id="mappings"),
        pytest.param(None, "got NoneType", id="nothing"),
        pytest.param(0.5, "got float", id="one number"),
        pytest.param({"scores": [1, 2]}, "got dict", id="mapping"),
    ],
)
def test_anything_else_is_one_error(raw: Any, says: str | None) -> None:
    """A wrong count, NaN or another shape names the scorer and what came."""
    scorer = Relevance(always(raw), name="mine")
    if says is None:
        assert scorer.predict(PAIRS) == pytest.approx([0.1, 0.2])
        return
    with pytest.raises(ContractError) as caught:
        scorer.predict(PAIRS)
    assert says in str(caught.value)
    assert "`mine`" in str(caught.value)


class Sigmoid:
    """The activation of a CrossEncoder that gives probabilities."""


class Identity:
    """The activation of one that gives logits."""


def test_a_declared_scale_is_believed() -> None:
    """Logits that happen to lie in 0..1 are logits where the object, its activation or the caller says so."""
    assert Relevance(always([0.0, 0.0])).predict(PAIRS) == [0.0, 0.0]
    for declared in (
        Relevance(Fake(lambda pairs: [0.0, 0.0], scale="logits")),
        Relevance(Fake(lambda pairs: [0.0, 0.0], activation_fn=Identity())),
        Relevance(Fake(lambda pairs: [0.0, 0.0], default_activation_function=Identity())),
        Relevance(always([0.0, 0.0]), scale="logits"),
    ):
        assert declared.predict(PAIRS) == [0.5, 0.5]
    lying = Relevance(Fake(lambda pairs: [0.0, 7.0], activation_fn=Sigmoid()))
    with pytest.raises(ContractError, match=r"says it gives probabilities and returned 7\.0"):
        lying.predict(PAIRS)
    with pytest.raises(ConfigError, match="auto, logits, probabilities"):
        Relevance(always([]), scale="percent")  # type: ignore[arg-type] # a caller's mistake


def test_logits_once_seen_stay_logits() -> None:
    """After a number outside 0..1 an object that says nothing is known to give logits."""
    scorer = Relevance(Fake(lambda pairs: [float(text) for _, text in pairs]))
    assert scorer.predict([("q", "0.0")]) == [0.0]
    assert scorer.predict([("q", "3"), ("q", "0.0")])[1] == 0.5
    assert scorer.predict([("q", "0.0")]) == [0.5]


def test_no_pairs_and_no_text_need_no_call() -> None:
    """An empty list is not asked about, nor is a passage without text, which has no relevance."""
    fake = always([])
    assert Relevance(fake).predict([]) == []
    assert Relevance(fake).predict([("q", " \n")]) == [0.0]
    assert Entailment(fake, labels=ENC).predict([]) == []
    assert fake.asked == []


def test_a_long_passage_counts_as_its_best_window() -> None:
    """200,000 characters are scored in a few windows that hold the question's words, each with the title."""
    filler = "Rye bread needs a long, slow bake and salt keeps the crust firm. " * 1500
    text = f"Meridale\n{filler}The tram network of Meridale has 42 stops. {filler}"
    assert len(text) > 190_000
    fake = Fake(lambda pairs: [0.9 if "42 stops" in text else 0.1 for _, text in pairs])
    assert Relevance(fake).predict([("How many stops does the tram have?", text), ("q", "bread")]) == [0.9, 0.1]
    assert len(fake.asked) <= 9
    assert all(len(text) < 1300 for _, text in fake.asked)
    assert sum(text.startswith("Meridale\n") for _, text in fake.asked) == len(fake.asked) - 1


def test_what_an_object_raises_is_named() -> None:
    """A foreign exception becomes one `ContractError` with its reason; an error of this library stays what it is."""

    def fail(pairs: Any) -> Any:
        raise ValueError("Already borrowed\nTraceback …")

    def missing(pairs: Any) -> Any:
        raise DataError("no such model")

    with pytest.raises(ContractError, match=r"`Fake` gave no scores \(ValueError: Already borrowed\)"):
        Relevance(Fake(fail)).predict(PAIRS)
    with pytest.raises(DataError, match="no such model"):
        Relevance(Fake(missing)).predict(PAIRS)


def test_an_object_is_asked_by_one_thread_at_a_time() -> None:
    """Tokenizers that keep state fail under threads, so calls of a caller's object wait for each other."""
    inside = threading.Semaphore(1)

    def alone(pairs: Any) -> list[float]:
        assert inside.acquire(blocking=False)
        threading.Event().wait(0.002)
        inside.release()
        return [0.5] * len(pairs)

    scorer = Relevance(Fake(alone))
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: scorer.predict(PAIRS), range(24)))
    assert results == [[0.5, 0.5]] * 24


def half(pairs: Any) -> list[float]:
    """Half for each pair."""
    return [0.5] * len(pairs)


def test_copies_share_the_object() -> None:
    """A model is neither copied with a program nor lost when the scorer is pickled."""
    fake = Fake(half)
    scorer = Relevance(fake)
    assert copy.deepcopy(scorer).predictor is fake
    assert copy.copy(scorer).predictor is fake
    assert pickle.loads(pickle.dumps(scorer)).predict(PAIRS) == [0.5, 0.5]


ROW = [[0.1, 0.7, 0.2], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    ("scorer", "first"),
    [
        pytest.param(Entailment(always(ROW), labels=ENC), Nli(0.1, 0.7, 0.2), id="given"),
        pytest.param(
            Entailment(always(ROW), labels=["CONTRADICTION", "Entailment", "neutral"]), Nli(0.7, 0.2, 0.1), id="case"
        ),
        pytest.param(
            Entailment(Fake(lambda pairs: ROW, labels=("neutral", "contradiction", "entailment"))),
            Nli(0.2, 0.1, 0.7),
            id="own labels",
        ),
        pytest.param(
            Entailment(Fake(lambda pairs: ROW, model=configured({0: "contradiction", 1: "entailment", 2: "neutral"}))),
            Nli(0.7, 0.2, 0.1),
            id="configuration of its model",
        ),
        pytest.param(
            Entailment(
                Fake(lambda pairs: ROW, config=configured({"2": "neutral", "1": "entails", "0": "contradicts"}).config)
            ),
            Nli(0.7, 0.2, 0.1),
            id="keys out of order",
        ),
        pytest.param(Entailment(always(np.log(np.array(ROW) + 1e-9)), labels=ENC), Nli(0.1, 0.7, 0.2), id="logits"),
        pytest.param(Entailment(always(Tensor(ROW)), labels=ENC), Nli(0.1, 0.7, 0.2), id="tensor"),
    ],
)
def test_inference_is_put_in_one_order(scorer: Entailment, first: Nli) -> None:
    """Whatever order a model has its columns in, the result is entailment, neutral, contradiction, summing to 1."""
    found = scorer.predict(PAIRS)
    assert found[0] == pytest.approx(first, abs=1e-6)
    assert [sum(row) for row in found] == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(["LABEL_0", "LABEL_1", "LABEL_2"], id="unnamed"),
        pytest.param(["entailment", "not_entailment"], id="two classes"),
        pytest.param(["entailment", "neutral", "neutral"], id="twice"),
        pytest.param(["positive", "neutral", "negative"], id="sentiment"),
        pytest.param({}, id="empty"),
        pytest.param("entailment", id="text"),
        pytest.param({"a": "entailment", "b": "neutral"}, id="keys without order"),
        pytest.param(None, id="none"),
    ],
)
def test_an_order_is_never_guessed(labels: Any) -> None:
    """Names that are not the three, each once, are refused with what they are."""
    with pytest.raises(ConfigError, match="expected entailment, neutral and contradiction"):
        nli_labels(labels, "`model`")


def test_columns_without_names_ask_for_them() -> None:
    """An object that says nothing of its columns needs `labels=`, and the message shows how."""
    with pytest.raises(ConfigError, match=r"nli_scorer\(model, labels="):
        Entailment(always(ROW)).predict(PAIRS)


@pytest.mark.parametrize("raw", [[0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]]], ids=["one column", "two columns"])
def test_inference_needs_three_columns(raw: Any) -> None:
    """A reranker or a two-class model cannot tell contradiction from mere lack of support."""
    with pytest.raises(ContractError, match="gives three: entailment, neutral, contradiction"):
        Entailment(always(raw), labels=ENC).predict(PAIRS)
