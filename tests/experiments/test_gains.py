"""The verdict of a compile: whether it helped, on dev and on test, beyond chance."""

from pathlib import Path
from typing import Any

import pytest

from reflective_rag.experiments.gains import verdict
from reflective_rag.optimizers.statistics import paired_difference
from reflective_rag.programs.artefacts import read_manifest
from tests.experiments.helpers import FACTS, knowing, records, run, run_json, use_model, write_jsonl, write_recipe
from tests.fakes import chat_reply, fields_of


@pytest.mark.parametrize(
    ("after", "before", "said"),
    [
        pytest.param([1.0] * 20, [0.0] * 20, "a gain on dev (n = 20): f1 difference +1.000 [+1.000", id="gain"),
        pytest.param([0.0] * 20, [1.0] * 20, "a loss on dev (n = 20): f1 difference -1.000 [-1.000", id="loss"),
        pytest.param([0.5] * 9, [0.5] * 9, "no measurable gain on dev (n = 9): f1 difference +0.000", id="equal"),
        pytest.param([1.0, 0.0] * 4, [0.0, 1.0] * 4, "no measurable gain on dev (n = 8): f1", id="chance"),
        pytest.param([1.0] * 3, [0.0] * 3, "too few questions of dev (n = 3) to tell a gain: f1", id="too few"),
        pytest.param([1.0], [0.0], "one question of dev tells nothing about a gain", id="one question"),
        pytest.param([], [], "no question of dev was scored both before and after", id="none"),
    ],
)
def test_the_sentence_follows_the_interval(after: list[float], before: list[float], said: str) -> None:
    """An interval that excludes 0 is a gain or a loss; anything else is none, in plain words."""
    assert verdict("dev", "f1", paired_difference(after, before).to_dict()).startswith(said)


@pytest.mark.parametrize("metric", ["f1", "costed"])
def test_a_compile_says_whether_it_helped(workplace: Path, metric: str) -> None:
    """On dev and test, for people, as JSON, and in the artefact, by the metric that was compiled for."""
    write_jsonl(workplace / "test.jsonl", records(3, 3))
    data = {"train": "train.jsonl", "dev": "dev.jsonl", "test": "test.jsonl"}
    recipe = write_recipe(workplace, data=data, metric=metric)
    document = run_json("compile", recipe, "--out", "art", "--lm", "rules")
    column = "f1" if metric == "f1" else "score"
    assert {split: each[column]["n"] for split, each in document["differences"].items()} == {"dev": 2, "test": 3}
    for split, n in (("dev", 2), ("test", 3)):
        assert document["verdict"][split].startswith(f"too few questions of {split} (n = {n}) to tell a gain")
        assert read_manifest("art").scores[split]["difference"] == document["differences"][split]
    shown = run("compile", recipe, "--out", "art", "--lm", "rules").stdout
    for text in document["verdict"].values():
        assert text in " ".join(shown.split())
    assert "dev difference" in run("inspect", "art").stdout


def failing(request: Any) -> str:
    """A model that is there, and fails on each of the questions."""
    if any(fact[2] in str(fields_of(request)) for fact in FACTS):
        raise RuntimeError("boom")
    return knowing(request)


def wrong(request: Any) -> str:
    """A model whose answers are never right."""
    return chat_reply(answer="Zzz", cited=[1])


@pytest.mark.parametrize("strategy", ["none", "bootstrap"])
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param(failing, "every question of dev failed, before and after", id="all failing"),
        pytest.param(wrong, "every question of dev scored 0 by 'f1', before and after", id="always 0"),
    ],
)
def test_scores_that_tell_nothing_are_warned_of(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, strategy: str, reply: Any, said: str
) -> None:
    """Where all examples fail, or the metric is always 0, the compile ends well and says that it shows nothing."""
    use_model(monkeypatch, reply)
    options = {"mode": "rules", "repair": False}
    recipe = write_recipe(workplace, strategy=strategy, program_options=options, metric_options={})
    document = run_json("compile", recipe, "--out", "art", "--lm", "x/y")
    assert any(text.startswith(said) for text in document["warnings"])
    assert not document["verdict"]["dev"].startswith("a gain")


def test_right_answers_are_not_warned_of(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One question that scores is enough."""
    use_model(monkeypatch)
    recipe = write_recipe(workplace, strategy="none", program_options={"mode": "rules", "repair": False})
    assert not run_json("compile", recipe, "--out", "art", "--lm", "x/y")["warnings"]


def test_a_dry_run_has_no_verdict(workplace: Path) -> None:
    """Nothing was scored."""
    document: dict[str, Any] = run_json("compile", write_recipe(workplace), "--dry-run", "--lm", "rules")
    assert (document["differences"], document["verdict"]) == ({}, {})
