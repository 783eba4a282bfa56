"""What strategy `settings` tries: for each program the settings that change prompts or searches, and their values."""

from collections.abc import Mapping, Sequence
from typing import Any

from reflective_rag.programs.module import RagModule
from reflective_rag.programs.variants import with_options
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.spelling import check_names

Space = Mapping[str, tuple[Any, ...]]
"""Setting or control → the values to choose from."""

_WIDE, _NARROW = (3, 5, 8, 10, 15), (3, 5, 8)
SPACES: Mapping[str, Space] = {
    "reflective": {
        "mode": ("paired", "fused", "separate", "rules"),
        "k": (5, 10, 15),
        "k_gap": _NARROW,
        "gaps_per_round": (1, 2, 3),
        "max_passages": (5, 10, 15),
        "near_duplicate": (None, 0.7, 0.85),
        "tangent_margin": (0.0, 0.1, 0.2),
    },
    "self-rag": {
        "retrieval_threshold": (0.1, 0.2, 0.4, 0.6),
        "min_usefulness": (2.0, 3.0, 4.0),
        "min_support": ("supported", "partially"),
        "relevant_at": (0.3, 0.5, 0.7),
        "k": (3, 5, 10),
        "max_rounds": (1, 2, 3),
    },
    "naive": {"k": _WIDE},
    "always": {"k": _NARROW, "rounds": (2, 3, 4), "max_passages": (5, 10, 15)},
    "react": {"k": _NARROW, "max_iters": (3, 5, 8)},
    "agentic": {"k": _NARROW, "max_passages": (5, 10, 15)},
    "corrective": {
        "k": _WIDE,
        "upper": (None, 0.5, 0.7, 0.9),
        "lower": (None, 0.1, 0.3),
        "strips": (4, 6, 10),
        "fallback_k": (10, 20, 40),
    },
}
"""Program → its space; for one that is not here, its `k`. NoRetrieval has nothing to choose."""


def space_of(program: RagModule, wanted: Mapping[str, Any]) -> Space:
    """The space of a program: the caller's, or that of `SPACES`. Without a model `mode` is left as it is.

    Raises:
        ConfigError: `wanted` names what the program does not have, or values that it does not take; or there is nothing
            to choose from.
    """
    if not wanted:
        space = SPACES.get(program.name, {"k": _WIDE} if "k" in type(program.settings).model_fields else {})
        if not program.uses_model():
            space = {name: values for name, values in space.items() if name != "mode"}
    else:
        space = {name: _values(program, name, values) for name, values in _known(program, wanted).items()}
    if not space:
        raise ConfigError(
            f"program {program.name!r} has no settings to choose from; known: {', '.join(map(repr, SPACES))}. "
            "For another give `space`, such as `space = {k = [3, 5, 10]}`"
        )
    return space


def now(program: RagModule, space: Space) -> dict[str, Any]:
    """The values that the program has."""
    controls = getattr(program, "controls", None)
    holders = [program.settings, *([controls.values] if controls is not None else [])]
    return {name: next(getattr(h, name) for h in holders if hasattr(h, name)) for name in space}


def _known(program: RagModule, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    controls = getattr(program, "controls", None)
    fields = set(type(program.settings).model_fields) | set(type(controls.values).model_fields if controls else ())
    check_names("setting", wanted, sorted(fields - {"budget", "nearest_demos"}))
    return wanted


def _values(program: RagModule, name: str, values: Any) -> tuple[Any, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise ConfigError(f"`space.{name}` must be a list of values to try, got {values!r}")
    for value in values:
        try:
            with_options(program, **{name: value})
        except ConfigError as error:
            raise ConfigError(f"`space.{name}`: {error}") from None
    return tuple(values)
