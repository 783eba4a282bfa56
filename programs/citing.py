"""Citations that hold: each is a verbatim span that carries a claim, found here, never taken on trust."""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from reflective_rag.programs.claims import split_claims
from reflective_rag.programs.rules.deadline import GRACE, check, in_time, is_up
from reflective_rag.programs.rules.evidence import Evidence, Line, Page, gather, merge, scale
from reflective_rag.programs.rules.matching import Text, fold, has_cjk, hits, match, prepare
from reflective_rag.programs.rules.names import names
from reflective_rag.programs.rules.negation import negated
from reflective_rag.programs.rules.question import analyse
from reflective_rag.programs.rules.yes_no import yes_or_no
from reflective_rag.signatures.types import Citation, Draft, Passage

LONGEST_CITED = 4000
"""Characters; no sentence of a passage carries a longer claim."""

STATED, STATED_UNASKED = 0.5, 0.8
"""Share of a claim's content (weighted terms) that a sentence with title and neighbours must hold: in a passage that
the writer named, and in one that it did not name."""

ABOUT_SHORT, ABOUT = 0.3, 0.2
"""Share of the question's content around a short claim ("1931": any passage may hold it), and around a longer one.

The first was chosen on the train parts of hotpotqa, 2wikimultihopqa, musique and rgb-zh (80 questions each), over the
passages that hold the gold answer as a string: .3 keeps 696 of the 746 supporting ones and refuses 29 of the 93 others;
.4 keeps 648 and refuses 48.
"""

SHORT_WORDS, SHORT_CHARACTERS = 6, 12
"""Length up to which a claim is short (English, Chinese)."""

TRIED = 10
"""Sentences of a passage that are looked at, those with most of the claim and the question first."""

LONG, KEPT = 10_000, 30
"""Characters from which a passage is long, and how many of its sentences then speak for it about one claim."""

_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")


def cite(question: str, draft: Draft, passages: Sequence[Passage]) -> tuple[tuple[Citation, ...], tuple[str, ...]]:
    """Citations for a draft in the order of its claims, and the ids of named passages that carry none of them."""
    spans = cite_claims(question, split_claims(question, draft.answer), draft.cited, passages)
    return union(spans), unused(draft.cited, passages, spans)


def cite_claims(
    question: str, claims: Sequence[str], named: Sequence[str], passages: Sequence[Passage]
) -> tuple[tuple[Citation, ...], ...]:
    """For each claim the sentences that carry it, one a passage: those named by the writer, else the first that does.

    A sentence carries a claim when it holds the claim's content and its numbers, says it in the same sense (negation),
    and speaks, with its title and neighbours, of what is asked. That it merely names the answer is not enough.
    """
    sources = Sources(question, passages)
    return tuple(sources.citations(claim, named) for claim in claims)


def union(spans: Iterable[Sequence[Citation]]) -> tuple[Citation, ...]:
    """All citations in the order of the claims, each once."""
    return tuple(dict.fromkeys(citation for found in spans for citation in found))


def unused(named: Sequence[str], passages: Sequence[Passage], spans: Iterable[Sequence[Citation]]) -> tuple[str, ...]:
    """Ids of the passages that the writer named and that carry none of its claims; none after the time limit.

    Nobody has looked them up then.
    """
    if is_up():
        return ()
    known = {p.id for p in passages} - {citation.passage_id for citation in union(spans)}
    return tuple(i for i in named if i in known)


class Sources:
    """The passages of one question, cut into sentences and made ready once for all claims."""

    def __init__(self, question: str, passages: Sequence[Passage]) -> None:
        self._question, self._passages = question, passages
        self._texts: dict[int, list[Text]] = {}
        self._ranks: dict[tuple[str, int], list[int]] = {}

    @cached_property
    def _evidence(self) -> Evidence:
        return gather(analyse(self._question), self._passages)

    def citations(self, claim: str, named: Sequence[str]) -> tuple[Citation, ...]:
        """One citation for each named passage that carries the claim, else one of the first passage that does.

        None where a time limit ends the search for them (see `rules.deadline`).
        """
        if len(claim) > LONGEST_CITED:
            return ()
        return in_time("citations", lambda: self._citations(claim, named), (), GRACE)

    def _citations(self, claim: str, named: Sequence[str]) -> tuple[Citation, ...]:
        by_id = {page.passage.id: page for page in self._evidence.pages}
        asked = [self._citation(claim, by_id[i], STATED) for i in named if i in by_id]
        if found := [citation for citation in asked if citation]:
            return tuple(found)
        others = (self._citation(claim, page, STATED_UNASKED) for page in self._evidence.pages)
        first = next((citation for citation in others if citation), None)
        return (first,) if first else ()

    def about(self, claim: str) -> list[Passage]:
        """The passages as far as they concern the claim: of a long one the best sentences, each with its neighbours.

        For judging many claims on a book; offsets into these texts mean nothing.
        """
        return [self._excerpt(claim, page) if len(page.text) > LONG else page.passage for page in self._evidence.pages]

    def _excerpt(self, claim: str, page: Page) -> Passage:
        coverage = self._evidence.coverage
        asked = sorted(range(len(page.lines)), key=lambda at: (-coverage(page.lines[at].context), at))
        best = {*self._ranked(claim, page)[:KEPT], *asked[:KEPT]}
        kept = sorted({near for at in best for near in (at - 1, at, at + 1) if 0 <= near < len(page.lines)})
        return page.passage.model_copy(update={"text": "\n".join(page.lines[at].text for at in kept)})

    def _citation(self, claim: str, page: Page, least: float) -> Citation | None:
        """The sentence of a passage that carries the claim best; None when none does."""
        for at in self._ranked(claim, page)[:TRIED]:
            if _carries(self._evidence, claim, page, at, least):
                line = page.lines[at]
                return Citation(passage_id=page.passage.id, quote=line.text, start=line.start, end=line.end)
        return None

    def _ranked(self, claim: str, page: Page) -> list[int]:
        """The sentences that hold anything of the claim: its own words first, then those of the question around it."""
        key = (claim, page.index)
        if key not in self._ranks:
            self._ranks[key] = self._rank(claim, page)
        return self._ranks[key]

    def _rank(self, claim: str, page: Page) -> list[int]:
        if page.index not in self._texts:
            self._texts[page.index] = [_prepared(line.text) for line in page.lines]
        bare, literal = yes_or_no(claim) is not None, _literal(claim)
        scores = []
        for at, (line, text) in enumerate(zip(page.lines, self._texts[page.index], strict=True)):
            check()
            own = self._evidence.coverage(line.own) if bare else _share(claim, text)
            share = 1.0 if literal and not bare and literal in text.folded else own
            if share > 0:
                scores.append((-2 * share - self._evidence.coverage(line.context), at))
        return [at for _, at in sorted(scores)]


def _prepared(text: str) -> Text:
    check()
    return prepare(text)


def _carries(evidence: Evidence, claim: str, page: Page, at: int, least: float) -> bool:
    line = page.lines[at]
    if yes_or_no(claim) is not None:
        return evidence.coverage(line.context) >= ABOUT_SHORT
    return _states(claim, page, at, least) and (_is_about(evidence, claim, line) or _is_linked(evidence, claim, line))


def _states(claim: str, page: Page, at: int, least: float) -> bool:
    """Whether the sentence, with title and neighbours, holds the claim's content and numbers in the same sense."""
    text = page.lines[at].text
    near = [page.lines[i].text for i in (at - 1, at + 1) if 0 <= i < len(page.lines)]
    ours, own = _digits(claim), _digits(f"{text} {page.name}")
    if _is_short(claim):
        return ours <= own and (_literal(claim) in fold(text) or _share(claim, prepare(text), page.name) >= least)
    if negated(claim) != negated(text) or (ours and ours.isdisjoint(own | _digits(" ".join(near)))):
        return False
    return _share(claim, prepare(text), page.name, *near) >= least


def _share(claim: str, text: Text, *around: str) -> float:
    """Weighted share of the claim's terms in a sentence; what stands only around it counts a little less."""
    terms = analyse(claim).terms
    held = tuple(match(term, text) for term in terms)
    if around:
        held = merge(held, *(scale(hits(terms, other), 0.9) for other in around))
    total = sum(term.weight for term in terms)
    return sum(term.weight * h for term, h in zip(terms, held, strict=True)) / total if total else 0.0


def _is_about(evidence: Evidence, claim: str, line: Line) -> bool:
    """Whether the sentence in its place speaks of what is asked, beside the words that the claim itself repeats."""
    question = evidence.question
    beside = [hit == 0 for hit in hits(question.terms, claim)]
    weighs = sum(w for w, use in zip(evidence.weights, beside, strict=True) if use) >= sum(evidence.weights) / 2
    # A claim that repeats most of the question, or picks one of two options, leaves nothing beside it to look for.
    about = evidence.coverage(line.context, beside if weighs and question.kind != "choice" else None)
    return not question.terms or about >= (ABOUT_SHORT if _is_short(claim) else ABOUT)


def _is_linked(evidence: Evidence, claim: str, line: Line) -> bool:
    """Whether it is the second step of a chain: it says something asked of someone whom another passage brings in."""
    if evidence.coverage(line.own) == 0:
        return False
    known = f"{fold(claim)} {fold(evidence.question.text)}"
    bridges = [fold(span.text) for span in names(line.text) if fold(span.text) not in known]
    others = [p for p in evidence.pages if p.index != line.page and evidence.coverage(p.own) >= ABOUT_SHORT]
    return any(bridge in fold(page.text) for bridge in bridges for page in others)


def _literal(claim: str) -> str:
    return fold(claim).strip(" .。")


def _is_short(claim: str) -> bool:
    return len(claim) <= SHORT_CHARACTERS if has_cjk(claim) else len(claim.split()) <= SHORT_WORDS


def _digits(text: str) -> set[str]:
    """Numbers as digit strings, thousands separators removed."""
    return {found.replace(",", "").rstrip(".") for found in _DIGITS.findall(fold(text))}
