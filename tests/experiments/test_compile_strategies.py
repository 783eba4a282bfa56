"""`compile` with every strategy, with other models, and by stages."""

from pathlib import Path
from typing import Any

import pytest
from dspy.utils.exceptions import LMError

from reflective_rag.experiments.other_models import other_models
from reflective_rag.experiments.recipes import load_recipe
from reflective_rag.optimizers.strategies import STRATEGIES
from reflective_rag.programs.artefacts import load_program, read_manifest
from reflective_rag.programs.lm.capped import cap_model
from reflective_rag.programs.lm.recording import Recording
from reflective_rag.programs.lm.resolve import Model
from reflective_rag.signatures.errors import ConfigError
from tests.experiments.helpers import knowing, run, run_json, use_model, write_recipe
from tests.fakes import FakeLM, asks_for, chat_reply, fake_lm, json_reply

TINY: dict[str, dict[str, Any]] = {
    "labeled": {"k": 1},
    "bootstrap-rs": {"num_candidate_programs": 1},
    "knn": {"k": 1},
    "settings": {"trials": 2, "space": {"k": [2, 3]}},
    "gepa": {"max_metric_calls": 5, "reflection_minibatch_size": 1},
    "simba": {"bsize": 2, "num_candidates": 2, "max_steps": 1},
    "copro": {"breadth": 2, "depth": 1},
    "better-together": {
        "max_metric_calls": 5,
        "reflection_minibatch_size": 1,
        "num_candidate_programs": 1,
    },
}


def writing(request: Any) -> str:
    """The model that knows the facts, and writes whatever an optimizer asks for."""
    words = ("new_instruction", "proposed_instruction", "proposed_prefix_for_output_field", "discussion")
    if found := {name: "Answer in one word." for name in words if asks_for(request, name)}:
        more: dict[str, Any] = {"module_advice": {}} if "discussion" in found else {}
        return (json_reply if "JSON object" in (request.messages[-1].text or "") else chat_reply)(**found, **more)
    return knowing(request)


@pytest.mark.parametrize("name", TINY)
def test_every_strategy_ends_in_an_artefact(workplace: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It loads, and its manifest names strategy, options and model."""
    use_model(monkeypatch, writing)
    recipe = write_recipe(
        workplace, strategy=name, strategy_options=TINY[name], program_options={"mode": "rules", "repair": False}
    )
    document = run_json("compile", recipe, "--out", "art", "--lm", "fake/model")
    assert document["after"]["dev"]["em"]["mean"] == 1.0
    manifest = read_manifest("art")
    assert manifest.notes["strategy_options"] == {**STRATEGIES[name].defaults, **TINY[name]}
    assert (manifest.notes["strategy"], manifest.model) == (name, "fake/model")
    load_program("art")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"strategy": "gpea"}, r"unknown strategy 'gpea'; did you mean 'gepa'\?"),
        ({"strategy": "bootstrap_rs"}, r"did you mean 'bootstrap-rs'\?"),
        ({"strategy": "copro", "strategy_options": {"breadth": 1}}, r"`breadth` must be .* at least 2, got 1"),
        ({"strategy": "gepa", "strategy_options": {"prompt_model": 1}}, r"`prompt_model` must be the name of a model"),
        ({"strategy": "gepa", "strategy_options": {"promt_model": "x"}}, r"did you mean 'prompt_model'\?"),
        (
            {"strategy": "controls", "strategy_options": {"max_rounds": 11}},
            r"`max_rounds` must be .* from 1 to 10, got 11",
        ),
        ({"name": "n" * 101}, "at most 100 characters"),
        ({"strategy": "settings", "strategy_options": {"space": 3}}, r"`space` must be a table of lists such as"),
        ({"strategy": "settings", "strategy_options": {"trials": 1}}, r"`trials` must be .* at least 2, got 1"),
        ({"strategy": "gepa", "strategy_options": {"use_merge": 1}}, r"`use_merge` must be true or false, got 1"),
        ({"strategy": "bootstrap", "stage": "critic"}, r"unknown stage 'critic'; did you mean 'critics'\?"),
        ({"metric": "abstention", "metric_options": {"lam": 1.0}}, "prices of the metric 'costed'"),
        (
            {"metric": "f1", "metric_options": {"quality": "em"}},
            "what the metrics 'costed' and 'abstention' start from",
        ),
        ({"metric": "costed", "metric_options": {"quality": "emm"}}, "`quality` must be one of 'f1', 'em'"),
        ({"metric": "citation"}, r"did you mean 'citations'\?"),
    ],
)
def test_slips_are_named(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    """Names, kinds and least sizes of what came new."""
    with pytest.raises(ConfigError, match=said):
        load_recipe(write_recipe(tmp_path, **changes))


def test_critics_first_by_the_command_line(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--stage` wins over the recipe, stands in JSON and manifest, and leaves the answerer alone."""
    use_model(monkeypatch)
    recipe = write_recipe(workplace, strategy="bootstrap", program_options={"mode": "paired"})
    document = run_json("compile", recipe, "--out", "art", "--lm", "x/y", "--stage", "answer")
    assert document["stage"] == read_manifest("art").notes["stage"] == "answer"
    assert set(document["chosen"]["demos"]) == {"answer"}
    done = run("compile", recipe, "--lm", "x/y", "--stage", "answr")
    assert (done.exit_code, "did you mean 'answer'?" in done.stderr) == (2, True)


def test_a_stage_that_the_program_has_not_is_found_before_anything_is_spent(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reason, and no model asked."""
    lm = use_model(monkeypatch)
    recipe = write_recipe(workplace, strategy="bootstrap", program="naive", stage="critics")
    done = run("compile", recipe, "--lm", "x/y", "--dry-run")
    assert done.exit_code == 2
    assert "stage 'critics' needs critics" in done.stderr
    assert not lm.engine.calls


def models_by_name(monkeypatch: pytest.MonkeyPatch) -> dict[str, FakeLM]:
    """Every name is a model of its own; returns them as they are opened."""
    found: dict[str, FakeLM] = {}

    def resolve(spec: str | None, **options: Any) -> Model:
        name = spec or "rules"
        found.setdefault(name, fake_lm(writing, model=name))
        return Model(name=name, lm=None if name == "rules" else found[name])

    monkeypatch.setattr("reflective_rag.experiments.models.resolve_model", resolve)
    return found


def test_teacher_and_prompt_model_are_other_models_by_name(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is asked for its part, and the plan gives no price that would be that of the program's model alone."""
    found = models_by_name(monkeypatch)
    options = {"teacher": "big/teacher", "prompt_model": "big/writer", "num_trials": 1, "num_candidates": 2}
    recipe = write_recipe(
        workplace, strategy="mipro", strategy_options=options, program_options={"mode": "rules", "repair": False}
    )
    plan = run_json("compile", recipe, "--out", "art", "--lm", "openai/gpt-4o-mini", "--dry-run")["plan"]
    assert plan["dollars"] is None
    assert not any(lm.engine.calls for lm in found.values())
    run_json("compile", recipe, "--out", "art", "--lm", "openai/gpt-4o-mini")
    assert all(found[name].engine.calls for name in ("openai/gpt-4o-mini", "big/teacher", "big/writer"))
    assert read_manifest("art").model == "openai/gpt-4o-mini"


def test_the_cost_limit_counts_every_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A teacher's calls use up the same dollars."""
    models_by_name(monkeypatch)
    own, cap = cap_model(Model(name="openai/gpt-4o-mini", lm=fake_lm(knowing, model="openai/gpt-4o-mini")), 1e-7)
    teacher = other_models({"teacher": "openai/gpt-4o"}, own, cap)["teacher"]
    assert teacher.lm is not None
    with pytest.raises(LMError, match="the cost limit of"):
        teacher.lm("a prompt of some length, which costs more than the limit" * 10)
    assert cap.tripped


def test_other_models_and_recordings_exclude_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording holds one model's calls: a replay would miss the others'."""
    models_by_name(monkeypatch)
    header = {"model": "m", "kwargs": {}, "adapter": "chat", "today": "2026-01-01", "capabilities": {}}
    own = Model(name="m", lm=fake_lm(knowing), recording=Recording(tmp_path / "r.jsonl", header, []))
    with pytest.raises(ConfigError, match="a recording holds the calls of one model"):
        other_models({"teacher": "a/b"}, own)
    assert other_models({"teacher": ""}, own) == {}


@pytest.mark.parametrize("role", ["teacher", "prompt_model"])
def test_rules_are_no_teacher(monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    """They ask no model, so there is nothing to learn from them; one name for two roles is one model."""
    models_by_name(monkeypatch)
    own = Model(name="m", lm=fake_lm(knowing))
    with pytest.raises(ConfigError, match=f"`{role}` must name a language model"):
        other_models({role: "rules"}, own)
    both = other_models({"teacher": "a/b", "prompt_model": "a/b"}, own)
    assert both["teacher"] is both["prompt_model"]
