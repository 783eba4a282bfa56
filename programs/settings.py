"""Settings of the loops.

What a compile tunes (`LoopControls`) is apart from what the caller chooses (`ReflectiveSettings`, `Budget`).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

from dspy.predict.parameter import Parameter
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_serializer,
)

from reflective_rag.signatures.errors import ConfigError, DataError
from reflective_rag.signatures.types import Backend

Mode = Literal["paired", "fused", "separate", "rules"]
PresetName = Literal["critical", "general", "research", "exhaustive"]
QuestionKind = Literal["comparison", "temporal", "bridge", "single"]
"""See `programs.question_kinds`."""

_M = TypeVar("_M", bound=BaseModel)


class Strict(BaseModel):
    """Base of all settings: frozen, no unknown names, and a number is neither a text nor true or false."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _numbers_are_numbers(cls, value: Any, info: ValidationInfo) -> Any:
        """Pydantic would read `True` as 1 and "5" as 5: a slip that changes how a question is answered."""
        wanted = _kinds(cls.model_fields[str(info.field_name)].annotation)
        if wanted & {int, float} and bool not in wanted:
            for each in value.values() if isinstance(value, Mapping) else [value]:
                if isinstance(each, bool) or (isinstance(each, str) and str not in wanted):
                    raise ValueError(f"expected a number, not {'a text' if isinstance(each, str) else 'true or false'}")
        return value


def _kinds(annotation: Any) -> set[Any]:
    """The plain types in an annotation, at any depth."""
    inner = get_args(annotation)
    return {annotation} if not inner else set().union(*map(_kinds, inner))


def some_weight(weights: BaseModel) -> BaseModel:
    """The weights, unless all are 0: every score would be 0. Raises `ValueError`."""
    values = weights.model_dump().values()
    if not any(value > 0 for value in values):
        raise ValueError("at least one weight must be above 0")
    return weights


class Weights(Strict):
    """Weights of the four dimensions; any non-negative numbers, renormalised over the dimensions that apply."""

    relevance: float = Field(default=0.40, ge=0)
    consistency: float = Field(default=0.20, ge=0)
    coverage: float = Field(default=0.25, ge=0)
    freshness: float = Field(default=0.15, ge=0)


class LoopControls(Strict):
    """The stopping rule: tuned by strategy `controls`, saved with the program. It changes no prompt and no search."""

    theta: float = Field(default=0.7, ge=0, le=1)
    """Evidence score that counts as enough. At equal k a higher value means more retrieval."""
    weights: Annotated[Weights, AfterValidator(some_weight)] = Weights()
    max_rounds: int = Field(default=3, ge=1, le=10)
    """Most assessments of one question."""
    patience: int = Field(default=2, ge=1, le=10)
    """Rounds in a row without progress (a requirement newly covered or a better score) before the loop gives up."""
    sufficient_at: float = Field(default=0.5, ge=0, le=1)
    """Probability of "sufficient" that counts as yes, where the critic gives one (soft verdicts)."""
    respect_verdict: bool = True
    """Whether the critic's own "not sufficient" keeps the loop from stopping."""
    stop_when_enough: bool = True
    """False runs every question to its last round, as a recorded pass for replay tuning does."""
    theta_by_kind: dict[QuestionKind, Annotated[float, Field(ge=0, le=1)]] = Field(default_factory=dict)
    """θ for kinds of questions where it is another one; the others have `theta`."""

    @model_serializer(mode="wrap")
    def _without_what_is_empty(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without `theta_by_kind` where it is empty: so states and digests are those of versions that had none."""
        state: dict[str, Any] = whole(self)
        return state if self.theta_by_kind else {k: v for k, v in state.items() if k != "theta_by_kind"}

    def for_question(self, question: str) -> Self:
        """The controls of one question: its kind's θ, where it has one."""
        if not self.theta_by_kind:
            return self
        from reflective_rag.programs.question_kinds import question_kind

        theta = self.theta_by_kind.get(question_kind(question), self.theta)
        return self if theta == self.theta else self.model_copy(update={"theta": theta})


class Critics(Strict):
    """Who makes each judgement; None leaves it to the mode (`lm`, and `rules` in mode `rules`).

    Where a back end makes no sense for a judgement it is refused: small models grade passages (cross-encoder, embedder)
    and compare sentences (NLI), but cannot list what a question needs.
    """

    relevance: Backend | None = None
    consistency: Backend | None = None
    coverage: Literal["lm", "rules"] | None = None
    freshness: Literal["lm", "rules"] | None = None
    sufficiency: Literal["lm", "rules"] | None = None
    gaps: Literal["lm", "rules"] | None = None
    support: Literal["lm", "rules", "models", "off"] = "rules"
    """Who checks that the passages carry the answer's claims. `lm` costs one call a claim."""


class CriticModels(Strict):
    """Which small models the back end `models` uses: a Hugging Face name or a folder with an ONNX file."""

    relevance: str = "BAAI/bge-reranker-v2-m3"
    """Grades passages: a cross-encoder, or `embedder` for the cosine of the bundled embedder (light, offline)."""
    nli: str = "MoritzLaurer/mDeBERTa-v3-base-xnli-multilingual-nli-2mil7"
    """Finds contradictions and support."""


class Budget(Strict):
    """Hard limits for one question; None is no limit. Calls and tokens may be overshot by at most one call.

    With a limit on calls or tokens, DSPy's second call after an unparsable reply is off; the reply is salvaged instead.
    """

    lm_calls: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    """Prompt and completion tokens together."""
    seconds: float | None = Field(default=None, ge=0)
    retrievals: int | None = Field(default=None, ge=0)
    """Single queries sent to the retriever."""


class ReflectiveSettings(Strict):
    """What a caller chooses for one ReflectiveRAG. It may change prompts and searches, so it is tuned by running."""

    mode: Mode = "paired"
    k: int = Field(default=10, ge=1, le=100)
    """Passages per query of round 1."""
    k_gap: int = Field(default=5, ge=1, le=100)
    """Passages per gap query."""
    gaps_per_round: int = Field(default=3, ge=1, le=10)
    same_query: Literal["words", "embedder"] = "words"
    """How a query is found to repeat a tried one: by its words, or by the bundled embedder too (extra `local`)."""
    max_passages: int = Field(default=10, ge=1, le=100)
    """Most passages a model reads in one round, the best of the pool; the rest is reported as dropped."""
    passage_chars: int = Field(default=2400, ge=200)
    """A longer passage is read as its most fitting windows of sentences up to this length; the round says which."""
    near_duplicate: float | None = Field(default=0.85, ge=0.5, le=1)
    """Jaccard similarity of three-word shingles from which a passage that says the same is left out; None keeps all."""
    tangent_margin: float = Field(default=0.0, ge=0, le=1)
    """How far below the better passages a grade must be for its passage to be left out as tangential; 0 is never."""
    critics: Critics = Critics()
    critic_models: CriticModels = CriticModels()
    fallback: tuple[Backend, ...] = ("rules",)
    """Back ends that take over, in this order, a judgement whose own back end failed or could not be read."""
    relevant_at: float = Field(default=0.5, ge=0, le=1)
    """Grade from which a passage counts as relevant. Grades of different back ends are not comparable: tune it."""
    repair: bool = True
    """One attempt to correct an answer that fails the check."""
    min_confidence: float = Field(default=0.5, ge=0, le=1)
    abstain: bool = False
    """Abstain below `min_confidence` when the evidence was not enough. (Without any evidence it always abstains.)"""
    warn_on_low_confidence: bool = True
    include_citations: bool = True
    nearest_demos: int = Field(default=0, ge=0, le=100)
    """Demos that a call shows: those of most similar questions (strategy `knn`); 0 shows all."""
    soft_verdicts: bool = True
    """Take probabilities instead of written verdicts (relevance, sufficiency) where the model reports them."""
    budget: Budget = Budget()


class NaiveSettings(Strict):
    """Settings of NaiveRAG; the same meanings as in `ReflectiveSettings`."""

    mode: Literal["lm", "rules"] = "lm"
    k: int = Field(default=10, ge=1, le=100)
    passage_chars: int = Field(default=2400, ge=200)
    include_citations: bool = True
    nearest_demos: int = Field(default=0, ge=0, le=100)
    budget: Budget = Budget()


PRESETS: dict[PresetName, dict[str, dict[str, Any]]] = {
    "critical": {"controls": {"theta": 0.8, "max_rounds": 3}, "settings": {}},
    "general": {"controls": {"theta": 0.7, "max_rounds": 3}, "settings": {}},
    "research": {"controls": {"theta": 0.6, "max_rounds": 4}, "settings": {"k": 15, "k_gap": 8, "max_passages": 15}},
    "exhaustive": {"controls": {"theta": 0.5, "max_rounds": 5}, "settings": {"k": 20, "k_gap": 10, "max_passages": 20}},
}
"""θ, rounds and k set together: a low θ with a wide k asks once for much, a high θ with a small k asks again."""


def build(kind: type[_M], values: Mapping[str, Any]) -> _M:
    """`kind(**values)`, with one `ConfigError` that names every bad or unknown key instead of pydantic's report."""
    try:
        return kind(**values)
    except ValidationError as error:
        raise ConfigError(describe(error, kind)) from None


def describe(error: ValidationError, kind: type[BaseModel]) -> str:
    """A pydantic report in one line: name, what was expected, what came; valid names where one is unknown."""
    faults = []
    for fault in error.errors():
        name = ".".join(str(part) for part in fault["loc"]) or "value"
        if fault["type"] == "extra_forbidden":
            known = _fields_at(kind, fault["loc"][:-1])
            faults.append(f"`{name}` is unknown; known: {', '.join(f'`{field}`' for field in known)}")
        else:
            told = fault["msg"].removeprefix("Value error, ").lower()
            faults.append(f"`{name}`: {told}, got {fault['input']!r}")
    return "; ".join(faults)


def _fields_at(kind: type[BaseModel], path: Sequence[int | str]) -> Sequence[str]:
    """Names of the fields at a place inside nested settings."""
    for part in path:
        inner = kind.model_fields[str(part)].annotation if str(part) in kind.model_fields else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            break
        kind = inner
    return list(kind.model_fields)


class Controls(Parameter):
    """Carries what a compile tunes (`LoopControls`, say) in DSPy's saved state.

    It survives save, load, deep copies, nesting and optimizers.

    DSPy drops plain attributes on `.save()`; anything that is a `Parameter` is written and read back.
    """

    def __init__(self, values: BaseModel | None = None) -> None:
        self.values: Any = values or LoopControls()
        """Settings of one kind; a saved state of another kind is refused."""

    def reset(self) -> None:
        """Keep the values: DSPy calls this in `reset_copy()`, which should clear demos, not settings."""

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """The values as plain JSON."""
        state: dict[str, Any] = self.values.model_dump(mode="json")
        return state

    def load_state(self, state: Mapping[str, Any], **_: Any) -> Self:
        """Validate, then swap. Raises `DataError` and keeps the old values when a key is unknown or out of range."""
        try:
            self.values = type(self.values)(**state)
        except ValidationError as error:
            raise DataError(f"saved controls cannot be used: {describe(error, type(self.values))}") from None
        return self
