"""The recording that `make demo` replays: it is there, small, free of credentials, and replays without a miss."""

import gzip
import re
from pathlib import Path

import pytest

from reflective_rag.experiments.compiling import run_compile
from reflective_rag.experiments.demo import recording_path
from reflective_rag.experiments.models import open_model
from reflective_rag.experiments.recipes import load_recipe


@pytest.fixture(scope="module")
def recording() -> Path:
    """The shipped file."""
    path = recording_path()
    assert path.is_file(), "no shipped recording; make one as experiments/RESULTS.md says"
    return path


def test_the_shipped_recording_is_small_and_holds_no_credential(recording: Path) -> None:
    """Under 5 MB, and nothing in it looks like a key, a server's address or a path of the machine it was made on."""
    text = gzip.decompress(recording.read_bytes()).decode("utf-8")
    assert recording.stat().st_size < 5_000_000
    assert not re.search(r"sk-[A-Za-z0-9]{8}|api_key|authorization|https?://|/[r]oot/|/home/", text, re.IGNORECASE)


def test_the_shipped_recording_replays_the_sample_compile_to_its_end(recording: Path, tmp_path: Path) -> None:
    """MIPROv2 runs on the recorded replies alone: every request is known, and the end is the shipped artefact."""
    recipe = load_recipe("sample-mipro").model_copy(update={"tracking": "off"})
    model = open_model(None, replay=recording)
    report = run_compile(recipe, model=model, out=tmp_path / "artefact")
    assert model.recording is not None
    assert model.recording.misses == []
    assert report.lm.endswith("(recording)")
    assert report.after["test"].summary()["n"] == 41
    assert report.after["test"].summary()["failed"] == 0
    shipped = Path(__file__).parents[2] / "experiments" / "artefacts" / "sample-mipro" / "program.json"
    made = (tmp_path / "artefact" / "program.json").read_bytes()
    assert made == shipped.read_bytes(), "the shipped artefact is of another recording; make it anew as RESULTS.md says"


def test_a_model_that_a_replay_does_not_ask_is_told(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A `--lm` beside `--replay` is not passed over in silence; the recorded one needs no word."""
    open_model("openai/other", replay=recording)
    assert "`--lm openai/other` is not asked" in " ".join(capsys.readouterr().err.split())
    open_model(None, replay=recording)
    assert capsys.readouterr().err == ""
