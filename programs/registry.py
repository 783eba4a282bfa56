"""The programs by name. One line adds one."""

from typing import Any

from reflective_rag.programs.module import RagModule
from reflective_rag.programs.naive import NaiveRAG
from reflective_rag.programs.reflective import ReflectiveRAG
from reflective_rag.signatures.errors import ConfigError

PROGRAMS: dict[str, type[RagModule]] = {cls.name: cls for cls in (ReflectiveRAG, NaiveRAG)}


def make_program(name: str, search: Any = None, **options: Any) -> RagModule:
    """A fresh program. Raises `ConfigError` for an unknown name or option."""
    if name not in PROGRAMS:
        raise ConfigError(f"unknown program {name!r}; known: {', '.join(sorted(PROGRAMS))}")
    return PROGRAMS[name](search, **options)
