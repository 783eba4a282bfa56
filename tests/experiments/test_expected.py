"""Published numbers: each stands where `expected.toml` says, and the cheap ones come out again."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.experiments.expected import Expected, expected
from reflective_rag.signatures.errors import DataError
from tests.experiments.helpers import run

ROOT = Path(__file__).parents[2]
ENTRIES = expected()
CHEAP = [entry for entry in ENTRIES if entry.cheap]


@pytest.fixture(scope="module")
def rerun(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function that runs an entry's command, each command once, in the repository's folder."""

    @cache
    def document(command: str) -> Any:
        entry = next(each for each in CHEAP if each.command == command)
        done = run(*entry.arguments(OUT=str(tmp_path_factory.mktemp("out") / "artefact")))
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    return document


@pytest.mark.parametrize("entry", CHEAP, ids=lambda entry: entry.name)
def test_a_published_number_comes_out_again(entry: Expected, rerun: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rerun with the command that is published beside it, the value lies within its tolerance, over as many questions.

    Where it does not: if the change is meant, publish the new value and enter it in expected.toml.
    """
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("RRAG_EMBEDDER", "none")
    assert entry.differs(rerun(entry.command)) == ""


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_number_stands_where_it_is_published(entry: Expected) -> None:
    """The text is in the document word for word, and a recording that is named is there."""
    if entry.published:
        assert entry.text in (ROOT / entry.published).read_text(encoding="utf-8")
    assert not entry.recording or (ROOT / entry.recording).is_file()
    assert entry.published or entry.cheap, "a number that is neither published nor rerun guards nothing"


@pytest.mark.parametrize(
    ("document", "part"),
    [
        ({"f1": {"mean": 0.5, "n": 40}}, ""),
        ({"f1": {"mean": 0.53, "n": 40}}, "expected 0.5 ± 0.02 (n = 40), got 0.53 (n = 40)"),
        ({"f1": {"mean": 0.5, "n": 39}}, "got 0.5 (n = 39)"),
    ],
    ids=["agrees", "another value", "another n"],
)
def test_a_number_that_differs_is_told_with_its_command(document: Mapping[str, Any], part: str) -> None:
    """Value, tolerance, n and the command are in the message."""
    entry = Expected(
        name="a", command="evaluate", lm="rules", at="f1.mean", value=0.5, tolerance=0.02, n=40, cheap=True
    )
    told = entry.differs(document)
    assert (part in told) if part else told == ""


def test_a_place_without_a_number_is_an_error() -> None:
    """Not a difference: the command's output has changed its form."""
    about: dict[str, Any] = {"name": "a", "command": "compare", "lm": "rules", "value": 1, "tolerance": 0, "n": 1}
    entry = Expected(**about, at="systems.naive.f1.mean", cheap=True)
    assert entry.measured({"systems": [{"system": "naive", "f1": {"mean": 1.0, "n": 1}}]}) == (1.0, 1)
    with pytest.raises(DataError, match="there is no number at"):
        entry.measured({"systems": []})
