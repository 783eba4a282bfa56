"""The control loops, and what they are made of.

from reflective_rag.programs import ReflectiveRAG
rag = ReflectiveRAG(search=my_search)
rag(question="…").answer
"""

from reflective_rag.programs.agentic import AgenticRAG
from reflective_rag.programs.always import AlwaysRetrieve
from reflective_rag.programs.artefacts import load_program, save_program
from reflective_rag.programs.assessor import EvidenceAssessor
from reflective_rag.programs.corrective import CorrectiveRAG
from reflective_rag.programs.drivers import Event
from reflective_rag.programs.module import RagModule, result_of
from reflective_rag.programs.naive import NaiveRAG
from reflective_rag.programs.no_retrieval import NoRetrieval
from reflective_rag.programs.react import ReActRAG
from reflective_rag.programs.reflective import ReflectiveRAG
from reflective_rag.programs.registry import PROGRAMS, make_program
from reflective_rag.programs.self_rag import SelfRAG
from reflective_rag.programs.settings import Budget, LoopControls, ReflectiveSettings, Weights
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
