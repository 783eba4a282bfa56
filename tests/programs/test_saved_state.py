"""Plain `.save` and `.load` of DSPy: the state of another program is refused, all that is stock use goes through."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest

from reflective_rag.programs import PROGRAMS, NaiveRAG, RagModule, ReflectiveRAG, make_program
from reflective_rag.signatures.errors import DataError


def search(query: str, k: int) -> list[str]:
    """One passage."""
    return ["Giotto was born in 1267."][:k]


@pytest.mark.parametrize(
    ("saved", "loading", "said"),
    [
        pytest.param(
            lambda: NaiveRAG(search), lambda: ReflectiveRAG(search), r"lacks.*`controls`", id="naive in reflective"
        ),
        pytest.param(
            lambda: ReflectiveRAG(search),
            lambda: NaiveRAG(search),
            r"`naive`, with `answer`\): it holds.*`controls`",
            id="reflective in naive",
        ),
        pytest.param(
            lambda: ReflectiveRAG(search, mode="rules"),
            lambda: ReflectiveRAG(search, mode="fused"),
            r"lacks.*built with the same options",
            id="another mode",
        ),
        pytest.param(
            lambda: dspy.Predict("question -> answer"), lambda: NaiveRAG(search), "lacks `answer`", id="a predictor"
        ),
    ],
)
def test_the_state_of_another_program_is_one_clear_error(
    saved: Callable[[], dspy.Module], loading: Callable[[], RagModule], said: str, tmp_path: Path
) -> None:
    """It says what the program has, what the state lacks or has too much, and what to do; nothing has changed."""
    saved().save(tmp_path / "state.json")
    program = loading()
    before = program.dump_state()
    with pytest.raises(DataError, match=said):
        program.load(tmp_path / "state.json")
    assert program.dump_state() == before


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_every_program_loads_its_own_state(name: str, tmp_path: Path) -> None:
    """What `.save` writes, `.load` takes back."""
    program = make_program(name, search)
    program.save(tmp_path / "state.json")
    again = make_program(name, search)
    again.load(tmp_path / "state.json")
    assert again.dump_state() == program.dump_state()


def test_other_keys_of_dspy_pass() -> None:
    """`metadata`, or whatever another version of DSPy adds, is no part of the program."""
    state = ReflectiveRAG(search, theta=0.4).dump_state()
    program = ReflectiveRAG(search)
    program.load_state({**state, "metadata": {"dependency_versions": {}}, "_note": "x", "extra": {"a": 1}})
    assert program.controls.values.theta == 0.4


def test_a_state_is_loaded_into_a_program_whose_part_is_frozen() -> None:
    """DSPy leaves the predictors of a compiled module out of the program's own; the state may have them."""
    state = ReflectiveRAG(search, theta=0.4).dump_state()
    program: Any = ReflectiveRAG(search)
    program.assessor._compiled = True
    program.load_state(state)
    assert program.controls.values.theta == 0.4


def _drop_signature(state: dict[str, Any]) -> object:
    return state["answer"].pop("signature")


def _one_field_more(state: dict[str, Any]) -> object:
    return state["answer"]["signature"]["fields"].append({"prefix": "Mood:", "description": "A mood."})


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        pytest.param(_drop_signature, "cannot be loaded.*signature", id="no signature"),
        pytest.param(_one_field_more, "fields of `answer` are others", id="another field"),
        pytest.param(lambda state: state.update(answer=[1]), "cannot be loaded", id="a list"),
    ],
)
def test_a_damaged_state_is_one_clear_error(damage: Callable[[dict[str, Any]], object], said: str) -> None:
    """Neither a raw KeyError nor descriptions that are shifted."""
    program = ReflectiveRAG(search)
    state = program.dump_state()
    damage(state)
    with pytest.raises(DataError, match=said):
        program.load_state(state)


def test_what_is_no_object_is_no_state() -> None:
    """A list is refused."""
    with pytest.raises(DataError, match="got list"):
        NaiveRAG(search).load_state([])
