"""`sweep threshold`: θ by replay of one recorded pass."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.experiments.helpers import records, run, run_json, use_model, write_jsonl


@pytest.fixture
def data(workplace: Path) -> Path:
    """The facts as labelled questions."""
    return write_jsonl(workplace / "data.jsonl", records())


def test_each_theta_has_what_the_program_itself_would_give(data: Path) -> None:
    """Quality, retrievals and abstentions read off the recording are those of a run with that θ."""
    thetas = ("0", "0.7", "1")
    document = run_json("sweep", "threshold", "--data", data, "--thetas", ",".join(thetas), "--correct", "f1")
    for theta, cell in zip(thetas, document["cells"], strict=True):
        ran = run_json("evaluate", "--program", "reflective", "--option", f"theta={theta}", "--data", data)
        assert cell["theta"] == float(theta)
        assert cell["score"]["mean"] == pytest.approx(ran["f1"]["mean"])
        assert cell["retrievals"]["mean"] == pytest.approx(ran["retrievals_per_question"])
        assert cell["abstained"]["mean"] == pytest.approx(ran["abstained"] / ran["n"])
        assert cell["stop_reasons"] == ran["stop_reasons"]
    own = document["cells"][1]
    assert own["differences"]["score"]["mean"] == 0


def test_the_model_is_asked_for_one_pass_only(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eleven values of θ cost as many calls as one."""
    counts = []
    for thetas in ("0.7", "0,.1,.2,.3,.4,.5,.6,.7,.8,.9,1"):
        lm = use_model(monkeypatch)
        document = run_json("sweep", "threshold", "--data", data, "--thetas", thetas)
        counts.append(len(lm.engine.calls))
        assert document["cells"][0]["tokens"]["mean"] > 0
    assert counts[0] == counts[1] > 0


def test_presets_are_recorded_with_their_own_settings(data: Path) -> None:
    """One row each, with its θ and rounds; they are not drawn."""
    document = run_json("sweep", "threshold", "--data", data, "--thetas", "0.5", "--presets", "--out", "theta")
    rules = [(cell["rule"], cell["theta"], cell["max_rounds"]) for cell in document["cells"]]
    assert rules[1:] == [("critical", 0.8, 3), ("general", 0.7, 3), ("research", 0.6, 4), ("exhaustive", 0.5, 5)]
    assert [Path(name).name for name in document["files"]] == [
        "threshold-data.png",
        "threshold-data.svg",
        "report.json",
    ]
    assert json.loads(Path("theta/report.json").read_text(encoding="utf-8"))["cells"] == document["cells"]


def test_a_theta_that_changes_nothing_is_told(data: Path) -> None:
    """On these questions what is missing decides, not the score."""
    done = run("sweep", "threshold", "--data", data, "--thetas", "0,.1")
    assert done.exit_code == 0, done.stderr
    assert "θ changes nothing on data" in done.stderr
    assert "retrievals" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--thetas", "0,2"], "`--thetas` takes numbers from 0 to 1"),
        (["--correct", "bleu"], "`--correct` must be one of"),
        (["--option", "tetha=1"], "did you mean 'theta'?"),
        (["--artifact", "nowhere"], "there is no artefact at `nowhere`"),
        (["--artifact", "nowhere", "--presets"], "leave out `--artifact`, or `--presets`"),
        (["--rates", "0,1"], "`--rates` means nothing to `sweep threshold`"),
        (["--limit", "0"], "`limit` must be at least 1"),
    ],
)
def test_bad_input_is_one_error(data: Path, words: Sequence[str], message: str) -> None:
    """Found before a question is asked."""
    done = run("sweep", "threshold", "--data", data, *words)
    assert done.exit_code == 2
    assert message in done.stderr
