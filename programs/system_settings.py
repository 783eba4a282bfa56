"""Settings of the systems to compare with; where a name also stands in `ReflectiveSettings`, it means the same."""

from typing import Literal

from pydantic import Field

from reflective_rag.programs.settings import Budget, CriticModels, NaiveSettings, Strict
from reflective_rag.signatures.types import Backend


class NoRetrievalSettings(Strict):
    """Settings of NoRetrieval."""

    nearest_demos: int = Field(default=0, ge=0, le=100)
    budget: Budget = Budget()


class AlwaysSettings(NaiveSettings):
    """Settings of AlwaysRetrieve; `k` is the passages of each round."""

    rounds: int = Field(default=3, ge=1, le=10)
    """Searches, whatever they bring."""
    max_passages: int = Field(default=10, ge=1, le=100)


class ReActSettings(Strict):
    """Settings of ReActRAG."""

    k: int = Field(default=5, ge=1, le=100)
    """Passages of each search."""
    max_iters: int = Field(default=5, ge=1, le=20)
    """Most turns, one call each; then the answer is written from what was found."""
    passage_chars: int = Field(default=2400, ge=200)
    include_citations: bool = True
    nearest_demos: int = Field(default=0, ge=0, le=100)
    budget: Budget = Budget()


class AgenticSettings(Strict):
    """Settings of AgenticRAG."""

    k: int = Field(default=5, ge=1, le=100)
    """Passages of each search."""
    max_passages: int = Field(default=10, ge=1, le=100)
    passage_chars: int = Field(default=2400, ge=200)
    include_citations: bool = True
    nearest_demos: int = Field(default=0, ge=0, le=100)
    budget: Budget = Budget()


class CorrectiveSettings(NaiveSettings):
    """Settings of CorrectiveRAG."""

    critic: Backend | None = None
    """Who grades the passages; None leaves it to the mode (`lm`, and `rules` in mode `rules`)."""
    critic_models: CriticModels = CriticModels()
    """The model of `critic = "models"`."""
    upper: float | None = Field(default=None, ge=0, le=1)
    """A grade from which the evidence is correct; None takes that of `corrective.THRESHOLDS` for the critic."""
    lower: float | None = Field(default=None, ge=0, le=1)
    """A grade below which a passage is thrown away; the evidence is incorrect when all are. None as above."""
    strip_chars: int = Field(default=600, ge=100)
    """Characters that are cut out of a passage at most, in windows of whole sentences."""
    strips: int = Field(default=6, ge=1, le=100)
    """Most strips that are read, the best of all passages."""
    second_source: Literal["same", "own"] = "same"
    """`own` where the program was made with a `fallback_search`; with `same` the second search asks `search` again."""
    fallback_k: int = Field(default=20, ge=1, le=200)
    """Passages of the second search."""
    soft_verdicts: bool = True
