"""Settings of SelfRAG: what a compile may tune (`SelfRagControls`) apart from what the caller chooses."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from reflective_rag.programs.self_rag_scoring import CriticWeights
from reflective_rag.programs.settings import Budget, CriticModels, Strict, build, some_weight
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.spelling import check_names
from reflective_rag.signatures.types import Backend, SelfRagJudgement

Retrieval = Literal["adaptive", "always", "never"]
LmOrRules = Literal["lm", "rules"]


class SelfRagControls(Strict):
    """The numbers that decide: saved with the program, and kept by every optimizer. They change no prompt."""

    retrieval_threshold: float = Field(default=0.2, ge=0, le=1)
    """Search when p(yes) / (p(yes) + p(no)) is above this; a written verdict counts as 1 or 0. At 1 nothing is."""
    weights: Annotated[CriticWeights, AfterValidator(some_weight)] = CriticWeights()
    min_usefulness: float = Field(default=3.0, ge=1, le=5)
    """Least usefulness, on 1..5, of an answer that ends the search."""


class SelfRagCritics(Strict):
    """Who makes each judgement; None leaves it to the mode."""

    retrieve: LmOrRules | None = None
    relevance: Backend | None = None
    support: Backend | None = None
    """`lm` costs one call a claim of every candidate."""
    usefulness: LmOrRules | None = None


class SelfRagSettings(Strict):
    """What a caller chooses for one SelfRAG."""

    mode: Literal["lm", "rules"] = "lm"
    """Who answers, and who judges where `critics` does not say."""
    retrieval: Retrieval = "adaptive"
    """Whether [Retrieve] is asked, or every question is searched, or none."""
    k: int = Field(default=10, ge=1, le=100)
    """Passages per query; each relevant one gives a candidate answer."""
    max_rounds: int = Field(default=2, ge=1, le=10)
    """Most searches of one question, each after a rewritten query. (Not for long answers, see `max_segments`.)"""
    min_support: Literal["supported", "partially"] = "supported"
    """Least support of an answer that ends the search: an answer is as good as its worst claim."""
    closed_set: bool = False
    """Whether identical answers from several passages add their scores: a vote, for questions with few answers."""
    long_form: bool = False
    """Write the answer sentence by sentence, each with its own retrieval decision, passage and critics."""
    beam_width: int = Field(default=2, ge=1, le=10)
    """Beginnings of a long answer that are kept after each sentence."""
    max_segments: int = Field(default=6, ge=1, le=30)
    """Most sentences of a long answer."""
    answer_from_memory: bool = True
    """Whether the model answers alone, marked and with a warning, when no passage gives an answer; else it abstains."""
    critics: SelfRagCritics = SelfRagCritics()
    critic_models: CriticModels = CriticModels()
    relevant_at: float = Field(default=0.5, ge=0, le=1)
    """Grade from which a passage counts as relevant. Grades of different back ends are not comparable: tune it."""
    soft_verdicts: bool = True
    """Take the probabilities of a verdict's values instead of the written one, where the model reports them."""
    sequence_score: bool = False
    """Add the mean token probability of the answer to its score, where the model reports it (the paper's option)."""
    include_citations: bool = True
    passage_chars: int = Field(default=2400, ge=200)
    """A longer passage is read as its most fitting windows of sentences up to this length."""
    near_duplicate: float | None = Field(default=0.85, ge=0.5, le=1)
    """Jaccard similarity of three-word shingles from which a passage that says the same is left out; None keeps all."""
    nearest_demos: int = Field(default=0, ge=0, le=100)
    """Demos that a call shows: those of most similar questions (strategy `knn`); 0 shows all."""
    budget: Budget = Budget()

    def backend(self, judgement: SelfRagJudgement) -> Backend:
        """Who is meant to make a judgement."""
        chosen: Backend | None = getattr(self.critics, judgement)
        return chosen or self.mode

    @property
    def asked(self) -> tuple[SelfRagJudgement, ...]:
        """The judgements that are needed at all."""
        if self.retrieval == "never":
            return ("usefulness",)
        return (*(("retrieve",) if self.retrieval == "adaptive" else ()), "relevance", "support", "usefulness")


def split_options(options: Mapping[str, Any]) -> tuple[SelfRagControls, SelfRagSettings]:
    """Options sorted into controls and settings. Raises `ConfigError` for what is unknown or cannot work."""
    check_names("option", options, sorted({*SelfRagControls.model_fields, *SelfRagSettings.model_fields}))
    tuned = {name: value for name, value in options.items() if name in SelfRagControls.model_fields}
    chosen = {name: value for name, value in options.items() if name not in tuned}
    controls, settings = build(SelfRagControls, tuned), build(SelfRagSettings, chosen)
    if settings.retrieval == "never" and settings.mode == "rules":
        raise ConfigError("`retrieval` 'never' needs a model to answer alone; `mode` must be 'lm', got 'rules'")
    if settings.retrieval == "never" and settings.long_form:
        raise ConfigError(
            "`long_form` writes from passages, and `retrieval` is 'never'; choose 'adaptive' or 'always' for it"
        )
    return controls, settings
