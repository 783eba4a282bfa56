"""“Did you mean …?”: the name that was probably meant, for errors about unknown names."""

import difflib
from collections.abc import Iterable

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


def check_names(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    """`check_name` for several; the error is about the first that is not known."""
    known = list(known)
    for name in names:
        check_name(what, name, known)


def check_name(what: str, name: str, known: Iterable[str]) -> None:
    """Raise `ConfigError` unless `name` is known; it lists the known names and the one that was probably meant."""
    names = list(known)
    if not isinstance(name, str):
        raise ConfigError(f"{what} must be one of {', '.join(map(repr, names))}, got {name!r:.80}")
    if name not in names:
        listed = ", ".join(map(repr, names))
        raise ConfigError(f"unknown {what} {name!r}{did_you_mean(name, names) or ';'} known: {listed}")
