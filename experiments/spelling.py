"""“Did you mean …?”: the name that was probably meant, for errors about unknown names."""

import difflib
from collections.abc import Iterable
from typing import get_args

from reflective_rag.signatures.errors import ConfigError


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, whatever the case; None when none is like it."""
    folded = {other.casefold(): other for other in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    return folded[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str], quote: str = "'") -> str:
    """`; did you mean 'reflective'?` to append to an error; empty when nothing is near."""
    meant = nearest(name, known)
    return "" if meant is None else f"; did you mean {quote}{meant}{quote}?"


def check_name(what: str, name: str, known: Iterable[str]) -> None:
    """Raise `ConfigError` unless `name` is known; it lists the known names and the one that was probably meant."""
    names = list(known)
    if name not in names:
        listed = ", ".join(map(repr, names))
        raise ConfigError(f"unknown {what} {name!r}{did_you_mean(name, names) or ';'} known: {listed}")


def check_stage_name(name: str) -> None:
    """Raise `ConfigError` unless a compile has such a stage."""
    from reflective_rag.optimizers.stages import Stage

    check_name("stage", name, get_args(Stage))


def check_metric_name(name: str) -> None:
    """Raise `ConfigError` unless there is such a metric; the error says which was probably meant."""
    from reflective_rag.optimizers.metrics import MetricName

    known = get_args(MetricName)
    if name not in known:
        listed = ", ".join(map(repr, known))
        raise ConfigError(f"`metric` must be one of {listed}, got {name!r}{did_you_mean(name, known)}")
