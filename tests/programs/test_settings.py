"""Settings: validated once, frozen, carried in DSPy's saved state where a compile tunes them."""

import copy
from typing import Any

import pytest
from pydantic import ValidationError

from reflective_rag.programs import Budget, LoopControls, NaiveRAG, ReflectiveRAG, Weights
from reflective_rag.programs.settings import PRESETS, Controls
from reflective_rag.signatures.errors import ConfigError, DataError


@pytest.mark.parametrize(
    ("options", "named"),
    [
        pytest.param({"theta": 1.5}, "`theta`.*1.5", id="θ above 1"),
        pytest.param({"theta": -0.1}, "`theta`", id="θ below 0"),
        pytest.param({"theta": float("nan")}, "`theta`", id="θ is NaN"),
        pytest.param({"theta": "high"}, "`theta`.*'high'", id="θ as a word"),
        pytest.param({"max_rounds": 0}, "`max_rounds`", id="no round"),
        pytest.param({"max_rounds": 2.5}, "`max_rounds`", id="half a round"),
        pytest.param({"patience": 0}, "`patience`", id="no patience"),
        pytest.param({"weights": {"relevance": -1}}, "`weights.relevance`", id="negative weight"),
        pytest.param({"weights": {"novelty": 1}}, "`weights.novelty` is unknown", id="unknown weight"),
        pytest.param({"mode": "magic"}, "`mode`.*'paired'.*'magic'", id="unknown mode"),
        pytest.param({"k": 0}, "`k`", id="k 0"),
        pytest.param({"k": 1000}, "`k`", id="k too large"),
        pytest.param({"budget": {"lm_calls": -1}}, "`budget.lm_calls`", id="negative budget"),
        pytest.param({"budget": {"money": 1}}, "`budget.money` is unknown", id="unknown budget"),
        pytest.param({"tetha": 0.5}, "unknown option 'tetha'.*theta", id="misspelt option"),
        pytest.param({"preset": "best"}, "unknown preset 'best'.*'general'", id="unknown preset"),
        pytest.param({"k": 0, "mode": "magic"}, "`mode`.*`k`", id="two faults at once"),
    ],
)
def test_a_bad_option_is_one_config_error(options: dict[str, Any], named: str) -> None:
    """The message names the option, what was expected and what came, or lists the valid names."""
    with pytest.raises(ConfigError, match=named):
        ReflectiveRAG(lambda query, k: [], **options)


def test_naive_rag_refuses_options_it_does_not_have() -> None:
    """A θ for a program without a loop is a mistake, not a setting to ignore."""
    with pytest.raises(ConfigError, match=r"`theta` is unknown; known: .*`k`"):
        NaiveRAG(lambda query, k: [], theta=0.5)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_build_and_give_way_to_options(name: Any) -> None:
    """A preset sets θ, rounds and k together; an explicit option wins."""
    preset = ReflectiveRAG(lambda query, k: [], preset=name)
    assert preset.controls.values.theta == PRESETS[name]["controls"]["theta"]
    own = ReflectiveRAG(lambda query, k: [], preset=name, theta=0.11, k=7)
    assert (own.controls.values.theta, own.settings.k) == (0.11, 7)


def test_a_stricter_preset_has_the_higher_threshold() -> None:
    """`critical` asks for most evidence, `exhaustive` for least but reads widest."""
    thetas = [PRESETS[name]["controls"]["theta"] for name in ("critical", "general", "research", "exhaustive")]
    widths = [ReflectiveRAG(preset=name).settings.k for name in ("critical", "general", "research", "exhaustive")]
    assert thetas == sorted(thetas, reverse=True)
    assert widths == sorted(widths)


@pytest.mark.parametrize("value", [Weights(), LoopControls(), Budget()])
def test_settings_cannot_be_changed_in_place(value: Any) -> None:
    """A running loop reads settings that stay as they are."""
    name = next(iter(type(value).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(value, name, 1)


def test_controls_survive_state_and_copies() -> None:
    """What a compile tuned comes back from DSPy's state, a deep copy and a reset."""
    tuned = Controls(LoopControls(theta=0.33, weights=Weights(coverage=1.0), patience=4))
    loaded = Controls()
    loaded.load_state(tuned.dump_state())
    tuned.reset()
    assert loaded.values == tuned.values == copy.deepcopy(tuned).values
    assert tuned.values.theta == 0.33


@pytest.mark.parametrize(
    ("state", "named"),
    [
        pytest.param({"theta": 2}, "`theta`.*got 2", id="out of range"),
        pytest.param({"thetta": 0.5}, "`thetta` is unknown", id="unknown key"),
        pytest.param({"weights": "even"}, "`weights`", id="another shape"),
    ],
)
def test_bad_saved_controls_are_refused_and_change_nothing(state: dict[str, Any], named: str) -> None:
    """Loading checks everything before it changes anything."""
    controls = Controls(LoopControls(theta=0.33))
    with pytest.raises(DataError, match=named):
        controls.load_state(state)
    assert controls.values.theta == 0.33
