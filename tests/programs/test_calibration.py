"""A calibration in an artefact: applied at run time, bound to model and program, and withholding at a wanted risk."""

import json
from pathlib import Path
from typing import Any

import dspy
import pytest

from reflective_rag.programs import ReflectiveRAG, load_program, make_program, result_of, save_program
from reflective_rag.programs.artefacts import read_manifest, set_calibration
from reflective_rag.programs.calibrated import InUse, model_in_use
from reflective_rag.programs.calibration import Calibration, RiskThreshold, read_calibration, signals
from reflective_rag.programs.fingerprints import program_digest
from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Result, ResultWarning
from tests.fakes import fake_lm

QUESTION = "When was Giotto born?"


def search(query: str, k: int) -> list[str]:
    """One passage that answers."""
    return ["Giotto was born in 1267."][:k]


def flat(probability: float, **changes: Any) -> Calibration:
    """A calibration that gives every answer the same probability."""
    about: dict[str, Any] = {"kind": "isotonic", "features": ("evidence_score",), "x": (0.0,), "y": (probability,)}
    thresholds = (
        RiskThreshold(risk=0.1, rule="selective", delta=0.1, abstain_below=0.6, n=50, coverage=0.5, observed=0.02),
        RiskThreshold(risk=0.05, rule="selective", delta=0.1, n=50, note="a risk of 5 % cannot be met with 50 labels"),
        RiskThreshold(risk=0.1, rule="joint", abstain_below=0.3, n=60, coverage=0.8, observed=0.05),
    )
    return Calibration(**{**about, "risks": thresholds, **changes})


def artefact(folder: Path, probability: float, **changes: Any) -> Path:
    """An artefact on rules with such a calibration, which holds for it."""
    rag = ReflectiveRAG(search, mode="rules", warn_on_low_confidence=True, min_confidence=0.5)
    save_program(rag, folder)
    set_calibration(folder, flat(probability, **{"program": program_digest(rag), **changes}))
    return folder


def ask(folder: Path, **options: Any) -> Result:
    """The result of the loaded artefact."""
    return result_of(load_program(folder, search, **options)(question=QUESTION))


def test_the_manifest_keeps_it_field_by_field(tmp_path: Path) -> None:
    """What was put in comes back; the program beside it is untouched; None takes it out."""
    folder = artefact(tmp_path / "a", 0.7)
    before = (folder / "program.json").read_bytes()
    assert read_manifest(folder).calibration == flat(0.7, program=program_digest(load_program(folder)))
    set_calibration(folder, None)
    assert read_manifest(folder).calibration is None
    assert (folder / "program.json").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "program.json"]


def test_confidence_becomes_the_probability(tmp_path: Path) -> None:
    """The answer is the same, its confidence is the calibration's, and the result says so."""
    plain = result_of(ReflectiveRAG(search, mode="rules")(question=QUESTION))
    found = ask(artefact(tmp_path / "a", 0.7))
    assert (found.answer, found.confidence, found.calibrated) == (plain.answer, 0.7, True)
    assert (plain.calibrated, plain.confidence != 0.7) == (False, True)


def test_the_warning_follows_the_probability(tmp_path: Path) -> None:
    """Low confidence is warned of by the calibrated value, whatever the heuristic said."""
    for probability, warned in ((0.2, True), (0.9, False)):
        codes = [w.code for w in ask(artefact(tmp_path / str(probability), probability)).warnings]
        assert ("low_confidence_generation" in codes) is warned


async def test_every_way_of_asking_is_calibrated(tmp_path: Path) -> None:
    """Sync, async and both streams give the same result."""
    rag = load_program(artefact(tmp_path / "a", 0.7), search)
    streamed = [event.result for event in rag.stream(question=QUESTION) if event.kind == "result"]
    streamed += [event.result async for event in rag.astream(question=QUESTION) if event.kind == "result"]
    found = [rag(question=QUESTION), await rag.acall(question=QUESTION), *streamed]
    assert [(each.confidence, each.calibrated) for each in found] == [(0.7, True)] * 4


def test_an_answer_below_the_threshold_is_withheld(tmp_path: Path) -> None:
    """It abstains with a warning that names both numbers, and without claims and citations."""
    found = ask(artefact(tmp_path / "a", 0.5), abstain_at_risk=0.1)
    assert (found.abstained, found.degraded, found.confidence, found.claims, found.citations) == (True, True, 0, (), ())
    assert "1267" not in found.answer
    (withheld,) = [w for w in found.warnings if w.code == "answer_withheld"]
    assert "0.50 < 0.60" in withheld.message
    assert not {"low_confidence_generation", "unsupported_answer"} & {w.code for w in found.warnings}


@pytest.mark.parametrize(
    ("probability", "options", "abstained"),
    [
        pytest.param(0.6, {"abstain_at_risk": 0.1}, False, id="at the threshold"),
        pytest.param(0.4, {"abstain_at_risk": 0.1, "abstain_rule": "joint"}, False, id="the other rule"),
        pytest.param(0.5, {"abstain_at_risk": 0.3}, True, id="the nearest threshold for a lower risk"),
        pytest.param(0.5, {}, False, id="no risk wanted"),
    ],
)
def test_which_threshold_counts(probability: float, options: Any, abstained: bool, tmp_path: Path) -> None:
    """The wanted risk and rule choose it; from the threshold on an answer is given."""
    assert ask(artefact(tmp_path / "a", probability), **options).abstained is abstained


@pytest.mark.parametrize(
    ("risk", "said"),
    [
        pytest.param(0.05, "cannot be met with 50 labels", id="not feasible"),
        pytest.param(0.01, "no threshold was found for a risk that low", id="not looked for"),
        pytest.param(1.5, "between 0 and 1", id="no share"),
        pytest.param("a lot", "between 0 and 1", id="no number"),
    ],
)
def test_a_risk_that_cannot_be_kept_is_an_error(risk: Any, said: str, tmp_path: Path) -> None:
    """At load time, with what there is instead."""
    with pytest.raises(ConfigError, match=said):
        load_program(artefact(tmp_path / "a", 0.7), search, abstain_at_risk=risk)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param({"abstain_at_risk": 0.1, "abstain_rule": "jiont"}, "'selective'.*'joint'.*'jiont'", id="no rule"),
        pytest.param({"abstain_at_risk": 0.1, "abstain_rule": None}, "'selective'.*'joint'.*None", id="no name"),
        pytest.param({"abstain_rule": "joint"}, "needs `abstain_at_risk`", id="a rule without a risk"),
    ],
)
def test_a_rule_that_means_nothing_is_an_error(options: Any, said: str, tmp_path: Path) -> None:
    """The rules there are are named; one without a risk would silently do nothing."""
    with pytest.raises(ConfigError, match=said):
        load_program(artefact(tmp_path / "a", 0.7), search, **options)


def test_a_risk_that_only_the_other_rule_keeps_says_so(tmp_path: Path) -> None:
    """Fewer labels are enough for `joint`: the error of `selective` tells it, with what it bounds."""
    thresholds = (
        RiskThreshold(risk=0.1, rule="selective", delta=0.1, n=9, note="9 labels are too few"),
        RiskThreshold(risk=0.1, rule="joint", abstain_below=0.3, n=9, coverage=0.8, observed=0.0),
    )
    folder = artefact(tmp_path / "a", 0.7, risks=thresholds)
    with pytest.raises(ConfigError, match=r"9 labels are too few.*`abstain_rule='joint'`.*of all questions"):
        load_program(folder, search, abstain_at_risk=0.1)
    assert not ask(folder, abstain_at_risk=0.1, abstain_rule="joint").abstained


def test_a_program_by_name_takes_no_rule() -> None:
    """As it takes no risk."""
    with pytest.raises(ConfigError, match="`abstain_rule` needs the calibration"):
        make_program("reflective", search, abstain_rule="joint")


def test_without_a_calibration_there_is_no_risk_to_keep(tmp_path: Path) -> None:
    """An artefact without one, and a program by name, say what to do."""
    save_program(ReflectiveRAG(mode="rules"), tmp_path / "plain")
    for build in (
        lambda: load_program(tmp_path / "plain", search, abstain_at_risk=0.1),
        lambda: make_program("reflective", search, abstain_at_risk=0.1),
    ):
        with pytest.raises(ConfigError, match="reflective-rag calibrate"):
            build()


def test_other_settings_end_the_calibration(tmp_path: Path) -> None:
    """With another θ the confidence is the heuristic again; a risk is then refused before anything is spent."""
    folder = artefact(tmp_path / "a", 0.7)
    assert not ask(folder, theta=0.9).calibrated
    assert ask(folder, budget={"seconds": 60}).calibrated
    with pytest.raises(ConfigError, match=r"abstain_at_risk.*settings, instructions, demos or controls"):
        ask(folder, theta=0.9, abstain_at_risk=0.1)


def test_another_model_ends_the_calibration(tmp_path: Path) -> None:
    """It holds for the model that it was fitted with, by name."""
    folder = artefact(tmp_path / "a", 0.7, model="openai/other")
    assert not ask(folder).calibrated
    with pytest.raises(ConfigError, match=r"fitted with the model 'openai/other', and this is rules"):
        ask(folder, abstain_at_risk=0.1)


def test_a_compile_ends_the_calibration(tmp_path: Path) -> None:
    """A copy with other instructions is uncalibrated, and is saved without the calibration."""
    rag: Any = ReflectiveRAG(search, mode="paired")
    rag.use_calibration(flat(0.7, program=program_digest(rag)))
    assert result_of(rag(question=QUESTION)).calibrated
    assert read_manifest(save_program(rag, tmp_path / "same")).calibration is not None
    compiled = rag.deepcopy()
    assert result_of(compiled(question=QUESTION)).calibrated
    compiled.answer.signature = compiled.answer.signature.with_instructions("Answer in one word.")
    assert not result_of(compiled(question=QUESTION)).calibrated
    assert read_manifest(save_program(compiled, tmp_path / "changed")).calibration is None


def test_the_models_name_is_that_of_the_predictors() -> None:
    """Rules have none; a model that is pinned to a predictor counts beside the configured one."""
    rag: Any = ReflectiveRAG(search)
    assert model_in_use(rag) == ""
    with dspy.context(lm=fake_lm(lambda request: "", model="one/model")):
        assert model_in_use(rag) == "one/model"
        rag.answer.lm = fake_lm(lambda request: "", model="two/model")
        assert model_in_use(rag) == "one/model + two/model"


def test_an_outage_is_never_calibrated() -> None:
    """No label was like it: the heuristic stays, and where a risk is to be kept the answer is withheld."""
    result = Result(answer="Paris", confidence=0.4, stop_reason="model_error")
    plain, strict = InUse(flat(0.9)), InUse(flat(0.9), flat(0.9).threshold(0.1))
    assert plain.apply(result, QUESTION, None) == result
    withheld = strict.apply(result, QUESTION, None)
    assert (withheld.abstained, withheld.calibrated) == (True, False)


def test_an_abstention_stays_one() -> None:
    """Its confidence is 0 with or without a calibration."""
    result = Result(answer="…", abstained=True, warnings=(ResultWarning(code="no_evidence", message="m"),))
    found = InUse(flat(0.9)).apply(result, QUESTION, None)
    assert found == result.model_copy(update={"calibrated": True})


def test_logistic_by_hand() -> None:
    """log-odds = .5 + 2 · (.8 - .6) / .4 = 1.5."""
    fitted = Calibration(
        kind="logistic", features=("evidence_score",), means=(0.6,), scales=(0.4,), coefficients=(2.0,), intercept=0.5
    )
    assert fitted.probability({"evidence_score": 0.8}) == pytest.approx(1 / (1 + 2.718281828459045**-1.5))
    result = Result(answer="a", evidence_score=0.8)
    assert fitted.confidence(result) == fitted.probability(signals(result))


def test_isotonic_by_hand() -> None:
    """Straight between the steps, flat outside."""
    fitted = flat(0.0, x=(0.2, 0.6), y=(0.1, 0.9))
    asked = (0.0, 0.2, 0.4, 0.6, 1.0)
    assert [fitted.probability({"evidence_score": v}) for v in asked] == pytest.approx([0.1, 0.1, 0.5, 0.9, 0.9])


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"features": ("charm",)}, id="unknown signal"),
        pytest.param({"x": (0.5, 0.1), "y": (0.1, 0.2)}, id="falling x"),
        pytest.param({"x": (0.5,), "y": ()}, id="lengths"),
        pytest.param({"y": (1.5,)}, id="no probability"),
        pytest.param({"kind": "platt"}, id="unknown kind"),
        pytest.param({"kind": "logistic"}, id="logistic without coefficients"),
        pytest.param({"y": (float("nan"),)}, id="NaN"),
        pytest.param({"extra": 1}, id="unknown key"),
    ],
)
def test_a_damaged_calibration_is_refused(changes: dict[str, Any]) -> None:
    """One error that says what is wrong, never a confidence from nonsense."""
    with pytest.raises(DataError, match="calibration cannot be used"):
        read_calibration({**flat(0.5).model_dump(mode="json"), **changes})


def test_a_damaged_manifest_names_the_field(tmp_path: Path) -> None:
    """A calibration that was edited by hand keeps the artefact from loading."""
    folder = artefact(tmp_path / "a", 0.7)
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["calibration"]["n"] = "many"
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(DataError, match=r"calibration\.n"):
        load_program(folder, search)


def test_an_artefact_that_is_not_there_gets_no_calibration(tmp_path: Path) -> None:
    """Nothing is made where there was no artefact."""
    with pytest.raises(DataError, match="no artefact"):
        set_calibration(tmp_path / "none", flat(0.5))
    assert not (tmp_path / "none").exists()
