"""`ask` says which corpus it searches, and whether the artefact was made for another one."""

from pathlib import Path
from typing import Any

import pytest

from reflective_rag.programs import ReflectiveRAG, save_program
from reflective_rag.programs.artefacts import read_manifest
from tests.experiments.helpers import records, run, run_json, write_jsonl, write_recipe
from tests.experiments.test_calibrate import labelled

QUESTION = "Where was Marie Curie born?"
SAMPLE = "no `--corpus` is given: the bundled sample is searched"


def from_recipe(folder: Path) -> str:
    """Compiled on the passages of its own data."""
    run_json("compile", write_recipe(folder, strategy="none", strategy_options={}), "--out", "art", "--lm", "rules")
    return "`train.jsonl`, `dev.jsonl`"


def from_a_corpus(folder: Path) -> str:
    """Compiled on a corpus that the recipe names."""
    write_jsonl(folder / "facts.jsonl", records())
    recipe = write_recipe(folder, strategy="none", strategy_options={}, corpus="facts.jsonl")
    run_json("compile", recipe, "--out", "art", "--lm", "rules")
    return "`facts.jsonl`"


def from_calibrate(folder: Path) -> str:
    """Never compiled, but calibrated on the passages of its labels."""
    run_json("calibrate", "--data", write_jsonl(folder / "labels.jsonl", labelled()), "--out", "out", "--lm", "rules")
    (folder / "out" / "artifact").rename(folder / "art")
    return "labels.jsonl`"


@pytest.mark.parametrize("make", [from_recipe, from_a_corpus, from_calibrate])
def test_an_artefact_of_another_corpus_is_told(workplace: Path, make: Any) -> None:
    """Without `--corpus` the sample is searched: one line says so, and that the artefact is of another one."""
    named = make(workplace)
    document = run_json("ask", QUESTION, "--artifact", "art", "--lm", "rules")
    (told,) = [text for text in document["notes"] if text.startswith(SAMPLE)]
    assert document["corpus"] == ["sample"]
    assert named in told
    assert "another corpus" in told
    assert "--corpus" in told.partition("another corpus")[2]
    done = run("ask", QUESTION, "--artifact", "art", "--lm", "rules")
    assert told in done.stderr
    assert SAMPLE not in done.stdout
    assert "没有给出 `--corpus`" in run("ask", "居里夫人在哪里出生？", "--artifact", "art", "--lm", "rules").stderr


def test_a_corpus_that_is_given_is_not_questioned(workplace: Path) -> None:
    """Only its name stands in the document."""
    from_a_corpus(workplace)
    document = run_json("ask", QUESTION, "--artifact", "art", "--corpus", "facts.jsonl", "--lm", "rules")
    assert (document["corpus"], document["answer"]) == (["facts.jsonl"], "Warsaw")
    assert not [text for text in document["notes"] if "corpus" in text]


def test_an_artefact_that_does_not_know_its_corpus(workplace: Path) -> None:
    """That the sample is searched is said all the same, and nothing is claimed; so it is of a program by name."""
    save_program(ReflectiveRAG(mode="rules"), workplace / "art")
    for chosen in (("--artifact", "art"), ()):
        notes = run_json("ask", QUESTION, *chosen, "--lm", "rules")["notes"]
        assert [text for text in notes if "--corpus" in text] == [f"{SAMPLE} (`--corpus` names another)"]


def test_the_artefact_of_the_sample_fits_the_sample(workplace: Path) -> None:
    """What was compiled on the sample is not told to be another's."""
    run_json("compile", "sample-controls", "--out", "art", "--lm", "rules", "--tracking", "off")
    notes = run_json("ask", "Which horse does Don Quixote ride?", "--artifact", "art", "--lm", "rules")["notes"]
    assert f"{SAMPLE} (`--corpus` names another)" in notes


def test_the_artefact_keeps_the_names_of_its_corpus_without_their_place(workplace: Path) -> None:
    """Names of files, no folders of the machine; `inspect` shows them."""
    from_a_corpus(workplace)
    assert read_manifest("art").notes["corpus"] == ["facts.jsonl"]
    assert "corpus facts.jsonl" in " ".join(run("inspect", "art").stdout.split())
