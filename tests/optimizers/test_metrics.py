"""Answer metrics: the pure scores by hand and against other implementations, then their DSPy form."""

import copy
import inspect
import pickle
from typing import Any

import dspy
import pytest
from dspy.evaluate.metrics import EM, F1, HotPotF1

from reflective_rag.optimizers.metrics import (
    AnswerMetric,
    answer_groups,
    containment,
    costed,
    exact_match,
    f1,
    grade,
    metric,
    normalize_answer,
    retrieval_recall,
)
from reflective_rag.signatures.errors import ConfigError, ContractError
from reflective_rag.signatures.types import Passage, PhaseUsage


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Eiffel Tower!", "eiffel tower"),
        ("a U.S. state", "us state"),
        ("Theatre", "theatre"),
        ("“Moira’s” café", "moiras café"),
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("cafe\u0301", "café"),
        ("The The", "the the"),
        ("A", "a"),
        ("+", "+"),
        ("", ""),
        (" \n", ""),
        ("《三体》，刘慈欣。", "三体刘慈欣"),
        ("北 京　市", "北京市"),
        ("约翰·史密斯", "约翰史密斯"),
        ("iPhone 12（蓝色）", "iphone12蓝色"),
        ("１，３１３，８５１ 辆", "1313851辆"),
        ("186.35万", "186.35万"),
        ("。！", "。!"),
    ],
)
def test_the_normal_form(text: str, normal: str) -> None:
    """Case, punctuation, articles and white space do not count, but what consists of these alone is kept."""
    assert normalize_answer(text, "zh" if text == "。！" else None) == normal


ENGLISH = [
    ("The Eiffel Tower", "Eiffel Tower"),
    ("Eiffel Tower is in Paris", "Paris"),
    ("paris france", "Paris, France"),
    ("the cat the cat sat", "cat cat cat"),
    ("no", "yes"),
    ("yes, it is", "yes"),
    ("Yes.", "yes"),
    ("noanswer", "answer"),
    ("Barack Hussein Obama II", "Barack Obama"),
    ("1,313", "1313"),
    ("x-ray", "X ray"),
    ("Kınar Sıvacıyan", "Kınar Sıvacıyan"),
    ("Café de Flore", "cafe de flore"),
    ("", "Paris"),
]


@pytest.mark.parametrize(("prediction", "answer"), ENGLISH)
def test_english_scores_agree_with_dspy(prediction: str, answer: str) -> None:
    """EM and F1 equal those of dspy.evaluate; for yes and no its HotpotQA variant is the reference."""
    assert exact_match(prediction, [answer, "something else"]) == EM(prediction, [answer, "something else"])
    assert f1(prediction, [answer]) == pytest.approx(HotPotF1(prediction, [answer]))
    if not {"yes", "no", "noanswer"} & {prediction.lower(), answer.lower()}:
        assert f1(prediction, [answer]) == pytest.approx(F1(prediction, [answer]))


@pytest.mark.parametrize(
    ("prediction", "answer", "em", "score"),
    [
        ("满族姓氏与汉族姓氏", "满族姓氏与汉族姓氏", 1, 1),
        ("法国巴黎", "巴黎", 0, 2 * 2 / (4 + 2)),
        # The longest common run is 汉族姓氏 (4), though 8 characters are shared.
        ("汉族姓氏和满族姓氏", "满族姓氏与汉族姓氏", 0, 2 * 4 / (9 + 9)),
        # One run of 年 and 月 each: order and gaps count, a bag of characters would give 2.
        ("1月和2年", "年月", 0, 2 * 1 / (5 + 2)),
        ("在2022年", "2022", 0, 2 * 1 / (3 + 1)),
        ("iPhone 12 手机", "iPhone 12", 0, 2 * 2 / (4 + 2)),
        ("COVID-19 疫情", "covid19疫情", 1, 1),
        ("1,000人", "1000人", 1, 1),
        ("3.5万", "35万", 0, 2 * 1 / (2 + 2)),
        ("哈哈哈哈", "哈哈", 0, 2 * 2 / (4 + 2)),
        ("《三体》", "三体", 1, 1),
        ("不是", "是", 0, 0),
        ("是。", "是", 1, 1),
        ("否", "是的", 0, 0),
        ("是的", "是", 0, 2 * 1 / (2 + 1)),
        ("上海", "北京", 0, 0),
        ("", "北京", 0, 0),
    ],
)
def test_chinese_scores_by_hand(prediction: str, answer: str, em: float, score: float) -> None:
    """Characters are the tokens, Latin words and numbers count one each, and F1 is over the longest common run."""
    assert exact_match(prediction, [answer]) == em
    assert f1(prediction, [answer]) == pytest.approx(score)


def test_a_stray_chinese_character_does_not_hide_an_english_word() -> None:
    """Mostly English text is read as English, but characters that touch a word are apart from it."""
    assert f1("能。Mozilla Fire", ["Mozilla Firefox"]) == pytest.approx(2 * 1 / (3 + 2))
    assert containment("我用Mozilla Firefox and Thunderbird", ["Mozilla Firefox"]) == 1


@pytest.mark.parametrize("score", [exact_match, f1, containment])
@pytest.mark.parametrize(
    ("prediction", "answers", "expected"),
    [
        ("", [], 1),
        (" ", [], 1),
        ("Paris", [], 0),
        ("", [""], 1),
        ("", ["Paris"], 0),
        ("Paris", [""], 0),
        ("!!!", ["Paris"], 0),
        ("!!!", ["?"], 0),
        ("Paris", ["!"], 0),
        ("the", ["A"], 0),
        ("the", ["The"], 1),
        ("Paris", ["Lyon", "Paris"], 1),
        ("巴黎", ["Lyon", "巴黎"], 1),
    ],
)
def test_edges_are_the_same_for_every_score(score: Any, prediction: str, answers: list[str], expected: float) -> None:
    """Silence is right only where nothing is the gold; punctuation and articles match nothing but themselves."""
    assert score(prediction, answers) == expected


@pytest.mark.parametrize(
    ("prediction", "answer", "expected"),
    [
        ("It is located in Paris, France.", "Paris", 1),
        ("Parisian life", "Paris", 0),
        ("He moved to the New York area", "new york", 1),
        ("New and York", "New York", 0),
        ("Paris—the capital", "Paris", 1),
        ("a band named The The", "The The", 1),
        ("the man and the dog", "The The", 0),
        ("共21人死亡", "21人", 1),
        ("共 21 人死亡", "21人", 1),
        ("共121人死亡", "21人", 0),
        ("约13.5万", "3.5万", 0),
        ("超过3.5万", "3.5", 1),
        ("即3.55", "3.5", 0),
        ("在法国，巴黎", "法国巴黎", 1),
        ("使用OpenAI的模型", "AI", 0),
        ("使用 AI 模型", "AI", 1),
        ("发布于2022年的iPhone 14", "iPhone14", 1),
    ],
)
def test_containment_keeps_to_words_and_numbers(prediction: str, answer: str, expected: float) -> None:
    """Whole words in English; in Chinese a substring that cuts no number and no Latin word."""
    assert containment(prediction, [answer]) == expected


@pytest.mark.parametrize(
    ("prediction", "groups", "wrong", "expected"),
    [
        ("1313851辆和186.35万辆", [["1313851", "131万"], ["187万", "186.35万"]], (), 1.0),
        ("131万辆", [["1313851", "131万"], ["187万", "186.35万"]], (), 0.5),
        ("either 11,012 or 3,998", [["11,012"], ["3,998"]], (), 1.0),
        ("Soul or Onward", [["Soul"]], ["Onward"], 0.0),
        ("Michelle Obama", [["Michelle Obama"]], ["Obama"], 1.0),
        ("none", [["Soul"], ["Up"], ["Coco"]], (), 0.0),
        ("", [["Soul"]], (), 0.0),
        ("", [], (), 1.0),
    ],
    ids=["all", "half", "thousands", "planted", "planted inside gold", "none", "blank", "no groups"],
)
def test_answer_groups(prediction: str, groups: list[list[str]], wrong: list[str], expected: float) -> None:
    """The share of groups with an alias in the prediction; a planted wrong answer spoils it."""
    assert answer_groups(prediction, groups, wrong) == expected


def test_retrieval_recall_goes_by_text_not_by_id() -> None:
    """Two of three supporting texts found is 2/3, under whatever id; without supporting passages it is undefined."""
    keys = [Passage(id="gold", text=text).key for text in ("One.", "Two.", "Three.")]
    found: list[Passage | str] = [Passage(id="x", text="one"), "TWO", Passage(id="y", text="noise")]
    assert retrieval_recall(found, keys) == pytest.approx(2 / 3)
    assert retrieval_recall([], keys) == 0.0
    assert retrieval_recall(found, []) is None


def test_the_costed_score_by_hand() -> None:
    """.9 − .02 · 1500/1000 − .01 · 3 = .84; it may fall below 0."""
    assert costed(0.9, 1500, 3, 0.02, 0.01) == pytest.approx(0.84)
    assert costed(0.0, 1000, 0, 0.5, 0.0) == -0.5


@pytest.mark.parametrize("score", [exact_match, f1, containment])
@pytest.mark.parametrize(
    ("prediction", "answers", "named"),
    [(None, ["a"], "prediction"), (5, ["a"], "prediction"), ("a", "a", "answers"), ("a", [1], "answers")],
    ids=["no prediction", "number", "bare text", "number in answers"],
)
def test_scores_refuse_what_is_not_text(score: Any, prediction: Any, answers: Any, named: str) -> None:
    """A missing prediction or a bare text for the list is an error, not a 0 and not a list of letters."""
    with pytest.raises(ContractError, match=f"`{named}` must be"):
        score(prediction, answers)


@pytest.mark.parametrize(
    ("answer", "abstained", "answerable", "expected"),
    [
        ("Paris", False, True, 1),
        ("Paris", True, True, 0),
        ("", False, True, 0),
        ("Paris", False, False, 0),
        ("I cannot tell.", True, False, 1),
        (" ", False, False, 1),
    ],
    ids=["answered", "abstained", "blank", "answered the unanswerable", "abstained rightly", "blank rightly"],
)
def test_abstention_is_right_only_where_the_question_is_unanswerable(
    answer: str, abstained: bool, answerable: bool, expected: float
) -> None:
    """Abstaining on an answerable question scores 0, even with the gold answer in the text; and the other way round."""
    assert grade(exact_match, answer, ["Paris"], abstained=abstained, answerable=answerable) == expected
    example = dspy.Example(answers=["Paris"], answerable=answerable)
    prediction = dspy.Prediction(answer=answer, abstained=abstained)
    assert [metric(name)(example, prediction) for name in ("f1", "em", "containment", "groups")] == [expected] * 4


EXAMPLE = dspy.Example(question="Where?", answers=("Paris", "City of Light"), answer="Paris").with_inputs("question")
HALF = dspy.Prediction(answer="Paris maybe then")  # F1 against Paris: 2·1/(3+1) = .5


@pytest.mark.parametrize(("name", "expected"), [("f1", 0.5), ("em", 0.0), ("containment", 1.0), ("groups", 1.0)])
def test_each_name_gives_its_score(name: str, expected: float) -> None:
    """A metric scores any example with `answers` or `answer`, and any prediction with `answer`."""
    assert metric(name)(EXAMPLE, HALF) == expected
    assert metric(name)(dspy.Example(answer="Paris"), HALF) == expected
    assert metric(name)(dspy.Example(answer=["Lyon", "Paris"]), HALF) == expected


def test_groups_use_the_groups_of_the_example() -> None:
    """`answer_groups` and `wrong_answers` of the example come before its answers."""
    example = dspy.Example(answers=["Paris"], answer_groups=[["Paris"], ["Lyon"]], wrong_answers=["Nice"])
    assert metric("groups")(example, dspy.Prediction(answer="Paris")) == 0.5
    assert metric("groups")(example, dspy.Prediction(answer="Paris, Lyon, Nice")) == 0.0


@pytest.mark.parametrize(
    ("threshold", "expected"), [(None, True), (0.5, True), (0.6, False)], ids=["default", "reached", "missed"]
)
def test_bootstrapping_gets_a_bool(threshold: float | None, expected: bool) -> None:
    """With a trace the metric says whether the threshold is reached; GEPA's call for a predictor gets the score."""
    chosen = metric("f1", threshold=threshold)
    assert chosen(EXAMPLE, HALF, []) is expected
    assert chosen(EXAMPLE, HALF, [], "answer", []) == 0.5
    assert type(chosen(EXAMPLE, HALF, None)) is float


def test_gepa_accepts_the_signature() -> None:
    """GEPA binds five arguments to a metric before it starts."""
    assert len(inspect.signature(metric("f1")).bind(None, None, None, None, None).arguments) == 5


def test_a_metric_can_be_copied_pickled_and_compared() -> None:
    """Optimizers copy metrics; equal settings are equal metrics."""
    chosen = metric("costed", lam=0.1)
    assert chosen == copy.deepcopy(chosen) == pickle.loads(pickle.dumps(chosen))
    assert isinstance(chosen, AnswerMetric)
    assert chosen != metric("costed")


def test_dspy_evaluate_runs_it_unchanged() -> None:
    """Stock dspy.Evaluate averages it in percent."""

    class Always(dspy.Module):
        def forward(self, question: str) -> dspy.Prediction:
            return dspy.Prediction(answer=f"Paris maybe {question}")

    run = dspy.Evaluate(devset=[EXAMPLE, EXAMPLE], metric=metric("f1"), num_threads=1, display_progress=False)
    assert run(Always()).score == 50.0


def prediction(**changes: Any) -> dspy.Prediction:
    """A right answer that cost 1500 tokens and 3 retrievals."""
    usage = {
        "assess": PhaseUsage(calls=1, prompt_tokens=900, completion_tokens=100),
        "answer": PhaseUsage(calls=1, prompt_tokens=400, completion_tokens=100),
    }
    return dspy.Prediction(**({"answer": "Paris", "usage": usage, "retrievals": 3} | changes))


def test_the_costed_metric_counts_every_phase() -> None:
    """F1 1 − .1 · 1.5 − .05 · 3 = .7; a cost that is known to be nothing costs nothing."""
    assert metric("costed", lam=0.1, mu=0.05)(EXAMPLE, prediction()) == pytest.approx(0.7)
    assert metric("costed")(EXAMPLE, prediction(usage={}, retrievals=0)) == 1.0


def test_the_costed_metric_reads_dspys_own_tracking() -> None:
    """A stock module under `track_usage=True` has a cost too."""
    stock = dspy.Prediction(answer="Paris")
    stock.set_lm_usage({"fake/model": {"prompt_tokens": 900, "completion_tokens": 100, "total_tokens": 1000}})
    assert metric("costed", lam=0.1, mu=0)(EXAMPLE, stock) == pytest.approx(0.9)


def test_an_unknown_cost_is_an_error_not_a_zero() -> None:
    """A prediction that does not tell its cost cannot look free, unless its price is 0."""
    with pytest.raises(ContractError, match="needs `usage`"):
        metric("costed")(EXAMPLE, dspy.Prediction(answer="Paris", retrievals=1))
    with pytest.raises(ContractError, match="needs `retrievals`"):
        metric("costed")(EXAMPLE, dspy.Prediction(answer="Paris", usage={}))
    assert metric("costed", lam=0, mu=0)(EXAMPLE, dspy.Prediction(answer="Paris")) == 1.0


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (dspy.Prediction(response="Paris"), r"text field `answer`, got \['response'\]"),
        (dspy.Prediction(answer=None), "text field `answer`"),
        (dspy.Prediction(answer=["Paris"]), r"`answer` must be a text, got \['Paris'\]"),
        ("Paris", "got str"),
        (None, "got NoneType"),
    ],
    ids=["other field", "none", "list", "bare text", "nothing"],
)
def test_a_prediction_without_an_answer_is_an_error(made: Any, said: str) -> None:
    """A program whose output has another name is told so; it is never scored 0."""
    with pytest.raises(ContractError, match=said):
        metric("f1")(EXAMPLE, made)


def test_an_example_without_answers_is_an_error() -> None:
    """Gold is never guessed."""
    with pytest.raises(ContractError, match="`answers`"):
        metric("f1")(dspy.Example(question="Where?"), HALF)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("F1", {}, "'f1', 'em', 'containment', 'groups', 'costed', .*'groundedness', got 'F1'"),
        ("f1", {"lam": 0.1}, "prices of the metric 'costed'"),
        ("costed", {"lam": -0.1}, "`lam` must be a number of at least 0"),
        ("costed", {"mu": float("nan")}, "`mu` must be a number of at least 0"),
        ("f1", {"penalty": 1.0}, "the price of the metric 'abstention'"),
        ("abstention", {"penalty": -1.0}, "`penalty` must be a number of at least 0"),
        ("abstention", {"lam": 0.1}, "prices of the metric 'costed'"),
        ("em", {"quality": "f1"}, "what the metrics 'costed' and 'abstention' start from"),
        ("costed", {"quality": "costed"}, "`quality` must be one of 'f1', 'em', 'containment', 'groups'"),
        ("f1", {"threshold": 50}, "`threshold` must be a score of at most 1, got 50"),
        ("f1", {"threshold": float("nan")}, "`threshold`"),
    ],
    ids=[
        "unknown",
        "price without use",
        "negative price",
        "nan price",
        "penalty without use",
        "negative penalty",
        "price of another",
        "quality without use",
        "quality that is none",
        "percent",
        "nan threshold",
    ],
)
def test_bad_settings_are_refused_before_anything_runs(name: str, settings: dict[str, Any], said: str) -> None:
    """An unknown name lists the known ones; a setting that would do nothing is refused too."""
    with pytest.raises(ConfigError, match=said):
        metric(name, **settings)
