"""Regular expressions that are compiled when they are first used: together they would take 80 ms of every import."""

import re
from typing import Any, cast


class _Late:
    """Stands for a pattern; at its first use it takes over the methods of the compiled one."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # `copy` and `pickle` look for such names before there is a source
            raise AttributeError(name)
        compiled = re.compile(self._source, self._flags)
        found = getattr(compiled, name)
        self.__dict__[name] = found
        return found


def late_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` gives, compiled at the first use. A mistake in the pattern shows only then."""
    return cast(re.Pattern[str], _Late(source, flags))
