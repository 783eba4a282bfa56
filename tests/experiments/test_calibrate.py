"""`reflective-rag calibrate`: report, plots, the artefact, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.programs import ReflectiveRAG, save_program
from reflective_rag.programs.artefacts import read_manifest
from tests.experiments.helpers import records, run, run_json, use_model, write_jsonl, write_recipe
from tests.fakes import chat_reply, fields_of

CITIES = ("Rome", "Oslo", "Kiel", "Bern", "Lyon", "Bonn", "Pisa", "Graz", "Turku", "Porto", "Ghent", "Basel")
N = 24


def labelled() -> list[dict[str, Any]]:
    """Who was born where; every third answer is labelled as something that the passages do not say."""
    lines = []
    for number in range(N):
        name, city = f"Painter {chr(65 + number)}drian", CITIES[number % len(CITIES)]
        text = f"{name} was born in {city}." + " He painted churches." * (number % 4)
        passages = [{"id": f"p{number}", "title": name, "text": text, "supporting": True}]
        answer = "Nowhere" if number % 3 == 0 else city
        question = f"Where was {name} born?"
        lines.append({"id": f"q{number}", "question": question, "answers": [answer], "passages": passages})
    return lines


@pytest.fixture
def data(workplace: Path) -> Path:
    """The labelled questions as a file."""
    return write_jsonl(workplace / "labels.jsonl", labelled())


def test_a_program_by_name(data: Path, workplace: Path) -> None:
    """Report, four plots and an artefact whose confidence is a probability; every number has its interval and n."""
    document = run_json("calibrate", "--data", data, "--risk", "0.1", "--risk", "0.5", "--out", "out")
    assert (document["program"], document["lm"], document["n"], document["failed"]) == ("reflective", "rules", N, 0)
    assert document["answered"] + document["abstained"] == N
    for measured in (document["before"], document["after"], *document["baselines"].values()):
        for name in ("auroc", "aurc", "augrc"):
            assert set(measured[name]) == {"mean", "low", "high", "n"}
    assert {"constant", "confidence", "top_score"} <= set(document["baselines"])
    assert {"auroc", "ece", "brier", "aurc", "augrc"} == set(document["differences"])
    assert [(each["risk"], each["rule"]) for each in document["risks"]] == [
        (0.1, "selective"), (0.1, "joint"), (0.5, "selective"), (0.5, "joint"),
    ]  # fmt: skip
    assert "cannot be met" in document["risks"][0]["note"]
    names = {path.name for path in (workplace / "out").iterdir()}
    assert names >= {"reliability.png", "reliability.svg", "risk_coverage.png", "risk_coverage.svg", "report.json"}
    assert (workplace / "out" / "risk_coverage.png").read_bytes().startswith(b"\x89PNG")
    manifest = read_manifest(document["artifact"])
    assert manifest.calibration is not None
    assert manifest.calibration.corpus == {"names": ["own"], "passages": N, "search": "keyword"}
    assert list(manifest.calibration.data) == [str(data)]
    told = run_json("ask", "Where was Painter Bdrian born?", "--artifact", document["artifact"], "--corpus", data)
    assert (told["calibrated"], told["notes"]) == (True, ["keyword search only"])


def test_an_artefact_from_rows(data: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of an earlier evaluate are used as they are; the calibration goes into the artefact and then counts."""
    folder = save_program(ReflectiveRAG(mode="rules"), workplace / "art")
    run_json("evaluate", "--artifact", folder, "--data", data, "--rows", "rows.jsonl")
    rows = Path("rows.jsonl").read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(ReflectiveRAG, "forward", lambda *args, **kwargs: pytest.fail("a question was asked again"))
        command = ("calibrate", "--artifact", folder, "--data", data, "--rows", "rows.jsonl", "--method", "logistic")
        document = run_json(*command, "--risk", "0.6")
    assert Path("rows.jsonl").read_bytes() == rows
    assert (document["artifact"], document["files"]) == (str(folder), [])
    calibration = read_manifest(folder).calibration
    assert calibration is not None
    assert (calibration.kind, calibration.correct, calibration.model) == ("logistic", "f1", "")
    stale = run("evaluate", "--artifact", folder, "--data", data, "--rows", "rows.jsonl")
    assert (stale.exit_code, "`calibration` was None" in stale.stderr) == (2, True)
    again = run_json("calibrate", "--artifact", folder, "--data", data, "--rows", "rows.jsonl", "--risk", "0.6")
    assert again["before"] == document["before"]


def test_abstaining_at_a_risk(data: Path, workplace: Path) -> None:
    """`--option abstain_at_risk=…` works for ask and evaluate; a risk that cannot be kept is one line."""
    out = run_json("calibrate", "--data", data, "--risk", "0.7", "--risk", "0.05", "--out", "out")["artifact"]
    document = run_json("evaluate", "--artifact", out, "--data", data, "--option", "abstain_at_risk=0.7")
    assert document["n"] == N
    refused = run("evaluate", "--artifact", out, "--data", data, "--option", "abstain_at_risk=0.05")
    assert (refused.exit_code, "cannot be kept" in refused.stderr) == (2, True)
    plain = run("ask", "q?", "--option", "abstain_at_risk=0.1")
    assert (plain.exit_code, "reflective-rag calibrate" in plain.stderr) == (2, True)


def test_the_second_rule_is_chosen_when_calibrating_and_when_asking(data: Path, workplace: Path) -> None:
    """`--abstain-rule joint` finds its thresholds alone, `abstain_rule=joint` keeps them; the words are the same."""
    document = run_json("calibrate", "--data", data, "--risk", "0.3", "--abstain-rule", "joint", "--out", "out")
    assert [each["rule"] for each in document["risks"]] == ["joint"]
    question = ("ask", "Where was Painter Bdrian born?", "--artifact", document["artifact"], "--corpus", data)
    risk = ("--option", "abstain_at_risk=0.3")
    assert run_json(*question, *risk, "--option", "abstain_rule=joint")["calibrated"] is True
    for more, said in (
        ((*risk,), "`abstain_rule='joint'`"),
        ((*risk, "--option", "abstain_rule=jiont"), "or 'joint' (of all questions"),
        (("--option", "abstain_rule=joint"), "needs `abstain_at_risk`"),
    ):
        done = run(*question, *more)
        assert (done.exit_code, said in " ".join(done.stderr.split())) == (2, True), done.stderr
    shown = run("calibrate", "--data", data, "--risk", "0.3")
    assert "joint" in shown.stdout
    assert "abstain_rule=joint" in shown.stderr
    wrong = run("calibrate", "--data", data, "--abstain-rule", "marginal")
    assert (wrong.exit_code, "'selective', 'joint'" in wrong.stderr) == (2, True)


def test_a_recipe_takes_risk_and_rule_where_nothing_is_changed(data: Path, workplace: Path) -> None:
    """With strategy `none` an artefact is scored as it abstains; any other compile would end its calibration."""
    art = run_json("calibrate", "--data", data, "--risk", "0.3", "--out", "out")["artifact"]
    options = {"abstain_at_risk": 0.3, "abstain_rule": "joint"}
    keys = {"artifact": art, "data": {"train": str(data), "dev": str(data)}, "program_options": options}
    done = run_json("compile", write_recipe(workplace, strategy="none", **keys), "--out", "a", "--lm", "rules")
    plain = run_json("evaluate", "--artifact", art, "--data", data)["abstained"]
    assert done["after"]["dev"]["abstained"] == done["before"]["dev"]["abstained"] > plain
    refused = run("compile", write_recipe(workplace, strategy="controls", **keys), "--out", "b", "--lm", "rules")
    assert refused.exit_code == 2
    assert "`program_options.abstain_at_risk`" in refused.stderr
    assert "ends the calibration" in refused.stderr


def test_another_corpus_and_other_settings_are_told(data: Path) -> None:
    """A calibration says where it does not hold."""
    out = run_json("calibrate", "--data", data, "--out", "out")["artifact"]
    question = ("ask", "Where was Painter Bdrian born?", "--artifact", out)
    assert any(f"calibrated on {N} passages" in text for text in run_json(*question)["notes"])
    kept = run_json(*question, "--option", "abstain_at_risk=0.2", "--option", "abstain_rule=joint")["notes"]
    assert any("`abstain_at_risk` may not be kept" in text for text in kept)
    told = run_json(*question, "--corpus", data, "--option", "theta=0.2")
    assert told["calibrated"] is False
    assert any("not calibrated here" in text for text in told["notes"])


def test_a_model_is_part_of_it(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fitted with a model, it holds for that model's name, and not on rules."""
    answers = {line["question"]: line["passages"][0]["text"].split(" born in ")[1].split(".")[0] for line in labelled()}

    def reply(request: Any) -> str:
        return chat_reply(answer=answers.get(fields_of(request).get("question", ""), "ready"), cited=[1])

    use_model(monkeypatch, reply)
    command = ("calibrate", "--program", "naive", "--data", data, "--lm", "fake/model", "--out", "out")
    calibration = read_manifest(run_json(*command)["artifact"]).calibration
    assert calibration is not None
    assert calibration.model == "fake/model"


def test_a_table_for_people(data: Path) -> None:
    """Measures, thresholds, why a risk cannot be kept, and that nothing was kept."""
    done = run("calibrate", "--data", data, "--ablate")
    for part in ("AUROC", "Brier", "calibrated", "constant", "where to abstain", "without"):
        assert part in done.stdout, done.stderr
    assert "cannot be met with" in done.stderr
    assert "was not kept" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("--method", "platt"), "'logistic', 'isotonic'", id="method"),
        pytest.param(("--risk", "2"), "`risk` must lie between 0 and 1", id="risk"),
        pytest.param(("--delta", "0"), "`delta` must lie between 0 and 1", id="delta"),
        pytest.param(("--correct", "charm"), "'f1', 'em', 'containment', 'groups'", id="correct"),
        pytest.param(("--artifact", "art", "--option", "theta=0.9"), "compile it that way", id="option of an artefact"),
        pytest.param(("--artifact", "none"), "no artefact at `none`", id="no artefact"),
        pytest.param(("--out", "labels.jsonl"), "`--out labels.jsonl` cannot be made", id="out is a file"),
        pytest.param(("--limit", "3"), "at least 4 right and 4 wrong", id="too few labels"),
    ],
)
def test_what_cannot_work_is_one_line(arguments: tuple[str, ...], said: str, data: Path) -> None:
    """Exit code 2, nothing asked where that can be known before."""
    done = run("calibrate", "--data", data, *arguments)
    assert done.exit_code == 2
    assert said.lower() in done.stderr.lower()


def test_all_right_is_one_line_and_changes_nothing(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a wrong answer there is nothing to tell apart; the artefact stays as it was."""
    folder = save_program(ReflectiveRAG(mode="rules"), workplace / "art")
    before = (folder / "manifest.json").read_bytes()
    done = run("calibrate", "--artifact", folder, "--data", write_jsonl(workplace / "easy.jsonl", records()))
    assert (done.exit_code, "right and" in done.stderr) == (2, True)
    assert (folder / "manifest.json").read_bytes() == before


def test_questions_that_the_compile_has_seen_are_told(data: Path, workplace: Path) -> None:
    """The artefact names its data; calibrating on them is said to flatter."""
    from reflective_rag.data.records import load_records, record_fingerprint

    about = {"file": "other.jsonl", "n": N, "fingerprint": record_fingerprint(load_records(data))}
    seen = {"train": about}
    folder = save_program(ReflectiveRAG(mode="rules"), workplace / "art", data=seen)
    document = run_json("calibrate", "--artifact", folder, "--data", data)
    assert any("too sure of itself" in text for text in document["notes"])
    assert json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["data"] == seen


def test_a_calibration_is_logged(data: Path, workplace: Path, uri: str, client: Any) -> None:
    """One run: what it was fitted on, every measure with its interval, thresholds, rows, plots and the artefact."""
    where = ("--tracking", uri, "--experiment", "calibrations")
    document = run_json("calibrate", "--data", data, "--risk", "0.7", "--out", "out", *where)
    found = client.get_run(document["run_id"])
    params, metrics = found.data.params, found.data.metrics
    assert (params["program"], params["method"], params["correct"], params["lm"]) == (
        "reflective", "logistic", "f1", "rules",
    )  # fmt: skip
    assert {"controls.theta", "program.k", "delta", "risks", "corpus"} <= params.keys()
    assert metrics["after.auroc"] == pytest.approx(document["after"]["auroc"]["mean"])
    assert {"after.auroc_low", "before.brier", "difference.ece_high", "baseline.constant.brier", "n"} <= metrics.keys()
    assert any(name.startswith("risk.0.7.selective.") for name in metrics)
    (logged,) = found.inputs.dataset_inputs
    assert logged.dataset.digest
    names = {
        file.path for folder in ("", "plots", "artefact") for file in client.list_artifacts(found.info.run_id, folder)
    }
    wanted = {"rows.json", "risks.json", "plots/reliability.png", "plots/risk_coverage.svg", "calibration.json"}
    assert names >= wanted | {"artefact/manifest.json"}
    assert found.info.status == "FINISHED"


def test_a_store_that_cannot_be_written_is_told_before_a_question(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line and exit code 2, and nothing was asked."""
    monkeypatch.setattr(ReflectiveRAG, "forward", lambda *args, **kwargs: pytest.fail("a question was asked"))
    done = run("calibrate", "--data", data, "--tracking", "sqlite:////proc/x/y.db")
    assert (done.exit_code, "the MLflow store cannot be written" in done.stderr) == (2, True)
