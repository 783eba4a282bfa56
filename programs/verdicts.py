"""Puts a round's judgement together from the back ends that made its parts, and falls back where one failed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reflective_rag.programs import rules
from reflective_rag.programs.material import Reading
from reflective_rag.programs.settings import Critics, Mode
from reflective_rag.programs.steps import AskOutcome, Limit, ScoreOutcome
from reflective_rag.signatures.types import Backend, Fallback, Judgement, JudgementName

JUDGED: tuple[JudgementName, ...] = ("relevance", "consistency", "coverage", "freshness", "sufficiency", "gaps")
"""The judgements of one round's evidence (`support` is about an answer)."""

_PARTS: Mapping[JudgementName, tuple[str, ...]] = {
    "relevance": ("relevance",),
    "consistency": ("contradictions", "compared"),
    "coverage": ("requirements",),
    "freshness": ("time_scope", "outdated"),
    "sufficiency": ("sufficient", "sufficiency"),
    "gaps": ("gaps",),
}
"""The fields of `Judgement` that each judgement fills."""

BACKENDS: Mapping[JudgementName, tuple[Backend, ...]] = {
    "relevance": ("lm", "rules", "models"),
    "consistency": ("lm", "rules", "models"),
    "coverage": ("lm", "rules"),
    "freshness": ("lm", "rules"),
    "sufficiency": ("lm", "rules"),
    "gaps": ("lm", "rules"),
    "support": ("lm", "rules", "models"),
}
"""The back ends that make sense for each judgement."""

LIMIT_REACHED = "a budget refused the call"
UNREADABLE = "its reply could not be read"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A judgement and where it came from."""

    judgement: Judgement
    by_rules: bool = False
    """Whether rules made all of it."""
    fallbacks: tuple[Fallback, ...] = ()
    refused: Limit | None = None
    """The budget that refused a call, if one did."""


@dataclass
class Parts:
    """The judgements of one round as they come in, each from one back end, and those that did not come."""

    reading: Reading
    found: dict[JudgementName, Judgement] = field(default_factory=dict)
    by: dict[JudgementName, Backend] = field(default_factory=dict)
    failed: dict[JudgementName, tuple[Backend, str]] = field(default_factory=dict)
    """Judgement → the back end that gave nothing, and why."""
    refused: Limit | None = None
    unreadable: int = 0

    def put(self, judgement: Judgement, names: Iterable[JudgementName], backend: Backend) -> None:
        """Take these judgements from `judgement`."""
        for name in names:
            self.found[name], self.by[name] = judgement, backend

    def fail(self, names: Iterable[JudgementName], backend: Backend, reason: str) -> None:
        """Note that a back end gave nothing for these judgements; the first reason stays."""
        for name in names:
            self.failed.setdefault(name, (backend, reason))

    def lost(self, outcome: AskOutcome | ScoreOutcome, names: Iterable[JudgementName], backend: Backend) -> bool:
        """Note a call that came back empty-handed; whether it did."""
        if outcome.refused:
            self.refused = self.refused or outcome.refused
            self.fail(names, backend, LIMIT_REACHED)
        elif outcome.error:
            self.fail(names, backend, outcome.error)
        return bool(outcome.refused or outcome.error)

    def open(self, backend: Backend) -> list[JudgementName]:
        """Failed judgements that nobody has made yet and that `backend` can make."""
        return [
            n for n, (by, _) in self.failed.items() if n not in self.by and by != backend and backend in BACKENDS[n]
        ]

    def verdict(self) -> Verdict:
        """All parts in one; what nobody judged stays "not judged"."""
        taken = {part: getattr(judgement, part) for name, judgement in self.found.items() for part in _PARTS[name]}
        if "coverage" not in self.found:
            taken["requirements"] = self.reading.requirements
        fallbacks = (
            Fallback(judgement=name, backend=backend, to=self.by.get(name), reason=reason)
            for name, (backend, reason) in self.failed.items()
        )
        return Verdict(
            judgement=Judgement(
                **taken, unreadable=self.unreadable, lost=tuple(n for n in JUDGED if n not in self.found)
            ),
            by_rules=set(self.by.values()) == {"rules"},
            fallbacks=tuple(fallbacks),
            refused=self.refused,
        )


NO_MODEL = "no language model is configured"
"""Why a judgement falls that was expressly given to a language model."""


def backends_of(mode: Mode, critics: Critics) -> dict[JudgementName, Backend]:
    """Who makes each judgement of the evidence in this mode."""
    default: Backend = "rules" if mode == "rules" else "lm"
    return {name: getattr(critics, name) or default for name in JUDGED}


def by_rules(reading: Reading) -> Judgement:
    """The rules' judgement of a reading."""
    return rules.assess(reading.question, reading.passages, reading.requirements, reading.today)


def rules_verdict(reading: Reading) -> Verdict:
    """A verdict by rules alone."""
    return Verdict(judgement=by_rules(reading), by_rules=True)
