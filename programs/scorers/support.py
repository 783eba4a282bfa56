"""Whether passages carry a claim, by inference: which (premise, hypothesis) pairs to ask about, and the verdict."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reflective_rag.programs.rules.evidence import Page, gather
from reflective_rag.programs.rules.matching import has_cjk
from reflective_rag.programs.rules.question import analyse
from reflective_rag.programs.rules.support import SHORT_CHARACTERS, SHORT_WORDS
from reflective_rag.programs.scorers.base import Nli, Pair
from reflective_rag.programs.scorers.windows import MOST_READ, content_terms, overlap
from reflective_rag.signatures.errors import ConfigError
from reflective_rag.signatures.text import Language, language_of
from reflective_rag.signatures.types import Citation, ClaimSupport, Passage, Support

SENTENCES, CHARACTERS, CHARACTERS_ZH = 3, 600, 300
"""Most sentences and characters of a premise: models know single sentences best, but "he" needs the one before."""
MOST_PREMISES = 24
"""Most premises of one claim: those that hold most words of question and claim."""
ON_TOPIC = 0.5
"""Least share of these words in a premise that may contradict: models call unrelated texts contradictory, too."""
_QUOTED = 120

_PROBLEMS: dict[Language, dict[str, str]] = {
    "en": {
        "not_supported": "No passage says this.",
        "partially": "The passages say only part of this, or say it less clearly.",
        "contradicted": "A passage says otherwise: “{quote}”",
    },
    "zh": {
        "not_supported": "没有段落提到这一点。",
        "partially": "段落只支持其中一部分，或说得不够明确。",
        "contradicted": "有段落的说法不同：“{quote}”",
    },
}


@dataclass(frozen=True)
class SupportThresholds:
    """Least probability of entailment, or of contradiction, for each verdict; 0..1. Set by judgement, not by data."""

    supported: float = 0.6
    partially: float = 0.3
    contradicted: float = 0.7

    def __post_init__(self) -> None:
        if not (0 <= self.partially <= self.supported <= 1 and 0 <= self.contradicted <= 1):
            raise ConfigError(
                f"support thresholds need 0 ≤ partially ≤ supported ≤ 1, 0 ≤ contradicted ≤ 1: got {self}"
            )


@dataclass(frozen=True)
class Premise:
    """A run of sentences that a claim is held against: `passage.text[start:end] == quote`."""

    passage_id: str
    quote: str
    start: int
    end: int
    topic: float
    """Share of the content words of question and claim in it (and its title), 0..1."""
    language: Language
    """That of the question."""


def hypothesis(question: str, claim: str) -> str:
    """What the model is asked: a statement as it is, a short answer ("1936", 鲁迅) behind its question."""
    short = len(claim) <= SHORT_CHARACTERS if has_cjk(claim) else len(claim.split()) <= SHORT_WORDS
    return f"{question} {claim}" if short else claim


def support_pairs(
    question: str, claim: str, passages: Sequence[Passage], *, most: int = MOST_PREMISES
) -> list[tuple[Pair, Premise]]:
    """((premise, hypothesis), where) for the runs of sentences that may carry or deny the claim, best topic first.

    Sentences that read as instructions are left out. None for an empty claim, or without passages.
    """
    if not claim.strip():
        return []
    terms, language = content_terms(question, claim), language_of(question)
    asked = hypothesis(question, claim)
    found: list[tuple[Pair, Premise]] = []
    for page in gather(analyse(question[:MOST_READ]), passages).pages:
        for start, end in _runs(page):
            quote = page.passage.text[start:end]
            topic = round(overlap(terms, f"{page.name}\n{quote}"), 4)
            premise = quote if not page.name or page.name in quote else f"{page.name}: {quote}"
            found.append(((premise, asked), Premise(page.passage.id, quote, start, end, topic, language)))
    return sorted(found, key=lambda item: -item[1].topic)[:most]


def _runs(page: Page) -> Iterator[tuple[int, int]]:
    """Runs of up to `SENTENCES` sentences; each begins with the last sentence of the one before, if there is room."""
    size = CHARACTERS_ZH if language_of(page.text[:5000]) == "zh" else CHARACTERS
    first = 0
    while first < len(page.lines):
        last = first
        while (
            last + 1 < len(page.lines)
            and last + 1 - first < SENTENCES
            and page.lines[last + 1].end - page.lines[first].start <= size
            and not page.passage.text[page.lines[last].end : page.lines[last + 1].start].strip()  # an instruction
        ):
            last += 1
        yield page.lines[first].start, page.lines[last].end
        if last + 1 == len(page.lines):
            return
        first = max(last, first + 1)


def support_from(
    claim: str, scores: Sequence[Nli], premises: Sequence[Premise], thresholds: SupportThresholds | None = None
) -> ClaimSupport:
    """The verdict on a claim: the best entailment decides; a contradiction counts where no passage carries the claim.

    `passage_ids` and `citations` name the passages that carry it, best first, or the one that denies it.
    """
    limits = thresholds or SupportThresholds()
    ranked = sorted(zip(scores, premises, strict=True), key=lambda item: -item[0].entailment)
    best = ranked[0][0].entailment if ranked else 0.0
    against = [(s.contradiction, p) for s, p in ranked if p.topic >= ON_TOPIC and s.contradiction > s.entailment]
    worst, denier = max(against, key=lambda item: item[0], default=(0.0, None))
    language = ranked[0][1].language if ranked else language_of(claim)
    if best >= limits.supported:
        return _verdict(claim, "supported", [p for s, p in ranked if s.entailment >= limits.supported], language)
    if denier is not None and worst >= limits.contradicted and worst > best:
        return _verdict(claim, "contradicted", [denier], language)
    if best >= limits.partially:
        return _verdict(claim, "partially", [p for s, p in ranked if s.entailment >= limits.partially], language)
    return _verdict(claim, "not_supported", [], language)


def _verdict(claim: str, support: Support, premises: Sequence[Premise], language: Language) -> ClaimSupport:
    first = {p.passage_id: p for p in reversed(premises)}  # of several in one passage, the best
    order = list(dict.fromkeys(p.passage_id for p in premises))
    problem = _PROBLEMS[language].get(support, "")
    if support == "contradicted":
        quote = premises[0].quote
        problem = problem.format(quote=quote if len(quote) <= _QUOTED else f"{quote[:_QUOTED].rstrip()}…")
    carried = order if support in ("supported", "partially") else []
    return ClaimSupport(
        claim=claim,
        support=support,
        passage_ids=tuple(order),
        problem=problem,
        citations=tuple(
            Citation(passage_id=i, quote=first[i].quote, start=first[i].start, end=first[i].end) for i in carried
        ),
    )
