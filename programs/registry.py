"""The programs by name. One line adds one."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from reflective_rag.programs.module import RagModule
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.spelling import check_name

CLASSES: Mapping[str, str] = {
    "reflective": "reflective:ReflectiveRAG",
    "self-rag": "self_rag:SelfRAG",
    "naive": "naive:NaiveRAG",
    "always": "always:AlwaysRetrieve",
    "react": "react:ReActRAG",
    "agentic": "agentic:AgenticRAG",
    "corrective": "corrective:CorrectiveRAG",
    "none": "no_retrieval:NoRetrieval",
}
"""Name → module of this package and class in it."""


class _Programs(Mapping[str, type[RagModule]]):
    """Each is imported when it is asked for: all of them would take a tenth of a second of every import."""

    def __getitem__(self, name: str) -> type[RagModule]:
        module, _, kind = CLASSES[name].partition(":")
        found: type[RagModule] = getattr(import_module(f"reflective_rag.programs.{module}"), kind)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(CLASSES)

    def __len__(self) -> int:
        return len(CLASSES)


PROGRAMS: Mapping[str, type[RagModule]] = _Programs()


def make_program(name: str, search: Any = None, **options: Any) -> RagModule:
    """A fresh program. Raises `ConfigError` for an unknown name or option."""
    for name in sorted({"abstain_at_risk", "abstain_rule"} & options.keys()):
        raise ConfigError(
            f"`{name}` needs the calibration of an artefact: `reflective-rag calibrate` puts one in, and "
            "`load_program(…, abstain_at_risk=…)` uses it"
        )
    check_name("program", name, sorted(PROGRAMS))
    if "mode" in options and PROGRAMS[name].needs_model:
        raise ConfigError(f"program {name!r} always asks a language model: it has no `mode`, and is n/a on rules")
    return PROGRAMS[name](search, **options)
