"""Fitting: the same probabilities as scikit-learn, held-out estimates, thresholds, and what cannot be fitted."""

import json
import math

import pytest

from reflective_rag.optimizers.calibration import Case, Labelled, baselines, calibrate, collect, cross_fit, fit
from reflective_rag.optimizers.calibration.cases import deal, halves
from reflective_rag.optimizers.calibration.thresholds import thresholds
from reflective_rag.optimizers.evaluation import Row
from reflective_rag.programs.calibration import Calibration, read_calibration
from reflective_rag.programs.signals import SIGNALS
from reflective_rag.signatures.errors import ConfigError, DataError
from tests.optimizers.calibration.worlds import case, world


def back(calibration: Calibration) -> Calibration:
    """The calibration after a way through JSON."""
    return read_calibration(json.loads(calibration.model_dump_json()))


def test_isotonic_is_scikit_learns_after_json() -> None:
    """Pure Python, from JSON, gives the probability of `IsotonicRegression`, between and outside its steps too."""
    from sklearn.isotonic import IsotonicRegression

    cases = world(80, seed=1)
    x = [c.signals["evidence_score"] for c in cases if c.signals]
    edge = 1 / 82
    model = IsotonicRegression(y_min=edge, y_max=1 - edge, out_of_bounds="clip").fit(x, [c.right for c in cases])
    mine = back(fit(cases, "isotonic"))
    asked = [-1.0, 0.0, *(n / 97 for n in range(98)), 2.0]
    for value, expected in zip(asked, model.predict(asked), strict=True):
        assert mine.probability({"evidence_score": value}) == pytest.approx(expected, abs=1e-12)


def test_logistic_is_scikit_learns_after_json() -> None:
    """The coefficients in JSON give the probabilities of a scikit-learn pipeline with the same penalty."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from reflective_rag.optimizers.calibration.fit import STRENGTHS

    cases = world(80, seed=2)
    names = ["confidence", "evidence_score", "coverage"]
    x = np.asarray([[c.signals[name] for name in names] for c in cases if c.signals])
    mine = back(fit(cases, "logistic", names))
    probabilities = [mine.probability(dict(zip(names, row, strict=True))) for row in x.tolist()]
    differences = []
    for strength in STRENGTHS:
        model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, solver="newton-cholesky"))
        expected = model.fit(x, [c.right for c in cases]).predict_proba(x)[:, 1]
        differences.append(float(np.abs(expected - np.asarray(probabilities)).max()))
    assert min(differences) < 1e-9


@pytest.mark.parametrize("value", [-1e6, 1e6], ids=["far below", "far above"])
def test_extreme_signals_stay_probabilities(value: float) -> None:
    """No overflow, whatever a signal is."""
    fitted = fit(world(60), "logistic", ["evidence_score"])
    assert 0.0 <= fitted.probability({"evidence_score": value}) <= 1.0


def test_a_calibration_learns_a_known_world() -> None:
    """Where the chance of being right is the evidence score, the fitted probability is near it."""
    cases = world(600, seed=3)
    for kind in ("logistic", "isotonic"):
        fitted = fit(cases, kind)
        errors = [abs(fitted.probability(c.signals) - c.signals["evidence_score"]) for c in cases if c.signals]
        assert sum(errors) / len(errors) < 0.08


def test_held_out_probabilities_have_not_seen_their_label() -> None:
    """Turning one label round leaves its own cross-fitted probability as it was, and the penalty of its fold."""
    cases = world(60, seed=4)
    assert cross_fit(cases, "isotonic") == cross_fit(cases, "isotonic")
    labels_of_one = [c for c in cases if c.right]
    turned = [Case(c.id, c.signals, not c.right) if c is labels_of_one[0] else c for c in cases]
    dealt = deal([c.right for c in cases], 5)
    index = cases.index(labels_of_one[0])
    inside = [c for c, n in zip(cases, dealt, strict=True) if n != dealt[index]]
    assert turned[index] not in inside
    signals = cases[index].signals or {}
    assert cross_fit(cases, "isotonic")[index] == fit(inside, "isotonic").probability(signals)


def test_signals_that_never_vary_are_left_out() -> None:
    """A constant signal has no scale; the others carry the fit."""
    fitted = fit(world(40), "logistic", list(SIGNALS))
    assert set(fitted.features) == {"confidence", "evidence_score", "coverage", "top_score"}
    assert all(math.isfinite(value) for value in (*fitted.coefficients, *fitted.scales))


def test_a_program_that_judges_nothing_is_calibrated_by_its_own_confidence() -> None:
    """Isotonic regression takes the evidence score where there is one, else the confidence."""
    assert fit(world(40), "isotonic").features == ("evidence_score",)
    unjudged = [case(n, n % 3 == 0, confidence=n / 40) for n in range(40)]
    assert fit(unjudged, "isotonic").features == ("confidence",)


@pytest.mark.parametrize("kind", ["logistic", "isotonic"])
@pytest.mark.parametrize(
    ("cases", "said"),
    [
        pytest.param([], "there are none", id="nothing"),
        pytest.param([case(0, True)], "all are right", id="1 example"),
        pytest.param([case(n, True, evidence_score=n / 30) for n in range(30)], "all are right", id="all right"),
        pytest.param([case(n, False, evidence_score=n / 30) for n in range(30)], "all are wrong", id="all wrong"),
        pytest.param([case(n, n % 2 == 0) for n in range(30)], "never varies", id="constant signals"),
        pytest.param(
            [case(n, n % 2 == 0, evidence_score=n / 0.1, confidence=math.nan) for n in range(30)], "", id="NaN"
        ),
    ],
)
def test_what_cannot_be_fitted_is_one_data_error(kind, cases, said) -> None:
    """One label, no variation, no numbers: each says what is wrong, where `calibrate` meets it and where `fit` does."""
    with pytest.raises(DataError):
        calibrate(Labelled(tuple(cases)), kind)
    if kind == "logistic" or said:
        with pytest.raises(DataError, match=said or "finite"):
            fit(cases, kind)


def test_too_few_of_a_label() -> None:
    """Three wrong answers are too few to split into fit and thresholds; the message says what there was."""
    cases = [case(n, n > 2, evidence_score=n / 30, evidence_known=1.0) for n in range(30)]
    with pytest.raises(DataError, match="got 27 right and 3 wrong"):
        calibrate(Labelled(tuple(cases)))


@pytest.mark.parametrize(
    ("kind", "features"),
    [("logistic", ["charm"]), ("isotonic", ["coverage", "support"]), ("platt", None)],
    ids=["unknown signal", "two signals", "unknown kind"],
)
def test_a_setting_that_cannot_work(kind, features) -> None:
    """Unknown names are refused with the known ones."""
    with pytest.raises(ConfigError):
        fit(world(40), kind, features)


def test_the_report_measures_thresholds_and_baselines() -> None:
    """Enough labels of a known world: both rules find thresholds, which differ in what they bound."""
    cases = world(400, seed=5)
    silent = tuple(Case(f"s{n}", None, right=False) for n in range(40))
    report = calibrate(Labelled((*cases, *silent), failed=2, outages=1), risks=(0.3,), ablate=True)
    document = json.loads(json.dumps(report.to_dict()))
    assert (document["n"], document["answered"], document["abstained"], document["failed"]) == (443, 400, 40, 2)
    assert {"constant", "confidence", "evidence_score", "top_score"} <= set(document["baselines"])
    assert document["baselines"]["constant"]["auroc"]["mean"] == 0.5
    assert document["after"]["auroc"]["mean"] > 0.7
    assert document["differences"]["ece"]["high"] < 0  # the heuristic of this world is a square
    selective, joint = report.calibration.risks
    assert (selective.rule, joint.rule) == ("selective", "joint")
    assert selective.abstain_below is not None
    assert joint.abstain_below is not None
    assert joint.abstain_below < selective.abstain_below
    assert selective.observed is not None
    assert selective.observed <= 0.3
    assert set(document["ablation"]) == {"relevance", "consistency", "coverage", "freshness"}
    assert document["ablation"]["freshness"]["auroc"]["mean"] == 0.0


def test_the_rules_are_chosen() -> None:
    """One rule or both; an unknown one is refused with the known ones, before anything is fitted."""
    cases = Labelled(tuple(world(60)))
    for rules in (("joint",), ("selective",), ("joint", "selective")):
        found = calibrate(cases, "isotonic", risks=(0.3, 0.2), rules=rules).calibration.risks
        assert [(each.risk, each.rule) for each in found] == [(risk, rule) for risk in (0.3, 0.2) for rule in rules]
    for wrong in (("marginal",), ()):
        with pytest.raises(ConfigError, match="'selective', 'joint'"):
            calibrate(cases, rules=wrong)


@pytest.mark.parametrize("alpha", [0.1, 0.2])
def test_the_joint_rule_keeps_its_risk_with_a_fitted_calibration(alpha: float) -> None:
    """In a known world, over fits and thresholds alike: of new questions at most α are answered and wrong, on average.

    And the whole of α is used: it answers more than the selective rule would for the same share.
    """
    risks = []
    for seed in range(200):
        first, second = world(40, seed=3 * seed), world(60, seed=3 * seed + 1)
        fitted = fit(first, "isotonic", ("evidence_score",), seed=seed)
        found = thresholds(fitted, first, second, "isotonic", risks=(alpha,), delta=0.1, rules=("joint",))
        kept = fitted.model_copy(update={"risks": found})
        below = found[0].abstain_below
        if below is None:
            risks.append(0.0)
            continue
        assert kept.threshold(alpha, "joint").abstain_below == below
        new = world(100, seed=3 * seed + 2)
        answered = [each for each in new if fitted.probability(each.signals or {}) >= below]
        risks.append(sum(not each.right for each in answered) / len(new))
    mean = sum(risks) / len(risks)
    error = (sum((each - mean) ** 2 for each in risks) / len(risks)) ** 0.5 / len(risks) ** 0.5
    assert mean <= alpha + 2 * error
    assert mean >= alpha / 2


def test_a_risk_that_cannot_be_met_says_what_could_be() -> None:
    """Feasibility comes first: labels needed, and the lowest risk these labels show, at which coverage."""
    found = calibrate(Labelled(tuple(world(120, seed=6))), risks=(0.01,)).calibration.risks
    assert [each.abstain_below for each in found] == [None, None]
    assert "a risk of 1 % cannot be met with 60 labels; these answers meet" in found[0].note
    assert "at coverage" in found[0].note
    assert "needs at least 230 answered labels" in found[0].note
    assert "a risk of 1 % cannot be met with 60 labels" in found[1].note


def test_the_same_seed_gives_the_same_calibration() -> None:
    """Splits, penalty and intervals are seeded."""
    cases = Labelled(tuple(world(40)))
    assert calibrate(cases, "isotonic", seed=1).calibration == calibrate(cases, "isotonic", seed=1).calibration
    assert halves(cases.cases, seed=1) != halves(cases.cases, seed=2)


def test_halves_are_disjoint_and_alike() -> None:
    """Right, wrong and unanswered cases are dealt evenly; no case is in both halves, none is lost."""
    cases = [*world(51), *(Case(f"s{n}", None, right=False) for n in range(7))]
    first, second = halves(cases, seed=3)
    assert {c.id for c in first} | {c.id for c in second} == {c.id for c in cases}
    assert not {c.id for c in first} & {c.id for c in second}
    for kind in (lambda c: c.right, lambda c: c.answered, lambda c: not c.answered):
        assert abs(sum(map(kind, first)) - sum(map(kind, second))) <= 1


def test_baselines_without_retrieval_scores() -> None:
    """What no case has is no baseline: a retriever without scores, a program that judges nothing."""
    assert set(baselines([case(n, n % 2 == 0, confidence=n / 9) for n in range(9)])) == {"constant", "confidence"}


SIGNALS_OF_ONE = dict.fromkeys(SIGNALS, 0.5)


def row(**changes: object) -> Row:
    """An answered row."""
    about = {"record_id": "q", "question": "q?", "answer": "Paris", "answers": ("Paris",), "f1": 1.0}
    return Row(**{**about, "signals": SIGNALS_OF_ONE, **changes})  # type: ignore[arg-type]  # tests pass what fits


def test_rows_become_cases() -> None:
    """Right from F1 .5 on; abstentions are unanswered; failures and outages are counted and left out."""
    rows = [
        row(),
        row(f1=0.49),
        row(abstained=True, f1=1.0),
        row(answer=" "),
        row(error="ValueError: x", signals=None),
        row(stop_reason="model_error"),
    ]
    found = collect(rows)
    assert [(c.answered, c.right) for c in found.cases] == [(True, True), (True, False), (False, False), (False, False)]
    assert (found.failed, found.outages, len(found.answered)) == (1, 1, 2)
    assert [c.right for c in collect([row(f1=0.9, em=0.0)], "em").cases] == [False]


@pytest.mark.parametrize(
    ("changes", "correct", "error"),
    [
        pytest.param({"signals": None}, "f1", DataError, id="no signals"),
        pytest.param({}, "score", DataError, id="no metric"),
        pytest.param({}, "charm", ConfigError, id="no such column"),
    ],
)
def test_rows_that_cannot_be_used(changes, correct, error) -> None:
    """Each says what is missing."""
    with pytest.raises(error):
        collect([row(**changes)], correct)


def test_signals_of_another_version_are_refused() -> None:
    """A row that lacks a signal of this version must be evaluated again."""
    cases = [Case(c.id, {k: v for k, v in (c.signals or {}).items() if k != "verdict"}, c.right) for c in world(40)]
    with pytest.raises(DataError, match="lack `verdict`"):
        calibrate(Labelled(tuple(cases)))
