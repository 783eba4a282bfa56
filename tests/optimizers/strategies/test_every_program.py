"""Every strategy on every program: it is planned, compiled, saved and loaded like ReflectiveRAG."""

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from reflective_rag.optimizers.strategies import STRATEGIES, strategy
from reflective_rag.programs.artefacts import load_program, save_program
from reflective_rag.programs.registry import CLASSES, make_program
from reflective_rag.signatures.errors import ConfigError
from tests.optimizers.strategies.small import Bench, search
from tests.optimizers.strategies.test_all import SMALL

OPTIONS: dict[str, dict[str, Any]] = {**SMALL, "none": {}, "controls": {}, "settings": {"trials": 3}}
NOTHING_TO_TUNE = {("none", "controls"), ("none", "settings")}
"""NoRetrieval has no settings but its budget."""
PAIRS = [(name, kind) for name in CLASSES for kind in STRATEGIES if (name, kind) not in NOTHING_TO_TUNE]


def test_no_strategy_is_left_out() -> None:
    """The table above names all there are."""
    assert OPTIONS.keys() == STRATEGIES.keys()


@pytest.mark.parametrize(("name", "kind"), PAIRS, ids=[f"{kind} {name}" for name, kind in PAIRS])
def test_it_compiles_within_its_plan_and_comes_back_from_an_artefact(tmp_path: Path, name: str, kind: str) -> None:
    """An independent count of the calls lies within the plan; what is loaded has the result's state and settings."""
    bench = Bench()
    task = bench.task(kind, program=make_program(name, search), options=OPTIONS[kind])
    with bench.use(), contextlib.redirect_stderr(io.StringIO()):
        plan = STRATEGIES[kind].plan(task)
        compiled = STRATEGIES[kind].compile(task).program
    assert plan.calls_low <= len(bench.lm.engine.calls) <= plan.calls_high
    loaded = load_program(save_program(compiled, tmp_path / "art"), search)
    assert loaded.dump_state() == compiled.dump_state()
    assert loaded.settings == compiled.settings


@pytest.mark.parametrize(("name", "kind"), sorted(NOTHING_TO_TUNE))
def test_where_there_is_nothing_to_choose_it_says_so(name: str, kind: str) -> None:
    """Before anything is asked."""
    bench = Bench()
    task = bench.task(kind, program=make_program(name, search))
    with bench.use(), pytest.raises(ConfigError, match="program 'none' has no settings to choose from"):
        STRATEGIES[kind].plan(task)
    assert not bench.lm.engine.calls


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in ("reflective", "none")])
def test_controls_of_other_programs_are_tuned_by_running_at_the_same_prices(name: str) -> None:
    """Their loops are not replayed: what `settings` would choose is chosen, and an option of the replay is refused."""
    found = []
    for kind in ("controls", "settings"):
        bench = Bench()
        task = bench.task(kind, program=make_program(name, search), options={"lam": 0.3, "mu": 0.01})
        found.append(bench.compile(kind, task).report)
    assert found[0] == found[1]
    task = Bench().task("controls", program=make_program(name, search), options={"by_kind": True})
    with pytest.raises(ConfigError, match="`by_kind` needs the replay of 'reflective'"):
        STRATEGIES["controls"].plan(task)


@pytest.mark.parametrize("kind", STRATEGIES)
@pytest.mark.parametrize("name", ["react", "agentic", "none"])
def test_a_program_that_needs_a_model_is_not_planned_on_rules(name: str, kind: str) -> None:
    """By whatever strategy: the refusal names the model that is missing, and no strategy that would fail as well."""
    with pytest.raises(ConfigError, match=f"program '{name}' is n/a on rules: it needs a language model"):
        strategy(kind, make_program(name, search), {})
