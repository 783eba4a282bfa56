"""The options of a strategy: of the kind of their defaults, whether they come from a recipe or from Python."""

from collections.abc import Mapping
from math import inf
from typing import Any

from reflective_rag.signatures.errors import ConfigError


def check_options(strategy: Any, options: Mapping[str, Any]) -> None:
    """Raises `ConfigError` for a value that a strategy's option cannot have; names are checked elsewhere.

    None stands for "not given" where the default is None.
    """
    least, most = getattr(strategy, "least", {}), getattr(strategy, "most", {})
    for name, default in strategy.defaults.items():
        value = options.get(name, default)
        if not (value is None and default is None):
            check_option(name, value, default, least.get(name), most.get(name, inf))


def check_option(name: str, value: Any, default: Any, least: int | None, most: float = inf) -> None:
    """An option must be of the kind of its default; numbers are never negative, and sizes of a search at least 1."""
    for kind, expected in ((bool, "true or false"), (str, "the name of a model, or empty for the program's own")):
        if isinstance(default, kind):
            if not isinstance(value, kind):
                raise ConfigError(f"option `{name}` must be {expected}, got {value!r}")
            return
    if isinstance(default, Mapping):
        if not isinstance(value, Mapping):
            raise ConfigError(f"option `{name}` must be a table of lists such as {{k = [3, 5]}}, got {value!r}")
        return
    whole = isinstance(default, int)
    kinds: tuple[type, ...] = (int,) if whole else (int, float)
    if least is None:
        least = 1 if whole and name.startswith(("num_", "max_rounds")) else 0
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if number is None or not isinstance(number, kinds) or not least <= number < inf or number > most:
        expected = "a whole number" if whole else "a number"
        limits = f"of at least {least}" if most == inf else f"from {least} to {most}"
        raise ConfigError(f"option `{name}` must be {expected} {limits}, got {value!r}")
