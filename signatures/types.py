"""The types that travel between retrieval, critics, loops and callers.

All are frozen; scores are in 0..1, `None` means not applicable. Judgements (what a critic said, by a model or by rules)
are kept apart from assessments (what Python computed from them).
"""

from collections.abc import Mapping
from datetime import date
from functools import cached_property, partial
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_serializer, field_validator

from reflective_rag.signatures.text import Language, content_hash, language_of, well_formed
from reflective_rag.signatures.wording import say, word

SCHEMA_VERSION = 1
"""Version of `Result`; raised when a field changes its meaning or goes."""

Score = Annotated[float, Field(ge=0.0, le=1.0)]
GapKind = Literal[
    "missing_entity", "missing_attribute", "missing_relation", "timeline", "incomplete_answer", "conflict"
]
Action = Literal["generate", "retrieve_more", "abstain"]
Phase = Literal["retrieve", "assess", "answer", "check", "rewrite"]
Support = Literal["supported", "partially", "not_supported", "contradicted"]
Backend = Literal["lm", "rules", "models"]
"""Who judges: a language model through a Signature, rules without any model, or small models made for it (a
cross-encoder, NLI)."""
JudgementName = Literal["relevance", "consistency", "coverage", "freshness", "sufficiency", "gaps", "support"]
SelfRagJudgement = Literal["retrieve", "relevance", "support", "usefulness"]
"""What Self-RAG's critics judge: [Retrieve], [IsREL], [IsSUP], [IsUSE]."""
TimeScope = Literal["timeless", "now", "as_of", "before", "after", "between"]
StopReason = Literal[
    "sufficient",
    "single_pass",
    "finished",
    "no_retrieval",
    "no_passages",
    "no_relevant_passages",
    "no_gap",
    "no_new_query",
    "no_new_passages",
    "no_progress",
    "max_rounds",
    "max_segments",
    "max_parts",
    "budget_calls",
    "budget_tokens",
    "budget_seconds",
    "budget_retrievals",
    "model_error",
    "retriever_error",
]
WarningCode = Literal[
    "low_confidence_generation",
    "insufficient_evidence",
    "potential_noise",
    "outdated_info",
    "conflicting_evidence",
    "ambiguous_question",
    "no_evidence",
    "budget_exhausted",
    "model_degraded",
    "retriever_degraded",
    "unreadable_verdict",
    "unreadable_answer",
    "unverified_citation",
    "unsupported_answer",
    "no_answer",
    "rules_only",
    "rules_judged",
    "from_memory",
    "answer_cut",
    "plan_cut",
    "answer_withheld",
]

GAP_KINDS: tuple[GapKind, ...] = get_args(GapKind)


class Frozen(BaseModel):
    """Base of every travelling type: immutable, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Passage(Frozen):
    """A retrieved text. It is known by its text (`key`, and exactly `identity`), not by `id`: indexes differ there."""

    # cached_property needs a writable instance dict, which pydantic's frozen models still have.
    id: str
    text: str
    title: str = ""
    source: str = ""
    published: date | None = None
    score: float | None = None
    """The retriever's own score, comparable only within one result list."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """Whatever else the retriever says of it; in JSON, an object that JSON does not know is written as its text."""

    @field_serializer("metadata", when_used="json")
    def _plain(self, value: dict[str, Any]) -> dict[str, Any]:
        plain: dict[str, Any] = _sound(_jsonable(value)) if value else {}
        return plain

    @field_validator("id", "text", "title", "source", mode="after")
    @classmethod
    def _well_formed(cls, value: str) -> str:
        return well_formed(value)

    @cached_property
    def key(self) -> str:
        """16 hex digits; equal for texts that differ only in case, punctuation and white space."""
        return content_hash(self.text)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Pydantic's copy; one with another text gets another `key`."""
        copy = super().model_copy(update=update, deep=deep)
        if update and "text" in update:
            copy.__dict__.pop("key", None)
        return copy

    def for_model(self) -> str:
        """How a model reads it: title and date where known, then the text."""
        head = " · ".join(part for part in (self.title, self.published.isoformat() if self.published else "") if part)
        return f"{head}: {self.text}" if head else self.text


_MAPPING = TypeAdapter(dict[str, Any], config=ConfigDict(ser_json_bytes="base64"))


def _jsonable(value: dict[str, Any]) -> Any:
    try:
        return _MAPPING.dump_python(value, mode="json", fallback=str)
    except ValueError:  # an object that holds itself, or a key that is no text
        return {str(key): repr(item) for key, item in value.items()}


def _sound(value: Any) -> Any:
    """JSON values without half characters."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {well_formed(key): _sound(item) for key, item in value.items()}
    return [_sound(item) for item in value] if isinstance(value, list) else value


class Requirement(Frozen):
    """One thing the question needs. The list is fixed in round 1; later rounds only fill it in."""

    need: str
    status: Literal["covered", "missing"] = "missing"
    passage_ids: tuple[str, ...] = ()
    important: bool = True


class Gap(Frozen):
    """Something the evidence lacks, and the query that should bring it."""

    kind: GapKind
    need: str
    query: str
    importance: Score = 0.5


class Contradiction(Frozen):
    """Two passages that cannot both be right.

    The spans are verbatim; `newer` is a passage id, or None where a date is unknown.
    """

    passage_a: str
    span_a: str
    passage_b: str
    span_b: str
    about: str
    newer: str | None = None


class Judgement(Frozen):
    """What a critic said of one round's evidence, before arithmetic. A missing entry means "not judged", never "no"."""

    relevance: dict[str, float] = Field(default_factory=dict)
    """Passage id → grade 0..1."""
    requirements: tuple[Requirement, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    compared: tuple[str, ...] | None = None
    """Ids of the passages that answer and were compared with each other; None where the critic does not say, so that
    every relevant one counts."""
    time_scope: TimeScope = "timeless"
    outdated: tuple[str, ...] = ()
    """Ids of the passages that are too old, or too new, for the question's time."""
    sufficient: bool | None = None
    """The critic's own verdict; None when it gave none or it could not be read."""
    sufficiency: Score | None = None
    """Probability of that verdict being "yes", where the model reports log-probabilities."""
    gaps: tuple[Gap, ...] = ()
    unreadable: int = 0
    """How many verdicts could not be read."""
    lost: tuple[JudgementName, ...] = ()
    """Judgements that were asked for and of which nothing could be read."""


class Draft(Frozen):
    """An answer as its writer gave it, citations unchecked. An empty answer means "the passages do not say"."""

    answer: str
    cited: tuple[str, ...] = ()
    """Ids of the passages the writer says it used."""
    unreadable: int = 0


class Citation(Frozen):
    """A verbatim span: `passage.text[start:end] == quote` holds for the passage with this id (checked beforehand)."""

    passage_id: str
    quote: str
    start: int
    end: int


class ClaimSupport(Frozen):
    """Whether the passages carry one claim. `support` is None when the verdict could not be read: that is no "no"."""

    claim: str
    support: Support | None
    passage_ids: tuple[str, ...] = ()
    problem: str = ""
    """What is wrong, in words the answer writer can act on; empty when supported."""
    citations: tuple[Citation, ...] = ()
    """Where the passages state this claim; checked spans."""


class Fallback(Frozen):
    """A judgement whose back end failed, and which one took its place."""

    judgement: JudgementName | SelfRagJudgement
    backend: Backend
    """The one that failed."""
    to: Backend | None
    """The one that judged instead; None when there was none left, so that the judgement is missing."""
    reason: str


class Assessment(Frozen):
    """The evidence of one round, scored.

    A dimension is None where it does not apply, and the weights are renormalised over the rest.
    """

    relevance: Score | None = None
    consistency: Score | None = None
    coverage: Score | None = None
    freshness: Score | None = None
    evidence_score: Score = 0.0
    confidence: Score = 0.0
    requirements: tuple[Requirement, ...] = ()
    gaps: tuple[Gap, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    passage_relevance: dict[str, Score] = Field(default_factory=dict)
    time_scope: TimeScope = "timeless"
    outdated: tuple[str, ...] = ()
    sufficient: bool | None = None
    sufficiency: Score | None = None
    """Probability behind `sufficient`, where the model reports log-probabilities."""
    unreadable: int = 0
    by_rules: bool = False
    """Whether rules judged: by choice, without a model, or in place of one that gave nothing."""
    fallbacks: tuple[Fallback, ...] = ()
    """Judgements that another back end had to make than the one that was chosen."""

    def explain(self, language: Language | None = None) -> str:
        """A few lines for a person: each dimension, what is missing, what disagrees.

        In the language of its requirements, gaps and conflicts, which is the question's, unless another one is given.
        """
        language = language or self._language()
        line, label = partial(say, language=language), partial(word, language=language)
        names = ("relevance", "consistency", "coverage", "freshness")
        values = ((name, getattr(self, name)) for name in names)
        shown = (f"{label(name)} {label('n/a') if value is None else f'{value:.2f}'}" for name, value in values)
        lines = [line("explain_score", score=f"{self.evidence_score:.2f}", parts=label("comma").join(shown))]
        lines += [line("missing", need=r.need) for r in self.requirements if r.status == "missing"]
        lines += [line("explain_conflict", about=c.about, a=c.span_a, b=c.span_b) for c in self.contradictions]
        lines += [line("explain_gap", kind=g.kind, need=g.need, query=g.query) for g in self.gaps]
        lines += [
            line(
                "explain_fallback", judgement=f.judgement, backend=f.backend, reason=f.reason, to=f.to or line("nobody")
            )
            for f in self.fallbacks
        ]
        if self.unreadable:
            lines.append(line("explain_unread", count=self.unreadable))
        return "\n".join(lines)

    def _language(self) -> Language:
        said = (
            [r.need for r in self.requirements] + [g.need for g in self.gaps] + [c.about for c in self.contradictions]
        )
        return language_of(" ".join(said))


class Decision(Frozen):
    """What the loop does after an assessment, and why."""

    action: Action
    reason: str
    """In words, in the question's language."""
    queries: tuple[str, ...] = ()
    warning: WarningCode | None = None
    stop: StopReason | None = None
    """The same as a code, where the loop ends here."""


class ResultWarning(Frozen):
    """Something the reader of the answer should know, in the question's language."""

    code: WarningCode
    message: str


class DroppedPassage(Frozen):
    """A retrieved passage that was not used, with the reason."""

    passage: Passage
    reason: str


class Strip(Frozen):
    """A window of whole sentences of a long passage: `passage.text[start:end]`."""

    passage_id: str
    start: int
    end: int
    score: Score
    """How well it fits the question and its requirements."""


class GapRecord(Frozen):
    """What became of one gap: opened in a round, searched for, then closed or given up, with the reason."""

    gap: Gap
    status: Literal["open", "closed", "given_up"] = "open"
    opened: int
    """Round in which it was named."""
    queries: tuple[str, ...] = ()
    """Queries that were sent for it."""
    ended: int | None = None
    """Round in which it was closed or given up."""
    reason: str = ""


class Round(Frozen):
    """One turn of the loop: what was searched, what came new, how the evidence was judged, what was decided.

    `assessment` and `decision` are None with programs that do not judge what they find (naive, always, react, agentic).
    """

    number: int
    queries: tuple[str, ...]
    retrieved: int
    """Passages that came back, repeats included."""
    new: int
    """Of these, passages that were not in the pool before."""
    assessment: Assessment | None = None
    decision: Decision | None = None
    draft: str | None = None
    """The answer as it stood in this round, where one was written."""
    strips: tuple[Strip, ...] = ()
    """What was read of each passage longer than `passage_chars`, in order; the other passages were read whole."""


class Candidate(Frozen):
    """An answer that Self-RAG had to choose from, and its critics' verdicts (arXiv 2310.11511).

    A verdict is None where it could not be read or was not asked for.
    """

    passage_id: str | None
    """The only passage the answer was written from; None where the model answered alone."""
    answer: str
    """In a long answer one sentence of it."""
    relevance: Score | None = None
    """[IsREL]"""
    support: Support | None = None
    """[IsSUP], of the worst claim."""
    usefulness: float | None = Field(default=None, ge=1.0, le=5.0)
    """[IsUSE]"""
    score: float
    """The paper's weighted sum: −0.5..2.5 with its weights, and up to 1 more with `sequence_score`.

    An answer that its passage carries wins over one that it does not, whatever the score."""
    chosen: bool = False
    """Whether the result's answer is, or holds, this one."""


class PhaseUsage(Frozen):
    """What one phase of a question cost, counted at the model client (fall-backs and retries are calls too)."""

    calls: int = 0
    cached: int = 0
    """Of the calls, those answered from DSPy's cache; their tokens are counted too."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


class Result(Frozen):
    """What every program returns (as the fields of one `dspy.Prediction`)."""

    schema_version: int = SCHEMA_VERSION
    answer: str
    claims: tuple[ClaimSupport, ...] = ()
    """The answer's claims, each with its own verdict and citations; empty where nothing was checked."""
    citations: tuple[Citation, ...] = ()
    confidence: Score | None = None
    """0 for an abstention; None where nobody judged how sure the answer is."""
    calibrated: bool = False
    """Whether `confidence` is a probability that a calibration gave; otherwise it is the program's own heuristic."""
    evidence_score: Score | None = None
    """None for programs that do not judge their evidence."""
    abstained: bool = False
    degraded: bool = False
    stop_reason: StopReason = "single_pass"
    warnings: tuple[ResultWarning, ...] = ()
    rounds: tuple[Round, ...] = ()
    passages: tuple[Passage, ...] = ()
    """The passages the answer was written from, in the order they were found."""
    dropped: tuple[DroppedPassage, ...] = ()
    redundancy_before: Score | None = None
    """Share of the retrieved text (three-word shingles) that repeats other retrieved text; None without passages."""
    redundancy_after: Score | None = None
    """The same over the passages that were read."""
    conflicts: tuple[Contradiction, ...] = ()
    """Contradictions in the evidence that no date settles."""
    gaps: tuple[GapRecord, ...] = ()
    """The gap ledger: every gap that was named, and what became of it."""
    need_retrieval: bool = True
    retrieved_count: int = 0
    relevant_count: int = 0
    candidate_count: int = 0
    candidates: tuple[Candidate, ...] = ()
    """What Self-RAG chose from, in the order written; empty with the other programs."""
    retrievals: int = 0
    unparsed: int = 0
    """Model replies, or parts of them, that could not be read."""
    usage: dict[Phase, PhaseUsage] = Field(default_factory=dict)
