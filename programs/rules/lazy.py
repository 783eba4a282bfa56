"""Patterns that are compiled when they are first used: the long ones would take 50 ms of every import."""

import re
from functools import cached_property


class LazyPattern:
    """The part of `re.Pattern` that the rules use."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self._source, self._flags = source, flags

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self._source, self._flags)

    def search(self, text: str) -> re.Match[str] | None:
        """As `re.Pattern.search`."""
        return self._pattern.search(text)
