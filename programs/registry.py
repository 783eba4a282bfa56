"""The programs by name. One line adds one."""

from typing import Any

from reflective_rag.programs.agentic import AgenticRAG
from reflective_rag.programs.always import AlwaysRetrieve
from reflective_rag.programs.corrective import CorrectiveRAG
from reflective_rag.programs.module import RagModule
from reflective_rag.programs.naive import NaiveRAG
from reflective_rag.programs.no_retrieval import NoRetrieval
from reflective_rag.programs.react import ReActRAG
from reflective_rag.programs.reflective import ReflectiveRAG
from reflective_rag.programs.self_rag import SelfRAG
from reflective_rag.signatures.errors import ConfigError

_CLASSES: tuple[type[RagModule], ...] = (
    ReflectiveRAG,
    SelfRAG,
    NaiveRAG,
    AlwaysRetrieve,
    ReActRAG,
    AgenticRAG,
    CorrectiveRAG,
    NoRetrieval,
)
PROGRAMS: dict[str, type[RagModule]] = {cls.name: cls for cls in _CLASSES}


def make_program(name: str, search: Any = None, **options: Any) -> RagModule:
    """A fresh program. Raises `ConfigError` for an unknown name or option."""
    if "abstain_at_risk" in options:
        raise ConfigError(
            "`abstain_at_risk` needs the calibration of an artefact: `reflective-rag calibrate` puts one in, and "
            "`load_program(…, abstain_at_risk=…)` uses it"
        )
    if name not in PROGRAMS:
        raise ConfigError(f"unknown program {name!r}; known: {', '.join(sorted(PROGRAMS))}")
    return PROGRAMS[name](search, **options)
