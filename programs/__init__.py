"""The control loops, and what they are made of.

from reflective_rag.programs import ReflectiveRAG
rag = ReflectiveRAG(search=my_search)
rag(question="…").answer
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reflective_rag.programs.artefacts import load_program, save_program
from reflective_rag.programs.assessor import EvidenceAssessor
from reflective_rag.programs.drivers import Event
from reflective_rag.programs.module import RagModule, result_of
from reflective_rag.programs.naive import NaiveRAG
from reflective_rag.programs.reflective import ReflectiveRAG
from reflective_rag.programs.registry import CLASSES, PROGRAMS, make_program
from reflective_rag.programs.settings import Budget, LoopControls, ReflectiveSettings, Weights
from reflective_rag.signatures.types import Passage

if TYPE_CHECKING:
    from reflective_rag.programs.agentic import AgenticRAG
    from reflective_rag.programs.always import AlwaysRetrieve
    from reflective_rag.programs.corrective import CorrectiveRAG
    from reflective_rag.programs.no_retrieval import NoRetrieval
    from reflective_rag.programs.react import ReActRAG
    from reflective_rag.programs.self_rag import SelfRAG
    from reflective_rag.programs.wrapper import ReflectiveWrapper

__all__ = [
    "PROGRAMS",
    "AgenticRAG",
    "AlwaysRetrieve",
    "Budget",
    "CorrectiveRAG",
    "Event",
    "EvidenceAssessor",
    "LoopControls",
    "NaiveRAG",
    "NoRetrieval",
    "Passage",
    "RagModule",
    "ReActRAG",
    "ReflectiveRAG",
    "ReflectiveSettings",
    "ReflectiveWrapper",
    "SelfRAG",
    "Weights",
    "load_program",
    "make_program",
    "result_of",
    "save_program",
]

_LATER = {kind: module for module, _, kind in (place.partition(":") for place in CLASSES.values())}
_LATER["ReflectiveWrapper"] = "wrapper"


def __getattr__(name: str) -> Any:
    """The other programs, each imported when it is first asked for (PEP 562)."""
    if name in _LATER:
        return getattr(import_module(f"reflective_rag.programs.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
